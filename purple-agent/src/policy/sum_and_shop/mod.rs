//! A policy that solves two environments, `sum` and `shop`, from their tools' results. It recognises them by the
//! names of their tools, does nothing useful elsewhere, and has no other knowledge of the environments.
//!
//! Its one setting is `acknowledge` (default true): whether it acknowledges messages to a peer that asks for it.

mod history;
mod shop;
mod sum;

use std::sync::Arc;

use async_trait::async_trait;
use mcp_tools::inbox::Filter;
use rmcp::model::JsonObject;
use serde_json::{Map, Value};

use super::{
    Action, NewPolicy, Observation, Policy, PolicyError, SettingsError, ToolCall,
    settings::only_flag,
};
use history::CallHistory;

const CONNECT: &str = "connect_to_mcp_server";
const ACKNOWLEDGE: &str = "acknowledge_messages";
const SUBMIT: &str = "submit";

/// The next action in an environment.
#[derive(Debug, PartialEq)]
enum NextMove {
    /// Calls this tool of the environment.
    Call(&'static str, JsonObject),
    /// Submits; the environment is solved, and this is the answer if one is asked for.
    Submit(Option<Value>),
    /// Gives up for this reason.
    GiveUp(String),
}

/// A solver of one environment.
struct Solver {
    /// The name of the tool that identifies the environment.
    known_by: &'static str,
    next: fn(CallHistory<'_>) -> NextMove,
}

const SOLVERS: [Solver; 2] = [
    Solver { known_by: sum::LIST_NUMBERS, next: sum::next },
    Solver { known_by: shop::SHOW_LIST, next: shop::next },
];

pub(super) fn new_policy(settings: &Value) -> Result<NewPolicy, SettingsError> {
    let acknowledges = only_flag(settings, "acknowledge", true);
    let acknowledges = acknowledges.map_err(SettingsError::of("sum-and-shop"))?;
    Ok(Arc::new(move || Box::new(SumAndShop { acknowledges, waited: false })))
}

/// The policy. Everything else that it needs is in the observation.
struct SumAndShop {
    acknowledges: bool,
    /// Whether it has waited since the last failed connection.
    waited: bool,
}

#[async_trait]
impl Policy for SumAndShop {
    fn name(&self) -> &str {
        "sum-and-shop"
    }

    async fn next(&mut self, observation: &Observation<'_>) -> Result<Action, PolicyError> {
        if self.acknowledges && unacknowledged(observation) {
            return Ok(call(ACKNOWLEDGE, JsonObject::new()));
        }
        let history = CallHistory::of(observation.steps);
        Ok(match history.succeeded(&[CONNECT]).next() {
            Some(_) => choose(observation, history),
            None => self.connect(history),
        })
    }
}

impl SumAndShop {
    /// Connects; after a failure, only when another message has arrived.
    fn connect(&mut self, history: CallHistory<'_>) -> Action {
        let failed = history.last_of(CONNECT).filter(|_| !self.waited);
        self.waited = failed.is_some();
        match failed {
            Some(failed) => Action::Wait { missing: failed.text() },
            None => call(CONNECT, JsonObject::new()),
        }
    }
}

/// Returns whether there are messages to acknowledge. A failed acknowledgement is not repeated at once.
fn unacknowledged(observation: &Observation<'_>) -> bool {
    let wanted = observation.context.acknowledger().is_some() && observation.has_tool(ACKNOWLEDGE);
    let refused =
        observation.last().is_some_and(|called| called.call.name == ACKNOWLEDGE && called.failed());
    let filter = Filter { acknowledged: Some(false), ..Filter::default() };
    let messages = || observation.context.incoming_messages().list(&filter);
    wanted && !refused && messages().iter().any(|one| one.message_id.is_some())
}

/// Chooses the next action in the connected environment.
fn choose(observation: &Observation<'_>, history: CallHistory<'_>) -> Action {
    if let Some(submitted) = history.last_of(SUBMIT) {
        return Action::finish(submitted.text());
    }
    if let Some(failed) = history.last().filter(|called| called.failed()) {
        let text = format!("{} failed: {}", failed.call.name, failed.text());
        return Action::finish(text);
    }
    let solver = SOLVERS.iter().find(|solver| observation.has_tool(solver.known_by));
    let Some(solver) = solver else {
        return Action::finish("this environment is neither sum nor shop, the ones that I can solve; policy llm works in any".to_owned());
    };
    match (solver.next)(history) {
        NextMove::Call(tool, arguments) => call(tool, arguments),
        NextMove::Submit(answer) => {
            let answer = answer.map(|answer| ("answer".to_owned(), answer));
            call(SUBMIT, answer.into_iter().collect())
        }
        NextMove::GiveUp(text) => Action::finish(text),
    }
}

fn call(tool: &str, arguments: Map<String, Value>) -> Action {
    Action::Call(vec![ToolCall::new(tool, arguments)])
}
