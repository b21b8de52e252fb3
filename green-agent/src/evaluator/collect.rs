//! Collects what an agent sends about one task.

use std::iter;

use bridge_client::{Client, ClientError, EventStream, invocation::answer_in_history};
use bridge_protocol::a2a::{
    Artifact, Message, Part, Role, SendMessageRequest, StreamResponse, Task, TaskState, TaskStatus,
    join_texts,
};
use bridge_translate::answer;
use futures_util::StreamExt as _;
use purple_agent::hosted::{FAULT, MODEL};
use serde::Serialize;
use serde_json::Value;

use super::{custom::EvaluationResult, evaluator_agent::RESULT, metrics};
use crate::{
    assessment::Assessment,
    expect::{Answer, results},
    transcript::wire::state_word,
};

/// The known state of one task, or the message that the agent sent instead of a task.
#[derive(Clone, Debug, Default)]
pub(super) struct Collected {
    pub(super) task: Option<Task>,
    pub(super) message: Option<Message>,
    statuses: Vec<TaskStatus>,
}

/// What is said of a trial that is scored although the agent reports that its language model could not be used.
pub(super) const NOT_BELIEVED: &str = "\nIt reports that its model could not be used. The trial is scored nevertheless, \
    because the participant does not have `trusted = true`.";

impl Collected {
    /// Applies one stream item; returns its text for people, if it has any.
    pub(super) fn take(&mut self, item: StreamResponse) -> Option<String> {
        if let StreamResponse::Message(message) = item {
            let text = message.text();
            match &mut self.task {
                // Agents on agno stream the text of a task in messages about it.
                Some(task) if message.task_id.as_ref() == Some(&task.id) => {
                    task.history.push(message);
                }
                Some(_) | None => self.message = Some(message),
            }
            return Some(text);
        }
        match &mut self.task {
            Some(task) => task.apply(item),
            // This accepts a stream that does not begin with the task.
            none => *none = Task::begun_by(item),
        }
        self.note_status()
    }

    /// Records the status, once, even if the agent repeats it; returns its text.
    fn note_status(&mut self) -> Option<String> {
        let status = &self.task.as_ref()?.status;
        if self.statuses.last() == Some(status) {
            return None;
        }
        self.statuses.push(status.clone());
        status.message.as_ref().map(Message::text).filter(|text| !text.is_empty())
    }

    /// Returns whether nothing more is sent until the agent gets another message.
    pub(super) fn is_settled(&self) -> bool {
        let settled = |state: &TaskState| state.is_terminal() || state.is_interrupted();
        self.message.is_some() || self.task.as_ref().is_some_and(|task| settled(&task.status.state))
    }

    /// Sends a message and applies the reply, streamed or not, until the task is settled. Calls `heard` after
    /// each item with the new state and the item's text for people.
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

    /// Polls the task until it is settled. There is no limit here; the runner's limits apply.
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

    /// Returns the last state by its A2A 0.3 name; `message` if there is a message and no task.
    pub(super) fn state(&self) -> String {
        match (&self.message, &self.task) {
            (Some(_), _) => "message".to_owned(),
            (None, Some(task)) => state_word(task.status.state.as_str()),
            (None, None) => "nothing".to_owned(),
        }
    }

    /// Returns the reason why the agent's language model could not be used, if the agent reports that.
    pub(super) fn model_fault(&self) -> Option<String> {
        let message = self.task.as_ref()?.status.message.as_ref()?;
        let fault = message.metadata.as_ref()?.get(FAULT)?;
        (*fault == MODEL).then(|| self.text())
    }

    /// Returns all text of the answer.
    pub(super) fn text(&self) -> String {
        join_texts(self.parts().filter_map(Part::as_text))
    }

    /// Returns all parts of the answer, without repetitions: those of the message, of the status, of the artifacts, and of the
    /// history if it alone has an answer.
    fn parts(&self) -> impl Iterator<Item = &Part> {
        let task = self.task.iter().flat_map(|task| {
            let status = task.status.message.iter().flat_map(|message| &message.parts);
            let artifacts = task.produced().flat_map(|artifact| &artifact.parts);
            let history = answer_in_history(task).iter().flat_map(|message| &message.parts);
            status.chain(artifacts).chain(history)
        });
        self.message.iter().flat_map(|message| &message.parts).chain(task)
    }

    /// Returns the answer as checks see it. A word may continue in the next part of an artifact, because agents that send an
    /// answer in pieces often split words.
    pub(super) fn answer(&self) -> Answer {
        let joined =
            |artifact: &Artifact| artifact.parts.iter().filter_map(Part::as_text).collect();
        let artifacts = self.task.iter().flat_map(|task| &task.artifacts).map(joined);
        Answer { texts: iter::once(self.text()).chain(artifacts).collect(), data: self.data() }
    }

    /// Returns all data of the answer: a single one itself, and several as a list.
    fn data(&self) -> Option<Value> {
        let mut data: Vec<Value> = self.parts().filter_map(Part::as_data).cloned().collect();
        match data.len() {
            0 | 1 => data.pop(),
            _ => Some(Value::Array(data)),
        }
    }

    /// Returns the collected state as an assessment. A message without a task counts as a completed task.
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

/// Returns the assessment by an evaluator of this process, in the form that it would have over A2A.
pub(super) fn assessment_of(
    mut statuses: Vec<TaskStatus>,
    verdict: EvaluationResult,
) -> Assessment {
    let state = match verdict.failure {
        None => TaskState::Completed,
        Some(_) => TaskState::Failed,
    };
    let message =
        verdict.failure.map(|why| Message::new("verdict", Role::Agent, vec![Part::text(why)]));
    statuses.push(TaskStatus { message, ..TaskStatus::new(state.clone()) });
    let result = Artifact {
        name: Some(RESULT.to_owned()),
        ..Artifact::new("result", vec![Part::data(verdict.result)])
    };
    assessment(state_word(state.as_str()), &statuses, &[result])
}

fn assessment(state: String, statuses: &[TaskStatus], artifacts: &[Artifact]) -> Assessment {
    // The final text of a bot behind the bridge is an artifact too, but it is an answer and not a result.
    let is_answer = |one: &&Artifact| answer::message_id(one).is_none();
    let mut found = results(&to_json(artifacts.iter().filter(is_answer)));
    let statuses = to_json(statuses);
    // Evaluators without tasks answer with a message that has the result, and others complete their task with such a message.
    if found.is_empty() && state == "completed" {
        let last = statuses.last().and_then(|status: &Value| status.get("message")).cloned();
        found = results(last.as_slice());
    }
    Assessment {
        state,
        statuses,
        metrics: metrics(&found),
        results: found,
        artifacts: to_json(artifacts),
    }
}

/// Writes protocol objects as JSON. They have string keys and finite numbers, so this cannot fail.
fn to_json(objects: impl IntoIterator<Item = impl Serialize>) -> Vec<Value> {
    objects.into_iter().map(|one| serde_json::to_value(&one).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use bridge_protocol::wire::Wire as _;
    use serde_json::json;

    use super::*;

    /// These are the events of an agent on agno.
    #[test]
    fn messages_about_a_task_are_its_answer() {
        let state = |state| json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": state}}});
        let said = |text| json!({"messageId": "m", "taskId": "t", "contextId": "c", "role": "ROLE_AGENT", "parts": [{"text": text}]});
        let events = [
            state("TASK_STATE_WORKING"),
            json!({"message": said("You said: ")}),
            json!({"message": said("hi")}),
            state("TASK_STATE_COMPLETED"),
            json!({"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"},
                "history": [said("You said: hi")]}}),
        ];
        let mut collected = Collected::default();
        for event in events {
            collected.take(StreamResponse::read(event).unwrap());
        }
        assert_eq!(collected.state(), "completed");
        assert_eq!(collected.text(), "You said: hi");
    }

    #[test]
    fn the_result_may_be_in_the_last_message_in_place_of_an_artifact() {
        let parts = json!([{"text": "Done."}, {"data": {"score": 0.5}}]);
        let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": parts});
        let task = |state, artifacts| {
            json!({"task": {"id": "t", "contextId": "c", "artifacts": artifacts,
                "status": {"state": state, "message": message}}})
        };
        let artifact = json!([{"artifactId": "a", "parts": [{"data": {"score": 1}}]}]);
        for (event, expected) in [
            (json!({"message": message}), Some(0.5)),
            (task("TASK_STATE_COMPLETED", json!([])), Some(0.5)),
            (task("TASK_STATE_COMPLETED", artifact), Some(1.0)),
            (task("TASK_STATE_FAILED", json!([])), None),
        ] {
            let mut collected = Collected::default();
            collected.take(StreamResponse::read(event).unwrap());
            let assessment = collected.into_assessment();
            assert_eq!(assessment.metrics.get("score").copied(), expected);
            assert_eq!(assessment.results.len(), usize::from(expected.is_some()));
        }
    }

    #[test]
    fn words_that_came_in_two_parts_are_found() {
        let task = json!({
            "id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"},
            "artifacts": [
                {"artifactId": "a", "parts": [{"text": "The answer is for"}, {"text": "ty-two"}]},
                {"artifactId": "b", "parts": [{"text": "End"}]},
            ],
        });
        let collected = Collected { task: Some(Task::read(task).unwrap()), ..Collected::default() };
        for (words, is_said) in [("forty-two", true), ("for\nty-two\nEnd", true), ("twoEnd", false)]
        {
            let texts = collected.answer().texts;
            assert_eq!(texts.iter().any(|text| text.contains(words)), is_said, "{words:?}");
        }
    }
}
