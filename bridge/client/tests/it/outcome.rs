//! Tests of the place in which an answer is found.

use bridge_client::invocation::Outcome;
use bridge_protocol::{a2a::Task, wire::Wire as _};
use serde_json::json;

/// Agents on agno answer so, without the user's message.
#[test]
fn an_answer_may_be_in_the_history_alone() {
    let message =
        |id, role, text| json!({"messageId": id, "role": role, "parts": [{"text": text}]});
    let old = message("1", "ROLE_AGENT", "Which one?");
    let asked = message("2", "ROLE_USER", "The red one.");
    let said = message("3", "ROLE_AGENT", "It is sold.");
    for history in [json!([said]), json!([old, asked, said])] {
        let task = json!({"id": "t", "contextId": "c", "history": history,
            "status": {"state": "TASK_STATE_COMPLETED"}});
        let outcome = Outcome::from(Task::read(task).unwrap());
        assert_eq!(outcome.text, "It is sold.");
    }
}
