//! Policies that test the limits of their work, in virtual time.

use std::{
    collections::VecDeque,
    future::pending,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use mcp_tools::tools::Tool;
use rmcp::model::{CallToolResult, JsonObject, ToolAnnotations};
use serde_json::json;

use super::*;
use crate::agent::{AgentSettings, PurpleAgent};

/// A policy that takes these actions and then never returns. One message, if any is left, arrives before each wait.
struct FixedPolicy {
    actions: VecDeque<Action>,
    messages: u32,
}

#[async_trait]
impl Policy for FixedPolicy {
    fn name(&self) -> &str {
        "told"
    }

    async fn next(&mut self, observation: &Observation<'_>) -> Result<Action, PolicyError> {
        let Some(action) = self.actions.pop_front() else { pending().await };
        if matches!(action, Action::Wait { .. }) && self.messages > 0 {
            self.messages -= 1;
            let message = json!({"messageId": format!("m-{}", self.messages)});
            let (inbox, now) = (observation.context.incoming_messages(), observation.context.now());
            inbox.receive("green", message, now);
        }
        Ok(action)
    }
}

fn list() -> Action {
    Action::Call(vec![ToolCall::new("list_messages", JsonObject::new())])
}

fn wait() -> Action {
    let missing = "a message".to_owned();
    Action::Wait { missing }
}

fn work(actions: impl IntoIterator<Item = Action>, messages: u32, steps: u32) -> Work {
    let actions: VecDeque<Action> = actions.into_iter().collect();
    let policy = Mutex::new(Some(FixedPolicy { actions, messages }));
    let policy =
        Arc::new(move || -> Box<dyn Policy> { Box::new(policy.lock().unwrap().take().unwrap()) });
    let time = Duration::from_secs(60);
    let settings = AgentSettings {
        limits: Limits { steps, time, ..Limits::default() },
        ..AgentSettings::default()
    };
    let agent = PurpleAgent::new(policy, settings);
    agent.work(agent.context(), Arc::new(|_| ()))
}

async fn ended(mut work: Work) -> Outcome {
    match work.advance().await {
        Progress::Ended(outcome) => outcome,
        Progress::Waits { missing, .. } => panic!("waits for {missing}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_hangs_is_ended_by_the_clock() {
    let outcome = ended(work([list()], 0, 10)).await;
    assert!(matches!(outcome.ended, StopReason::TimeLimit(_)), "{outcome:?}");
    assert_eq!(outcome.steps, 1);
}

#[tokio::test(start_paused = true)]
async fn waits_are_not_counted_as_work() {
    let mut work = work([wait(), wait(), list(), wait()], 0, 10);
    for _ in 0..3 {
        let progress = work.advance().await;
        assert!(matches!(progress, Progress::Waits { .. }), "{progress:?}");
        tokio::time::sleep(Duration::from_secs(100)).await;
    }
    assert!(work.worked < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_came_meanwhile_ends_the_wait_before_it_begins() {
    let mut work = work([wait(), wait(), wait()], 2, 10);
    let progress = work.advance().await;
    assert!(matches!(progress, Progress::Waits { seen: 2, .. }), "{progress:?}");
}

/// A tool during whose call a message arrives.
struct Interrupted;

#[async_trait]
impl Tool for Interrupted {
    fn describe(&self) -> rmcp::model::Tool {
        rmcp::model::Tool::new("connect", "fails", JsonObject::new())
    }

    async fn call(&self, context: &AgentContext, _arguments: JsonObject) -> CallToolResult {
        let message = json!({"messageId": "headers"});
        context.incoming_messages().receive("green", message, context.now());
        CallToolResult::error(Vec::new())
    }
}

/// Such as the token for an environment that refused the call.
#[tokio::test(start_paused = true)]
async fn a_message_that_arrived_during_a_call_ends_the_wait_before_it_begins() {
    let connect = || Action::Call(vec![ToolCall::new("connect", JsonObject::new())]);
    let mut work = work([connect(), wait(), list(), wait()], 0, 10);
    work.toolbox = Toolbox::new(&[Arc::new(Interrupted)]);
    let progress = work.advance().await;
    assert!(matches!(progress, Progress::Waits { seen: 1, .. }), "{progress:?}");
    assert_eq!(work.steps.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_last_step_may_be_followed_by_the_end() {
    let finish = Action::Finish { text: "done".to_owned(), data: None };
    let outcome = ended(work([list(), list(), finish], 0, 2)).await;
    assert!(matches!(outcome.ended, StopReason::Finished), "{outcome:?}");
    let outcome = ended(work([list(), list(), list()], 0, 2)).await;
    assert!(matches!(outcome.ended, StopReason::StepLimit(2)), "{outcome:?}");
}

/// A tool that takes a second, and records its beginning and end.
struct Slow {
    name: &'static str,
    changes: bool,
    noted: Arc<Mutex<Vec<String>>>,
}

#[async_trait]
impl Tool for Slow {
    fn describe(&self) -> rmcp::model::Tool {
        let tool = rmcp::model::Tool::new(self.name, "waits", JsonObject::new());
        match self.changes {
            true => tool.with_annotations(ToolAnnotations::new().read_only(false)),
            false => tool,
        }
    }

    async fn call(&self, _context: &AgentContext, arguments: JsonObject) -> CallToolResult {
        let note = |what: &str| {
            let line = format!("{what} {}", arguments["n"]);
            self.noted.lock().unwrap().push(line);
        };
        note("begin");
        // The first call takes longest.
        let seconds = 10 - arguments["n"].as_u64().unwrap();
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        note("end");
        CallToolResult::structured(json!(arguments))
    }
}

/// Returns the recorded beginnings and ends of three calls in one step, and their results in order.
async fn record_calls(tools: [&'static str; 3], parallel: u32) -> (Vec<String>, Vec<u64>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let slow = [("look", false), ("change", true)].map(|(name, changes)| -> Arc<dyn Tool> {
        let noted = log.clone();
        Arc::new(Slow { name, changes, noted })
    });
    let calls = tools
        .iter()
        .zip(1..)
        .map(|(name, n)| ToolCall::new(*name, JsonObject::from_iter([("n".to_owned(), json!(n))])));
    let mut work = work([], 0, 10);
    work.toolbox = Toolbox::new(&slow);
    work.limits.parallel = parallel;
    work.call(calls.collect()).await;
    let called = &work.steps[0].called;
    let told = called.iter().map(|called| called.result.structured_content.as_ref().unwrap());
    let told = told.map(|result| result["n"].as_u64().unwrap()).collect();
    let log = std::mem::take(&mut *log.lock().unwrap());
    (log, told)
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_chosen_at_once_are_made_at_once_and_told_in_order() {
    let (log, told) = record_calls(["look"; 3], 8).await;
    assert_eq!(log, ["begin 1", "begin 2", "begin 3", "end 3", "end 2", "end 1"]);
    assert_eq!(told, [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_are_made_at_once_than_may_be() {
    let (log, told) = record_calls(["look"; 3], 2).await;
    assert_eq!(log[..3], ["begin 1", "begin 2", "end 2"]);
    assert_eq!(told, [1, 2, 3]);
    let (log, _) = record_calls(["look"; 3], 1).await;
    assert_eq!(log, ["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"]);
}

#[tokio::test(start_paused = true)]
async fn tools_with_effects_are_called_alone_and_in_order() {
    let (log, told) = record_calls(["look", "change", "look"], 8).await;
    assert_eq!(log, ["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"]);
    assert_eq!(told, [1, 2, 3]);
}
