//! Acknowledges messages of a calling evaluator, in a status of the agent's task.

use async_trait::async_trait;
use bridge::executor::{TaskHandle, Update};
use bridge_client::new_message_id;
use bridge_protocol::a2a::{Message, Part, Role, TaskState};
use mcp_tools::{
    acknowledge::{ACKNOWLEDGE_EXTENSION, acknowledgement},
    context::{AcknowledgeError, Acknowledger},
};

/// Returns whether the sender of a message wants an acknowledgement.
pub(super) fn is_wanted(message: &Message) -> bool {
    message.extensions.iter().any(|uri| uri == ACKNOWLEDGE_EXTENSION)
}

/// Acknowledges messages in a status of this task.
pub(super) struct StatusAcknowledger(pub(super) TaskHandle);

#[async_trait]
impl Acknowledger for StatusAcknowledger {
    async fn acknowledge(&self, message_ids: &[String]) -> Result<(), AcknowledgeError> {
        let data = acknowledgement(message_ids.iter().map(String::as_str));
        let mut message = Message::new(new_message_id(), Role::Agent, vec![Part::data(data)]);
        message.extensions = vec![ACKNOWLEDGE_EXTENSION.to_owned()];
        let update =
            Update::Status { state: TaskState::Working, message: Some(message), metadata: None };
        let emitted = self.0.emit(vec![update]).await;
        emitted.map_err(|error| AcknowledgeError::NotTaken(error.to_string()))
    }
}
