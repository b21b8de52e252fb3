//! Maps HTTP paths to A2A operations and agent cards.
//!
//! Paths are read from their end, because they may follow a base path, a tenant or 0.3's `/v1`.

use bridge_protocol::dialect::places;

/// Returns whether a request fetches an agent card, from a path of any version.
pub fn is_card(method: &str, path: &str) -> bool {
    method == "GET" && places::is_one(bare(path))
}

/// Returns the operation that a REST request asks for, by its name in A2A 1.0; 0.1's bare requests keep their
/// method's name. `None` if it is no A2A operation.
pub fn operation(method: &str, path: &str) -> Option<&'static str> {
    let segments: Vec<&str> = bare(path).split('/').filter(|s| !s.is_empty()).collect();
    let operation = match (method, segments.as_slice()) {
        ("POST", [.., "message:send"]) => "SendMessage",
        ("POST", [.., "message:stream"]) => "SendStreamingMessage",
        ("POST", [.., "tasks", "send"]) => "tasks/send",
        ("POST", [.., "tasks", "sendSubscribe"]) => "tasks/sendSubscribe",
        ("GET", [.., "extendedAgentCard"] | [.., "v1", "card"]) => "GetExtendedAgentCard",
        ("POST", [.., "tasks", _, CONFIGS]) => "CreateTaskPushNotificationConfig",
        ("GET", [.., "tasks", _, CONFIGS]) => "ListTaskPushNotificationConfigs",
        ("GET", [.., "tasks", _, CONFIGS, _]) => "GetTaskPushNotificationConfig",
        ("DELETE", [.., "tasks", _, CONFIGS, _]) => "DeleteTaskPushNotificationConfig",
        (_, [.., "tasks", id]) => return of_task(method, id),
        ("GET", [.., "tasks"]) => "ListTasks",
        _ => return None,
    };
    Some(operation)
}

const CONFIGS: &str = "pushNotificationConfigs";

fn of_task(method: &str, id: &str) -> Option<&'static str> {
    match (method, id.rsplit_once(':').map(|(_, verb)| verb)) {
        ("POST", Some("cancel")) => Some("CancelTask"),
        ("GET" | "POST", Some("subscribe")) => Some("SubscribeToTask"),
        ("GET", _) => Some("GetTask"),
        _ => None,
    }
}

/// Returns the id of the task that a REST path names.
pub fn task_id(path: &str) -> Option<&str> {
    let mut segments = bare(path).split('/').skip_while(|s| *s != "tasks").skip(1);
    let segment = segments.next().filter(|segment| !segment.is_empty())?;
    let id = segment.strip_suffix(":cancel").or_else(|| segment.strip_suffix(":subscribe"));
    Some(id.unwrap_or(segment))
}

fn bare(path: &str) -> &str {
    path.split(['?', '#']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_known_by_method_and_path() {
        let cases = [
            ("POST", "/message:send", Some("SendMessage")),
            ("POST", "/a2a/bot/v1/message:stream", Some("SendStreamingMessage")),
            ("POST", "/tenant/message:send?A2A-Version=1.0", Some("SendMessage")),
            ("GET", "/tasks", Some("ListTasks")),
            ("GET", "/v1/tasks/7?historyLength=2", Some("GetTask")),
            ("POST", "/tasks/7:cancel", Some("CancelTask")),
            ("GET", "/tasks/7:subscribe", Some("SubscribeToTask")),
            ("POST", "/tasks/7:subscribe", Some("SubscribeToTask")),
            ("POST", "/tasks/7/pushNotificationConfigs", Some("CreateTaskPushNotificationConfig")),
            ("GET", "/tasks/7/pushNotificationConfigs", Some("ListTaskPushNotificationConfigs")),
            ("GET", "/tasks/7/pushNotificationConfigs/1", Some("GetTaskPushNotificationConfig")),
            (
                "DELETE",
                "/tasks/7/pushNotificationConfigs/1",
                Some("DeleteTaskPushNotificationConfig"),
            ),
            ("GET", "/extendedAgentCard", Some("GetExtendedAgentCard")),
            ("GET", "/v1/card", Some("GetExtendedAgentCard")),
            ("POST", "/a2a/tasks/send", Some("tasks/send")),
            ("POST", "/", None),
            ("DELETE", "/tasks/7", None),
            ("GET", "/metrics", None),
        ];
        for (method, path, expected) in cases {
            assert_eq!(operation(method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn cards_and_task_ids_are_found_in_paths() {
        assert!(is_card("GET", "/a2a/echo/.well-known/agent-card.json"));
        assert!(is_card("GET", "/agent.json"));
        assert!(is_card("GET", "/agent-card"));
        assert!(!is_card("POST", "/.well-known/agent.json"));
        assert_eq!(task_id("/v1/tasks/7:cancel?x=1"), Some("7"));
        assert_eq!(task_id("/tasks/7/pushNotificationConfigs"), Some("7"));
        assert_eq!(task_id("/tasks"), None);
    }
}
