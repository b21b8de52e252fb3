//! The turns of one conversation: they are submitted, run, recovered and canceled as in `Turns`, with a log in memory.

use std::collections::BTreeMap;

use bridge_telemetry::TraceContext;
use shuttle::{
    future::block_on,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use super::{
    CancelSignal, TurnLimits,
    agent_places::AgentPlaces,
    check, is_found_out, lock,
    queue::{ConversationKey, ConversationQueues, NextTurn, Placed, TurnJob},
};
use crate::caller::Caller;

const AGENT: &str = "agent";

/// The steps that can be taken in the wrong order, or left out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// The end of a turn looks for the next turn, and frees the conversation afterwards.
    FreesAfterLooking,
    /// A turn is logged before it takes its place in the queue.
    LogsBeforeEntering,
    /// A turn that is not logged keeps the conversation that was passed to it.
    KeepsConversation,
    /// The signal of a cancelation comes before the cancelation is logged.
    SignalsBeforeLogging,
}

/// A task in the log.
#[derive(Default)]
struct Task {
    last_turn: u64,
    open: Vec<u64>,
    ran: Vec<u64>,
    is_canceled: bool,
}

struct Conversation {
    mistake: Mistake,
    queues: ConversationQueues,
    places: AgentPlaces,
    key: ConversationKey,
    log: Mutex<BTreeMap<&'static str, Task>>,
    is_running: AtomicBool,
    threads: Mutex<Vec<thread::JoinHandle<()>>>,
    /// The task whose turns end only when they are canceled.
    endless: Option<&'static str>,
}

impl Conversation {
    fn new(mistake: Mistake, endless: Option<&'static str>) -> Arc<Self> {
        let limits = TurnLimits { at_once: 1, waiting: 7, ..TurnLimits::default() };
        Arc::new(Self {
            mistake,
            queues: ConversationQueues::default(),
            places: AgentPlaces::new(limits),
            key: Arc::new((AGENT.into(), Caller::anonymous(), "context".into())),
            log: Mutex::default(),
            is_running: AtomicBool::new(false),
            threads: Mutex::default(),
            endless,
        })
    }

    fn spawn(self: &Arc<Self>, work: impl FnOnce(&Arc<Self>) + Send + 'static) {
        let conversation = Arc::clone(self);
        let thread = thread::spawn(move || work(&conversation));
        lock(&self.threads).push(thread);
    }

    fn job(&self, task: &str, turn: u64) -> Arc<TurnJob> {
        Arc::new(TurnJob {
            agent: AGENT.into(),
            caller: Caller::anonymous(),
            task: task.into(),
            turn,
            is_watched: false,
            cause: TraceContext::default(),
            unended: Some(self.places.enter_anyway(AGENT, 1)),
        })
    }

    /// Appends a turn to the log, unless another one was appended before or the task has ended.
    fn append(&self, task: &'static str, turn: u64) -> bool {
        let mut log = lock(&self.log);
        let task = log.entry(task).or_default();
        let is_next = task.last_turn + 1 == turn && !task.is_canceled;
        if is_next {
            task.last_turn = turn;
            task.open.push(turn);
        }
        is_next
    }

    /// Submits a message, as `try_submit` does.
    fn submit(self: &Arc<Self>, task: &'static str) {
        loop {
            let turn = {
                let mut log = lock(&self.log);
                let task = log.entry(task).or_default();
                if task.is_canceled {
                    return;
                }
                task.last_turn + 1
            };
            let job = self.job(task, turn);
            if self.mistake == Mistake::LogsBeforeEntering {
                if self.append(task, turn) {
                    return self.wait_or_run(job);
                }
                continue;
            }
            let entered = self.queues.enter(&self.key, &job, false);
            let is_logged = self.append(task, turn);
            let settled = match entered {
                Ok(cancel_signal) => Placed::Due(cancel_signal),
                Err(_) => self.queues.settle(&self.key, &job, is_logged),
            };
            match (settled, is_logged) {
                (Placed::Due(cancel_signal), true) => return self.run_all(job, &cancel_signal),
                (Placed::Due(_), false) if self.mistake == Mistake::KeepsConversation => {}
                (Placed::Due(_), false) => self.spawn(|conversation| conversation.run_next()),
                (Placed::Waiting, true) => return,
                (Placed::Gone, true) => return self.wait_or_run(job),
                (Placed::Waiting | Placed::Gone, false) => {}
            }
        }
    }

    fn wait_or_run(self: &Arc<Self>, job: Arc<TurnJob>) {
        if let Ok(cancel_signal) = self.queues.enter(&self.key, &job, true) {
            self.spawn(move |conversation| conversation.run_all(job, &cancel_signal));
        }
    }

    /// Runs a turn and the turns that wait behind it.
    fn run_all(&self, job: Arc<TurnJob>, cancel_signal: &CancelSignal) {
        self.run(&job, cancel_signal);
        drop(job);
        self.run_next();
    }

    fn run_next(&self) {
        while let Some((job, cancel_signal)) = self.next() {
            self.run(&job, &cancel_signal);
        }
    }

    fn next(&self) -> Option<(Arc<TurnJob>, CancelSignal)> {
        let next = match self.mistake {
            Mistake::FreesAfterLooking => self.queues.next_waiting(&self.key),
            _ => self.queues.next(&self.key),
        };
        match next {
            NextTurn::Ready(job, cancel_signal) => Some((job, cancel_signal)),
            NextTurn::Unlogged => None,
            NextTurn::Nothing => {
                if self.mistake == Mistake::FreesAfterLooking {
                    self.queues.abandon(&self.key);
                }
                None
            }
        }
    }

    /// Runs a turn, if the log still has it.
    fn run(&self, job: &TurnJob, cancel_signal: &CancelSignal) {
        let is_running = self.is_running.swap(true, Ordering::SeqCst);
        assert!(!is_running, "two turns run at once");
        let permit = block_on(self.places.run(AGENT)).unwrap();
        if self.begin(job) {
            if self.endless == Some(&job.task) {
                block_on(cancel_signal.canceled());
            }
            let mut log = lock(&self.log);
            let task = log.get_mut(&*job.task).unwrap();
            task.open.retain(|turn| *turn != job.turn);
        }
        drop(permit);
        self.is_running.store(false, Ordering::SeqCst);
    }

    fn begin(&self, job: &TurnJob) -> bool {
        let mut log = lock(&self.log);
        let task = log.get_mut(&*job.task).unwrap();
        let is_open = task.open.contains(&job.turn);
        if is_open {
            task.ran.push(job.turn);
        }
        is_open
    }

    /// Queues the turns in the log that no thread works on, as a recovery does beside running turns.
    fn recover(self: &Arc<Self>) {
        let open: Vec<_> = lock(&self.log)
            .iter()
            .flat_map(|(task, logged)| logged.open.iter().map(move |turn| (*task, *turn)))
            .collect();
        for (task, turn) in open {
            let job = self.job(task, turn);
            if !self.queues.contains(&self.key, &job) {
                self.wait_or_run(job);
            }
        }
    }

    fn cancel(&self, task: &'static str) {
        if self.mistake == Mistake::SignalsBeforeLogging {
            self.queues.cancel(&self.key, task);
        }
        {
            let mut log = lock(&self.log);
            let task = log.entry(task).or_default();
            task.is_canceled = true;
            task.open.clear();
        }
        if self.mistake != Mistake::SignalsBeforeLogging {
            self.queues.cancel(&self.key, task);
        }
    }

    /// Waits for all threads. Checks that every turn has run once and in order or was canceled, and that everything was
    /// released.
    fn settle(&self) {
        loop {
            let thread = lock(&self.threads).pop();
            let Some(thread) = thread else { break };
            thread.join().unwrap();
        }
        for task in lock(&self.log).values() {
            assert!(task.open.is_empty(), "a turn is left");
            let all: Vec<_> = (1..=task.last_turn).collect();
            assert!(all.starts_with(&task.ran), "{:?}", task.ran);
            assert!(task.is_canceled || task.ran == all, "{:?}", task.ran);
        }
        assert!(self.queues.load().is_empty(), "the conversation is free");
        assert!(self.places.try_run(AGENT).is_some());
        let taken: Vec<_> = (0..9).map_while(|_| self.places.enter(AGENT, 1).ok()).collect();
        assert_eq!(taken.len(), 8, "all places are given back");
    }
}

fn converse(mistake: Mistake) {
    let conversation = Conversation::new(mistake, None);
    for task in ["one", "one", "one", "other"] {
        conversation.spawn(move |conversation| conversation.submit(task));
    }
    conversation.settle();
}

/// Cancels a task whose turns would never end, while another task's turn runs.
fn cancel(mistake: Mistake) {
    let conversation = Conversation::new(mistake, Some("one"));
    for task in ["one", "one", "other", "one"] {
        conversation.spawn(move |conversation| conversation.submit(task));
    }
    conversation.spawn(|conversation| conversation.cancel("one"));
    conversation.settle();
    assert_eq!(lock(&conversation.log)["other"].ran, [1]);
}

#[test]
fn turns_run_once_and_in_order_and_leave_their_conversation_free() {
    check(|| converse(Mistake::None));
}

#[test]
fn a_canceled_task_leaves_its_conversation_to_others() {
    check(|| cancel(Mistake::None));
}

#[test]
fn a_recovery_during_submissions_runs_no_turn_twice() {
    check(|| {
        let conversation = Conversation::new(Mistake::None, None);
        for task in ["one", "one", "other"] {
            conversation.spawn(move |conversation| conversation.submit(task));
        }
        conversation.spawn(Conversation::recover);
        conversation.settle();
    });
}

#[test]
fn an_end_that_frees_the_conversation_too_late_is_detected() {
    assert!(is_found_out(|| converse(Mistake::FreesAfterLooking)));
}

#[test]
fn turns_that_are_logged_before_they_are_queued_are_detected() {
    assert!(is_found_out(|| converse(Mistake::LogsBeforeEntering)));
}

#[test]
fn a_refused_turn_that_keeps_the_conversation_is_detected() {
    assert!(is_found_out(|| converse(Mistake::KeepsConversation)));
}

#[test]
fn a_cancelation_that_is_signaled_before_it_is_logged_is_detected() {
    assert!(is_found_out(|| cancel(Mistake::SignalsBeforeLogging)));
}
