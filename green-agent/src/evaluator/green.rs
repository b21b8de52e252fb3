//! Gets the assessment of a green agent: calls it, or reads from the transcript what it told a participant that called it.

use std::time::Duration;

use bridge_client::{Client, ClientError, Options, new_message_id};
use bridge_protocol::a2a::{Message, Role, SendMessageRequest};
use tokio::time::timeout;
use url::Url;

use super::{Evaluation, EvaluationError, Listener, collect::Collected};
use crate::{
    assessment::Assessment,
    transcript::{Entry, Hop, task},
};

/// The time within which a green agent must notice that its participant is gone.
const NOTICED_WITHIN: Duration = Duration::from_secs(10);

/// Sends the green agent in this role at `url` AgentBeats' assessment request, and reads its task to the end.
pub(super) async fn assess(
    evaluation: &Evaluation<'_>,
    role: &str,
    url: &Url,
    listener: &Listener,
) -> Result<Assessment, ClientError> {
    let options = Options {
        limits: evaluation.limits(),
        grpc_meter: Some(evaluation.meter(role)),
        ..Options::default()
    };
    let client = Client::connect(url, &options).await?;
    let parts = vec![evaluation.request(evaluation.config.clone()).part()];
    let request = SendMessageRequest::new(Message::new(new_message_id(), Role::User, parts));
    let streams = client.card().capabilities.streams();
    let mut collected = Collected::default();
    let hear = |_: &Collected, text: Option<String>| text.iter().for_each(|text| listener(text));
    collected.say(&client, request, streams, hear).await?;
    Ok(collected.into_assessment())
}

/// Reads the task of an evaluation that a participant asked for from the transcript. If it was still open there, asks the
/// green agent for its final state.
pub(super) async fn recorded(
    evaluation: &Evaluation<'_>,
    role: &str,
    how: &str,
    entries: &[Entry],
) -> Result<Assessment, EvaluationError> {
    let mut collected = Collected::default();
    for item in task::first_on(entries, &Hop::new(role, "green")) {
        collected.take(item);
    }
    if collected.task.is_none() && collected.message.is_none() {
        let (role, how) = (role.to_owned(), how.to_owned());
        return Err(EvaluationError::NotAsked { role, how });
    }
    if let (false, Some(url)) = (collected.is_settled(), &evaluation.green_url) {
        let options = Options { limits: evaluation.limits(), ..Options::default() };
        let asking = async {
            let client = Client::connect(url, &options).await?;
            collected.settle(&client, |_, _| ()).await
        };
        // If the green agent does not notice, only the transcript is left: its task is not completed.
        if let Ok(asked) = timeout(NOTICED_WITHIN, asking).await {
            asked.map_err(EvaluationError::Green)?;
        }
    }
    Ok(collected.into_assessment())
}
