//! The evaluator calls: the participant is sent one message with the task and the details, as AgentBeats'
//! green agents do it, and works until its task has ended.

use std::{collections::BTreeSet, time::Duration};

use bridge_client::{Client, ClientError, Limits, Options};
use bridge_protocol::a2a::{CancelTaskRequest, Message, Part, Role, SendMessageRequest, Task};
use mcp_tools::{acknowledge::ACKNOWLEDGE_EXTENSION, episodes::Episodes};
use purple_agent::hosted::{FAULT, MODEL};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};
use url::Url;
use uuid::Uuid;

use super::{details, running::RunningEpisode};
use crate::{
    evaluator::{collect::Collected, custom::AssessError, served::acknowledged_in},
    scenario::episode::{Acknowledge, Delivery, Episode},
};

/// What is said first, for participants that are talked to in words.
const READY: &str =
    "You are ready to be evaluated: connect to the MCP server, reach the goal, then submit.";

/// How long a participant may still speak once its episode has ended.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(10);

/// Whom to call, and how.
pub(super) struct CallOptions<'a> {
    pub(super) role: &'a str,
    pub(super) url: &'a Url,
    pub(super) settings: &'a Episode,
    pub(super) limits: Limits,
}

/// How the participant's own task ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Participant {
    /// In the words of A2A 0.3.
    pub(super) state: String,
    /// What it said last.
    pub(super) text: String,
    /// Its language model could not be asked.
    pub(super) has_model_fault: bool,
}

impl Participant {
    /// Why its language model could not be asked, if that ended its work.
    pub(super) fn model_fault(&self) -> Option<String> {
        self.has_model_fault.then(|| self.text.clone())
    }
}

impl CallOptions<'_> {
    /// Has the participant work until it ends, or its episode and then the time for last words are over.
    pub(super) async fn run(
        &self,
        running: &RunningEpisode,
        episodes: &Episodes,
    ) -> Result<Participant, AssessError> {
        let played = self.dialogue(running, episodes).await;
        played.map_err(|source| AssessError::Participant {
            role: self.role.to_owned(),
            source: Box::new(source),
        })
    }

    async fn dialogue(
        &self,
        running: &RunningEpisode,
        episodes: &Episodes,
    ) -> Result<Participant, ClientError> {
        let options = Options {
            limits: self.limits,
            ..Options::default()
        };
        let client = Client::connect(self.url, &options).await?;
        let declares = client.card().capabilities.extensions.iter();
        let acknowledges = declares
            .into_iter()
            .any(|one| one.uri == ACKNOWLEDGE_EXTENSION);
        let acknowledge = self.settings.acknowledge.filter(|_| acknowledges);
        let request = SendMessageRequest::new(self.message(running, acknowledge.is_some()));
        let mut dialogue = ParticipantDialogue {
            client: &client,
            heard: Collected::default(),
            acknowledged: watch::Sender::default(),
        };
        let acknowledged = dialogue.acknowledged.subscribe();
        let insisting = insist(&client, &request, acknowledge, acknowledged);
        let over = async {
            episodes.finished(&running.opened.id).await;
            sleep(LAST_WORDS).await;
        };
        tokio::select! {
            held = dialogue.hold(request.clone()) => held?,
            failed = insisting => failed?,
            () = over => {}
        }
        dialogue.leave().await;
        Ok(Participant {
            state: dialogue.heard.state(),
            text: dialogue.heard.text(),
            has_model_fault: dialogue.heard.task.as_ref().is_some_and(has_model_fault),
        })
    }

    fn message(&self, running: &RunningEpisode, acknowledge: bool) -> Message {
        let mut parts = vec![Part::text(READY), details::task(&running.opened.task)];
        match self.settings.delivery {
            Delivery::Messages | Delivery::Synchronous => {
                parts.extend(details::details(&running.details, self.settings.details));
            }
            Delivery::Preset => {}
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "the evaluator drives the conversation"
        )]
        let id = Uuid::new_v4().to_string();
        let mut message = Message::new(id, Role::User, parts);
        if acknowledge {
            message.extensions.push(ACKNOWLEDGE_EXTENSION.to_owned());
        }
        message
    }
}

/// What a participant says, and what it has acknowledged.
struct ParticipantDialogue<'a> {
    client: &'a Client,
    heard: Collected,
    acknowledged: watch::Sender<BTreeSet<String>>,
}

impl ParticipantDialogue<'_> {
    /// Says something and listens until there is nothing more to be heard.
    async fn hold(&mut self, request: SendMessageRequest) -> Result<(), ClientError> {
        let streams = self.client.card().capabilities.streams();
        let noted = |heard: &Collected, _| note(heard, &self.acknowledged);
        self.heard.say(self.client, request, streams, noted).await
    }

    /// A participant whose episode is over is not left working. It may have ended meanwhile, or not know
    /// how to be stopped; that is its own affair.
    async fn leave(&self) {
        let open = |task: &&bridge_protocol::a2a::Task| !task.status.state.is_terminal();
        if let Some(task) = self.heard.task.as_ref().filter(open) {
            let request = CancelTaskRequest::new(task.id.as_str());
            let _ = timeout(LAST_WORDS, self.client.cancel_task(request)).await;
        }
    }
}

/// Whether the participant says that its language model could not be asked.
fn has_model_fault(task: &Task) -> bool {
    let message = task.status.message.as_ref();
    let metadata = message.and_then(|message| message.metadata.as_ref());
    metadata.and_then(|metadata| metadata.get(FAULT)) == Some(&MODEL.into())
}

/// Notes what is acknowledged by what was heard last.
fn note(heard: &Collected, acknowledged: &watch::Sender<BTreeSet<String>>) {
    let task = heard.task.as_ref();
    if let Some(message) = task.and_then(|task| task.status.message.as_ref()) {
        let ids = acknowledged_in(message);
        acknowledged.send_if_modified(|known| {
            let before = known.len();
            known.extend(ids);
            known.len() > before
        });
    }
}

/// Sends the message again, with its id, until it is acknowledged or that was done often enough. It comes
/// back only if that fails.
async fn insist(
    client: &Client,
    request: &SendMessageRequest,
    acknowledge: Option<Acknowledge>,
    mut acknowledged: watch::Receiver<BTreeSet<String>>,
) -> Result<(), ClientError> {
    let id = &request.message.message_id;
    if let Some(Acknowledge { after, resend }) = acknowledge {
        for _ in 0..resend {
            let heard = acknowledged.wait_for(|ids| ids.contains(id));
            if timeout(after, heard).await.is_ok() {
                break;
            }
            // Who has the message answers with its task, which goes on; so there is nothing to wait for.
            let again = request.clone().returning_immediately();
            client.send_message(again).await?;
        }
    }
    std::future::pending().await
}
