//! The agent as an A2A client: it asks an evaluator, the Green agent, for an evaluation.
//!
//! [`submit_evaluation_request`] says "ready for evaluation" and collects all messages that come, at once
//! and while the agent works, in `incoming_messages`. [`Evaluation`] follows the Green agent's task to its
//! end.

mod acknowledge;
mod evaluation;
mod follow;
mod observed_task;

use std::{sync::Arc, time::Duration};

use bridge_client::{Client, ClientError};
use bridge_protocol::a2a::{Message, Part, Role, SendMessageRequest};
use mcp_tools::{
    acknowledge::ACKNOWLEDGE_EXTENSION,
    connection::{self, ConnectionDetails},
    context::AgentContext,
};
use serde_json::{Value, json};
use tokio::time::timeout;
use url::Url;

pub use evaluation::Evaluation;

use crate::{agent::Listener, clock};
use acknowledge::ByMessage;
use follow::{follow, say};
use observed_task::ObservedTask;

/// How an evaluation is asked for.
#[derive(Clone, Debug)]
pub struct RequestSettings {
    /// What is said.
    pub text: String,
    /// How long is waited for the first message.
    pub wait: Duration,
    /// The request is answered when messages pause for so long, even if none had connection details.
    pub pause: Duration,
    /// How A2A is spoken.
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

/// What a request for an evaluation was answered with, so far.
#[derive(Debug)]
pub struct Submission {
    /// All messages, statuses' and artifacts among them, as JSON and in the order in which they came.
    pub messages: Vec<Value>,
    /// The newest connection details in them.
    pub mcp_connection_details: Option<ConnectionDetails>,
    /// The evaluation, which goes on.
    pub evaluation: Evaluation,
}

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The Green agent could not be spoken to.
    #[error("green: {0}")]
    Green(#[from] ClientError),
    /// Its answer broke off before anything was said.
    #[error("green at {green} said nothing: {reason}")]
    Broken {
        /// Where it is.
        green: Url,
        /// What happened.
        reason: String,
    },
    /// It said nothing in time.
    #[error("green at {green} sent no message within {limit:?}")]
    NoMessage {
        /// Where it is.
        green: Url,
        /// The limit.
        limit: Duration,
    },
}

impl Submission {
    /// As JSON: `{"messages": [..], "mcp_connection_details": {..} | null}`, secrets
    /// as they are.
    pub fn to_json(&self) -> Value {
        let details = self.mcp_connection_details.as_ref();
        let details = details.map(|details| details.to_mcp_connection_details());
        let details = details.map(|mut details| details["mcp_connection_details"].take());
        json!({"messages": self.messages, "mcp_connection_details": details})
    }
}

/// Asks the Green agent at `green` for an evaluation, and waits until it is known how to reach the MCP
/// server, or the messages pause or end. Messages that come later go to the context all the same, as
/// long as the [`Evaluation`] is kept.
///
/// # Errors
/// If the Green agent cannot be spoken to, or says nothing.
pub async fn submit_evaluation_request(
    green: &Url,
    context: &AgentContext,
    settings: &RequestSettings,
    listener: Listener,
) -> Result<Submission, RequestError> {
    let client = Arc::new(Client::connect(green, &settings.a2a).await?);
    let observed_task = Arc::new(ObservedTask::new(context.clone(), listener));
    if acknowledges(&client) {
        let by_message = ByMessage::new(client.clone(), &observed_task);
        context.set_acknowledger(Arc::new(by_message));
    }
    let request = request(&client, &settings.text);
    let events = say(&client, request, &observed_task).await?;
    let following = tokio::spawn(follow(client.clone(), events, observed_task.clone()));
    let evaluation = Evaluation::new(client, observed_task, following);
    first_messages(green, context, settings, &evaluation).await?;
    let received = context.incoming_messages().history();
    Ok(Submission {
        messages: received.into_iter().map(|one| one.message).collect(),
        mcp_connection_details: newest_details(context),
        evaluation,
    })
}

/// Waits for the messages that the work begins with.
async fn first_messages(
    green: &Url,
    context: &AgentContext,
    settings: &RequestSettings,
    evaluation: &Evaluation,
) -> Result<(), RequestError> {
    let inbox = context.incoming_messages();
    loop {
        let newest = inbox.newest();
        if newest > 0 && newest_details(context).is_some() {
            return Ok(());
        }
        let limit = if newest == 0 {
            settings.wait
        } else {
            settings.pause
        };
        let more = async {
            tokio::select! {
                biased;
                () = inbox.beyond(newest) => true,
                () = evaluation.quiet() => inbox.newest() > newest,
            }
        };
        match timeout(limit, more).await {
            Ok(true) => {}
            Ok(false) | Err(_) if newest > 0 => return Ok(()),
            Ok(false) => return Err(evaluation.silence(green)),
            Err(_) => {
                let green = green.clone();
                return Err(RequestError::NoMessage { green, limit });
            }
        }
    }
}

/// The newest details that can be read.
fn newest_details(context: &AgentContext) -> Option<ConnectionDetails> {
    let received = context.incoming_messages().history();
    let newest_first = received.iter().rev();
    let details = |message: &Value| {
        connection::find(message)
            .into_iter()
            .rev()
            .find_map(Result::ok)
    };
    newest_first
        .map(|one| details(&one.message))
        .find_map(|found| found)
}

fn acknowledges(client: &Client) -> bool {
    let extensions = &client.card().capabilities.extensions;
    extensions
        .iter()
        .any(|one| one.uri == ACKNOWLEDGE_EXTENSION)
}

/// What is said first. An answer that is no stream is wanted at once: the evaluation goes on after it.
fn request(client: &Client, text: &str) -> SendMessageRequest {
    let mut message = Message::new(clock::new_id(), Role::User, vec![Part::text(text)]);
    if acknowledges(client) {
        message.extensions.push(ACKNOWLEDGE_EXTENSION.to_owned());
    }
    let request = SendMessageRequest::new(message);
    match client.card().capabilities.streams() {
        true => request,
        false => request.returning_immediately(),
    }
}
