//! Tasks as they stood at a transcript's end, put together from everything an agent said about them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    Entry, upgrade,
    wire::{self, Said},
};

/// A task and where it was seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskView {
    /// The task in A2A 1.0 form.
    pub task: Value,
    /// The `seq` of each entry that showed or changed it.
    pub at: Vec<u64>,
}

/// The task that the agent in a role spoke of last: the last whole Task that it sent, with the status
/// and artifact updates that came after. An update without a Task before it begins one.
pub fn last_task(entries: &[Entry], role: &str) -> Option<TaskView> {
    let mut tasks: BTreeMap<String, TaskView> = BTreeMap::new();
    let mut last = None;
    for (entry, said) in answers(entries).filter(|(entry, _)| entry.hop.to == role) {
        let Some(id) = task_id(said) else { continue };
        let view = tasks.entry(id.clone()).or_default();
        view.at.push(entry.seq);
        apply(&mut view.task, &id, said);
        last = Some(id);
    }
    tasks.remove(&last?)
}

/// The roles of the agents that showed a task, in order of their names.
pub fn roles_with_tasks(entries: &[Entry]) -> Vec<&str> {
    let with_task = answers(entries).filter(|(_, said)| task_id(*said).is_some());
    let mut roles: Vec<&str> = with_task.map(|(entry, _)| entry.hop.to.as_str()).collect();
    roles.sort_unstable();
    roles.dedup();
    roles
}

fn answers(entries: &[Entry]) -> impl Iterator<Item = (&Entry, Said<'_>)> {
    entries.iter().filter_map(|entry| {
        if matches!(entry.content, super::Content::Request { .. }) {
            return None;
        }
        let said = wire::said(entry.content.body()?.json()?)?;
        Some((entry, said))
    })
}

fn task_id(said: Said<'_>) -> Option<String> {
    let id = match said {
        Said::Task(task) => task.get("id"),
        Said::Status(update) | Said::Artifact(update) => {
            update.get("taskId").or_else(|| update.get("id"))
        }
        Said::Message(_) => None,
    };
    id?.as_str().map(str::to_owned)
}

fn apply(task: &mut Value, id: &str, said: Said<'_>) {
    if let Said::Task(whole) = said {
        *task = upgrade::task(whole);
        return;
    }
    if !task.is_object() {
        *task = json!({"id": id});
    }
    let Value::Object(task) = task else { return };
    match said {
        Said::Status(update) => apply_status(task, update),
        Said::Artifact(update) => apply_artifact(task, update),
        Said::Task(_) | Said::Message(_) => {}
    }
}

/// The message of the status that is replaced goes to the history, so that nothing said is lost.
fn apply_status(task: &mut Map<String, Value>, update: &Value) {
    adopt_context(task, update);
    let new = update.get("status").map(upgrade::status);
    let old = task.insert("status".to_owned(), new.unwrap_or_default());
    let message = old.and_then(|mut old| Some(old.get_mut("message")?.take()));
    if let Some(message) = message.filter(|message| !message.is_null()) {
        let history = list(task, "history");
        if !history.contains(&message) {
            history.push(message);
        }
    }
}

/// Parts of an `append` are added to the artifact of the same id; without it they replace it.
fn apply_artifact(task: &mut Map<String, Value>, update: &Value) {
    adopt_context(task, update);
    let Some(wire) = update.get("artifact") else {
        return;
    };
    // 0.1 has `append` inside the artifact.
    let append = update.get("append").or_else(|| wire.get("append")) == Some(&json!(true));
    let mut new = upgrade::artifact(wire);
    let artifacts = list(task, "artifacts");
    let old = artifacts
        .iter_mut()
        .find(|old| old.get("artifactId") == new.get("artifactId"));
    match old {
        Some(old) if append => extend_parts(old, &mut new),
        Some(old) => *old = new,
        None => artifacts.push(new),
    }
}

fn extend_parts(artifact: &mut Value, more: &mut Value) {
    if let (Some(parts), Some(more)) = (
        artifact.get_mut("parts").and_then(Value::as_array_mut),
        more.get_mut("parts").and_then(Value::as_array_mut),
    ) {
        parts.append(more);
    }
}

fn adopt_context(task: &mut Map<String, Value>, update: &Value) {
    if let Some(context) = update.get("contextId") {
        task.entry("contextId").or_insert_with(|| context.clone());
    }
}

fn list<'a>(task: &'a mut Map<String, Value>, key: &str) -> &'a mut Vec<Value> {
    let member = task.entry(key).or_insert_with(|| json!([]));
    if !member.is_array() {
        *member = json!([]);
    }
    member.as_array_mut().expect("it was made an array above")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::fixture::{Script, debate, event, result, rpc, stream};

    #[test]
    fn the_debates_judge_has_one_task_with_its_result() {
        let view = last_task(&debate(), "green").unwrap();
        assert_eq!(view.task["status"]["state"], "TASK_STATE_COMPLETED");
        assert_eq!(view.task["artifacts"][0]["name"], "Result");
        // The request, and every status that another one replaced.
        assert_eq!(view.task["history"].as_array().unwrap().len(), 7);
        assert_eq!(view.at.len(), 9);
    }

    #[test]
    fn of_several_tasks_the_last_one_counts() {
        let task = last_task(&debate(), "pro_debater").unwrap().task;
        assert_eq!(
            task["artifacts"][0]["parts"],
            json!([{"text": "Mock argument 3."}])
        );
        assert_eq!(
            roles_with_tasks(&debate()),
            ["con_debater", "green", "pro_debater"]
        );
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
                "artifacts": [{"artifactId": "0", "parts": [{"text": "a"}, {"text": "b"}]}],
            });
            let view = last_task(&script.entries, "purple").unwrap();
            assert_eq!(
                view,
                TaskView {
                    task: expected,
                    at: vec![3, 4, 5, 6]
                }
            );
        }
    }

    #[test]
    fn a_later_whole_task_replaces_what_updates_built() {
        let mut script = Script::default();
        let first = json!({"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}});
        let second = json!({"id": "t", "status": {"state": "TASK_STATE_FAILED"}});
        script.exchange(
            "green -> purple",
            [rpc("SendMessage", json!({})), result(first)],
        );
        script.exchange(
            "green -> purple",
            [rpc("GetTask", json!({})), result(second)],
        );
        let view = last_task(&script.entries, "purple").unwrap();
        assert_eq!(view.task["status"]["state"], "TASK_STATE_FAILED");
        assert_eq!(view.at, [2, 4]);
    }
}
