//! Merges metadata into that of a task, which keeps the newest activities of its bot that are not messages.

use bridge_protocol::a2a::{Metadata, Task};
use bridge_translate::{
    events,
    keys::{EVENT, EVENTS},
};
use serde_json::Value;

use super::size;

/// The largest number of activities that a task keeps, and their largest size in bytes.
const MAX_ACTIVITIES: usize = 32;
const MAX_BYTES: usize = 64 << 10;

/// Merges metadata into the task's.
pub(super) fn merge(task: &mut Task, news: Metadata) {
    if news.is_empty() {
        return;
    }
    let metadata = task.metadata.get_or_insert_default();
    let kept_activities = match news.contains_key(EVENT) {
        true => kept_activities(metadata, &news),
        false => Vec::new(),
    };
    metadata.extend(news);
    // A single activity that is also the last one is not stored twice.
    let last = metadata.get(EVENT).map(std::slice::from_ref);
    if !kept_activities.is_empty() && last != Some(&*kept_activities) {
        metadata.insert(EVENTS.into(), kept_activities.into());
    }
}

/// Removes the kept activities from the metadata, and returns them with the new one, within the limits.
fn kept_activities(metadata: &mut Metadata, news: &Metadata) -> Vec<Value> {
    let mut all = match metadata.remove(EVENTS) {
        Some(Value::Array(all)) => all,
        Some(_) | None => events::reported(metadata).cloned().into_iter().collect(),
    };
    all.extend(events::reported(news).cloned());
    let mut room = MAX_BYTES;
    let fits = |event: &&Value| {
        let left = room.checked_sub(size::value(event));
        left.inspect(|left| room = *left).is_some()
    };
    let newest = all.iter().rev().take(MAX_ACTIVITIES);
    let kept = newest.take_while(fits).count();
    all.split_off(all.len() - kept)
}

#[cfg(test)]
mod tests {
    use bridge_protocol::{a2a::Task, wire::Wire as _};
    use serde_json::json;

    use super::*;

    fn task(news: impl IntoIterator<Item = Value>) -> Value {
        let status = json!({"state": "TASK_STATE_WORKING"});
        let task = json!({"id": "t", "contextId": "c", "status": status});
        let mut task = Task::read(task).unwrap();
        for event in news {
            let news = json!({ EVENT: event });
            merge(&mut task, news.as_object().unwrap().clone());
        }
        task.metadata.unwrap_or_default().into()
    }

    #[test]
    fn a_task_keeps_activities_that_are_not_messages() {
        let event = |name: &str| json!({"type": "event", "name": name});
        let update = json!({"type": "messageUpdate"});
        let (a, b) = (event("a"), event("b"));
        for (news, expected) in [
            (vec![], json!({})),
            (vec![a.clone()], json!({ EVENT: a })),
            (vec![a.clone(), b.clone()], json!({EVENT: b, EVENTS: [a, b]})),
            (vec![a.clone(), update.clone()], json!({EVENT: update, EVENTS: [a]})),
            (vec![update.clone(), a.clone(), update, b.clone()], json!({EVENT: b, EVENTS: [a, b]})),
        ] {
            assert_eq!(task(news.clone()), expected, "{news:?}");
        }
    }

    #[test]
    fn the_kept_activities_are_limited() {
        let event = |number: usize, value: &str| json!({"type": "event", "name": number.to_string(), "value": value});
        let many = task((0..100).map(|number| event(number, "")));
        let all = many[EVENTS].as_array().unwrap();
        assert_eq!((all.len(), &all[0]), (MAX_ACTIVITIES, &event(68, "")));
        let large = "x".repeat(MAX_BYTES / 3);
        let large = task((0..9).map(|number| event(number, &large)));
        assert_eq!(large[EVENTS].as_array().unwrap().len(), 2);
        let huge = "x".repeat(MAX_BYTES);
        let huge = task((0..9).map(|number| event(number, &huge)));
        assert_eq!((&huge[EVENTS], &huge[EVENT]["name"]), (&Value::Null, &json!("8")));
    }
}
