//! Acknowledges messages of the evaluator with an A2A message.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use async_trait::async_trait;
use bridge_client::{Client, new_message_id};
use bridge_protocol::a2a::{Message, Part, Role, SendMessageRequest};
use mcp_tools::{
    acknowledge::{ACKNOWLEDGE_EXTENSION, acknowledgement},
    context::{AcknowledgeError, Acknowledger},
};
use tokio::time::timeout;

use super::observed_task::ObservedTask;

/// The time limit of an acknowledgement.
const LIMIT: Duration = Duration::from_secs(10);

/// Sends acknowledgements in the evaluation's context, each as a turn of its own that refers to the task, so that
/// they arrive while the task is working.
pub(super) struct MessageAcknowledger {
    client: Arc<Client>,
    /// This reference is weak, because the observed task owns the context that owns this value.
    observed_task: Weak<ObservedTask>,
}

impl MessageAcknowledger {
    pub(super) fn new(client: Arc<Client>, observed_task: &Arc<ObservedTask>) -> Self {
        let observed_task = Arc::downgrade(observed_task);
        Self { client, observed_task }
    }

    /// Returns the acknowledgement, or `None` if the evaluation was dropped.
    fn message(&self, message_ids: &[String]) -> Option<Message> {
        let observed_task = self.observed_task.upgrade()?;
        let data = acknowledgement(message_ids.iter().map(String::as_str));
        let mut message = Message::new(new_message_id(), Role::User, vec![Part::data(data)]);
        message.extensions.push(ACKNOWLEDGE_EXTENSION.to_owned());
        message.context_id = observed_task.context_id();
        message.reference_task_ids.extend(observed_task.task_id());
        Some(message)
    }
}

#[async_trait]
impl Acknowledger for MessageAcknowledger {
    async fn acknowledge(&self, message_ids: &[String]) -> Result<(), AcknowledgeError> {
        let not_taken = |reason| AcknowledgeError::NotTaken(reason);
        let message = self.message(message_ids);
        let message = message.ok_or_else(|| not_taken("the evaluation is over".to_owned()))?;
        let request = SendMessageRequest::new(message);
        match timeout(LIMIT, self.client.send_message(request)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(not_taken(error.to_string())),
            Err(_) => Err(not_taken(format!("no answer within {LIMIT:?}"))),
        }
    }
}
