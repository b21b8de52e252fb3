//! Tests that evaluators detect each faulty policy, and that limits end it.

use std::time::Duration;

use mcp_tools::episodes::Limits;
use purple_agent::{
    agent::{AgentSettings, Limits as AgentLimits, PurpleAgent, StopReason},
    policy,
    run::Verdict,
};
use serde_json::{Value, json};

use crate::{
    environments::{agent, evaluated},
    green::{Green, Plan},
};

/// The time of an episode that must run out, and of one that must not, however slow the machine is.
const BRIEF: Duration = Duration::from_millis(700);
const AMPLE: Duration = Duration::from_secs(600);

/// Starts a Green agent with few steps.
async fn strict(time: Duration) -> Green {
    let limits = Limits { steps: 5, time, ..Limits::default() };
    Green::start(Plan { limits, ..Plan::of("sum", 3) }).await
}

#[tokio::test]
async fn one_that_never_connects_waits_in_vain() {
    let report = evaluated(&strict(BRIEF).await, &agent("never-connects", &Value::Null)).await;
    assert_eq!(report.verdict, Verdict::Failed);
    assert_eq!(report.result.unwrap()["ended"], "time_limit");
    let outcome = report.outcome.unwrap();
    assert!(matches!(outcome.ended, StopReason::MessageMissing(_)), "{outcome:?}");
    assert_eq!(outcome.steps, 0);
}

#[tokio::test]
async fn a_wrong_token_is_refused() {
    let report = evaluated(&strict(BRIEF).await, &agent("wrong-token", &Value::Null)).await;
    assert_eq!(report.verdict, Verdict::Failed);
    assert_eq!(report.result.unwrap()["steps"], 0);
    let text = report.outcome.unwrap().text;
    assert!(text.contains("unauthorized"), "{text}");
}

#[tokio::test]
async fn one_that_lies_is_not_believed() {
    let report = evaluated(&strict(BRIEF).await, &agent("lies", &Value::Null)).await;
    assert_eq!(report.verdict, Verdict::Failed);
    assert_eq!(report.result.unwrap()["success"], false);
    let outcome = report.outcome.unwrap();
    assert_eq!(outcome.data, Some(json!({"success": true, "score": 1.0})));
}

#[tokio::test]
async fn one_that_never_stops_is_stopped() {
    let settings = AgentSettings {
        limits: AgentLimits { steps: 12, ..AgentLimits::default() },
        ..AgentSettings::default()
    };
    let policy = policy::builtin("never-stops", &Value::Null).unwrap();
    let agent = PurpleAgent::new(policy, settings);
    let report = evaluated(&strict(AMPLE).await, &agent).await;
    assert_eq!(report.verdict, Verdict::Failed);
    assert_eq!(report.result.unwrap()["ended"], "step_limit");
    let outcome = report.outcome.unwrap();
    assert!(matches!(outcome.ended, StopReason::StepLimit(12)), "{outcome:?}");
}
