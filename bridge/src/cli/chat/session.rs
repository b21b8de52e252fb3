//! What is sent, and in which conversation.

use bridge_client::{Client, ClientError};
use bridge_protocol::a2a::{Message, Part, Role, SendMessageRequest, StreamResponse, TaskState};
use futures_util::StreamExt as _;

use super::show::Show;
use crate::clock;

/// A conversation with an agent.
pub(super) struct Session {
    client: Client,
    show: Show,
    streams: bool,
    context: Option<String>,
    /// The task that asks for input: what is said next goes on with it.
    task: Option<String>,
    files: Vec<Part>,
}

impl Session {
    /// Streams if the agent can and `streams` says so.
    pub(super) fn new(client: Client, show: Show, streams: bool) -> Self {
        Self {
            streams: streams && client.card().capabilities.streams(),
            client,
            show,
            context: None,
            task: None,
            files: Vec::new(),
        }
    }

    /// The agent in few words.
    pub(super) fn agent(&self) -> String {
        let card = self.client.card();
        format!(
            "{} (A2A {}, {}): {}",
            card.name,
            self.client.version(),
            self.client.binding(),
            card.description
        )
    }

    /// Sends this with the next message.
    pub(super) fn attach(&mut self, file: Part) {
        self.files.push(file);
    }

    /// Forgets what was talked about.
    pub(super) fn begin(&mut self) {
        (self.context, self.task) = (None, None);
    }

    /// Says a text and shows the answer. The files go with it, whatever comes of it.
    pub(super) async fn say(&mut self, text: &str) -> Result<(), ClientError> {
        let mut parts = vec![Part::text(text)];
        parts.append(&mut self.files);
        let message = Message {
            context_id: self.context.clone(),
            task_id: self.task.clone(),
            ..Message::new(clock::new_id(), Role::User, parts)
        };
        let request = SendMessageRequest::new(message);
        if !self.streams {
            let answer = self.client.send_message(request).await?;
            self.hear(&answer.into());
            self.show.end();
            return Ok(());
        }
        let mut stream = self.client.send_streaming_message(request).await?;
        while let Some(event) = stream.next().await {
            self.hear(&event?);
        }
        self.show.end();
        Ok(())
    }

    fn hear(&mut self, event: &StreamResponse) {
        match event {
            StreamResponse::Task(task) => {
                self.stand(&task.id, task.context_id.as_deref(), &task.status.state);
            }
            StreamResponse::StatusUpdate(update) => {
                self.stand(
                    &update.task_id,
                    Some(&update.context_id),
                    &update.status.state,
                );
            }
            StreamResponse::Message(message) => {
                self.context = message.context_id.clone().or(self.context.take());
            }
            StreamResponse::ArtifactUpdate(_) => {}
        }
        self.show.event(event);
    }

    fn stand(&mut self, task: &str, context: Option<&str>, state: &TaskState) {
        let context = context.filter(|context| !context.is_empty());
        self.context = context.map(str::to_owned).or(self.context.take());
        self.task = (!state.is_terminal()).then(|| task.to_owned());
    }
}
