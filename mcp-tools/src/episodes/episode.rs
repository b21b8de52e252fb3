//! One episode: an environment, its limits, and the recorded calls.

use std::{
    collections::BTreeSet,
    fmt,
    panic::AssertUnwindSafe,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use futures_util::FutureExt as _;
use jiff::{SignedDuration, Timestamp};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool};
use serde_json::{Value, json};
use tokio::{
    sync::{Mutex, Semaphore, watch},
    time::{Instant, sleep_until, timeout},
};

use super::{
    OpenError, SUBMIT,
    outcome::{EndReason, Outcome, TracedCall},
};
use crate::environments::{Arguments, Environment, Score, TaskInfo, changing, refused, tool};

/// The longest allowed time of an episode.
pub const MAX_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The largest number of pending calls: the running one and those that wait for it.
const MAX_PENDING_CALLS: usize = 16;

/// The limits of the recorded trace: the number of calls, the size of their arguments in bytes of JSON, and the
/// length of tool names in characters.
const MAX_TRACED_CALLS: usize = 1000;
const MAX_TRACED_ARGUMENTS: usize = 4096;
const MAX_TRACED_NAME: usize = 100;

/// The limits of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest number of calls of the environment's tools, refused ones included; one more call ends the
    /// episode. A submission does not count.
    pub steps: u32,
    /// The time limit of the whole episode, at most one day.
    pub time: Duration,
    /// The time limit of one call.
    pub call: Duration,
}

impl Default for Limits {
    /// Returns 50 steps, five minutes in total and half a minute per call.
    fn default() -> Self {
        Self { steps: 50, time: Duration::from_secs(300), call: Duration::from_secs(30) }
    }
}

/// An environment that one agent acts in.
pub struct Episode {
    id: String,
    task: TaskInfo,
    tools: Vec<Tool>,
    limits: Limits,
    began: Instant,
    began_at: Timestamp,
    calls: Semaphore,
    /// Whether a request with the episode's token has arrived.
    pub(super) reached: AtomicBool,
    state: Mutex<State>,
    outcome: watch::Sender<Option<Outcome>>,
}

struct State {
    environment: Box<dyn Environment>,
    steps: u32,
    trace: Vec<TracedCall>,
    /// The failure of the environment, if it failed.
    fault: Option<String>,
}

impl Episode {
    pub(super) fn new(
        id: String,
        environment: Box<dyn Environment>,
        limits: Limits,
        now: Timestamp,
    ) -> Result<Self, OpenError> {
        Ok(Self {
            id,
            task: environment.task(),
            tools: with_submit(environment.tools())?,
            limits,
            began: Instant::now(),
            began_at: now,
            calls: Semaphore::new(MAX_PENDING_CALLS),
            reached: AtomicBool::new(false),
            state: Mutex::new(State { environment, steps: 0, trace: Vec::new(), fault: None }),
            outcome: watch::Sender::new(None),
        })
    }

    /// Returns the id under which [`super::Episodes`] has this episode.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the task description.
    pub fn task(&self) -> &TaskInfo {
        &self.task
    }

    /// Returns the environment's tools, and `submit`.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// Calls a tool. An impossible call, for example of an unknown tool, with a wrong argument or after the
    /// episode's end, is a result with `is_error` that says why. Calls run one at a time, in the order in which
    /// they arrive.
    pub async fn call(&self, tool: &str, arguments: JsonObject) -> CallToolResult {
        let Ok(_turn) = self.calls.try_acquire() else {
            return refused(format!(
                "{MAX_PENDING_CALLS} calls are under way already; wait for one to end"
            ));
        };
        let mut state = self.state.lock().await;
        self.end_if_expired(&mut state).await;
        if let Some(ended) = self.ended() {
            return refused(self.over(ended));
        }
        let traced = self.traced(tool, &arguments);
        let (result, ended) = match tool {
            SUBMIT => self.submit(&mut state, arguments).await,
            _ => self.step(&mut state, tool, arguments).await,
        };
        state.remember(traced, &result);
        if let Some(ended) = ended {
            self.end(&mut state, ended).await;
        }
        result
    }

    async fn submit(
        &self,
        state: &mut State,
        arguments: JsonObject,
    ) -> (CallToolResult, Option<EndReason>) {
        let read = |given: &mut Arguments| given.optional::<Value>("answer");
        let answer = match Arguments::read_all(arguments, read) {
            Ok(answer) => answer,
            Err(error) => return (refused(error), None),
        };
        let limit = self.call_limit();
        let taken = with_limit(limit, state.environment.submit(answer.as_ref())).await;
        match taken.and_then(|taken| taken.map_err(|error| error.to_string())) {
            Ok(()) => {
                let said = vec![ContentBlock::text("submitted; the episode is over")];
                (CallToolResult::success(said), Some(EndReason::Submitted))
            }
            Err(_) if self.is_expired() => self.over_now(EndReason::TimeLimit),
            Err(fault) => self.fail(state, format!("taking the answer: {fault}")),
        }
    }

    async fn step(
        &self,
        state: &mut State,
        tool: &str,
        arguments: JsonObject,
    ) -> (CallToolResult, Option<EndReason>) {
        if state.steps >= self.limits.steps {
            return self.over_now(EndReason::StepLimit);
        }
        state.steps += 1;
        if !self.tools.iter().any(|known| known.name == tool) {
            return (refused(self.unknown(tool)), None);
        }
        let limit = self.call_limit();
        let called = timeout(limit, catch_panic(state.environment.call(tool, arguments))).await;
        match called {
            Ok(Ok(result)) => (result, None),
            Ok(Err(panic)) => self.fail(state, format!("{tool}: {panic}")),
            Err(_) if self.is_expired() => self.over_now(EndReason::TimeLimit),
            Err(_) => (refused(format!("{tool} did not end within {limit:?}")), None),
        }
    }

    /// Ends the episode because the environment failed. The result tells the agent that it is not at fault.
    fn fail(&self, state: &mut State, fault: String) -> (CallToolResult, Option<EndReason>) {
        tracing::error!(episode = self.id, fault, "the environment failed");
        state.fault = Some(fault);
        self.over_now(EndReason::EnvironmentFailed)
    }

    /// Returns the result of a call that ends the episode.
    fn over_now(&self, ended: EndReason) -> (CallToolResult, Option<EndReason>) {
        (refused(self.over(ended)), Some(ended))
    }

    /// Returns whether the episode's time is over.
    pub(super) fn is_expired(&self) -> bool {
        self.began.elapsed() >= self.limits.time
    }

    /// See [`super::Episodes::outcome`].
    pub(super) async fn outcome(&self) -> Option<Outcome> {
        if self.is_expired() {
            self.end_if_expired(&mut *self.state.lock().await).await;
        }
        self.outcome.borrow().clone()
    }

    /// See [`super::Episodes::finished`].
    pub(super) async fn finished(&self) -> Outcome {
        let mut watching = self.outcome.subscribe();
        tokio::select! {
            // The channel cannot be closed, because this episode owns its sender.
            _ = watching.wait_for(Option::is_some) => {}
            () = sleep_until(self.began + self.limits.time) => {}
        }
        self.ended_by(EndReason::TimeLimit).await
    }

    /// See [`super::Episodes::close`].
    pub(super) async fn close(&self) -> Outcome {
        let ended = if self.is_expired() { EndReason::TimeLimit } else { EndReason::Closed };
        self.ended_by(ended).await
    }

    /// Ends the episode for this reason if it has not ended yet, and returns its outcome.
    async fn ended_by(&self, ended: EndReason) -> Outcome {
        let mut state = self.state.lock().await;
        let outcome = self.outcome.borrow().clone();
        match outcome {
            Some(outcome) => outcome,
            None => self.end(&mut state, ended).await,
        }
    }

    async fn end_if_expired(&self, state: &mut State) {
        if self.is_expired() && self.ended().is_none() {
            self.end(state, EndReason::TimeLimit).await;
        }
    }

    /// Ends the episode and scores the environment's state, unless the environment has failed before.
    async fn end(&self, state: &mut State, ended: EndReason) -> Outcome {
        let score = match state.fault {
            Some(_) => Score::nothing(),
            None => self.score(state).await,
        };
        let outcome = Outcome {
            score,
            steps: state.steps,
            reached: self.reached.load(Ordering::Relaxed),
            ended: match state.fault {
                Some(_) => EndReason::EnvironmentFailed,
                None => ended,
            },
            fault: state.fault.clone(),
            trace: state.trace.clone(),
        };
        self.outcome.send_replace(Some(outcome.clone()));
        outcome
    }

    async fn score(&self, state: &mut State) -> Score {
        let scored = with_limit(self.limits.call, state.environment.score()).await;
        let scored = scored.and_then(|scored| scored.map_err(|error| error.to_string()));
        match scored.and_then(checked) {
            Ok(score) => score,
            Err(fault) => {
                tracing::error!(episode = self.id, fault, "the environment reported no score");
                state.fault = Some(format!("reporting the score: {fault}"));
                Score::nothing()
            }
        }
    }

    fn ended(&self) -> Option<EndReason> {
        self.outcome.borrow().as_ref().map(|outcome| outcome.ended)
    }

    /// Returns the time limit of a call that begins now.
    fn call_limit(&self) -> Duration {
        let left = self.limits.time.saturating_sub(self.began.elapsed());
        self.limits.call.min(left)
    }

    fn over(&self, ended: EndReason) -> String {
        let why = match ended {
            EndReason::Submitted => "it was submitted".to_owned(),
            EndReason::StepLimit => format!("its limit of {} steps was reached", self.limits.steps),
            EndReason::TimeLimit => format!("its time limit of {:?} was reached", self.limits.time),
            EndReason::Closed => "it was closed".to_owned(),
            EndReason::EnvironmentFailed => "the environment failed".to_owned(),
        };
        format!("the episode is over: {why}")
    }

    fn unknown(&self, tool: &str) -> String {
        let known: Vec<&str> = self.tools.iter().map(|tool| &*tool.name).collect();
        format!("there is no tool {tool:?}; there are {}", known.join(", "))
    }

    fn traced(&self, tool: &str, arguments: &JsonObject) -> TracedCall {
        let since = SignedDuration::try_from(self.began.elapsed()).unwrap_or(SignedDuration::MAX);
        let length = serde_json::to_vec(arguments).map_or(usize::MAX, |text| text.len());
        let short = length <= MAX_TRACED_ARGUMENTS;
        TracedCall {
            tool: tool.chars().take(MAX_TRACED_NAME).collect(),
            arguments: if short { arguments.clone() } else { JsonObject::new() },
            is_error: false,
            at: self.began_at.saturating_add(since).unwrap_or(Timestamp::MAX),
        }
    }
}

impl State {
    fn remember(&mut self, mut call: TracedCall, result: &CallToolResult) {
        call.is_error = result.is_error == Some(true);
        if self.trace.len() < MAX_TRACED_CALLS {
            self.trace.push(call);
        }
    }
}

/// Runs code of the environment within a time limit. A panic in it is an error.
async fn with_limit<T>(limit: Duration, work: impl Future<Output = T>) -> Result<T, String> {
    let done = timeout(limit, catch_panic(work)).await;
    done.unwrap_or_else(|_| Err(format!("it did not end within {limit:?}")))
}

/// Runs code of others; a panic is an error with the panic's message. An environment is not called again after that,
/// because its state may be inconsistent.
pub(crate) async fn catch_panic<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let done = AssertUnwindSafe(work).catch_unwind().await;
    done.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        format!("it panicked: {}", text.unwrap_or("without a word"))
    })
}

/// Returns an error for a score whose reward is outside of its range.
fn checked(score: Score) -> Result<Score, String> {
    match (0.0..=1.0).contains(&score.reward) {
        true => Ok(score),
        false => Err(format!("expected a reward from 0 to 1, found {}", score.reward)),
    }
}

/// Returns the environment's tools and the episode's own, marked as changing state: an episode counts steps, so
/// the order of calls matters.
fn with_submit(mut tools: Vec<Tool>) -> Result<Vec<Tool>, OpenError> {
    let mut names = BTreeSet::new();
    for tool in &tools {
        if tool.name == SUBMIT {
            return Err(OpenError::ReservedTool);
        }
        if !names.insert(&tool.name) {
            return Err(OpenError::SameTool(tool.name.to_string()));
        }
    }
    tools.push(tool(
        SUBMIT,
        "Ends the task: call it once, when the goal is reached.",
        json!({"answer": {
            "description": "the answer, if the task asks for one",
            // Any value, with its types: some clients of MCP refuse all tools of a server if an argument has none.
            "anyOf": [
                {"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "boolean"},
                {"type": "object"}, {"type": "array", "items": {}},
            ],
        }}),
        &[],
    ));
    Ok(tools.into_iter().map(changing).collect())
}

impl fmt::Debug for Episode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Episode")
            .field("id", &self.id)
            .field("task", &self.task)
            .field("limits", &self.limits)
            .field("ended", &self.ended())
            .finish_non_exhaustive()
    }
}
