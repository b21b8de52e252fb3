//! Reads the evaluator's verdict from its task.

use bridge_protocol::a2a::{Artifact, Task, TaskState};
use serde_json::Value;

/// The name of the artifact with the evaluation's result, as AgentBeats defines it.
const RESULT: &str = "Result";

/// The verdict of the evaluator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The agent passed.
    Passed,
    /// The agent failed.
    Failed,
    /// The evaluator gave no verdict.
    Unknown,
}

impl Verdict {
    /// Returns the word for reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

/// Returns the data of the artifact `Result`, else of the last artifact that has data. Text that is JSON counts as
/// data.
pub(super) fn result(task: &Task) -> Option<Value> {
    let named = |artifact: &&Artifact| artifact.name.as_deref() == Some(RESULT);
    let named = task.artifacts.iter().filter(named).rev();
    let any = task.artifacts.iter().rev();
    named.chain(any).find_map(data)
}

fn data(artifact: &Artifact) -> Option<Value> {
    artifact.parts.iter().find_map(|part| match part.as_text() {
        Some(text) => serde_json::from_str(text).ok(),
        None => part.as_data().cloned(),
    })
}

/// Reads the verdict. A task that did not complete is a failure, whatever its result says. In a result, `success`
/// or `passed` decides; otherwise the agent passed if `score` or `reward` reaches the maximum. The maximum is the
/// member `max_score` or `max`, or 1 if the number has a fraction, such as `1.0`. For any other number, such as
/// `1`, the maximum is unknown, so there is no verdict.
pub(super) fn verdict(task: Option<&Task>, result: Option<&Value>, given_at_once: bool) -> Verdict {
    let Some(task) = task else {
        return Verdict::Unknown;
    };
    match task.status.state {
        TaskState::Failed | TaskState::Rejected | TaskState::Canceled => Verdict::Failed,
        TaskState::Completed if given_at_once => Verdict::Unknown,
        TaskState::Completed => of_result(result),
        TaskState::Unspecified
        | TaskState::Submitted
        | TaskState::Working
        | TaskState::InputRequired
        | TaskState::AuthRequired
        | TaskState::Unknown(_) => Verdict::Unknown,
    }
}

fn of_result(result: Option<&Value>) -> Verdict {
    let member = |name: &str| result.and_then(|result| result.get(name));
    let flag = ["success", "passed"].into_iter().find_map(|name| member(name)?.as_bool());
    let number = |names: [&str; 2]| names.into_iter().find_map(|name| member(name)?.as_f64());
    let score = ["score", "reward"].into_iter().find_map(member);
    let most = number(["max_score", "max"]);
    let reached = score.and_then(|score| match most {
        Some(most) => Some(score.as_f64()? >= most),
        // A score that has a fraction and is at most 1 has the maximum 1.
        None => (score.is_f64() && score.as_f64()? <= 1.0).then_some(score.as_f64()? >= 1.0),
    });
    let lost = score.and_then(Value::as_f64).is_some_and(|score| score <= 0.0);
    match flag.or(reached) {
        Some(true) => Verdict::Passed,
        Some(false) => Verdict::Failed,
        None if lost => Verdict::Failed,
        None => Verdict::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridge_protocol::wire::Wire as _;
    use serde_json::json;

    fn task(state: &str, parts: &Value) -> Task {
        Task::read(json!({
            "id": "t", "status": {"state": state},
            "artifacts": [
                {"artifactId": "a", "name": "Result", "parts": parts},
                {"artifactId": "b", "name": "Log", "parts": [{"data": {"score": 7}}]},
            ],
        }))
        .unwrap()
    }

    #[test]
    fn the_result_says_whether_the_agent_passed() {
        const COMPLETED: &str = "TASK_STATE_COMPLETED";
        for (state, parts, expected) in [
            (COMPLETED, json!([{"data": {"success": true, "score": 0.5}}]), Verdict::Passed),
            (COMPLETED, json!([{"data": {"success": false, "score": 1}}]), Verdict::Failed),
            (COMPLETED, json!([{"data": {"passed": false}}]), Verdict::Failed),
            (COMPLETED, json!([{"text": "{\"score\": 0.99}"}]), Verdict::Failed),
            (COMPLETED, json!([{"text": "words"}, {"data": {"reward": 1.0}}]), Verdict::Passed),
            (COMPLETED, json!([{"data": {"score": 1}}]), Verdict::Unknown),
            (COMPLETED, json!([{"data": {"score": 0}}]), Verdict::Failed),
            (COMPLETED, json!([{"data": {"score": 1, "max_score": 100}}]), Verdict::Failed),
            (COMPLETED, json!([{"data": {"score": 3, "max": 3}}]), Verdict::Passed),
            (COMPLETED, json!([{"data": {"winner": "pro"}}]), Verdict::Unknown),
            ("TASK_STATE_FAILED", json!([{"data": {"success": true}}]), Verdict::Failed),
            ("TASK_STATE_REJECTED", json!([]), Verdict::Failed),
            ("TASK_STATE_WORKING", json!([{"data": {"success": true}}]), Verdict::Unknown),
        ] {
            let task = task(state, &parts);
            let result = result(&task);
            assert_eq!(verdict(Some(&task), result.as_ref(), false), expected, "{state} {parts}");
        }
        assert_eq!(verdict(None, None, false), Verdict::Unknown);
        assert_eq!(verdict(Some(&task(COMPLETED, &json!([]))), None, true), Verdict::Unknown);
    }
}
