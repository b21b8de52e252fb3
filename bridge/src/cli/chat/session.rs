//! A conversation with an agent: sends messages and follows their answers.

use std::{collections::BTreeSet, io::IsTerminal as _, time::Duration};

use bridge_client::{Client, ClientError, EventStream, Fault};
use bridge_program::{Exit, errln};
use bridge_protocol::a2a::{
    Message, Part, Role, SendMessageRequest, SendMessageResponse, StreamResponse, TaskState,
};
use futures_util::StreamExt as _;
use tokio::time::timeout;

use super::{
    choice::Choice,
    show::{Printer, word},
};
use crate::clock;

/// The time without output after which the user is told that the program still waits for the agent.
const HINT: Duration = Duration::from_secs(10);

/// The time for which an agent that has answered may be silent before the user is prompted again.
const SETTLED: Duration = Duration::from_secs(5);

/// A conversation with an agent.
pub(super) struct Session {
    pub(super) client: Client,
    pub(super) show: Printer,
    pub(super) streams: bool,
    /// Whether a person is at the terminal, who may write at any time and sees later messages.
    is_seen: bool,
    pub(super) context: Option<String>,
    /// The task that has not ended; the next message continues it.
    pub(super) task: Option<String>,
    /// All tasks of the conversation.
    pub(super) tasks: BTreeSet<String>,
    state: Option<TaskState>,
    files: Vec<Part>,
    /// The remaining events of the last message or its task.
    pub(super) open: Option<EventStream>,
}

impl Session {
    /// Creates a session. It uses streams if the agent supports them and `streams` is set.
    pub(super) fn new(client: Client, show: Printer, streams: bool, is_seen: bool) -> Self {
        Self {
            streams: streams && client.card().capabilities.streams(),
            client,
            show,
            is_seen,
            context: None,
            task: None,
            tasks: BTreeSet::new(),
            state: None,
            files: Vec::new(),
            open: None,
        }
    }

    /// Returns a short description of the agent.
    pub(super) fn agent(&self) -> String {
        let card = self.client.card();
        format!(
            "{} (A2A {}, {}): {}",
            card.name,
            self.client.version(),
            self.client.binding(),
            card.description.trim_end_matches('.')
        )
    }

    /// Adds a file to the next message.
    pub(super) fn attach(&mut self, file: Part) {
        self.files.push(file);
    }

    /// Starts a new conversation.
    pub(super) fn begin(&mut self) {
        (self.context, self.task, self.open) = (None, None, None);
    }

    /// Returns the choice with this number.
    pub(super) fn choice(&self, number: usize) -> Option<&Choice> {
        self.show.choices().get(number.checked_sub(1)?)
    }

    /// Sends a message, shows the answer and returns the exit code for it. Attached files are sent with it
    /// and then dropped, also if sending fails.
    pub(super) async fn say(&mut self, mut parts: Vec<Part>) -> Result<Exit, ClientError> {
        parts.append(&mut self.files);
        let message = Message {
            context_id: self.context.clone(),
            task_id: self.task.clone(),
            ..Message::new(clock::new_id(), Role::User, parts)
        };
        self.show.begin(&message.message_id, &message.parts);
        (self.state, self.open) = (None, None);
        let answered = self.answer(SendMessageRequest::new(message)).await;
        self.show.end();
        let silence = answered?;
        Ok(self.judged(silence))
    }

    /// Shows the answer. Returns the limit of silence if the agent reached it before the answer was whole.
    async fn answer(
        &mut self,
        request: SendMessageRequest,
    ) -> Result<Option<Duration>, ClientError> {
        match self.streams {
            true => {
                let opened = self.client.send_streaming_message(request);
                self.open = Some(with_hint(self.is_seen, opened).await?);
            }
            false => {
                let answered = self.client.send_message(request);
                let answer = with_hint(self.is_seen, answered).await?;
                self.record(&answer.clone().into());
                // The agent may answer before it has finished, or even started. An unknown state may be its last one.
                if let SendMessageResponse::Task(task) = answer
                    && !matches!(task.status.state, TaskState::Unknown(_))
                {
                    self.open = Some(self.client.poll_task(task));
                }
            }
        }
        while let Some(event) = self.next().await {
            match event {
                Ok(event) => self.record(&event),
                Err(ClientError { fault: Fault::Timeout(limit), .. }) if self.show.has_told() => {
                    return Ok(Some(limit));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Returns the next event of the answer; `None` after the last one, or if a waiting user should be prompted.
    async fn next(&mut self) -> Option<Result<StreamResponse, ClientError>> {
        let open = self.open.as_mut()?;
        let has_told = self.show.has_told();
        let event = match (self.is_seen, has_told) {
            (true, true) => match timeout(SETTLED, open.next()).await {
                Ok(event) => event,
                Err(_) => return None,
            },
            (seen, _) => with_hint(seen, open.next()).await,
        };
        if event.is_none() {
            self.open = None;
        }
        event
    }

    fn record(&mut self, event: &StreamResponse) {
        self.note(event);
        self.show.event(event);
    }

    fn note(&mut self, event: &StreamResponse) {
        match event {
            StreamResponse::Task(task) => {
                self.set_state(&task.id, task.context_id.as_deref(), &task.status.state);
            }
            StreamResponse::StatusUpdate(update) => {
                self.set_state(&update.task_id, Some(&update.context_id), &update.status.state);
            }
            StreamResponse::Message(message) => {
                self.context = message.context_id.clone().or(self.context.take());
            }
            StreamResponse::ArtifactUpdate(_) => {}
        }
    }

    /// Handles an unsolicited event and prints it after `before`; returns whether anything was printed.
    pub(super) fn tell(&mut self, event: &StreamResponse, before: &str) -> bool {
        if let StreamResponse::Task(task) = event
            && !self.tasks.contains(&task.id)
        {
            // Another task may use the same words for something else.
            self.show.begin(&task.id, &[]);
        }
        self.note(event);
        self.show.news(event, before)
    }

    fn set_state(&mut self, task: &str, context: Option<&str>, state: &TaskState) {
        let context = context.filter(|context| !context.is_empty());
        self.context = context.map(str::to_owned).or(self.context.take());
        self.task = (!state.is_terminal()).then(|| task.to_owned());
        self.tasks.insert(task.to_owned());
        self.state = Some(state.clone());
    }

    /// Returns the exit code for the answer. A missing answer is reported, because the agent seems absent, and so is an
    /// answer that may continue.
    fn judged(&self, silence: Option<Duration>) -> Exit {
        let state = self.state.as_ref().map(word);
        let its_task = state.map_or_else(String::new, |state| format!("; its task is {state}"));
        let is_open = matches!(self.state, Some(TaskState::Submitted | TaskState::Working));
        match silence {
            _ if !self.show.has_told() => errln!("the agent said nothing{its_task}"),
            Some(limit) => errln!("nothing more arrived for {limit:?}{its_task}"),
            // A person at the terminal sees later messages.
            None if is_open && !self.is_seen => errln!("the agent ended its stream{its_task}"),
            None => {}
        }
        match &self.state {
            Some(TaskState::Failed | TaskState::Rejected | TaskState::Canceled) => Exit::Failed,
            // The agent requires authentication, which is the same outcome as a refused request.
            Some(TaskState::AuthRequired) => Exit::Infrastructure,
            Some(TaskState::Completed) => Exit::Passed,
            Some(
                TaskState::Submitted
                | TaskState::Working
                | TaskState::InputRequired
                | TaskState::Unspecified
                | TaskState::Unknown(_),
            )
            | None => match self.show.has_told() {
                true => Exit::Passed,
                false => Exit::Failed,
            },
        }
    }
}

/// Awaits `waited`, and informs a person at the terminal if it takes long.
async fn with_hint<F: Future>(is_seen: bool, waited: F) -> F::Output {
    let mut waited = std::pin::pin!(waited);
    if is_seen && std::io::stderr().is_terminal() {
        match timeout(HINT, &mut waited).await {
            Ok(done) => return done,
            Err(_) => errln!("(still waiting; Ctrl-C ends)"),
        }
    }
    waited.await
}
