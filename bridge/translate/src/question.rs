//! Shows a question together with what the bot said before it in the same turn.
//!
//! Most clients show nothing but the status of a task that waits for its user. A bot that thanks for the last answer
//! and then asks for the next one sends two messages. The log keeps these messages apart, because the bot may still
//! change each of them. The question refers to the messages before it, and callers get all of them as parts of the
//! question, each on a separate line. The message with which a task fails is shown in the same way.

use alloc::{string::String, sync::Arc, vec::Vec};
use core::mem;

use serde_json::Value;

use bridge_protocol::a2a::{Message, Role, Task, TaskStatus};

use crate::{keys::BEFORE, plain_text};

/// Names the messages that the bot said before the question, oldest first.
pub(crate) fn name(question: &mut Message, before: Vec<String>) {
    if !before.is_empty() {
        let metadata = question.metadata.get_or_insert_default();
        metadata.insert(BEFORE.into(), before.into());
    }
}

/// Returns whether the message names others before it.
pub fn has_others(question: &Message) -> bool {
    let metadata = question.metadata.as_ref();
    metadata.is_some_and(|metadata| metadata.contains_key(BEFORE))
}

/// Returns the task as its caller is shown it: the messages before a question are parts of the question.
pub fn joined(task: Arc<Task>) -> Arc<Task> {
    shown(task, None, true)
}

/// Returns the task as [`joined`] does, with at most this number of the latest messages of its history (all of them if
/// `None`), and with or without its artifacts. Nothing else is copied, since a history can be long.
pub fn shown(task: Arc<Task>, history: Option<usize>, artifacts: bool) -> Arc<Task> {
    let before = before(&task);
    let length = task.history.len() - before.len();
    let count = history.map_or(length, |history| history.min(length));
    let is_whole = count == length && (artifacts || task.artifacts.is_empty());
    if is_whole && !task.status.message.as_ref().is_some_and(has_others) {
        return task;
    }
    let newest_first = task.history.iter().enumerate().rev();
    let shown = newest_first.filter(|(place, _)| !before.contains(place));
    let mut history: Vec<Message> = shown.take(count).map(|(_, one)| one.clone()).collect();
    history.reverse();
    let artifacts = task.artifacts.iter().filter(|_| artifacts);
    Arc::new(Task {
        id: task.id.clone(),
        context_id: task.context_id.clone(),
        status: status(&task),
        artifacts: artifacts.cloned().collect(),
        history,
        metadata: task.metadata.clone(),
        extra: task.extra.clone(),
    })
}

/// Returns the status of the task as its caller is shown it.
pub fn status(task: &Task) -> TaskStatus {
    let mut status = task.status.clone();
    let Some(question) = status.message.as_mut().filter(|one| has_others(one)) else {
        return status;
    };
    if let Some(metadata) = &mut question.metadata {
        metadata.remove(BEFORE);
        if metadata.is_empty() {
            question.metadata = None;
        }
    }
    let own = mem::take(&mut question.parts);
    let before = before(task).into_iter().rev();
    let before = before.map(|place| task.history[place].parts.clone());
    question.parts = plain_text::on_lines(before.chain([own]));
    status
}

/// Returns the places in the history of the messages before the question, newest first. They are near its end.
fn before(task: &Task) -> Vec<usize> {
    let question = task.status.message.as_ref();
    let ids = question.and_then(|one| one.metadata.as_ref()?.get(BEFORE)?.as_array());
    let ids = ids.into_iter().flatten().filter_map(Value::as_str);
    let ids: Vec<&str> = ids.collect();
    let is_before = |(_, one): &(usize, &Message)| {
        one.role == Role::Agent && ids.contains(&one.message_id.as_str())
    };
    let newest_first = task.history.iter().enumerate().rev();
    let before = newest_first.filter(is_before).take(ids.len());
    before.map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use alloc::{borrow::ToOwned as _, vec};

    use bridge_protocol::{a2a::Part, wire::Wire as _};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_question_has_what_was_said_before_it() {
        let said = |id: &str, role| Message::new(id, role, vec![Part::text(id)]);
        let mut question = said("q", Role::Agent);
        name(&mut question, vec!["a".to_owned(), "gone".to_owned()]);
        assert!(has_others(&question));
        let mut task = Task::read(
            json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_INPUT_REQUIRED"}}),
        )
        .unwrap();
        task.history = vec![said("u", Role::User), said("b", Role::Agent), said("a", Role::Agent)];
        task.status.message = Some(question.clone());
        let task = Arc::new(task);
        let question =
            Message { parts: vec![Part::text("a"), Part::text("\nq")], ..said("q", Role::Agent) };
        let history = [said("u", Role::User), said("b", Role::Agent)];
        for (length, from) in [(None, 0), (Some(9), 0), (Some(1), 1), (Some(0), 2)] {
            let shown = shown(Arc::clone(&task), length, true);
            assert_eq!(shown.status.message.as_ref(), Some(&question));
            assert_eq!(shown.history, history[from..]);
        }
    }
}
