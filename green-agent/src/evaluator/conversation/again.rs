//! Judges the turns of a finished conversation again by their present expectations, from the transcript.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Collected, assessment, judge};
use crate::{
    assessment::Assessment,
    scenario::model::ConversationTurn,
    transcript::{Entry, task, wire},
};

/// The reason why the turns of a conversation cannot be judged again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnsError {
    /// All turns that were sent pass now, but the conversation ended before the others.
    #[error("turn {0} was not sent when the scenario ran; run it again")]
    NotSaid(usize),
    /// The transcript does not show the answer to each turn of the scenario.
    #[error(
        "the transcript does not show the answer to each [[config.turn]] of the scenario, so that `state`, \
         `contains`, `matches` and `expect` cannot be judged; run it again"
    )]
    NotShown,
}

/// Returns the assessment of a finished conversation by the present expectations of its turns. `known` is the recorded
/// one.
pub(in crate::evaluator) fn judge_again(
    turns: &[ConversationTurn],
    known: &Assessment,
    entries: &[Entry],
) -> Result<Assessment, TurnsError> {
    let answers = answers(turns, entries).ok_or(TurnsError::NotShown)?;
    let states: Vec<String> = answers.iter().map(Collected::state).collect();
    // The states that the evaluator recorded prove that the transcript was read correctly. A conversation that was judged again
    // has those up to the first turn that did not pass.
    let recorded = recorded_states(known);
    if !states.starts_with(&recorded) || recorded.is_empty() != states.is_empty() {
        return Err(TurnsError::NotShown);
    }
    let judged = turns.iter().zip(&answers).enumerate();
    let mut wrongs = judged.filter_map(|(at, (turn, talk))| Some((at, judge(at + 1, turn, talk)?)));
    match wrongs.next() {
        Some((at, wrong)) => Ok(assessment(turns.len(), at, &states[..=at], Some(wrong))),
        None if states.len() < turns.len() => Err(TurnsError::NotSaid(states.len() + 1)),
        None => Ok(assessment(turns.len(), turns.len(), &states, None)),
    }
}

/// Returns the states after each turn, as the evaluator wrote them.
fn recorded_states(known: &Assessment) -> Vec<String> {
    let states = known.results.first().and_then(|result| result["states"].as_array());
    let states = states.into_iter().flatten().filter_map(Value::as_str);
    states.map(str::to_owned).collect()
}

/// Returns the answer to each turn that was sent; `None` if a message was sent that is no turn.
fn answers(turns: &[ConversationTurn], entries: &[Entry]) -> Option<Vec<Collected>> {
    let mut talks: BTreeMap<&str, Collected> = BTreeMap::new();
    let mut answers: Vec<Collected> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.hop.from == "green") {
        if begins_turn(turns.get(answers.len()), entry) {
            let turn = turns.get(answers.len())?;
            if turn.to != entry.hop.to {
                return None;
            }
            let talk = talks.entry(&turn.to).or_default();
            if !turn.parts.is_empty() {
                *talk = Collected::default();
            }
            answers.push(talk.clone());
        } else if let Some(item) = task::answer(entry)
            && let Some(talk) = talks.get_mut(entry.hop.to.as_str())
        {
            talk.take(item);
            *answers.last_mut()? = talk.clone();
        }
    }
    Some(answers)
}

/// Returns whether an entry is the first request of a turn: a message, or the cancelation that is the whole next
/// turn.
fn begins_turn(next: Option<&ConversationTurn>, entry: &Entry) -> bool {
    let only_cancels = next.is_some_and(|turn| turn.parts.is_empty());
    wire::ask(&entry.content)
        .is_some_and(|asked| asked.is_send() || only_cancels && asked.is_cancel())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::scenario::expectation::{AnswerCheck, Check};
    use crate::transcript::fixture::{Script, result, rpc};

    fn turn(text: &str, state: &str, contains: Option<&str>) -> ConversationTurn {
        ConversationTurn {
            line: 1,
            to: "a".to_owned(),
            parts: match text {
                "" => Vec::new(),
                text => vec![json!({"text": text})],
            },
            version: None,
            binding: None,
            extensions: Vec::new(),
            stream: false,
            cancel: text.is_empty(),
            after: None,
            fresh: false,
            state: Some(state.to_owned()),
            expect: contains.map(contained).into_iter().collect(),
        }
    }

    fn contained(text: &str) -> AnswerCheck {
        AnswerCheck { line: 1, not: false, path: None, check: Check::Contains(json!(text)) }
    }

    /// Returns a conversation of two messages and a cancelation, of which the second message is polled for.
    fn conversation() -> (Vec<ConversationTurn>, Assessment, Vec<Entry>) {
        let turns = vec![
            turn("hi", "completed", Some("hello")),
            turn("work", "working", None),
            turn("", "canceled", None),
        ];
        let task = |id: &str, state: &str, text: &str| {
            json!({"task": {
                "id": id, "status": {"state": format!("TASK_STATE_{state}")},
                "artifacts": [{"artifactId": "x", "parts": [{"text": text}]}],
            }})
        };
        let mut script = Script::default();
        for (method, id, state) in [
            ("SendMessage", "t", "COMPLETED"),
            ("SendMessage", "u", "SUBMITTED"),
            ("GetTask", "u", "WORKING"),
            ("CancelTask", "u", "CANCELED"),
        ] {
            let answer = result(task(id, state, "hello there"));
            script.exchange("green -> a", [rpc(method, json!({})), answer]);
        }
        let states = ["completed", "working", "canceled"].map(str::to_owned);
        (turns, assessment(3, 3, &states, None), script.entries)
    }

    #[test]
    fn current_expectations_of_turns_are_judged_from_the_transcript() {
        let (mut turns, known, entries) = conversation();
        assert_eq!(judge_again(&turns, &known, &entries), Ok(known.clone()));
        turns[2].state = Some("completed".to_owned());
        let judged = judge_again(&turns, &known, &entries).unwrap();
        assert_eq!((judged.state.as_str(), judged.metrics["score"]), ("failed", 2.0 / 3.0));
        turns[0].expect = vec![contained("bye")];
        let judged = judge_again(&turns, &known, &entries).unwrap();
        assert_eq!(judged.metrics["score"], 0.0);
        assert!(judged.statuses[0].to_string().contains("expected an answer with \\\"bye\\\""));
        // What was judged is judged again by other expectations.
        let (turns, ..) = conversation();
        assert_eq!(judge_again(&turns, &judged, &entries), Ok(known));
    }

    #[test]
    fn missing_turns_and_answers_are_not_judged() {
        let (turns, known, entries) = conversation();
        let stopped = assessment(3, 0, &["completed".to_owned()], Some("no".to_owned()));
        let before_second = |entry: &&Entry| entry.exchange == 1;
        let first: Vec<Entry> = entries.iter().filter(before_second).cloned().collect();
        assert_eq!(judge_again(&turns, &stopped, &first), Err(TurnsError::NotSaid(2)));
        assert_eq!(judge_again(&turns, &known, &first), Err(TurnsError::NotShown));
        assert_eq!(judge_again(&turns[..1], &known, &entries), Err(TurnsError::NotShown));
    }
}
