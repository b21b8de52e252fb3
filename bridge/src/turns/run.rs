//! One turn, from the call of the agent to the end that is logged.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use bridge_protocol::a2a::{Message, Task, TaskState};
use futures_util::FutureExt as _;
use jiff::Timestamp;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use super::{
    Turns,
    logged::started,
    queue::{Job, Key},
    room::{self, Held},
    unfinished,
    unkept::{Patience, Refusal},
};
use crate::{
    agent::Agent,
    clock,
    executor::{EmitError, Inbox, TaskHandle, Turn, Update},
    store::{Event, Head, StoreError, TurnState},
};

/// How long an agent may go on with a turn whose task was canceled.
const CLEANING: Duration = Duration::from_secs(5);

/// A turn that has the conversation.
pub(super) struct Begun {
    pub(super) seat: Seat,
    pub(super) job: Arc<Job>,
    pub(super) canceled: watch::Receiver<bool>,
    /// Whoever has just written the start of the turn knows the head after it, and spares the turn from
    /// reading it.
    pub(super) known: Option<Arc<Head>>,
    /// What it holds of the room that all turns have; a turn that has waited asks for it when it runs.
    pub(super) held: Option<Held>,
}

/// The place in a conversation. Whatever becomes of the one who has it, the next one gets it.
pub(super) struct Seat {
    turns: Turns,
    key: Key,
    is_left: bool,
}

impl Seat {
    pub(super) fn new(turns: &Turns, key: Key) -> Self {
        Self {
            turns: turns.clone(),
            key,
            is_left: false,
        }
    }

    /// Gives the place to the turn that waits next; if there is none, nobody has it any more.
    fn next(&mut self) -> Option<(Arc<Job>, watch::Receiver<bool>)> {
        let next = self.turns.0.queues.leave(&self.key);
        self.is_left = next.is_none();
        next
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // Without a runtime the program ends, and a restart takes up what waits.
        if !self.is_left
            && let Some((job, canceled)) = self.next()
            && tokio::runtime::Handle::try_current().is_ok()
        {
            self.turns.spawn(Begun {
                seat: Self::new(&self.turns, Arc::clone(&self.key)),
                job,
                canceled,
                known: None,
                held: None,
            });
        }
    }
}

impl Turns {
    /// Runs a turn in a task of its own, then those that wait behind it.
    pub(super) fn spawn(&self, begun: Begun) {
        let turns = self.clone();
        tokio::spawn(async move { turns.run_all(begun).await });
    }

    /// Runs a turn, then those that wait behind it.
    pub(super) async fn run_all(&self, begun: Begun) {
        let Begun {
            mut seat,
            job,
            canceled,
            mut known,
            mut held,
        } = begun;
        let mut next = Some((job, canceled));
        while let Some((job, canceled)) = next {
            let running = self.run(&job, canceled, known.take(), held.take());
            if AssertUnwindSafe(running).catch_unwind().await.is_err() {
                tracing::error!(
                    task = job.task,
                    turn = job.turn,
                    "the work on a turn panicked"
                );
                self.fail(
                    &job,
                    "The bridge broke down while the agent worked on this message.",
                )
                .await;
            }
            next = seat.next();
        }
    }

    /// Ends a turn as failed, as soon as the store takes that.
    pub(super) async fn fail(&self, job: &Job, text: &str) {
        let mut patience = Patience::new(&self.0.unkept, job);
        let ended = loop {
            let tried = self.try_fail(job, text).await;
            if let Some(ended) = patience.judge(tried).await {
                break ended;
            }
        };
        match ended {
            Ok(()) | Err(EmitError::Ended { .. }) => {}
            Err(EmitError::Store(error)) => {
                tracing::error!(task = job.task, turn = job.turn, %error, "a turn was lost");
                self.0.unkept.put(job, Refusal::Lost);
            }
        }
    }

    async fn try_fail(&self, job: &Job, text: &str) -> Result<(), EmitError> {
        let handle = TaskHandle::new(self.0.store.clone(), self.head(job).await?);
        end(&handle, job.turn, &mut handle.events(failed(job, text))).await
    }

    /// Runs a turn to its end. Whatever its agent does, the turn's end is logged, unless its task is damaged or
    /// the store is closed; then a restart finds it open.
    async fn run(
        &self,
        job: &Job,
        canceled: watch::Receiver<bool>,
        known: Option<Arc<Head>>,
        held: Option<Held>,
    ) {
        let ended = match self.agent(&job.agent) {
            Some(agent) => {
                let held = match held {
                    None => self.wait_for_room(job).await,
                    Some(held) => Ok(Some(held)),
                };
                match held {
                    Ok(_held) => self.work(&agent, job, canceled, known).await,
                    Err(error) => Err(EmitError::Store(error)),
                }
            }
            None => self.give_up(job).await,
        };
        match ended {
            Ok(()) | Err(EmitError::Ended { .. }) => {}
            Err(EmitError::Store(error)) => {
                if !error.is_told() {
                    tracing::error!(task = job.task, turn = job.turn, %error, "a turn could not be kept");
                }
                self.fail(
                    job,
                    "The bridge could not keep what became of this message.",
                )
                .await;
            }
        }
    }

    /// Room for a turn that is in the log already: others end sooner or later and make some. One that began before
    /// a restart does not wait, for its agent may answer at any time.
    async fn wait_for_room(&self, job: &Job) -> Result<Option<Held>, StoreError> {
        let Turns(shared) = self;
        let head = shared.store.head(&job.caller, &job.task).await?;
        let Some(turn) = head.turns.iter().find(|turn| turn.turn == job.turn) else {
            return Ok(None);
        };
        let bytes = {
            let task = shared.store.task(&job.caller, &job.task).await?.task;
            answered(&task, &turn.message_id).map_or(0, |message| room::within(&task, message))
        };
        Ok(match turn.state {
            TurnState::Queued => shared.room.take(&job.caller, bytes).await,
            TurnState::Started { .. } => shared.room.try_take(&job.caller, bytes),
        })
    }

    async fn work(
        &self,
        agent: &Arc<Agent>,
        job: &Job,
        canceled: watch::Receiver<bool>,
        known: Option<Arc<Head>>,
    ) -> Result<(), EmitError> {
        match self.open(agent, job, known).await? {
            Some(opened) => self.call(agent, job, opened, canceled).await,
            // The task ended while the turn waited.
            None => Ok(()),
        }
    }

    /// Ends a turn whose agent was taken away while it waited.
    async fn give_up(&self, job: &Job) -> Result<(), EmitError> {
        let handle = TaskHandle::new(self.0.store.clone(), self.head(job).await?);
        let text = "The agent is not hosted here any more.";
        end(&handle, job.turn, &mut handle.events(failed(job, text))).await
    }

    /// Logs the start of a turn, unless that is done, and gathers what the agent is told.
    async fn open(
        &self,
        agent: &Agent,
        job: &Job,
        known: Option<Arc<Head>>,
    ) -> Result<Option<Opened>, EmitError> {
        let is_recovered = known.is_none();
        let head = match known {
            Some(head) => head,
            None => self.head(job).await?,
        };
        let store = &self.0.store;
        let handle = TaskHandle::new(store.clone(), Arc::clone(&head));
        // Only a start that was not logged just now is of an earlier process.
        let until = open_until(&head, job.turn).filter(|_| is_recovered);
        if is_queued(&head, job.turn) {
            let start =
                |head: &Head| is_queued(head, job.turn).then(|| started(job.turn, agent).into());
            match handle.append(start).await {
                // The turn before it has ended the task, so it can only end too.
                Err(EmitError::Ended { .. }) => {
                    return end(&handle, job.turn, &mut []).await.map(|()| None);
                }
                started => drop(started?),
            }
        }
        let snapshot = store.task(&job.caller, &job.task).await;
        let snapshot = snapshot.map_err(EmitError::Store)?;
        let head = match handle.known() {
            head if head.seq == snapshot.seq => head,
            _ => self.head(job).await?,
        };
        let open = head.turns.iter().find(|turn| turn.turn == job.turn);
        let Some(open) = open else {
            return Ok(None);
        };
        let message = answered(&snapshot.task, &open.message_id).cloned();
        let message = message.ok_or_else(|| {
            EmitError::Store(StoreError::Corrupt {
                what: format!("task {}", job.task),
                reason: format!("turn {} answers no message", job.turn),
            })
        })?;
        Ok(Some(Opened {
            handle,
            message,
            task: snapshot.task,
            until,
        }))
    }

    async fn head(&self, job: &Job) -> Result<Arc<Head>, EmitError> {
        let head = self.0.store.head(&job.caller, &job.task).await;
        head.map_err(EmitError::Store)
    }

    /// Calls the agent and logs how the turn ends.
    async fn call(
        &self,
        agent: &Arc<Agent>,
        job: &Job,
        opened: Opened,
        canceled: watch::Receiver<bool>,
    ) -> Result<(), EmitError> {
        let Opened {
            handle,
            message,
            task,
            until,
        } = opened;
        let turn = Turn {
            number: job.turn,
            message,
            task,
            caller: job.caller.clone(),
            is_watched: job.is_watched,
            handle: handle.clone(),
            inbox: Inbox::new(canceled),
        };
        let inbox = turn.inbox.clone();
        // In a task of its own, so that an agent that blocks its thread cannot keep the clock from us.
        let executor = agent.executor.clone();
        let begun = Instant::now();
        let mut executing = tokio::spawn(async move {
            match until {
                None => executor.execute(turn).await,
                Some(_) => executor.resume(turn).await,
            }
        });
        let left = |until| Duration::try_from(clock::now().until(until).ok()?).ok();
        let limit = until.map_or(agent.settings.limit, |until| {
            left(until).unwrap_or_default()
        });
        let executed = tokio::select! {
            executed = timeout(limit, &mut executing) => Some(executed),
            () = overstays(inbox) => None,
        };
        let (outcome, last) = match executed {
            Some(Ok(Ok(updates))) => ("answered", updates),
            Some(Ok(Err(_))) => {
                let text = "The agent broke down while it worked on this message.";
                ("panicked", failed(job, text))
            }
            Some(Err(_)) => {
                executing.abort();
                ("timed_out", failed(job, &late(agent, until.is_some())))
            }
            // The task has ended, so there is nothing to say of it.
            None => {
                executing.abort();
                ("canceled", Vec::new())
            }
        };
        self.0.metrics.turn(&job.agent, outcome, begun.elapsed());
        // What the agent said last is kept until there is room for it.
        let mut last = handle.events(last);
        let mut patience = Patience::new(&self.0.unkept, job);
        loop {
            let tried = end(&handle, job.turn, &mut last).await;
            if let Some(ended) = patience.judge(tried).await {
                return ended;
            }
        }
    }
}

/// Comes when a canceled turn has had its time to clean up. An agent that does not listen must not keep its
/// conversation from the next message until its limit.
async fn overstays(mut inbox: Inbox) {
    inbox.canceled().await;
    sleep(CLEANING).await;
}

/// What the agent is told of a turn, and how it may answer.
struct Opened {
    handle: TaskHandle,
    message: Message,
    task: Arc<Task>,
    /// Until when the turn is open, if it was begun before a restart.
    until: Option<Timestamp>,
}

/// The message that a turn answers.
fn answered<'t>(task: &'t Task, message_id: &str) -> Option<&'t Message> {
    let mut said = task.history.iter().rev();
    said.find(|message| message.message_id == message_id)
}

/// What is said of an agent that did not answer in time.
fn late(agent: &Agent, is_recovered: bool) -> String {
    match is_recovered {
        true => "The bridge was restarted, and the agent did not answer in its time.".into(),
        false => format!(
            "The agent did not answer within {:?}.",
            agent.settings.limit
        ),
    }
}

/// Until when a turn is open that has started, if its agent outlives the process.
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

/// The change that a turn ends with when its agent did not end it. The id is the turn's, so that it is
/// the same however often it is tried.
pub(super) fn failed(job: &Job, text: &str) -> Vec<Update> {
    let id = format!("{}-turn-{}-failed", job.task, job.turn);
    vec![Update::said(TaskState::Failed, id, text)]
}

/// Logs the last changes of a turn together with its end. A task that has ended meanwhile takes no
/// changes any more, but the turn ends all the same. What fails was perhaps cut off in the middle of an
/// artifact: then that is closed too.
pub(super) async fn end(
    handle: &TaskHandle,
    turn: u64,
    last: &mut [Event],
) -> Result<(), EmitError> {
    let is_failed = last.iter().any(fails);
    handle.begin(last).await?;
    let last = &*last;
    let ending = |head: &Head, closing: &[Event]| {
        let open = head.turns.iter().any(|one| one.turn == turn);
        let changes = match head.state.is_terminal() {
            true => Vec::new(),
            false => [closing, last].concat(),
        };
        let end = open.then_some(Event::TurnEnded { turn });
        changes.into_iter().chain(end).collect::<Vec<_>>()
    };
    match is_failed {
        true => unfinished::append_closing(handle, last, ending).await,
        false => {
            let ending = |head: &Head| Some(ending(head, &[])).filter(|events| !events.is_empty());
            handle.append(ending).await.map(|_| ())
        }
    }
}

fn fails(event: &Event) -> bool {
    matches!(event, Event::Status { status, .. } if status.state == TaskState::Failed)
}
