//! Collects what an agent says about one task.

use bridge_client::{Client, ClientError, EventStream};
use bridge_protocol::{
    a2a::{
        Artifact, Message, Metadata, Part, Role, SendMessageRequest, StreamResponse, Task,
        TaskState, TaskStatus,
    },
    translate::answer,
};
use futures_util::StreamExt as _;
use serde::Serialize;
use serde_json::Value;

use super::{custom::Verdict, metrics, served::RESULT};
use crate::{assessment::Assessment, expect::results, transcript::wire::state_word};

/// A task as far as it was heard of, or the message that came in its place.
#[derive(Clone, Debug, Default)]
pub(super) struct Collected {
    pub(super) task: Option<Task>,
    pub(super) message: Option<Message>,
    statuses: Vec<TaskStatus>,
}

impl Collected {
    /// Takes one more item; returns what it says to a person, if anything.
    pub(super) fn take(&mut self, item: StreamResponse) -> Option<String> {
        if let StreamResponse::Message(message) = item {
            let text = message.text();
            self.message = Some(message);
            return Some(text);
        }
        match &mut self.task {
            Some(task) => task.apply(item),
            // An agent that begins its stream in the middle of things is understood all the same.
            none => *none = Task::begun_by(item),
        }
        self.note_status()
    }

    /// A status is noted once, however often it is repeated.
    fn note_status(&mut self) -> Option<String> {
        let status = &self.task.as_ref()?.status;
        if self.statuses.last() == Some(status) {
            return None;
        }
        self.statuses.push(status.clone());
        status
            .message
            .as_ref()
            .map(Message::text)
            .filter(|text| !text.is_empty())
    }

    /// Whether nothing more will come unless somebody says something.
    pub(super) fn is_settled(&self) -> bool {
        let settled = |state: &TaskState| state.is_terminal() || state.is_interrupted();
        self.message.is_some()
            || self
                .task
                .as_ref()
                .is_some_and(|task| settled(&task.status.state))
    }

    /// Says something and takes what comes of it until that is settled, from a stream or else from one answer.
    /// `heard` is told of each item what it leaves and what it says to a person.
    pub(super) async fn say(
        &mut self,
        client: &Client,
        request: SendMessageRequest,
        streams: bool,
        mut heard: impl FnMut(&Self, Option<String>),
    ) -> Result<(), ClientError> {
        if streams {
            let events = client.send_streaming_message(request).await?;
            self.listen(events, &mut heard).await?;
        } else {
            let answer = client.send_message(request).await?;
            let text = self.take(answer.into());
            heard(self, text);
        }
        self.settle(client, heard).await
    }

    /// Asks for the task until it is settled. The runner's limits end it if it never is.
    pub(super) async fn settle(
        &mut self,
        client: &Client,
        mut heard: impl FnMut(&Self, Option<String>),
    ) -> Result<(), ClientError> {
        match &self.task {
            Some(task) if !self.is_settled() => {
                let events = client.poll_task(task.clone());
                self.listen(events, &mut heard).await
            }
            Some(_) | None => Ok(()),
        }
    }

    async fn listen(
        &mut self,
        mut events: EventStream,
        heard: &mut impl FnMut(&Self, Option<String>),
    ) -> Result<(), ClientError> {
        while let Some(item) = events.next().await {
            let text = self.take(item?);
            heard(self, text);
        }
        Ok(())
    }

    /// The state it ended in, in the words of A2A 0.3; `message` for a bare message.
    pub(super) fn state(&self) -> String {
        match (&self.message, &self.task) {
            (Some(_), _) => "message".to_owned(),
            (None, Some(task)) => state_word(task.status.state.as_str()),
            (None, None) => "nothing".to_owned(),
        }
    }

    /// All that was said in it, once: the status, the artifacts, or the message.
    pub(super) fn text(&self) -> String {
        let message = self.message.as_ref().map(Message::text);
        let task = self.task.iter().flat_map(|task| {
            let status = task.status.message.as_ref().map(Message::text);
            let parts = task.produced().flat_map(|artifact| &artifact.parts);
            let artifacts = parts.filter_map(|part| part.as_text().map(str::to_owned));
            status.into_iter().chain(artifacts)
        });
        message
            .into_iter()
            .chain(task)
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// What it means as an assessment. A bare message stands for a task that completed with it.
    pub(super) fn into_assessment(self) -> Assessment {
        let state = match self.message {
            Some(_) => state_word(TaskState::Completed.as_str()),
            None => self.state(),
        };
        let answer = self.message.map(|message| TaskStatus {
            message: Some(message),
            ..TaskStatus::new(TaskState::Completed)
        });
        let statuses: Vec<_> = self.statuses.into_iter().chain(answer).collect();
        let artifacts = self.task.map(|task| task.artifacts).unwrap_or_default();
        assessment(state, &statuses, &artifacts)
    }
}

/// What an evaluator in this process found, as if it had said so over A2A.
pub(super) fn assessment_of(mut statuses: Vec<TaskStatus>, verdict: Verdict) -> Assessment {
    let state = match verdict.failure {
        None => TaskState::Completed,
        Some(_) => TaskState::Failed,
    };
    let message = verdict
        .failure
        .map(|why| Message::new("verdict", Role::Agent, vec![Part::text(why)]));
    statuses.push(TaskStatus {
        message,
        ..TaskStatus::new(state.clone())
    });
    let result = Artifact {
        artifact_id: "result".to_owned(),
        name: Some(RESULT.to_owned()),
        description: None,
        parts: vec![Part::data(verdict.result)],
        metadata: None,
        extensions: Vec::new(),
        extra: Metadata::new(),
    };
    assessment(state_word(state.as_str()), &statuses, &[result])
}

fn assessment(state: String, statuses: &[TaskStatus], artifacts: &[Artifact]) -> Assessment {
    // What a bridge's bot said in the end is its answer, and no result.
    let said = |one: &&Artifact| answer::message_id(one).is_none();
    let results = results(&to_json(artifacts.iter().filter(said)));
    Assessment {
        state,
        statuses: to_json(statuses),
        metrics: metrics(&results),
        results,
        artifacts: to_json(artifacts),
    }
}

/// Protocol objects have string keys and finite numbers, so writing them cannot fail.
fn to_json(objects: impl IntoIterator<Item = impl Serialize>) -> Vec<Value> {
    objects
        .into_iter()
        .map(|one| serde_json::to_value(&one).unwrap_or_default())
        .collect()
}
