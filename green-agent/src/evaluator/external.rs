//! Calls a green agent: sends it AgentBeats' assessment request and reads its task to the end.

use bridge_client::{Client, ClientError, Options, new_message_id};
use bridge_protocol::a2a::{Message, Role, SendMessageRequest};
use url::Url;

use super::{Evaluation, EvaluationError, Listener, collect::Collected};
use crate::assessment::Assessment;

/// Asks the green agent in this role at `url` to assess the participants.
pub(super) async fn assess(
    evaluation: &Evaluation<'_>,
    role: &str,
    url: &Url,
    listener: &Listener,
) -> Result<Assessment, EvaluationError> {
    let collected = ask(evaluation, role, url, listener).await.map_err(EvaluationError::Green)?;
    Ok(collected.into_assessment())
}

async fn ask(
    evaluation: &Evaluation<'_>,
    role: &str,
    url: &Url,
    listener: &Listener,
) -> Result<Collected, ClientError> {
    let options = Options {
        limits: evaluation.limits(),
        grpc_meter: Some(evaluation.meter(role)),
        ..Options::default()
    };
    let client = Client::connect(url, &options).await?;
    let request = request(evaluation);
    let streams = client.card().capabilities.streams();
    let mut collected = Collected::default();
    let hear = |_: &Collected, text: Option<String>| text.iter().for_each(|text| listener(text));
    collected.say(&client, request, streams, hear).await?;
    Ok(collected)
}

/// Returns the request in the form that every AgentBeats green agent understands: one text part that holds
/// JSON.
fn request(evaluation: &Evaluation<'_>) -> SendMessageRequest {
    let request = evaluation.request(evaluation.config.clone());
    SendMessageRequest::new(Message::new(new_message_id(), Role::User, vec![request.part()]))
}
