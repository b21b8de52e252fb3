//! Policies that test the limits of their work, in virtual time.

use std::{
    collections::VecDeque,
    future::pending,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use rmcp::model::JsonObject;
use serde_json::json;

use super::*;
use crate::agent::{AgentSettings, PurpleAgent};

/// Does what it is told, then hangs. Before each wait a message comes, if there is one left.
struct Told {
    actions: VecDeque<Action>,
    messages: u32,
}

#[async_trait]
impl Policy for Told {
    fn name(&self) -> &str {
        "told"
    }

    async fn next(&mut self, situation: &Situation<'_>) -> Result<Action, PolicyError> {
        let Some(action) = self.actions.pop_front() else {
            pending().await
        };
        if matches!(action, Action::Wait { .. }) && self.messages > 0 {
            self.messages -= 1;
            let message = json!({"messageId": format!("m-{}", self.messages)});
            let (inbox, now) = (
                situation.context.incoming_messages(),
                situation.context.now(),
            );
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
    let told = Mutex::new(Some(Told { actions, messages }));
    let policy =
        Arc::new(move || -> Box<dyn Policy> { Box::new(told.lock().unwrap().take().unwrap()) });
    let time = Duration::from_secs(60);
    let settings = AgentSettings {
        limits: Limits { steps, time },
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
    assert!(
        matches!(outcome.ended, Ended::TimeLimit { .. }),
        "{outcome:?}"
    );
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
    assert!(
        matches!(progress, Progress::Waits { seen: 2, .. }),
        "{progress:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_last_step_may_be_followed_by_the_end() {
    let finish = Action::Finish {
        text: "done".to_owned(),
        data: None,
    };
    let outcome = ended(work([list(), list(), finish], 0, 2)).await;
    assert!(matches!(outcome.ended, Ended::Finished), "{outcome:?}");
    let outcome = ended(work([list(), list(), list()], 0, 2)).await;
    assert!(
        matches!(outcome.ended, Ended::StepLimit { limit: 2 }),
        "{outcome:?}"
    );
}
