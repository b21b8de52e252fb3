//! Evaluates a participant that the evaluator calls. As AgentBeats' green agents do, it sends one message
//! with the task and the connection details, and waits until the participant's task has ended.

use std::{collections::BTreeSet, time::Duration};

use bridge_client::{Client, ClientError, Credentials, GrpcMeter, Options, new_message_id};
use bridge_protocol::a2a::{CancelTaskRequest, Message, Part, Role, SendMessageRequest, Task};
use mcp_tools::acknowledge::ACKNOWLEDGE_EXTENSION;
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};
use url::Url;

use super::{EpisodeEvaluator, details, running::RunningEpisode};
use crate::{
    evaluator::{admission, collect::Collected, evaluator_agent::acknowledged_in},
    scenario::episode::{Acknowledge, Delivery, Episode},
};

/// The text of the message, for participants that read text.
const READY: &str =
    "You are ready to be evaluated: connect to the MCP server, reach the goal, then submit.";

/// The time for which a participant may still send messages after its episode has ended.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(10);

/// The end of the participant's own task.
#[derive(Clone, Debug, Default)]
pub(super) struct Participant {
    /// The state by its A2A 0.3 name.
    pub(super) state: String,
    /// The text of its last message.
    pub(super) text: String,
    /// The reason why its language model could not be used, if that ended its work.
    pub(super) model_fault: Option<String>,
}

impl EpisodeEvaluator {
    /// Runs the participant in this role until its task ends, or until [`LAST_WORDS`] after the end of its episode.
    pub(super) async fn call(
        &self,
        role: &str,
        url: &Url,
        credentials: Credentials,
        settings: &Episode,
        running: &RunningEpisode,
    ) -> Result<Participant, ClientError> {
        let (sink, metered) = (self.unrecorded_sink.clone(), role.to_owned());
        let options = Options {
            limits: self.limits,
            credentials,
            grpc_meter: Some(GrpcMeter::new(move |bytes| sink(&metered, bytes))),
            ..Options::default()
        };
        let client = Client::connect(url, &options).await?;
        admission::check(&client, &options.credentials).await?;
        let declares = client.card().capabilities.extensions.iter();
        let acknowledges = declares.into_iter().any(|one| one.uri == ACKNOWLEDGE_EXTENSION);
        let acknowledge = settings.acknowledge.filter(|_| acknowledges);
        let request = SendMessageRequest::new(message(settings, running, acknowledge.is_some()));
        let mut heard = Collected::default();
        let acknowledged = watch::Sender::default();
        let resending = resend(&client, &request, acknowledge, acknowledged.subscribe());
        let streams = client.card().capabilities.streams();
        let noted = |collected: &Collected, _| note(collected, &acknowledged);
        let over = async {
            self.episodes.finished(&running.opened.id).await;
            sleep(LAST_WORDS).await;
        };
        let ended = tokio::select! {
            said = heard.say(&client, request.clone(), streams, noted) => said,
            failed = resending => failed,
            () = over => Ok(()),
        };
        match ended {
            // It was let in before.
            Err(error) if admission::is_refusal(&error) && !self.believes => {
                return Ok(Participant {
                    state: "failed".to_owned(),
                    text: error.to_string(),
                    model_fault: None,
                });
            }
            ended => ended?,
        }
        leave(&client, &heard).await;
        Ok(Participant {
            state: heard.state(),
            text: heard.text(),
            model_fault: heard.model_fault(),
        })
    }
}

fn message(settings: &Episode, running: &RunningEpisode, acknowledge: bool) -> Message {
    let shape = settings.details;
    let mut parts = vec![Part::text(READY), details::task(&running.opened.task, shape)];
    match settings.delivery {
        Delivery::Messages | Delivery::Synchronous => {
            parts.extend(details::details(&running.details, shape));
        }
        Delivery::Preset => {}
    }
    let mut message = Message::new(new_message_id(), Role::User, parts);
    if acknowledge {
        message.extensions.push(ACKNOWLEDGE_EXTENSION.to_owned());
    }
    message
}

/// Cancels the task of a participant whose episode is over. Errors are ignored: it may have ended
/// meanwhile, or not support cancellation.
async fn leave(client: &Client, heard: &Collected) {
    let open = |task: &&Task| !task.status.state.is_terminal();
    if let Some(task) = heard.task.as_ref().filter(open) {
        let request = CancelTaskRequest::new(task.id.as_str());
        let _ = timeout(LAST_WORDS, client.cancel_task(request)).await;
    }
}

/// Records the ids that the last message acknowledges.
fn note(collected: &Collected, acknowledged: &watch::Sender<BTreeSet<String>>) {
    let task = collected.task.as_ref();
    if let Some(message) = task.and_then(|task| task.status.message.as_ref()) {
        let ids = acknowledged_in(message);
        acknowledged.send_if_modified(|known| {
            let before = known.len();
            known.extend(ids);
            known.len() > before
        });
    }
}

/// Sends the message again, with the same id, until it is acknowledged or has been repeated as often as
/// allowed. Returns only if sending fails.
async fn resend(
    client: &Client,
    request: &SendMessageRequest,
    acknowledge: Option<Acknowledge>,
    mut acknowledged: watch::Receiver<BTreeSet<String>>,
) -> Result<(), ClientError> {
    let id = &request.message.message_id;
    if let Some(Acknowledge { after, resend }) = acknowledge {
        for _ in 0..resend {
            let received = acknowledged.wait_for(|ids| ids.contains(id));
            if timeout(after, received).await.is_ok() {
                break;
            }
            // The participant may have the message already and answer with its working task, so this does not
            // wait for the task's end.
            let again = request.clone().returning_immediately();
            client.send_message(again).await?;
        }
    }
    std::future::pending().await
}
