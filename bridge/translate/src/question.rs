//! Shows a question together with what the bot said before it in the same turn.
//!
//! Most clients show nothing but the status of a task that waits for its user. A bot that thanks for the last answer
//! and then asks for the next one sends two messages. The log keeps these messages apart, because the bot may still
//! change each of them. The question refers to the messages before it, and callers get all of them as parts of the
//! question, each on a separate line. The message with which a task fails is shown in the same way.

use alloc::{string::String, sync::Arc, vec::Vec};
use core::mem;

use serde_json::Value;

use bridge_protocol::a2a::{Message, Role, Task};

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
pub fn joined(mut task: Arc<Task>) -> Arc<Task> {
    if task.status.message.as_ref().is_some_and(has_others) {
        join(Arc::make_mut(&mut task));
    }
    task
}

/// Moves the messages before the question into it, if the task waits with one.
fn join(task: &mut Task) {
    let Some(question) = task.status.message.as_mut().filter(|one| has_others(one)) else {
        return;
    };
    let metadata = question.metadata.get_or_insert_default();
    let before = metadata.remove(BEFORE);
    if metadata.is_empty() {
        question.metadata = None;
    }
    let ids: Vec<&str> = before
        .iter()
        .flat_map(|ids| ids.as_array().into_iter().flatten())
        .filter_map(Value::as_str)
        .collect();
    let is_before =
        |one: &mut Message| one.role == Role::Agent && ids.contains(&one.message_id.as_str());
    let before: Vec<Message> = task.history.extract_if(.., is_before).collect();
    let own = mem::take(&mut question.parts);
    for mut parts in before.into_iter().map(|one| one.parts).chain([own]) {
        if !question.parts.is_empty() {
            parts.iter_mut().take(1).for_each(plain_text::apart);
        }
        question.parts.append(&mut parts);
    }
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
        task.history = vec![
            said("u", Role::User),
            said("b", Role::Agent),
            said("a", Role::Agent),
        ];
        task.status.message = Some(question.clone());
        join(&mut task);
        let joined = Message {
            parts: vec![Part::text("a"), Part::text("\nq")],
            ..said("q", Role::Agent)
        };
        assert_eq!(task.status.message, Some(joined));
        assert_eq!(
            task.history,
            [said("u", Role::User), said("b", Role::Agent)]
        );
    }
}
