use std::{future::pending, time::Duration};

use async_trait::async_trait;
use rmcp::model::{CallToolResult, JsonObject, Tool};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, advance};

use super::*;
use crate::environments::{EnvironmentError, Score, builtin, tool};

/// Counts the calls of `tick`; `hang` never returns, `panic` panics.
struct Clockwork {
    ticks: u32,
    answer: Option<Value>,
    tools: Vec<&'static str>,
}

#[async_trait]
impl Environment for Clockwork {
    fn task(&self) -> TaskInfo {
        TaskInfo {
            task_id: "clockwork.tick".into(),
            benchmark: "clockwork".into(),
            goal: "Let it tick.".into(),
        }
    }

    fn tools(&self) -> Vec<Tool> {
        let describe = |name: &&'static str| tool(name, "Does it.", json!({}), &[]);
        self.tools.iter().map(describe).collect()
    }

    async fn call(&mut self, tool: &str, _arguments: JsonObject) -> CallToolResult {
        match tool {
            "hang" => pending::<()>().await,
            "panic" => panic!("the spring broke"),
            _ => {}
        }
        self.ticks += 1;
        CallToolResult::structured(json!({"ticks": self.ticks}))
    }

    async fn submit(&mut self, answer: Option<&Value>) -> Result<(), EnvironmentError> {
        match answer {
            Some(Value::String(word)) if word == "hang" => pending::<()>().await,
            Some(Value::String(word)) if word == "panic" => panic!("the spring broke"),
            Some(Value::String(word)) if word == "error" => {
                return Err(EnvironmentError("the spring is lost".to_owned()));
            }
            _ => self.answer = answer.cloned(),
        }
        Ok(())
    }

    async fn score(&mut self) -> Result<Score, EnvironmentError> {
        if self.answer == Some(json!("uncountable")) {
            return Err(EnvironmentError("the hands came off".to_owned()));
        }
        let mut details = Map::new();
        details.insert("ticks".into(), json!(self.ticks));
        details.insert("answer".into(), json!(self.answer));
        let reward = match self.answer.as_ref().and_then(Value::as_str) {
            Some("too much") => 1.5,
            Some("too little") => -0.5,
            Some("nothing at all") => f64::NAN,
            _ => 0.5,
        };
        Ok(Score { reward, success: false, details })
    }
}

fn clockwork(tools: &[&'static str]) -> Box<dyn Environment> {
    Box::new(Clockwork { ticks: 0, answer: None, tools: tools.to_vec() })
}

const LIMITS: Limits =
    Limits { steps: 3, time: Duration::from_secs(60), call: Duration::from_secs(10) };

fn noon() -> Timestamp {
    "2026-11-22T12:00:00Z".parse().unwrap()
}

fn open() -> (Episodes, Opened, Arc<Episode>) {
    let episodes = Episodes::new(4);
    let opened = episodes.open(clockwork(&["tick", "hang"]), LIMITS, noon()).unwrap();
    let episode = episodes.admit(opened.token.expose()).unwrap();
    (episodes, opened, episode)
}

fn object(value: &Value) -> JsonObject {
    value.as_object().unwrap().clone()
}

/// Returns whether a result is an error, and its text.
async fn said(episode: &Episode, tool: &str, arguments: &Value) -> (bool, String) {
    let result = episode.call(tool, object(arguments)).await;
    let text = result.content[0].as_text().unwrap().text.clone();
    (result.is_error == Some(true), text)
}

fn error(text: &str) -> (bool, String) {
    (true, text.into())
}

#[tokio::test(start_paused = true)]
async fn an_episode_ends_when_it_is_submitted_and_only_once() {
    let (episodes, opened, episode) = open();
    assert_eq!(opened.task.task_id, "clockwork.tick");
    assert_eq!(opened.expires_at, "2026-11-22T12:01:00Z".parse().unwrap());
    assert!(!said(&episode, "tick", &json!({})).await.0);
    assert_eq!(episodes.outcome(&opened.id).await, None);

    advance(Duration::from_secs(5)).await;
    assert!(!said(&episode, SUBMIT, &json!({"answer": 7})).await.0);
    let outcome = episodes.outcome(&opened.id).await.unwrap();
    assert!(outcome.submitted());
    assert_eq!(outcome.steps, 1);
    assert_eq!(outcome.score.details["answer"], 7);
    insta::assert_json_snapshot!(outcome.trace);

    let over = error("the episode is over: it was submitted");
    assert_eq!(said(&episode, SUBMIT, &json!({"answer": 8})).await, over);
    assert_eq!(said(&episode, "tick", &json!({})).await, over);
    assert_eq!(episodes.finished(&opened.id).await, Some(outcome));
}

#[tokio::test(start_paused = true)]
async fn a_wrong_submission_is_none() {
    let (episodes, opened, episode) = open();
    let wrong = said(&episode, SUBMIT, &json!({"anwser": 7})).await;
    assert_eq!(wrong, error("anwser: expected no such argument, found the number 7"));
    assert_eq!(episodes.outcome(&opened.id).await, None);
}

#[tokio::test(start_paused = true)]
async fn the_step_after_the_last_ends_the_episode() {
    let (episodes, opened, episode) = open();
    assert!(!said(&episode, "tick", &json!({})).await.0);
    let unknown = said(&episode, "tock", &json!({})).await;
    assert_eq!(unknown, error("there is no tool \"tock\"; there are tick, hang, submit"));
    assert!(!said(&episode, "tick", &json!({})).await.0);
    assert_eq!(episodes.outcome(&opened.id).await, None);
    let over = error("the episode is over: its limit of 3 steps was reached");
    for tool in ["tick", SUBMIT] {
        assert_eq!(said(&episode, tool, &json!({})).await, over);
    }
    let outcome = episodes.outcome(&opened.id).await.unwrap();
    assert_eq!((outcome.ended, outcome.steps), (EndReason::StepLimit, 3));
    assert_eq!(outcome.score.details["ticks"], 2);
    assert_eq!(outcome.trace.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_submission_after_the_last_step_still_counts() {
    let (episodes, opened, episode) = open();
    for _ in 0..3 {
        assert!(!said(&episode, "tick", &json!({})).await.0);
    }
    assert!(!said(&episode, SUBMIT, &json!({})).await.0);
    assert!(episodes.outcome(&opened.id).await.unwrap().submitted());
}

#[tokio::test(start_paused = true)]
async fn waiting_calls_are_answered_when_the_time_is_up() {
    let (episodes, opened, episode) = open();
    let began = Instant::now();
    let outcome = episodes.finished(&opened.id).await.unwrap();
    assert_eq!(outcome.ended, EndReason::TimeLimit);
    assert_eq!(began.elapsed(), LIMITS.time);
    let over = error("the episode is over: its time limit of 60s was reached");
    assert_eq!(said(&episode, "tick", &json!({})).await, over);
    let refused = episodes.admit(opened.token.expose()).unwrap_err();
    assert_eq!(refused, TokenError::Expired);
}

#[tokio::test(start_paused = true)]
async fn late_calls_find_the_episode_ended() {
    let (episodes, opened, _) = open();
    advance(LIMITS.time).await;
    let outcome = episodes.outcome(&opened.id).await.unwrap();
    assert_eq!(outcome.ended, EndReason::TimeLimit);
    let closed = episodes.close(&opened.id).await.unwrap();
    assert_eq!(closed, outcome);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_is_given_up() {
    let (episodes, opened, episode) = open();
    let given_up = error("hang did not end within 10s");
    assert_eq!(said(&episode, "hang", &json!({})).await, given_up);
    advance(Duration::from_secs(45)).await;
    let over = error("the episode is over: its time limit of 60s was reached");
    assert_eq!(said(&episode, "hang", &json!({})).await, over);
    let outcome = episodes.outcome(&opened.id).await.unwrap();
    assert_eq!((outcome.ended, outcome.trace.len()), (EndReason::TimeLimit, 2));
}

#[tokio::test(start_paused = true)]
async fn a_submission_that_the_time_limit_cuts_is_no_failure_of_the_environment() {
    let (episodes, opened, episode) = open();
    advance(Duration::from_secs(55)).await;
    let over = error("the episode is over: its time limit of 60s was reached");
    assert_eq!(said(&episode, SUBMIT, &json!({"answer": "hang"})).await, over);
    let outcome = episodes.outcome(&opened.id).await.unwrap();
    assert_eq!((outcome.ended, outcome.fault), (EndReason::TimeLimit, None));
}

#[tokio::test(start_paused = true)]
async fn an_environment_that_breaks_ends_its_episode_and_says_how() {
    let over = error("the episode is over: the environment failed");
    for (answer, fault) in [
        ("hang", "taking the answer: it did not end within 10s"),
        ("panic", "taking the answer: it panicked: the spring broke"),
        ("error", "taking the answer: the spring is lost"),
    ] {
        let (episodes, opened, episode) = open();
        let submitted = said(&episode, SUBMIT, &json!({"answer": answer})).await;
        assert_eq!(submitted, over, "{answer}");
        let outcome = episodes.outcome(&opened.id).await.unwrap();
        assert_eq!(outcome.ended, EndReason::EnvironmentFailed);
        assert_eq!(outcome.fault.as_deref(), Some(fault));
        assert_eq!(outcome.score, Score::nothing());
        assert_eq!(said(&episode, "tick", &json!({})).await, over);
    }
}

#[tokio::test(start_paused = true)]
async fn a_panicking_tool_is_the_environments_fault() {
    let episodes = Episodes::new(1);
    let opened = episodes.open(clockwork(&["panic"]), LIMITS, noon()).unwrap();
    let episode = episodes.admit(opened.token.expose()).unwrap();
    let over = error("the episode is over: the environment failed");
    assert_eq!(said(&episode, "panic", &json!({})).await, over);
    let outcome = episodes.close(&opened.id).await.unwrap();
    assert_eq!(outcome.fault.as_deref(), Some("panic: it panicked: the spring broke"));
}

#[tokio::test(start_paused = true)]
async fn a_score_that_cannot_be_told_is_no_score() {
    let (episodes, opened, episode) = open();
    assert!(!said(&episode, SUBMIT, &json!({"answer": "uncountable"})).await.0);
    let outcome = episodes.outcome(&opened.id).await.unwrap();
    assert_eq!(outcome.ended, EndReason::EnvironmentFailed);
    let fault = "reporting the score: the hands came off";
    assert_eq!(outcome.fault.as_deref(), Some(fault));
}

#[tokio::test(start_paused = true)]
async fn a_reward_that_is_none_is_no_score() {
    for (answer, reward) in [("too much", "1.5"), ("too little", "-0.5"), ("nothing at all", "NaN")]
    {
        let (episodes, opened, episode) = open();
        said(&episode, SUBMIT, &json!({"answer": answer})).await;
        let outcome = episodes.outcome(&opened.id).await.unwrap();
        assert_eq!(outcome.ended, EndReason::EnvironmentFailed);
        let fault = format!("reporting the score: expected a reward from 0 to 1, found {reward}");
        assert_eq!(outcome.fault, Some(fault));
        assert_eq!(outcome.score, Score::nothing());
    }
}

#[tokio::test(start_paused = true)]
async fn the_number_of_waiting_calls_is_limited() {
    let (_, _, episode) = open();
    let calls = (0..17).map(|_| {
        let episode = Arc::clone(&episode);
        tokio::spawn(async move { said(&episode, "hang", &json!({})).await.1 })
    });
    let mut busy = 0;
    for call in calls.collect::<Vec<_>>() {
        busy += usize::from(call.await.unwrap().starts_with("16 calls are under way"));
    }
    assert_eq!(busy, 1);
}

#[tokio::test(start_paused = true)]
async fn a_closed_episode_is_forgotten() {
    let (episodes, opened, episode) = open();
    let waiting = tokio::spawn({
        let (episodes, id) = (episodes.clone(), opened.id.clone());
        async move { episodes.finished(&id).await }
    });
    tokio::task::yield_now().await;
    let outcome = episodes.close(&opened.id).await.unwrap();
    assert_eq!(outcome.ended, EndReason::Closed);
    assert_eq!(waiting.await.unwrap(), Some(outcome));
    assert_eq!(episodes.close(&opened.id).await, None);
    assert_eq!(episodes.finished(&opened.id).await, None);
    let refused = episodes.admit(opened.token.expose()).unwrap_err();
    assert_eq!(refused, TokenError::Unknown);
    let over = error("the episode is over: it was closed");
    assert_eq!(said(&episode, "tick", &json!({})).await, over);
}

#[tokio::test(start_paused = true)]
async fn a_token_opens_its_own_episode_only() {
    let episodes = Episodes::new(2);
    let open = || {
        let shop = builtin("shop", 1).unwrap();
        episodes.open(shop, LIMITS, noon()).unwrap()
    };
    let (one, other) = (open(), open());
    assert_ne!(one.token, other.token);
    assert_eq!(episodes.admit(one.token.expose()).unwrap().id(), one.id);
    assert_eq!(episodes.admit(other.token.expose()).unwrap().id(), other.id);
    for wrong in ["", "x", &one.id] {
        assert_eq!(episodes.admit(wrong).unwrap_err(), TokenError::Unknown);
    }
    let shown = format!("{one:?} {episodes:?}");
    assert!(!shown.contains(one.token.expose()), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn an_episode_that_cannot_be_opened_explains_why() {
    let episodes = Episodes::new(1);
    let day = Duration::from_secs(86_400);
    let long = Limits { time: day * 2, ..LIMITS };
    let cases = [
        (clockwork(&["submit"]), LIMITS, OpenError::ReservedTool),
        (clockwork(&["tick", "tick"]), LIMITS, OpenError::SameTool("tick".into())),
        (clockwork(&[]), long, OpenError::TooLong { wanted: day * 2, longest: day }),
    ];
    for (environment, limits, wanted) in cases {
        assert_eq!(episodes.open(environment, limits, noon()).unwrap_err(), wanted);
    }
    let first = episodes.open(clockwork(&[]), LIMITS, noon()).unwrap();
    let full = episodes.open(clockwork(&[]), LIMITS, noon()).unwrap_err();
    assert_eq!(full, OpenError::Full(1));
    episodes.close(&first.id).await.unwrap();
    episodes.open(clockwork(&[]), LIMITS, noon()).unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_trace_is_bounded() {
    let episodes = Episodes::new(1);
    let limits = Limits { steps: 2000, ..LIMITS };
    let opened = episodes.open(clockwork(&["tick"]), limits, noon()).unwrap();
    let episode = episodes.admit(opened.token.expose()).unwrap();
    said(&episode, "tick", &json!({"long": "x".repeat(5000)})).await;
    for _ in 0..1500 {
        said(&episode, "tick", &json!({"short": 1})).await;
    }
    let outcome = episodes.close(&opened.id).await.unwrap();
    assert_eq!((outcome.steps, outcome.trace.len()), (1501, 1000));
    assert!(outcome.trace[0].arguments.is_empty());
    assert_eq!(outcome.trace[1].arguments["short"], 1);
}
