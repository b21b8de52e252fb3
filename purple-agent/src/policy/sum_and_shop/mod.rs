//! Solves two environments, `sum` and `shop`, from what it observes in them. It recognises them by the names of
//! their tools, and has nothing to offer anywhere else; it knows nothing of the worlds behind them.
//!
//! Its one setting is `acknowledge` (true unless it says otherwise): whether it tells a peer that wants
//! to know which messages have arrived.

mod history;
mod shop;
mod sum;

use std::sync::Arc;

use async_trait::async_trait;
use bridge_protocol::wire::FieldError;
use mcp_tools::inbox::Filter;
use rmcp::model::JsonObject;
use serde_json::{Map, Value};

use super::{
    Action, NewPolicy, Policy, PolicyError, SettingsError, Situation, ToolCall, settings::Settings,
};
use history::CallHistory;

const CONNECT: &str = "connect_to_mcp_server";
const ACKNOWLEDGE: &str = "acknowledge_messages";
const SUBMIT: &str = "submit";

/// What is to be done in an environment.
#[derive(Debug, PartialEq)]
enum NextMove {
    /// Call this tool of it.
    Call(&'static str, JsonObject),
    /// It is solved; this is the answer, where one is asked for.
    Submit(Option<Value>),
    /// It cannot be solved, for this reason.
    GiveUp(String),
}

/// An environment that can be solved.
struct Solver {
    /// The tool that it is known by.
    known_by: &'static str,
    next: fn(CallHistory<'_>) -> NextMove,
}

const SOLVERS: [Solver; 2] = [
    Solver {
        known_by: sum::LIST_NUMBERS,
        next: sum::next,
    },
    Solver {
        known_by: shop::SHOW_LIST,
        next: shop::next,
    },
];

pub(super) fn new_policy(settings: &Value) -> Result<NewPolicy, SettingsError> {
    let acknowledges = read(settings).map_err(|source| SettingsError::Setting {
        policy: "sum-and-shop",
        source,
    })?;
    Ok(Arc::new(move || {
        Box::new(SumAndShop {
            acknowledges,
            waited: false,
        })
    }))
}

fn read(settings: &Value) -> Result<bool, FieldError> {
    let mut settings = Settings::of(settings)?;
    let acknowledges = settings.flag("acknowledge")?.unwrap_or(true);
    settings.end().map(|()| acknowledges)
}

/// The policy. All else that it knows stands in the situation.
struct SumAndShop {
    acknowledges: bool,
    /// Whether it waited since it failed to connect.
    waited: bool,
}

#[async_trait]
impl Policy for SumAndShop {
    fn name(&self) -> &str {
        "sum-and-shop"
    }

    async fn next(&mut self, situation: &Situation<'_>) -> Result<Action, PolicyError> {
        if self.acknowledges && unacknowledged(situation) {
            return Ok(call(ACKNOWLEDGE, JsonObject::new()));
        }
        let history = CallHistory::of(situation.steps);
        Ok(match history.has_succeeded(CONNECT) {
            true => choose(situation, history),
            false => self.connect(history),
        })
    }
}

impl SumAndShop {
    /// Connects; after a failure not before another message has come.
    fn connect(&mut self, history: CallHistory<'_>) -> Action {
        let failed = history.last_of(CONNECT).filter(|_| !self.waited);
        self.waited = failed.is_some();
        match failed {
            Some(failed) => Action::Wait {
                missing: failed.text(),
            },
            None => call(CONNECT, JsonObject::new()),
        }
    }
}

/// Whether the peer wants to know of messages that it was not told of yet. What it did not take the last
/// time is not said again at once.
fn unacknowledged(situation: &Situation<'_>) -> bool {
    let wanted = situation.context.acknowledger().is_some() && situation.has_tool(ACKNOWLEDGE);
    let refused = situation
        .last()
        .is_some_and(|called| called.call.name == ACKNOWLEDGE && called.failed());
    let filter = Filter {
        acknowledged: Some(false),
        ..Filter::default()
    };
    let messages = || situation.context.incoming_messages().list(&filter);
    wanted && !refused && messages().iter().any(|one| one.message_id.is_some())
}

/// What is done once it is connected.
fn choose(situation: &Situation<'_>, history: CallHistory<'_>) -> Action {
    if let Some(submitted) = history.last_of(SUBMIT) {
        return finish(submitted.text());
    }
    if let Some(failed) = history.last().filter(|called| called.failed()) {
        let text = format!("{} failed: {}", failed.call.name, failed.text());
        return finish(text);
    }
    let solver = SOLVERS
        .iter()
        .find(|solver| situation.has_tool(solver.known_by));
    let Some(solver) = solver else {
        return finish("this environment is neither sum nor shop, the ones that I can solve; policy llm works in any".to_owned());
    };
    match (solver.next)(history) {
        NextMove::Call(tool, arguments) => call(tool, arguments),
        NextMove::Submit(answer) => {
            let answer = answer.map(|answer| ("answer".to_owned(), answer));
            call(SUBMIT, answer.into_iter().collect())
        }
        NextMove::GiveUp(text) => finish(text),
    }
}

fn call(tool: &str, arguments: Map<String, Value>) -> Action {
    Action::Call(vec![ToolCall::new(tool, arguments)])
}

fn finish(text: String) -> Action {
    Action::Finish { text, data: None }
}
