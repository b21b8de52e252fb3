//! Writes a task and its connection details as message parts.

use bridge_protocol::a2a::Part;
use mcp_tools::{connection::ConnectionDetails, environments::TaskInfo};
use serde_json::{Value, json};

use crate::scenario::episode::DetailsShape;

/// Returns the task as a part. With details as text it is a text, too, because some participants read nothing else, and some
/// refuse a message with data.
pub(super) fn task(info: &TaskInfo, shape: DetailsShape) -> Part {
    match shape {
        DetailsShape::Data | DetailsShape::Nested => Part::data(json!({
            "task_id": info.task_id,
            "benchmark": info.benchmark,
            "goal": info.goal,
        })),
        DetailsShape::Text => Part::text(format!("The goal: {}", info.goal)),
    }
}

/// Returns the connection details as parts in the form that `shape` names.
pub(super) fn details(details: &ConnectionDetails, shape: DetailsShape) -> Vec<Part> {
    match shape {
        DetailsShape::Data => vec![
            Part::data(details.to_mcp_servers()),
            Part::data(details.to_mcp_connection_details()),
        ],
        DetailsShape::Nested => vec![Part::data(json!({"data": plain(details)}))],
        DetailsShape::Text => vec![Part::text(format!(
            "Connect to the environment over MCP:\n\n{}",
            details.to_text()
        ))],
    }
}

/// Returns `transport` with `url` or `command` as one flat object.
fn plain(details: &ConnectionDetails) -> Value {
    let mut explicit = details.to_mcp_connection_details();
    explicit["mcp_connection_details"].take()
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::{Message, Role};
    use mcp_tools::{connection::find, secret::Secret};

    use super::*;

    #[test]
    fn every_shape_is_found_again() {
        let url = "http://127.0.0.1:4711/mcp".parse().unwrap();
        let mut given =
            ConnectionDetails::http("environment", url).with_bearer(&Secret::new("t-1"));
        given.episode_id = Some("e-1".to_owned());
        for shape in [DetailsShape::Data, DetailsShape::Nested, DetailsShape::Text] {
            let message = Message::new("m", Role::User, details(&given, shape));
            let found = find(&serde_json::to_value(message).unwrap());
            let found: Vec<_> = found.into_iter().map(Result::unwrap).collect();
            assert_eq!(found, [given.clone()], "{shape:?}");
        }
    }
}
