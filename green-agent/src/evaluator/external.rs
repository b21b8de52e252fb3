//! A Green agent somewhere: it is sent AgentBeats' assessment request and listened to.

use bridge_client::{Client, ClientError, Options};
use bridge_protocol::a2a::{Message, Role, SendMessageRequest};
use futures_util::StreamExt as _;
use url::Url;
use uuid::Uuid;

use super::{Evaluation, EvaluationError, Listener, collect::Collected};
use crate::assessment::Assessment;

/// Asks the green agent at `url` to assess the participants.
pub(super) async fn assess(
    evaluation: &Evaluation<'_>,
    url: &Url,
    listener: &Listener,
) -> Result<Assessment, EvaluationError> {
    let collected = ask(evaluation, url, listener)
        .await
        .map_err(EvaluationError::Green)?;
    Ok(collected.into_assessment())
}

async fn ask(
    evaluation: &Evaluation<'_>,
    url: &Url,
    listener: &Listener,
) -> Result<Collected, ClientError> {
    let options = Options {
        limits: evaluation.limits(),
        ..Options::default()
    };
    let client = Client::connect(url, &options).await?;
    let request = request(evaluation);
    let mut collected = Collected::default();
    let hear = |text: Option<String>| text.iter().for_each(|text| listener(text));
    if client.card().capabilities.streams() {
        let mut events = client.send_streaming_message(request).await?;
        while let Some(item) = events.next().await {
            hear(collected.take(item?));
        }
    } else {
        hear(collected.take(client.send_message(request).await?.into()));
    }
    collected.settle(&client, |text| listener(text)).await?;
    Ok(collected)
}

/// The request as every AgentBeats green agent knows it: one text part that holds JSON.
fn request(evaluation: &Evaluation<'_>) -> SendMessageRequest {
    let request = evaluation.request(evaluation.config.clone());
    #[expect(
        clippy::disallowed_methods,
        reason = "the evaluator drives the conversation"
    )]
    let id = Uuid::new_v4().to_string();
    SendMessageRequest::new(Message::new(id, Role::User, vec![request.part()]))
}
