//! Reconstructs the last state of tasks from all answers in a transcript.

use std::collections::BTreeMap;

use bridge_protocol::{
    a2a::{StreamResponse, Task, TaskState},
    dialect::Version,
    wire::to_value,
};
use serde_json::Value;

use super::{Content, Entry, Hop, wire};

/// A task and the entries that show it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskView {
    /// The task in A2A 1.0 form.
    pub task: Value,
    /// The `seq` of each entry that showed or changed it.
    pub at: Vec<u64>,
}

/// Returns the last task that the agent in a role sent: the last complete Task, with the status and artifact
/// updates that followed. An update without a Task before it begins one.
pub fn last_task(entries: &[Entry], role: &str) -> Option<TaskView> {
    let mut tasks: BTreeMap<String, (Option<Task>, Vec<u64>)> = BTreeMap::new();
    let mut last = None;
    for (entry, item) in answers(entries).filter(|(entry, _)| entry.hop.to == role) {
        let Some(id) = task_id(&item).map(str::to_owned) else {
            continue;
        };
        let (task, at) = tasks.entry(id.clone()).or_default();
        at.push(entry.seq);
        match task {
            Some(task) => task.apply(item),
            none => *none = Task::begun_by(item),
        }
        last = Some(id);
    }
    let (task, at) = tasks.remove(&last?)?;
    let task = to_value(&task?);
    Some(TaskView { task, at })
}

/// Returns the answers about the first task that was begun over a hop, in order; or the message that was sent
/// instead of a task.
pub fn first_on(entries: &[Entry], hop: &Hop) -> Vec<StreamResponse> {
    let mut items = answers(entries).filter(|(entry, _)| entry.hop == *hop).map(|(_, item)| item);
    let Some(first) = items.next() else {
        return Vec::new();
    };
    let id = task_id(&first).map(str::to_owned);
    let same = items.filter(|item| id.is_some() && task_id(item) == id.as_deref());
    let same: Vec<_> = same.collect();
    [vec![first], same].concat()
}

/// Returns the role of an agent with a task that was still running when it was last seen: neither over nor
/// waiting for another message.
pub fn still_running(entries: &[Entry]) -> Option<&str> {
    let mut running: BTreeMap<String, &str> = BTreeMap::new();
    for (entry, item) in answers(entries) {
        let (id, state) = match &item {
            StreamResponse::Task(task) => (&task.id, &task.status.state),
            StreamResponse::StatusUpdate(update) => (&update.task_id, &update.status.state),
            StreamResponse::ArtifactUpdate(_) | StreamResponse::Message(_) => continue,
        };
        match matches!(state, TaskState::Submitted | TaskState::Working) {
            true => running.insert(id.clone(), &entry.hop.to),
            false => running.remove(id),
        };
    }
    running.into_values().next()
}

/// Returns the role of an agent whose last task is in a state that A2A does not have, and the state as the agent wrote it. Everybody
/// else waits until such a task ends.
pub fn unknown_state(entries: &[Entry]) -> Option<(&str, String)> {
    let mut last = BTreeMap::new();
    for (entry, item) in answers(entries) {
        let state = match item {
            StreamResponse::Task(task) => task.status.state,
            StreamResponse::StatusUpdate(update) => update.status.state,
            StreamResponse::ArtifactUpdate(_) | StreamResponse::Message(_) => continue,
        };
        last.insert(entry.hop.to.as_str(), state);
    }
    last.into_iter().find_map(|(role, state)| match state {
        TaskState::Unknown(name) => Some((role, name.into())),
        _ => None,
    })
}

/// Returns the roles of the agents that sent a task, sorted by name.
pub fn roles_with_tasks(entries: &[Entry]) -> Vec<&str> {
    let with_task = answers(entries).filter(|(_, item)| task_id(item).is_some());
    let mut roles: Vec<&str> = with_task.map(|(entry, _)| entry.hop.to.as_str()).collect();
    roles.sort_unstable();
    roles.dedup();
    roles
}

fn answers(entries: &[Entry]) -> impl Iterator<Item = (&Entry, StreamResponse)> {
    entries.iter().filter_map(|entry| Some((entry, answer(entry)?)))
}

/// Returns the task, update or message in an answer; `None` if an entry is no answer of A2A.
pub fn answer(entry: &Entry) -> Option<StreamResponse> {
    if matches!(entry.content, Content::Request { .. }) {
        return None;
    }
    read(wire::payload(entry.content.body()?.json()?))
}

/// Parses an answer of any version: 0.2 and 0.3 name its kind, 1.0 wraps it; an answer with neither is from
/// 0.1, or the bare Task of 1.0. Returns `None` if it is none of A2A's answers.
fn read(answer: &Value) -> Option<StreamResponse> {
    let read = |version: Version| version.stream_item_to_v1(answer.clone()).ok();
    if answer.get("kind").is_some() {
        return read(Version::V0_3);
    }
    let bare = || Version::V1_0.task_to_v1(answer.clone()).ok().filter(is_of_1_0);
    read(Version::V1_0).or_else(|| bare().map(StreamResponse::Task)).or_else(|| read(Version::V0_1))
}

/// Returns whether a task is in 1.0 form. A task of 0.1 differs only in the names of its states.
fn is_of_1_0(task: &Task) -> bool {
    task.status.state.as_str().starts_with("TASK_STATE_")
}

fn task_id(item: &StreamResponse) -> Option<&str> {
    match item {
        StreamResponse::Task(task) => Some(&task.id),
        StreamResponse::StatusUpdate(update) => Some(&update.task_id),
        StreamResponse::ArtifactUpdate(update) => Some(&update.task_id),
        StreamResponse::Message(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    use crate::fixture::{Script, debate, event, result, rpc, stream};

    #[test]
    fn the_debates_judge_has_one_task_with_its_result() {
        let view = last_task(&debate(), "green").unwrap();
        assert_eq!(view.task["status"]["state"], "TASK_STATE_COMPLETED");
        assert_eq!(view.task["artifacts"][0]["name"], "Result");
        // The request, and every status that was replaced by a later one.
        assert_eq!(view.task["history"].as_array().unwrap().len(), 7);
        assert_eq!(view.at.len(), 9);
    }

    #[test]
    fn of_several_tasks_the_last_one_counts() {
        let task = last_task(&debate(), "pro_debater").unwrap().task;
        assert_eq!(task["artifacts"][0]["parts"], json!([{"text": "Mock argument 3."}]));
        assert_eq!(roles_with_tasks(&debate()), ["con_debater", "green", "pro_debater"]);
        assert!(last_task(&debate(), "nobody").is_none());
    }

    #[test]
    fn updates_build_a_task_in_every_generation() {
        let old = [
            json!({"id": "t", "status": {"state": "working"}, "final": false}),
            json!({"id": "t", "artifact": {"index": 0, "parts": [{"type": "text", "text": "a"}]}}),
            json!({"id": "t", "artifact": {"index": 0, "append": true, "parts": [{"type": "text", "text": "b"}]}}),
            json!({"id": "t", "status": {"state": "completed"}, "final": true}),
        ];
        let new = [
            json!({"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_WORKING"}}}),
            json!({"artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "0", "parts": [{"text": "a"}]}}}),
            json!({"artifactUpdate": {"taskId": "t", "append": true, "artifact": {"artifactId": "0", "parts": [{"text": "b"}]}}}),
            json!({"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_COMPLETED"}}}),
        ];
        for events in [old, new] {
            let mut script = Script::default();
            script.push("green -> purple", 1, rpc("SendStreamingMessage", json!({})));
            script.push("green -> purple", 1, stream());
            for said in events {
                script.push("green -> purple", 1, event(said));
            }
            let expected = json!({
                "id": "t", "status": {"state": "TASK_STATE_COMPLETED"},
                "artifacts": [{"artifactId": "0", "parts": [{"text": "ab"}]}],
            });
            let view = last_task(&script.entries, "purple").unwrap();
            assert_eq!(view, TaskView { task: expected, at: vec![3, 4, 5, 6] });
        }
    }

    #[test]
    fn the_first_task_of_a_hop_is_distinguished_from_concurrent_ones() {
        let mut script = Script::default();
        let task = |id: &str, state: &str| json!({"task": {"id": id, "status": {"state": state}}});
        script.push("purple -> green", 1, rpc("SendStreamingMessage", json!({})));
        script.push("purple -> green", 1, event(task("a", "TASK_STATE_WORKING")));
        let acknowledged = result(task("b", "TASK_STATE_COMPLETED"));
        script.exchange("purple -> green", [rpc("SendMessage", json!({})), acknowledged]);
        script.push("purple -> green", 1, event(task("a", "TASK_STATE_FAILED")));
        let items = first_on(&script.entries, &Hop::new("purple", "green"));
        let ids: Vec<_> = items.iter().map(|item| task_id(item).unwrap()).collect();
        assert_eq!(ids, ["a", "a"]);
        assert!(first_on(&script.entries, &Hop::new("green", "purple")).is_empty());
    }

    #[test]
    fn a_task_that_is_not_over_is_still_running() {
        let mut script = Script::default();
        for (id, state, expected) in [
            ("a", "TASK_STATE_SUBMITTED", Some("purple")),
            ("a", "TASK_STATE_INPUT_REQUIRED", None),
            ("b", "TASK_STATE_WORKING", Some("purple")),
            ("c", "TASK_STATE_COMPLETED", Some("purple")),
            ("b", "TASK_STATE_CANCELED", None),
        ] {
            let task = json!({"task": {"id": id, "status": {"state": state}}});
            script.exchange("green -> purple", [rpc("GetTask", json!({})), result(task)]);
            assert_eq!(still_running(&script.entries), expected, "{id} {state}");
        }
    }

    #[test]
    fn a_state_that_nobody_knows_is_named_until_another_follows() {
        let mut script = Script::default();
        let task = |state| json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": state}});
        for (state, expected) in [
            ("working", None),
            ("finished", Some(("purple", "finished".to_owned()))),
            ("completed", None),
        ] {
            script.exchange("green -> purple", [rpc("tasks/get", json!({})), result(task(state))]);
            assert_eq!(unknown_state(&script.entries), expected, "{state}");
        }
    }

    #[test]
    fn a_later_whole_task_replaces_what_updates_built() {
        let mut script = Script::default();
        let first = json!({"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}});
        let second = json!({"id": "t", "status": {"state": "TASK_STATE_FAILED"}});
        script.exchange("green -> purple", [rpc("SendMessage", json!({})), result(first)]);
        script.exchange("green -> purple", [rpc("GetTask", json!({})), result(second)]);
        let view = last_task(&script.entries, "purple").unwrap();
        assert_eq!(view.task["status"]["state"], "TASK_STATE_FAILED");
        assert_eq!(view.at, [2, 4]);
    }
}
