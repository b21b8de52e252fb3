//! The built-in evaluator `conversation`: sends scripted turns and checks the answer to each.

mod again;

use std::{collections::BTreeMap, pin::pin};

use bridge_client::{Binding, Client, ClientError, Options, new_message_id};
use bridge_protocol::{
    a2a::{CancelTaskRequest, Content, Message, Part, Role, SendMessageRequest, StreamResponse},
    dialect::Version,
    wire::Wire as _,
};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant, sleep, timeout, timeout_at};

use super::{
    Evaluation, EvaluationError, Listener, admission,
    collect::{Collected, NOT_BELIEVED, assessment_of},
    credentials,
    custom::EvaluationResult,
    pipeline::Key,
};
use crate::{
    assessment::Assessment,
    scenario::{
        expectation::AnswerCheck,
        model::{ConversationTurn, ProtocolBinding, ProtocolVersion},
    },
};

pub use again::TurnsError;
pub(super) use again::judge_again;

/// The time for which the stream of a canceled task is still read.
const LAST_EVENTS: Duration = Duration::from_secs(1);

/// The time for which an agent may go on after it has answered a cancelation.
const STOPPING: Duration = Duration::from_secs(5);

/// Sends the turns in order and stops at the first that fails, because later turns depend on it.
pub(super) async fn assess(
    evaluation: &Evaluation<'_>,
    turns: &[ConversationTurn],
    keys: Vec<Key>,
    listener: &Listener,
) -> Result<Assessment, EvaluationError> {
    let mut talks: BTreeMap<&str, Collected> = BTreeMap::new();
    let mut states = Vec::new();
    let mut wrong = None;
    for (index, turn) in turns.iter().enumerate() {
        let is_first = !talks.contains_key(turn.to.as_str());
        let talk = talks.entry(&turn.to).or_default();
        say(evaluation, turn, &keys, is_first, talk).await?;
        let state = talk.state();
        listener(&format!("turn {}, {}: {state}", index + 1, turn.to));
        states.push(state);
        wrong = judge(index + 1, turn, talk);
        let is_unexpected = wrong.is_some() || !has_checks(turn);
        match (talk.model_fault(), evaluation.believed.contains(&turn.to)) {
            // This says nothing about the agent.
            (Some(fault), true) if is_unexpected => return Err(EvaluationError::Model(fault)),
            (Some(_), false) => wrong.iter_mut().for_each(|text| *text += NOT_BELIEVED),
            (Some(_), true) | (None, _) => {}
        }
        if wrong.is_some() {
            break;
        }
    }
    let passed = states.len() - usize::from(wrong.is_some());
    Ok(assessment(turns.len(), passed, &states, wrong))
}

/// Returns whether an answer can be wrong.
fn has_checks(turn: &ConversationTurn) -> bool {
    turn.state.is_some() || !turn.expect.is_empty()
}

/// Returns the mistake in the answer to a turn, if there is one.
fn judge(number: usize, turn: &ConversationTurn, talk: &Collected) -> Option<String> {
    let place = format!("turn {number} (line {})", turn.line);
    if turn.parts.is_empty() && talk.task.is_none() {
        let to = &turn.to;
        return Some(format!("{place}: nothing to cancel, {to} has begun no task"));
    }
    let state = talk.state();
    if let Some(wanted) = turn.state.as_ref().filter(|wanted| **wanted != state) {
        let reply = match talk.text().as_str() {
            "" => " without a word".to_owned(),
            text => format!(": {text}"),
        };
        return Some(format!("{place}: expected {wanted}, got {state}{reply}"));
    }
    let answer = talk.answer().with_json();
    let unmet = |check: &AnswerCheck| Some((check.line, answer.check(check).err()?));
    let (line, unmet) = turn.expect.iter().find_map(unmet)?;
    let of = match state.as_str() {
        "failed" | "rejected" | "canceled" | "auth-required" => {
            format!(" of a task that is {state}")
        }
        _ => String::new(),
    };
    Some(format!("turn {number} (line {line}): {unmet}{of}"))
}

fn assessment(turns: usize, passed: usize, states: &[String], wrong: Option<String>) -> Assessment {
    let score = passed as f64 / turns as f64;
    let result = json!({"score": score, "turns": turns, "passed": passed, "states": states});
    let verdict = EvaluationResult { result, failure: wrong };
    let metrics = BTreeMap::from([("score".to_owned(), score)]);
    Assessment { metrics, ..assessment_of(Vec::new(), verdict) }
}

/// Carries out one turn; stores the agent's answer in `talk`. In the first one for a role, the agent may still refuse, and an
/// agent that is believed may always do so.
async fn say(
    evaluation: &Evaluation<'_>,
    turn: &ConversationTurn,
    keys: &[Key],
    is_first: bool,
    talk: &mut Collected,
) -> Result<(), EvaluationError> {
    let url = evaluation.participants.iter().find(|(role, _)| *role == turn.to);
    let (_, url) = url.ok_or_else(|| EvaluationError::NoSuchRole(turn.to.clone()))?;
    let options = Options {
        version: turn.version.map(version),
        binding: turn.binding.map(binding),
        extensions: turn.extensions.clone(),
        must_stream: turn.stream,
        limits: evaluation.limits(),
        credentials: credentials(keys, url),
        grpc_meter: Some(evaluation.meter(&turn.to)),
        ..Options::default()
    };
    let role = || turn.to.clone();
    let is_believed = evaluation.believed.contains(&turn.to);
    let told = |source| match is_believed {
        true => EvaluationError::of_participant(role(), source),
        false => EvaluationError::of_told(role(), source),
    };
    let connected = async {
        let client = Client::connect(url, &options).await?;
        if is_first {
            admission::check(&client, &options.credentials).await?;
        }
        Ok(client)
    };
    let client = connected.await.map_err(|source| match is_first {
        true => EvaluationError::of_participant(role(), source),
        false => told(source),
    })?;
    let spoken = match (turn.parts.is_empty(), turn.cancel) {
        (true, _) => {
            pause(turn).await;
            cancel(&client, talk).await
        }
        (false, false) => {
            pause(turn).await;
            let request = request(turn, talk);
            *talk = Collected::default();
            talk.say(&client, request, turn.stream, |_, _| {}).await
        }
        (false, true) => cancel_midway(&client, turn, talk).await,
    };
    spoken.map_err(told)
}

fn version(version: ProtocolVersion) -> Version {
    match version {
        ProtocolVersion::V0_1 => Version::V0_1,
        ProtocolVersion::V0_3 => Version::V0_3,
        ProtocolVersion::V1_0 => Version::V1_0,
    }
}

fn binding(binding: ProtocolBinding) -> Binding {
    match binding {
        ProtocolBinding::JsonRpc => Binding::JsonRpc,
        ProtocolBinding::Rest => Binding::HttpJson,
        ProtocolBinding::Grpc => Binding::Grpc,
    }
}

async fn pause(turn: &ConversationTurn) {
    if let Some(pause) = turn.after {
        sleep(pause).await;
    }
}

/// Sends the turn as a stream, waits until the task is known and `after` has passed, cancels the task, and
/// reads the stream to its end.
async fn cancel_midway(
    client: &Client,
    turn: &ConversationTurn,
    talk: &mut Collected,
) -> Result<(), ClientError> {
    let request = request(turn, talk);
    *talk = Collected::default();
    let mut events = client.send_streaming_message(request).await?;
    while talk.task.is_none() {
        match events.next().await {
            Some(item) => talk.take(item?),
            None => return Ok(()),
        };
    }
    let mut collected = talk.clone();
    let listening = async {
        while let Some(Ok(item)) = events.next().await {
            collected.take(item);
        }
    };
    let canceling = async {
        pause(turn).await;
        let canceled = cancel(client, talk).await;
        (canceled, Instant::now())
    };
    // Reads the stream while it waits, so that the agent is never blocked by a slow reader.
    let (mut listening, mut canceling) = (pin!(listening), pin!(canceling));
    let (canceled, at) = tokio::select! {
        canceled = &mut canceling => canceled,
        () = &mut listening => return canceling.await.0,
    };
    // Some agents do not end the stream of a canceled task.
    let _ = timeout_at(at + LAST_EVENTS, listening).await;
    canceled
}

async fn cancel(client: &Client, talk: &mut Collected) -> Result<(), ClientError> {
    let Some(task) = &talk.task else {
        return Ok(());
    };
    let request = CancelTaskRequest::new(task.id.as_str());
    let task = client.cancel_task(request).await?;
    talk.take(StreamResponse::Task(task));
    // Some agents answer with a task that still works, and stop a moment later. If the task cannot be read any more, the
    // answer counts.
    let _ = timeout(STOPPING, talk.settle(client, |_, _| {})).await;
    Ok(())
}

/// Returns the message of a turn. It continues the role's last task while that is open; otherwise it begins a
/// new task in the same context. A `fresh` turn begins a new context too.
fn request(turn: &ConversationTurn, talk: &Collected) -> SendMessageRequest {
    let parts = turn.parts.iter().map(part).collect();
    let mut message = Message::new(new_message_id(), Role::User, parts);
    let last = talk.task.as_ref().filter(|_| !turn.fresh);
    message.context_id = last.and_then(|task| task.context_id.clone());
    let open = last.filter(|task| !task.status.state.is_terminal());
    message.task_id = open.map(|task| task.id.clone());
    SendMessageRequest::new(message)
}

/// Returns a part as the scenario has it, even if its bytes are not base64: the agent must reject that.
fn part(written: &Value) -> Part {
    Part::read(written.clone()).unwrap_or_else(|_| Part {
        extra: written.as_object().cloned().unwrap_or_default(),
        ..Part::new(Content::Unknown)
    })
}

#[cfg(test)]
mod tests {
    use bridge_protocol::wire::to_value;

    use super::*;
    use crate::scenario::expectation::Check;

    fn turn(parts: Vec<Value>, state: Option<&str>) -> ConversationTurn {
        ConversationTurn {
            line: 7,
            to: "a".to_owned(),
            cancel: parts.is_empty(),
            parts,
            version: None,
            binding: None,
            extensions: Vec::new(),
            stream: false,
            after: None,
            fresh: false,
            state: state.map(str::to_owned),
            expect: Vec::new(),
        }
    }

    #[test]
    fn an_agent_that_fails_without_a_word_is_said_to() {
        let asked = turn(vec![json!({"text": "Hello"})], Some("completed"));
        let mut talk = Collected::default();
        talk.take(StreamResponse::Task(
            bridge_protocol::a2a::Task::read(
                json!({"id": "t", "status": {"state": "TASK_STATE_FAILED"}}),
            )
            .unwrap(),
        ));
        let said = judge(1, &asked, &talk).unwrap();
        assert_eq!(said, "turn 1 (line 7): expected completed, got failed without a word");
    }

    #[test]
    fn an_expression_decides_about_an_answer_of_any_form() {
        let mut asked = turn(vec![json!({"text": "2 + 2?"})], None);
        let regex = regex::Regex::new(r"ANSWER: 4\s*$").unwrap();
        asked.expect =
            vec![AnswerCheck { line: 7, not: false, path: None, check: Check::Matches(regex) }];
        let message = |text| json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": text}]}});
        let artifacts = json!([
            {"artifactId": "a", "parts": [{"text": "Two and two.\nANS"}, {"text": "WER: 4\n"}]},
            {"artifactId": "log", "parts": [{"text": "I added them."}]},
        ]);
        let task = json!({"task": {"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": artifacts}});
        let wrong =
            "turn 1 (line 7): expected an answer that matches ANSWER: 4\\s*$, got \"ANSWER: 4.5\"";
        for (answer, expected) in [
            (message("Two and two.\nANSWER: 4\n"), None),
            (message("ANSWER: 4.5"), Some(wrong.replace("\\\\", "\\"))),
            (task, None),
        ] {
            let mut talk = Collected::default();
            talk.take(StreamResponse::read(answer).unwrap());
            assert_eq!(judge(1, &asked, &talk), expected);
        }
    }

    #[test]
    fn a_cancelation_with_nothing_to_cancel_is_wrong() {
        let said = judge(2, &turn(Vec::new(), None), &Collected::default()).unwrap();
        assert_eq!(said, "turn 2 (line 7): nothing to cancel, a has begun no task");
    }

    #[test]
    fn parts_are_sent_as_they_are_written() {
        for written in [
            json!({"text": "Hello"}),
            json!({"raw": "aGk=", "filename": "a.bin", "mediaType": "text/plain"}),
            json!({"raw": "***", "filename": "a.bin", "metadata": {"k": 1}}),
        ] {
            assert_eq!(to_value(&part(&written)), written);
        }
    }
}
