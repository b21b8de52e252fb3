//! A message comes in: it is logged, and its turn starts or waits.

use std::{borrow::Cow, sync::Arc, time::Duration};

use bridge_program::Flight;
use bridge_protocol::a2a::{Message, Metadata};
use tokio::{sync::oneshot, time::timeout};

use super::{
    TurnError, Turns,
    memory_budget::{self, BudgetReservation},
    queue::{ConversationKey, TurnJob, conversation_key},
    run::{ConversationSlot, ReadyTurn},
    turn_events::{created_event, message_events, queued_status, start_events},
};

use crate::{
    agent::{Agent, RepeatPolicy},
    caller::Caller,
    clock,
    store::{Append, Event, Head, Seq, StoreError, size},
};

/// How often a message is tried again after somebody else's append came first.
const ATTEMPTS: usize = 64;

/// How long a message waits until the turns that run have let go of enough for it.
const MEMORY_WAIT: Duration = Duration::from_secs(2);

/// How many events of a log are read at a time.
const PAGE: usize = 256;

/// A message for an agent.
#[derive(Clone, Debug)]
pub struct IncomingMessage {
    /// The agent's name.
    pub agent: String,
    /// Who says it.
    pub caller: Caller,
    /// What is said.
    pub message: Message,
    /// The id that the client chose for the task (A2A 0.1).
    pub client_id: Option<String>,
    /// Free-form data for the task, if one is made.
    pub metadata: Option<Metadata>,
    /// The last event that its caller has seen of the task: if more happened since, the message is refused.
    pub seen: Option<Seq>,
    /// Whether its caller watches the answer as it comes.
    pub is_watched: bool,
}

/// Where a message stands in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// The task.
    pub task: String,
    /// The message's event.
    pub message: Seq,
    /// The last event that was logged with it.
    pub last: Seq,
    /// The turn that answers it.
    pub turn: u64,
    /// It had come before: nothing was logged and nothing runs because of it.
    pub repeated: bool,
    /// Its turn began with it, and has not waited.
    pub has_begun: bool,
}

/// A message that was logged, and its turn, if that is to run now.
type SubmitResult = (Submitted, Option<ReadyTurn>);

impl Turns {
    /// Logs a message and has it answered. A message that came before is found, not answered again; another
    /// message under its id is refused.
    ///
    /// It is carried through even if the future is dropped: a client that leaves must not leave a
    /// conversation behind that waits for a turn that never runs.
    pub async fn submit(&self, incoming: IncomingMessage) -> Result<Submitted, TurnError> {
        self.keep_heartbeat();
        // On the heap, for it goes long before the turn ends.
        let (turns, incoming) = (self.clone(), Box::new(incoming));
        let (answer, answered) = oneshot::channel();
        let flight = Flight::current();
        let carrying = tokio::spawn(async move {
            let done = turns.submit_with_retries(&incoming).await;
            // The turn reads the message from the log, and may take long.
            drop(incoming);
            if let Some(flight) = flight {
                flight.land();
            }
            let (submitted, ready) = done.map_or_else(
                |error| (Err(error), None),
                |(submitted, ready)| (Ok(submitted), ready),
            );
            // Whoever asked may have left.
            let _ = answer.send(submitted);
            if let Some(ready) = ready {
                turns.run_all(ready).await;
            }
        });
        if let Ok(submitted) = answered.await {
            return submitted;
        }
        match carrying.await {
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) | Ok(()) => Err(StoreError::Closed.into()),
        }
    }

    async fn submit_with_retries(
        &self,
        incoming: &IncomingMessage,
    ) -> Result<SubmitResult, TurnError> {
        let agent = self.known_agent(&incoming.agent)?.clone();
        let mut incoming = Cow::Borrowed(incoming);
        let (mut reservation, mut has_waited) = (None, false);
        for _ in 0..ATTEMPTS {
            match self.try_submit(&agent, &incoming, reservation.take()).await {
                // Most turns take no time, so there is room in a moment.
                Err(TurnError::OutOfMemory { bytes }) if !has_waited => {
                    has_waited = true;
                    let taking = self.0.memory_budget.reserve(&incoming.caller, bytes);
                    let taking = Box::pin(timeout(MEMORY_WAIT, taking));
                    reservation = taking.await.ok().flatten();
                }
                Err(TurnError::Store(StoreError::Conflict { .. })) => {}
                // Another message to the same 0.1 task came first: this one goes on with it.
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
        let (head, size) = self.addressed(incoming).await?.unzip();
        let task = head
            .as_ref()
            .map_or_else(clock::new_id, |head| head.task.clone());
        let context = match &head {
            Some(head) => head.context_id.clone(),
            None => incoming
                .message
                .context_id
                .clone()
                .unwrap_or_else(clock::new_id),
        };
        let turn = head.as_ref().map_or(1, |head| head.last_turn + 1);
        let job = Arc::new(TurnJob {
            agent: agent.name.clone(),
            caller: incoming.caller.clone(),
            task: task.clone(),
            turn,
            is_watched: incoming.is_watched,
        });
        let key = conversation_key(agent, &incoming.caller, &task, &context);
        let start = self.0.queues.try_start(&key, &job);
        let start = start
            .map(|cancel_signal| (ConversationSlot::new(self, Arc::clone(&key)), cancel_signal));
        if let Err(waiting) = &start
            && *waiting >= agent.settings.queue
        {
            // A repeated message waits for nothing, so that it is found though the conversation is full.
            let (waiting, known) = (*waiting, self.duplicate(incoming).await?);
            return Err(known.map_or(TurnError::Busy { waiting }, TurnError::Store));
        }
        let reservation = match &start {
            Err(_) => None,
            Ok(_) => {
                let bytes = memory_budget::bytes_with_message(size.unwrap_or(0), &incoming.message);
                let reservation = reservation
                    .or_else(|| self.0.memory_budget.try_reserve(&incoming.caller, bytes));
                if reservation.is_none() {
                    // A repeated message runs nothing, so that it is found though there is no room.
                    let known = self.duplicate(incoming).await?;
                    return Err(known.map_or(TurnError::OutOfMemory { bytes }, TurnError::Store));
                }
                reservation
            }
        };
        let mut events = Vec::with_capacity(5);
        if head.is_none() {
            events.push(Event::Created(created_event(agent, incoming, &context)));
        }
        events.extend(message_events(&incoming.message, &task, &context, turn));
        // A turn that can start does so in the same append: one write less before the agent is called.
        match (&start, &head) {
            (Ok(_), _) => events.extend(start_events(turn, agent)),
            (Err(_), Some(head)) => events.push(queued_status(head)),
            // A new task is submitted as it is.
            (Err(_), None) => {}
        }
        let expected = head.as_ref().map_or(0, |head| head.seq);
        let append = Append {
            task: task.clone(),
            expected,
            time: clock::now(),
            events,
        };
        let appended = self.0.store.append(&incoming.caller, append).await;
        let (mut ready, has_begun) = (None, start.is_ok());
        match (start, &appended) {
            (Ok((slot, cancel_signal)), Ok(head)) => {
                ready = Some(ReadyTurn {
                    slot,
                    job,
                    cancel_signal,
                    known: Some(head.clone()),
                    reservation,
                });
            }
            // The next one may run.
            (Ok((slot, _)), Err(_)) => drop(slot),
            (Err(_), Ok(_)) => self.wait_or_run(key, job),
            (Err(_), Err(_)) => {}
        }
        let submitted = Submitted {
            task,
            message: expected + 1 + Seq::from(head.is_none()),
            last: appended?.seq,
            turn,
            repeated: false,
            has_begun,
        };
        Ok((submitted, ready))
    }

    /// What was logged as queued waits in the process too, or runs if the conversation became free.
    pub(super) fn wait_or_run(&self, key: ConversationKey, job: Arc<TurnJob>) {
        if let Some(cancel_signal) = self.0.queues.enqueue(&key, Arc::clone(&job)) {
            self.spawn(ReadyTurn {
                slot: ConversationSlot::new(self, key),
                job,
                cancel_signal,
                known: None,
                reservation: None,
            });
        }
    }

    /// The task that the message is for, if it names one, and how large it is.
    async fn addressed(
        &self,
        incoming: &IncomingMessage,
    ) -> Result<Option<(Arc<Head>, usize)>, TurnError> {
        let IncomingMessage {
            agent,
            caller,
            message,
            client_id,
            ..
        } = incoming;
        let task = match (&message.task_id, client_id) {
            (Some(task), _) => task.clone(),
            (None, Some(client_id)) => {
                match self
                    .0
                    .store
                    .find_client_task(caller, agent, client_id)
                    .await?
                {
                    Some(task) => task,
                    None => return Ok(None),
                }
            }
            (None, None) => return Ok(None),
        };
        let head = self.0.store.head(caller, &task).await?;
        // Another agent's task does not exist for this one.
        if head.agent != *agent {
            return Err(TurnError::NotFound { task });
        }
        // A repeated message is recognised even when its task has ended since.
        if head.state.is_terminal() {
            let known = self.duplicate(incoming).await?;
            return Err(known.map_or(TurnError::Ended { task }, TurnError::Store));
        }
        match &message.context_id {
            Some(named) if *named != head.context_id => Err(TurnError::OtherContext {
                task,
                actual: head.context_id.clone(),
                named: named.clone(),
            }),
            Some(_) | None => {
                // The turn will need all of the task: one that is damaged is not continued.
                let snapshot = self.0.store.task(caller, &task).await?;
                self.has_seen_all(incoming, &head).await?;
                Ok(Some((head, size::task(&snapshot.task))))
            }
        }
    }

    /// Refuses a message whose caller has not seen all that was said in the task, if it says what it has seen. A
    /// message that came before has itself moved the task on. What is appended before this one is makes it be
    /// looked at again.
    async fn has_seen_all(&self, incoming: &IncomingMessage, head: &Head) -> Result<(), TurnError> {
        let Some(seen) = incoming.seen else {
            return Ok(());
        };
        let has_moved = seen > head.seq || self.is_news_after(incoming, head, seen).await?;
        if !has_moved {
            return Ok(());
        }
        let known = self.duplicate(incoming).await?;
        let moved = TurnError::MovedOn {
            task: head.task.clone(),
            newest: head.seq,
            seen,
        };
        Err(known.map_or(moved, TurnError::Store))
    }

    /// Whether something was said or shown in the task after this event; turns that begin and end are neither.
    async fn is_news_after(
        &self,
        incoming: &IncomingMessage,
        head: &Head,
        seen: Seq,
    ) -> Result<bool, StoreError> {
        let mut last = seen;
        while last < head.seq {
            let page = self
                .0
                .store
                .read(&incoming.caller, &head.task, last, PAGE)
                .await?;
            if page.iter().any(|stored| stored.event.is_news()) {
                return Ok(true);
            }
            let Some(newest) = page.last() else {
                break;
            };
            last = newest.seq;
        }
        Ok(false)
    }
}
