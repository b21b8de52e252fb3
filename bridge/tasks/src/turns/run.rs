//! Runs one turn, from the call of the agent to its end in the log.

use std::{panic::AssertUnwindSafe, sync::Arc};

use bridge_protocol::a2a::TaskState;
use bridge_telemetry::Instrument as _;
use futures_util::FutureExt as _;
use jiff::Timestamp;
use tokio::time::Instant;

use super::{
    Turns,
    agent_call::{self, CallEnd, PreparedTurn},
    agent_places::RunPermit,
    conversation_slot::ConversationSlot,
    memory_budget::{self, BudgetReservation},
    open_artifacts,
    queue::TurnJob,
    status_answer,
    turn_events::start_events,
    unlogged_ends::{StoreRetry, UnloggedEnd},
};
use crate::{
    agent::{Agent, AnswerKind},
    executor::{CancelSignal, EmitError, MessageOfTask, TaskHandle, Update, validity},
    store::{Event, Head, StoreError, TurnState},
    trace,
};

/// A turn that holds its conversation's slot and can run.
pub(super) struct ReadyTurn {
    pub(super) slot: ConversationSlot,
    pub(super) job: Arc<TurnJob>,
    pub(super) cancel_signal: CancelSignal,
    /// What a turn has that was started with its message. A turn that was queued gets it when it runs.
    pub(super) begun: Option<BegunTurn>,
}

/// A turn that was started with its message.
pub(super) struct BegunTurn {
    /// The task's head, which was just written.
    pub(super) head: Arc<Head>,
    pub(super) held: Held,
}

/// The right of a turn to run, and its memory.
pub(super) type Held = (Option<RunPermit>, Option<BudgetReservation>);

/// What is known of the start of a turn in the log.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// This process has not tried to log it, or the log had no room for it.
    Unknown,
    /// This process has tried to log it. If the turn has started, another process may have done so, and calls the agent.
    Tried,
    /// This process has logged it.
    Logged,
}

impl ReadyTurn {
    pub(super) fn queued(
        slot: ConversationSlot,
        job: Arc<TurnJob>,
        cancel_signal: CancelSignal,
    ) -> Self {
        Self { slot, job, cancel_signal, begun: None }
    }
}

impl Turns {
    /// Runs a turn and those that wait behind it, in a separate task.
    pub(super) fn spawn(&self, ready: ReadyTurn) {
        let turns = self.clone();
        tokio::spawn(async move { turns.run_all(ready).await });
    }

    /// Runs a turn and those that wait behind it.
    pub(super) async fn run_all(&self, ready: ReadyTurn) {
        let ReadyTurn { mut slot, job, cancel_signal, mut begun } = ready;
        if slot.hold().await.is_none() {
            return;
        }
        let mut next = Some((job, cancel_signal));
        while let Some((job, cancel_signal)) = next {
            let span = trace::turn(&job.agent, &job.task, job.turn, &job.cause);
            let running = self.run(&job, cancel_signal, begun.take()).instrument(span);
            if AssertUnwindSafe(running).catch_unwind().await.is_err() {
                tracing::error!(task = &*job.task, turn = job.turn, "the work on a turn panicked");
                let text = "The bridge failed while the agent worked on this message.";
                // Boxed, like all rare steps: their state would enlarge the future of every turn for its whole duration.
                Box::pin(self.fail(&job, text)).await;
            }
            next = slot.next().await;
        }
    }

    /// Ends a turn as failed, as soon as the store accepts it.
    pub(super) async fn fail(&self, job: &TurnJob, text: &str) {
        let mut retry = StoreRetry::new(&self.0.unlogged_ends, job);
        let ended = loop {
            let tried = self.try_fail(job, text).await;
            if let Some(ended) = retry.next_attempt(tried).await {
                break ended;
            }
        };
        match ended {
            Ok(()) | Err(EmitError::Ended { .. }) => {}
            Err(EmitError::Store(error)) => {
                tracing::error!(task = &*job.task, turn = job.turn, %error, "a turn was lost");
                self.0.unlogged_ends.add(job, UnloggedEnd::Lost);
            }
        }
    }

    async fn try_fail(&self, job: &TurnJob, text: &str) -> Result<(), EmitError> {
        let handle = TaskHandle::new(self.0.store.clone(), self.head(job).await?);
        end(&handle, job.turn, &mut handle.events(failed(job, text))).await
    }

    /// Runs a turn to its end. The end is logged whatever the agent does, unless the task is damaged or the store is
    /// closed; then the turn stays open until a restart.
    async fn run(&self, job: &TurnJob, cancel_signal: CancelSignal, begun: Option<BegunTurn>) {
        let _watched = self.watch_for_cancelation(job, &cancel_signal);
        let ended = match self.agent(&job.agent) {
            Some(agent) => self.work(&agent, job, cancel_signal, begun).await,
            // The agent was removed while the turn waited.
            None => Box::pin(self.try_fail(job, "The agent is not hosted here any more.")).await,
        };
        match ended {
            Ok(()) | Err(EmitError::Ended { .. }) => {}
            Err(EmitError::Store(error)) => {
                if !error.is_reported_by_store() {
                    tracing::error!(task = &*job.task, turn = job.turn, %error, "the result of a turn could not be \
                         stored");
                }
                let text = "The bridge could not store the result of this message.";
                Box::pin(self.fail(job, text)).await;
            }
        }
    }

    /// Reserves the resources of a turn that is already in the log, and waits for them if necessary: first the right to
    /// run, so that a caller that waits for a slow agent takes no memory from others. A turn from before a restart does
    /// not wait, because its agent may answer at any time.
    async fn reserve(&self, job: &TurnJob) -> Result<Held, StoreError> {
        let Turns(shared) = self;
        let head = shared.store.head(&job.caller, &job.task).await?;
        let Some(turn) = head.turns.iter().find(|turn| turn.turn == job.turn) else {
            return Ok((None, None));
        };
        let permit = match turn.state {
            TurnState::Queued => shared.places.run(&job.agent).await,
            TurnState::Started { .. } => shared.places.try_run(&job.agent),
        };
        let bytes = {
            let snapshot = shared.store.task(&job.caller, &job.task).await?;
            let message = MessageOfTask::find(&snapshot.task, &turn.message_id);
            message.map_or(0, |message| memory_budget::bytes_of_turn(snapshot.size(), &message))
        };
        let reservation = match turn.state {
            TurnState::Queued => shared.memory_budget.reserve(&job.caller, bytes).await,
            TurnState::Started { .. } => shared.memory_budget.try_reserve(&job.caller, bytes),
        };
        Ok((permit, reservation))
    }

    async fn work(
        &self,
        agent: &Arc<Agent>,
        job: &TurnJob,
        cancel_signal: CancelSignal,
        begun: Option<BegunTurn>,
    ) -> Result<(), EmitError> {
        let (mut known, mut held) = begun.map(|BegunTurn { head, held }| (head, held)).unzip();
        let mut start = if known.is_some() { Start::Logged } else { Start::Unknown };
        let mut retry = StoreRetry::new(&self.0.unlogged_ends, job);
        let prepared = loop {
            let prepared = async {
                if held.is_none() {
                    held = Some(Box::pin(self.reserve(job)).await?);
                }
                self.prepare(agent, job, known.take(), &mut start).await
            };
            let tried = prepared.await;
            if start == Start::Tried {
                break tried?;
            }
            // The agent was not called yet, so the turn has not failed.
            if let Some(prepared) = retry.next_attempt(tried).await {
                break prepared?;
            }
        };
        drop(retry);
        match prepared {
            Some(prepared) => self.call(agent, job, prepared, cancel_signal).await,
            // The task ended while the turn waited.
            None => Ok(()),
        }
    }

    /// Logs the start of a turn if necessary, and collects the input of the agent.
    async fn prepare(
        &self,
        agent: &Agent,
        job: &TurnJob,
        known: Option<Arc<Head>>,
        start: &mut Start,
    ) -> Result<Option<PreparedTurn>, EmitError> {
        let head = match known {
            Some(head) => head,
            None => self.head(job).await?,
        };
        let store = &self.0.store;
        let handle = TaskHandle::new(store.clone(), Arc::clone(&head)).within(self.0.limits.task);
        // A start that was not logged here was logged by an earlier process.
        let until = open_until(&head, job.turn).filter(|_| *start != Start::Logged);
        if !is_queued(&head, job.turn) {
            if *start == Start::Unknown && until.is_none() {
                // The turn has ended, or another process has started it.
                return Ok(None);
            }
        } else {
            *start = Start::Tried;
            let events = |head: &Head| {
                is_queued(head, job.turn).then(|| start_events(job.turn, agent).into())
            };
            match handle.append(events).await {
                Ok(Some(_)) => *start = Start::Logged,
                Ok(None) => return Ok(None),
                // The previous turn has ended the task, so this turn can only end.
                Err(EmitError::Ended { .. }) => {
                    let ending = Box::pin(end(&handle, job.turn, &mut []));
                    return ending.await.map(|()| None);
                }
                Err(error) => {
                    if matches!(error, EmitError::Store(StoreError::Full { .. })) {
                        *start = Start::Unknown;
                    }
                    return Err(error);
                }
            }
        }
        let snapshot = store.task(&job.caller, &job.task).await?;
        let head = match handle.known() {
            head if head.seq == snapshot.seq => head,
            _ => self.head(job).await?,
        };
        let open = head.turns.iter().find(|turn| turn.turn == job.turn);
        let Some(open) = open else {
            return Ok(None);
        };
        let message = MessageOfTask::find(&snapshot.task, &open.message_id);
        let message = message.ok_or_else(|| {
            EmitError::Store(StoreError::Corrupt {
                what: format!("task {}", job.task),
                reason: format!("turn {} answers no message", job.turn),
            })
        })?;
        Ok(Some(PreparedTurn {
            handle,
            message,
            task: snapshot.task,
            awaited: snapshot.awaited,
            until,
        }))
    }

    async fn head(&self, job: &TurnJob) -> Result<Arc<Head>, EmitError> {
        Ok(self.0.store.head(&job.caller, &job.task).await?)
    }

    /// Calls the agent and logs the end of the turn.
    async fn call(
        &self,
        agent: &Arc<Agent>,
        job: &TurnJob,
        prepared: PreparedTurn,
        cancel_signal: CancelSignal,
    ) -> Result<(), EmitError> {
        let handle = prepared.handle.clone();
        let (mut last, begun) = (Vec::new(), Instant::now());
        let ended = agent_call::call(agent, job, prepared, cancel_signal);
        let failing = |text: &str| handle.events(failed(job, text));
        let mut outcome = match ended.await {
            CallEnd::Answered(updates) => match validity::check(&updates) {
                Ok(()) => {
                    last = handle.events(updates);
                    // The failure is recorded there too.
                    let _ = handle.output().map(|output| output.take(&job.task, &last));
                    if last.iter().any(fails) { "failed" } else { "answered" }
                }
                Err(error) => {
                    tracing::warn!(task = &*job.task, %error, "the agent's output is not valid in A2A");
                    last = failing(&format!("The agent's output is not valid in A2A: {error}."));
                    "invalid"
                }
            },
            CallEnd::Panicked => {
                last = failing("The agent crashed while it worked on this message.");
                "panicked"
            }
            CallEnd::TimedOut(text) => {
                last = failing(&text);
                "timed_out"
            }
            // The task has ended, so there is no change to log.
            CallEnd::Canceled => "canceled",
        };
        if handle.output().is_some_and(|output| output.is_exceeded()) {
            let limit = self.0.limits.task;
            last = failing(&format!("The agent's output for one message exceeds {limit} bytes."));
            outcome = "too_large";
        }
        if agent.settings.answers == AnswerKind::Messages {
            Box::pin(status_answer::repeat(&*self.0.store, &handle, job, &mut last)).await;
        }
        self.0.metrics.turn(&job.agent, outcome, begun.elapsed());
        if outcome != "answered" {
            bridge_telemetry::fail(&bridge_telemetry::current(), outcome);
        }
        // The last changes are kept until the store accepts them.
        let mut retry = StoreRetry::new(&self.0.unlogged_ends, job);
        loop {
            let tried = end(&handle, job.turn, &mut last).await;
            if let Some(ended) = retry.next_attempt(tried).await {
                return ended;
            }
        }
    }
}

/// Returns the deadline of a started turn whose agent runs outside of this process.
fn open_until(head: &Head, turn: u64) -> Option<Timestamp> {
    let turn = head.turns.iter().find(|one| one.turn == turn)?;
    match turn.state {
        TurnState::Queued => None,
        TurnState::Started { open_until, .. } => open_until,
    }
}

fn is_queued(head: &Head, turn: u64) -> bool {
    let queued = |one: &crate::store::Turn| one.turn == turn && one.state == TurnState::Queued;
    head.turns.iter().any(queued)
}

/// Returns the change that ends a turn as failed. Its message id is derived from the turn, so that repeated
/// attempts are the same.
pub(super) fn failed(job: &TurnJob, text: &str) -> Vec<Update> {
    let id = format!("{}-turn-{}-failed", job.task, job.turn);
    vec![Update::said(TaskState::Failed, id, text)]
}

/// Logs the last changes of a turn together with its end. If the task has ended meanwhile, only the end of the turn is
/// logged. If the turn fails, open artifacts are closed.
pub(super) async fn end(
    handle: &TaskHandle,
    turn: u64,
    last: &mut [Event],
) -> Result<(), EmitError> {
    let is_failed = last.iter().any(fails);
    handle.begin(last).await?;
    let last = &*last;
    let ending = |head: &Head, closing: &[Event]| {
        let mut events = Vec::with_capacity(closing.len() + last.len() + 1);
        if !head.state.is_terminal() {
            events.extend_from_slice(closing);
            events.extend_from_slice(last);
        }
        if head.turns.iter().any(|one| one.turn == turn) {
            events.push(Event::TurnEnded { turn });
        }
        events
    };
    match is_failed {
        true => Box::pin(open_artifacts::append_closing(handle, last, ending)).await,
        false => {
            let ending = |head: &Head| Some(ending(head, &[])).filter(|events| !events.is_empty());
            handle.append(ending).await.map(|_| ())
        }
    }
}

fn fails(event: &Event) -> bool {
    matches!(event, Event::Status { status, .. } if status.state == TaskState::Failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the size of a future in bytes.
    fn size<A, F: Future>(_: impl Fn(A) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_turn_whose_agent_works_holds_little() {
        let turns = Turns::new(Arc::new(crate::store::MemoryStore::new()), []);
        let bytes = size(|begun| turns.run_all(begun));
        assert!(bytes <= 1736, "{bytes}");
    }
}
