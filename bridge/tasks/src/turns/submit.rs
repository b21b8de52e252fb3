//! Accepts messages: logs a message, and starts or queues its turn.

use std::{borrow::Cow, future::poll_fn, mem, pin::pin, sync::Arc, task::Poll, time::Duration};

use bridge_program::InFlight;
use bridge_protocol::a2a::{Message, Metadata};
use bridge_telemetry::{Instrument as _, TraceContext};
use tokio::{sync::oneshot, time::timeout};

use super::{
    TurnError, Turns,
    conversation_slot::ConversationSlot,
    memory_budget::BudgetReservation,
    queue::{ConversationKey, TurnJob},
    run::ReadyTurn,
    turn_events::submission_events,
};
use crate::{
    agent::{Agent, RepeatPolicy},
    caller::Caller,
    clock,
    log_reader::LogReader,
    store::{Append, Head, Seq, StoreError, size},
};

/// The number of attempts when others append to the same task.
const ATTEMPTS: usize = 64;

/// The time that a message waits for memory.
const MEMORY_WAIT: Duration = Duration::from_secs(2);

/// A message for an agent.
#[derive(Clone, Debug)]
pub struct IncomingMessage {
    /// The agent's name.
    pub agent: Arc<str>,
    /// The sender.
    pub caller: Caller,
    /// The message.
    pub message: Message,
    /// The id that the client chose for the task (A2A 0.1).
    pub client_id: Option<String>,
    /// Metadata for the task. That of a later message is added to the task's.
    pub metadata: Option<Metadata>,
    /// The last event of the task that the caller has seen. If the task has changed since, the message is refused.
    pub seen: Option<Seq>,
    /// Whether the caller streams the answer.
    pub is_watched: bool,
}

/// The location of a message in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// The task.
    pub task: Arc<str>,
    /// The event of the message.
    pub message: Seq,
    /// The last event that was appended with the message.
    pub last: Seq,
    /// The turn that answers the message.
    pub turn: u64,
    /// Whether the message is a repetition: nothing was logged, and no turn runs for it.
    pub repeated: bool,
    /// Whether the turn started with the message, without being queued.
    pub has_begun: bool,
}

/// The task to which a message belongs.
pub(super) struct Target {
    /// The head of the task; `None` if the message creates the task.
    pub(super) head: Option<Arc<Head>>,
    /// The size of the task in bytes.
    pub(super) size: usize,
    pub(super) task: Arc<str>,
    pub(super) context: Arc<str>,
}

impl Target {
    /// Returns the task that the message names, given its head and size, or a new one.
    fn of(incoming: &IncomingMessage, named: Option<(Arc<Head>, usize)>) -> Self {
        match named {
            Some((head, size)) => Self {
                task: Arc::clone(&head.task),
                context: Arc::clone(&head.context_id),
                size,
                head: Some(head),
            },
            None => {
                let context = incoming.message.context_id.as_deref().map(Arc::from);
                Self {
                    head: None,
                    size: 0,
                    task: clock::new_id().into(),
                    context: context.unwrap_or_else(|| clock::new_id().into()),
                }
            }
        }
    }

    /// Returns the number of the task's last event.
    fn seq(&self) -> Seq {
        self.head.as_ref().map_or(0, |head| head.seq)
    }

    /// Returns the number of the message's turn.
    fn turn(&self) -> u64 {
        self.head.as_ref().map_or(1, |head| head.last_turn + 1)
    }
}

/// A message that was logged, and its turn if it can run now.
type SubmitResult = (Submitted, Option<ReadyTurn>);

impl Turns {
    /// Logs a message and starts or queues its turn. A repetition of an earlier message returns that message's
    /// location; a different message with the same id is refused.
    ///
    /// The work continues even if the future is dropped, because otherwise a client that disconnects could leave a
    /// conversation blocked by a turn that never runs.
    ///
    /// # Errors
    /// If the message is refused, for example because its task has ended or too many messages wait, or if the store fails. See
    /// [`TurnError`].
    pub async fn submit(&self, incoming: IncomingMessage) -> Result<Submitted, TurnError> {
        self.keep_heartbeat();
        // Boxed because it is dropped long before the turn ends.
        let (turns, incoming) = (self.clone(), Box::new(incoming));
        let (answer, answered) = oneshot::channel();
        let request = InFlight::current();
        let span = bridge_telemetry::current();
        // The future is boxed, because tokio copies spawned futures several times.
        let carrying = tokio::spawn(Box::pin(async move {
            // The span of the request ends before the turn does.
            let mut has_waited = false;
            let done = {
                let mut submitting = pin!(turns.submit_with_retries(&incoming).instrument(span));
                let observed = poll_fn(|context| {
                    let polled = submitting.as_mut().poll(context);
                    has_waited |= polled.is_pending();
                    polled
                });
                observed.await
            };
            // The turn reads the message from the log, and may take long.
            drop(incoming);
            if let Some(request) = request {
                request.release();
            }
            let (submitted, ready) = done.map_or_else(
                |error| (Err(error), None),
                |(submitted, ready)| (Ok(submitted), ready),
            );
            // The caller may be gone.
            let _ = answer.send(submitted);
            if let Some(ready) = ready {
                // A store in memory never waits, and has all data ready when the caller reads.
                if has_waited {
                    woken_first().await;
                }
                turns.run_all(ready).await;
            }
        }));
        if let Ok(submitted) = answered.await {
            return submitted;
        }
        match carrying.await {
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The runtime was shut down meanwhile, so that it is unknown whether the message is in the log.
            Err(_) | Ok(()) => {
                let reason = "the bridge is stopping".to_owned();
                Err(StoreError::Unavailable { reason }.into())
            }
        }
    }

    async fn submit_with_retries(
        &self,
        incoming: &IncomingMessage,
    ) -> Result<SubmitResult, TurnError> {
        let no_agent = || TurnError::NoAgent { agent: incoming.agent.to_string() };
        let agent = self.agent(&incoming.agent).ok_or_else(no_agent)?;
        let mut incoming = Cow::Borrowed(incoming);
        let (mut reservation, mut has_waited) = (None, false);
        for _ in 0..ATTEMPTS {
            match self.try_submit(&agent, &incoming, reservation.take()).await {
                // Most turns are short, so memory will be available soon.
                Err(TurnError::OutOfMemory { bytes }) if !has_waited => {
                    has_waited = true;
                    let taking = self.0.memory_budget.reserve(&incoming.caller, bytes);
                    let taking = Box::pin(timeout(MEMORY_WAIT, taking));
                    reservation = taking.await.ok().flatten();
                }
                Err(TurnError::Store(StoreError::Conflict { .. })) => {}
                // Another message created the same 0.1 task first. The next attempt continues that task.
                Err(TurnError::Store(StoreError::Taken { .. })) => {}
                Err(TurnError::Store(StoreError::Duplicate { task, seq, .. })) => {
                    match agent.settings.repeats {
                        RepeatPolicy::Same => {
                            let repeated = Box::pin(self.repeated(&incoming, task, seq));
                            return Ok((repeated.await?, None));
                        }
                        RepeatPolicy::Another => {
                            let id = &mut incoming.to_mut().message.message_id;
                            *id = format!("{id}-{}", clock::new_id());
                        }
                    }
                }
                done => return done,
            }
        }
        Err(TurnError::Busy { waiting: ATTEMPTS })
    }

    async fn try_submit(
        &self,
        agent: &Agent,
        incoming: &IncomingMessage,
        reservation: Option<BudgetReservation>,
    ) -> Result<SubmitResult, TurnError> {
        let target = Target::of(incoming, self.addressed(incoming).await?);
        let bytes = size::message(&incoming.message);
        let unended = match self.0.places.enter(&agent.name, bytes) {
            Ok(unended) => unended,
            Err(turns) => {
                let refusal = TurnError::AgentBusy { turns };
                return Err(self.unless_repeated(incoming, refusal).await);
            }
        };
        let job = Arc::new(TurnJob {
            agent: Arc::clone(&agent.name),
            caller: incoming.caller.clone(),
            task: Arc::clone(&target.task),
            turn: target.turn(),
            is_watched: incoming.is_watched,
            cause: TraceContext::current(),
            unended: Some(unended),
        });
        let placing = self.place(agent, incoming, &target, &job, reservation);
        let placement = placing.await?;
        let has_begun = placement.runs_at_once();
        let append = Append {
            task: Arc::clone(&target.task),
            expected: target.seq(),
            time: clock::now(),
            events: submission_events(agent, incoming, &target, &job, has_begun),
        };
        match self.0.store.append(&incoming.caller, append).await {
            Ok(head) => {
                let submitted = Submitted {
                    message: target.seq() + 1 + Seq::from(target.head.is_none()),
                    task: target.task,
                    last: head.seq,
                    turn: job.turn,
                    repeated: false,
                    has_begun,
                };
                Ok((submitted, placement.logged(self, job, head)))
            }
            Err(error) => {
                placement.refused(self);
                Err(error.into())
            }
        }
    }

    /// Queues a turn that is already in the log, or runs it if its conversation has become free.
    pub(super) fn wait_or_run(&self, key: ConversationKey, job: Arc<TurnJob>) {
        if let Ok(cancel_signal) = self.0.queues.enter(&key, &job, true) {
            let slot = ConversationSlot::new(self, key);
            self.spawn(ReadyTurn::queued(slot, job, cancel_signal));
        }
    }

    /// Returns the task that the message names, if it names one, with its size in bytes.
    async fn addressed(
        &self,
        incoming: &IncomingMessage,
    ) -> Result<Option<(Arc<Head>, usize)>, TurnError> {
        let IncomingMessage { agent, caller, message, client_id, .. } = incoming;
        let task = match (&message.task_id, client_id) {
            (Some(task), _) => task.clone(),
            (None, Some(client_id)) => {
                match self.0.store.find_client_task(caller, agent, client_id).await? {
                    Some(task) => task,
                    None => return Ok(None),
                }
            }
            (None, None) => return Ok(None),
        };
        let head = self.0.store.head(caller, &task).await?;
        // Tasks of other agents are treated as nonexistent.
        if head.agent != *agent {
            return Err(TurnError::NotFound { task });
        }
        // A repetition is recognized even if its task has ended since.
        if head.state.is_terminal() {
            return Err(self.unless_repeated(incoming, TurnError::Ended { task }).await);
        }
        match &message.context_id {
            Some(named) if **named != *head.context_id => Err(TurnError::OtherContext {
                task,
                actual: head.context_id.to_string(),
                named: named.clone(),
            }),
            Some(_) | None => {
                // The turn will need the whole task, so a damaged one is not continued.
                let snapshot = self.0.store.task(caller, &task).await?;
                self.has_seen_all(incoming, &head).await?;
                let (size, limit) = (snapshot.size(), self.0.limits.task);
                match size + size::message(message) {
                    bytes if bytes > limit => Err(TurnError::TaskTooLarge { task, bytes, limit }),
                    _ => Ok(Some((head, size))),
                }
            }
        }
    }

    /// Refuses a message if its caller states the last event seen, and the task has changed since. A repetition is
    /// accepted, because the earlier message itself changed the task. An append by others leads to another check.
    async fn has_seen_all(&self, incoming: &IncomingMessage, head: &Head) -> Result<(), TurnError> {
        let Some(seen) = incoming.seen else {
            return Ok(());
        };
        let mut has_moved = seen > head.seq;
        if seen < head.seq {
            let mut log = LogReader::after(seen, &*self.0.store, &incoming.caller, &head.task);
            // Streams do not show the beginning and the end of a turn.
            while !has_moved && let Some(stored) = log.next().await? {
                has_moved = stored.event.is_news();
            }
        }
        if !has_moved {
            return Ok(());
        }
        let moved = TurnError::MovedOn { task: head.task.to_string(), newest: head.seq, seen };
        Err(self.unless_repeated(incoming, moved).await)
    }
}

/// Runs the task that was woken last first: the caller of a turn subscribes to its events before there are any, and so
/// need not read them from the disk. `yield_now` would check for input and output first, which costs system calls.
async fn woken_first() {
    let mut has_waited = false;
    poll_fn(|context| {
        if mem::replace(&mut has_waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
