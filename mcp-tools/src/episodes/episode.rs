//! One episode: an environment, what may still be done in it, and what was done.

use std::{collections::BTreeSet, fmt, time::Duration};

use jiff::{SignedDuration, Timestamp};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool};
use serde_json::{Value, json};
use tokio::{
    sync::{Mutex, Semaphore, watch},
    time::{Instant, sleep_until, timeout},
};

use super::{
    SUBMIT,
    error::OpenError,
    outcome::{Ended, Outcome, TracedCall},
};
use crate::environments::{Arguments, Environment, TaskInfo, refused, tool};

/// The longest that an episode may take.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// How many calls may be under way, the one that runs and those that wait for it.
const CALLS: usize = 16;

/// How many calls are remembered, how long their arguments may be in bytes of JSON, and their names in
/// characters.
const TRACE: usize = 1000;
const TRACED_BYTES: usize = 4096;
const TRACED_NAME: usize = 100;

/// How much may be done in an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many calls of the environment's tools, refused ones included; the one beyond them ends the
    /// episode. A submission is no step.
    pub steps: u32,
    /// How long it may take in all, a day at the longest.
    pub time: Duration,
    /// How long one call may take.
    pub call: Duration,
}

impl Default for Limits {
    /// 50 steps in five minutes, half a minute for a call.
    fn default() -> Self {
        Self {
            steps: 50,
            time: Duration::from_secs(300),
            call: Duration::from_secs(30),
        }
    }
}

impl Limits {
    pub(super) fn checked(self) -> Result<Self, OpenError> {
        if self.time > LONGEST {
            return Err(OpenError::TooLong {
                wanted: self.time,
                longest: LONGEST,
            });
        }
        Ok(self)
    }
}

/// An environment that one agent works in.
pub struct Episode {
    id: String,
    task: TaskInfo,
    tools: Vec<Tool>,
    limits: Limits,
    began: Instant,
    began_at: Timestamp,
    calls: Semaphore,
    state: Mutex<State>,
    outcome: watch::Sender<Option<Outcome>>,
}

struct State {
    environment: Box<dyn Environment>,
    steps: u32,
    trace: Vec<TracedCall>,
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
            calls: Semaphore::new(CALLS),
            state: Mutex::new(State {
                environment,
                steps: 0,
                trace: Vec::new(),
            }),
            outcome: watch::Sender::new(None),
        })
    }

    /// Its name towards [`super::Episodes`].
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What is to be done in it.
    pub fn task(&self) -> &TaskInfo {
        &self.task
    }

    /// The environment's tools, and `submit`.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// Calls a tool. What cannot be done is a result with `is_error` that says why: a wrong argument, a
    /// tool that is not there, an episode that has ended. Calls run one at a time, in their order.
    pub async fn call(&self, tool: &str, arguments: JsonObject) -> CallToolResult {
        let Ok(_turn) = self.calls.try_acquire() else {
            return refused(format!(
                "{CALLS} calls are under way already; wait for one to end"
            ));
        };
        let mut state = self.state.lock().await;
        self.end_if_expired(&state);
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
            self.end(&state, ended);
        }
        result
    }

    async fn submit(
        &self,
        state: &mut State,
        arguments: JsonObject,
    ) -> (CallToolResult, Option<Ended>) {
        let mut arguments = Arguments::new(arguments);
        let answer = arguments.optional::<Value>("answer");
        let answer = answer.and_then(|answer| arguments.done().map(|()| answer));
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return (refused(error), None),
        };
        let taken = timeout(self.call_limit(), state.environment.submit(answer.as_ref()));
        if taken.await.is_err() {
            tracing::warn!(
                episode = self.id,
                "the environment took too long to take an answer"
            );
        }
        let said = vec![ContentBlock::text("submitted; the episode is over")];
        (CallToolResult::success(said), Some(Ended::Submitted))
    }

    async fn step(
        &self,
        state: &mut State,
        tool: &str,
        arguments: JsonObject,
    ) -> (CallToolResult, Option<Ended>) {
        if state.steps >= self.limits.steps {
            let ended = Ended::StepLimit;
            return (refused(self.over(ended)), Some(ended));
        }
        state.steps += 1;
        if !self.tools.iter().any(|known| known.name == tool) {
            return (refused(self.unknown(tool)), None);
        }
        let limit = self.call_limit();
        match timeout(limit, state.environment.call(tool, arguments)).await {
            Ok(result) => (result, None),
            Err(_) if self.is_expired() => {
                let ended = Ended::TimeLimit;
                (refused(self.over(ended)), Some(ended))
            }
            Err(_) => (
                refused(format!("{tool} did not end within {limit:?}")),
                None,
            ),
        }
    }

    /// Whether its time is over.
    pub(super) fn is_expired(&self) -> bool {
        self.began.elapsed() >= self.limits.time
    }

    /// See [`super::Episodes::outcome`].
    pub(super) async fn outcome(&self) -> Option<Outcome> {
        if self.is_expired() {
            self.end_if_expired(&*self.state.lock().await);
        }
        self.outcome.borrow().clone()
    }

    /// See [`super::Episodes::finished`].
    pub(super) async fn finished(&self) -> Outcome {
        let mut watching = self.outcome.subscribe();
        tokio::select! {
            // It cannot be closed: its sender is this episode's.
            _ = watching.wait_for(Option::is_some) => {}
            () = sleep_until(self.began + self.limits.time) => {}
        }
        self.ended_by(Ended::TimeLimit).await
    }

    /// See [`super::Episodes::close`].
    pub(super) async fn close(&self) -> Outcome {
        let ended = match self.is_expired() {
            true => Ended::TimeLimit,
            false => Ended::Closed,
        };
        self.ended_by(ended).await
    }

    /// Its outcome; it ends by this if it has not ended yet.
    async fn ended_by(&self, ended: Ended) -> Outcome {
        let state = self.state.lock().await;
        let outcome = self.outcome.borrow().clone();
        outcome.unwrap_or_else(|| self.end(&state, ended))
    }

    fn end_if_expired(&self, state: &State) {
        if self.is_expired() && self.ended().is_none() {
            self.end(state, Ended::TimeLimit);
        }
    }

    fn end(&self, state: &State, ended: Ended) -> Outcome {
        let outcome = Outcome {
            score: state.environment.score(),
            steps: state.steps,
            ended,
            trace: state.trace.clone(),
        };
        self.outcome.send_replace(Some(outcome.clone()));
        outcome
    }

    fn ended(&self) -> Option<Ended> {
        self.outcome.borrow().as_ref().map(|outcome| outcome.ended)
    }

    /// How long a call that begins now may take.
    fn call_limit(&self) -> Duration {
        let left = self.limits.time.saturating_sub(self.began.elapsed());
        self.limits.call.min(left)
    }

    fn over(&self, ended: Ended) -> String {
        let why = match ended {
            Ended::Submitted => "it was submitted".to_owned(),
            Ended::StepLimit => format!("its {} steps are used up", self.limits.steps),
            Ended::TimeLimit => format!("its time of {:?} is up", self.limits.time),
            Ended::Closed => "it was closed".to_owned(),
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
        let short = length <= TRACED_BYTES;
        TracedCall {
            tool: tool.chars().take(TRACED_NAME).collect(),
            arguments: if short {
                arguments.clone()
            } else {
                JsonObject::new()
            },
            is_error: false,
            at: self
                .began_at
                .saturating_add(since)
                .unwrap_or(Timestamp::MAX),
        }
    }
}

impl State {
    fn remember(&mut self, mut call: TracedCall, result: &CallToolResult) {
        call.is_error = result.is_error == Some(true);
        if self.trace.len() < TRACE {
            self.trace.push(call);
        }
    }
}

/// The environment's tools and the episode's own.
fn with_submit(mut tools: Vec<Tool>) -> Result<Vec<Tool>, OpenError> {
    let mut names = BTreeSet::new();
    for tool in &tools {
        if tool.name == SUBMIT {
            return Err(OpenError::ReservedTool);
        }
        if !names.insert(&tool.name) {
            let name = tool.name.to_string();
            return Err(OpenError::SameTool { name });
        }
    }
    tools.push(tool(
        SUBMIT,
        "Ends the task: call it once, when the goal is reached.",
        json!({"answer": {"description": "the answer, if the task asks for one"}}),
        &[],
    ));
    Ok(tools)
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
