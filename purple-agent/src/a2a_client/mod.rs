//! The agent as an A2A client: it requests an evaluation from an evaluator, the Green agent.
//!
//! [`submit_evaluation_request`] sends "ready for evaluation" and collects all messages of the evaluator in
//! `incoming_messages`, those that arrive later while the agent works included. [`Evaluation`] follows the Green
//! agent's task to its end.

mod acknowledge;
mod evaluation;
mod observed_task;

use std::{sync::Arc, time::Duration};

use bridge_client::{Client, ClientError, new_message_id};
use bridge_protocol::a2a::{Message, Part, Role, SendMessageRequest};
use mcp_tools::{
    acknowledge::ACKNOWLEDGE_EXTENSION, connection::ConnectionDetails, context::AgentContext,
};
use serde_json::{Value, json};
use tokio::time::timeout;
use url::Url;

pub use evaluation::Evaluation;

use crate::agent::Listener;
use acknowledge::MessageAcknowledger;
use observed_task::ObservedTask;

/// The settings of a request for an evaluation.
#[derive(Clone, Debug)]
pub struct RequestSettings {
    /// The text of the request.
    pub text: String,
    /// The time limit for the first message.
    pub wait: Duration,
    /// The pause after which the first messages are considered complete, even if none had connection details.
    pub pause: Duration,
    /// The options of the A2A client.
    pub a2a: bridge_client::Options,
}

impl Default for RequestSettings {
    fn default() -> Self {
        Self {
            text: "ready for evaluation".to_owned(),
            wait: Duration::from_secs(60),
            pause: Duration::from_secs(2),
            a2a: bridge_client::Options::default(),
        }
    }
}

/// The messages that an evaluator has sent so far.
#[derive(Debug)]
pub struct Submission {
    /// All messages in the order of their arrival, as JSON; messages of statuses and artifacts included.
    pub messages: Vec<Value>,
    /// The newest connection details in the messages.
    pub mcp_connection_details: Option<ConnectionDetails>,
    /// The evaluation, which continues.
    pub evaluation: Evaluation,
}

/// The reason why a request failed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum RequestError {
    /// The communication with the Green agent failed.
    #[error("green: {0}")]
    Green(ClientError),
    /// The answer ended before any message arrived.
    #[error("green at {green} sent nothing: {reason}")]
    Broken { green: Url, reason: String },
    /// No message arrived within the limit.
    #[error("green at {green} sent no message within {limit:?}")]
    NoMessage { green: Url, limit: Duration },
}

impl Submission {
    /// Returns `{"messages": [..], "mcp_connection_details": {..} | null}` with secrets in clear.
    pub fn to_json(&self) -> Value {
        let details = self.mcp_connection_details.as_ref();
        let details = details.map(|details| details.to_mcp_connection_details());
        let details = details.map(|mut details| details["mcp_connection_details"].take());
        json!({"messages": self.messages, "mcp_connection_details": details})
    }
}

/// Requests an evaluation from the Green agent at `green`, and waits until connection details arrive, or the
/// messages pause or end. Later messages are added to the context as long as the [`Evaluation`] is alive.
///
/// # Errors
/// If the communication with the Green agent fails, or no message arrives.
pub async fn submit_evaluation_request(
    green: &Url,
    context: &AgentContext,
    settings: &RequestSettings,
    listener: Listener,
) -> Result<Submission, RequestError> {
    let client = Client::connect(green, &settings.a2a).await.map_err(RequestError::Green)?;
    let client = Arc::new(client);
    let observed_task = Arc::new(ObservedTask::new(context.clone(), listener));
    if acknowledges(&client) {
        let by_message = MessageAcknowledger::new(client.clone(), &observed_task);
        context.set_acknowledger(Arc::new(by_message));
    }
    let request = request(&client, &settings.text);
    let evaluation = Evaluation::begin(client, observed_task, request).await;
    let evaluation = evaluation.map_err(RequestError::Green)?;
    first_messages(green, context, settings, &evaluation).await?;
    let received = context.incoming_messages().history();
    Ok(Submission {
        messages: received.into_iter().map(|one| one.message).collect(),
        mcp_connection_details: context.received_connection_details(),
        evaluation,
    })
}

/// Waits for the messages that the work needs at its beginning.
async fn first_messages(
    green: &Url,
    context: &AgentContext,
    settings: &RequestSettings,
    evaluation: &Evaluation,
) -> Result<(), RequestError> {
    let inbox = context.incoming_messages();
    loop {
        let newest = inbox.newest();
        if newest > 0 && context.received_connection_details().is_some() {
            return Ok(());
        }
        let limit = if newest == 0 { settings.wait } else { settings.pause };
        match timeout(limit, evaluation.has_more(context, newest)).await {
            Ok(true) => {}
            Ok(false) | Err(_) if newest > 0 => return Ok(()),
            Ok(false) => return Err(evaluation.no_message_error(green)),
            Err(_) => return Err(RequestError::NoMessage { green: green.clone(), limit }),
        }
    }
}

fn acknowledges(client: &Client) -> bool {
    let extensions = &client.card().capabilities.extensions;
    extensions.iter().any(|one| one.uri == ACKNOWLEDGE_EXTENSION)
}

/// Returns the first message. If the server does not stream, it asks for an immediate answer, because the
/// evaluation continues after it.
fn request(client: &Client, text: &str) -> SendMessageRequest {
    let mut message = Message::new(new_message_id(), Role::User, vec![Part::text(text)]);
    if acknowledges(client) {
        message.extensions.push(ACKNOWLEDGE_EXTENSION.to_owned());
    }
    let request = SendMessageRequest::new(message);
    if client.card().capabilities.streams() { request } else { request.returning_immediately() }
}
