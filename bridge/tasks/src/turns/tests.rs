//! Tests turns on a failing disk, and with failing agents.

mod awaited;
mod bounds;
mod canceled;
mod conversation;
mod leased;
mod named;
mod order;
mod refused;

use std::{
    fs,
    path::Path,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use async_trait::async_trait;
use bridge_protocol::a2a::{AgentCard, Message, Metadata, Part, Role, TaskState};
use jiff::Timestamp;
use tokio::{sync::Semaphore, time::timeout};

use super::*;
use crate::{
    agent::{ConversationScope, TurnSettings},
    caller::Caller,
    executor::{Executor, TaskHandle, Turn, Update},
    metrics::TextFormat,
    store::{
        Append, Created, Event, Head, MemoryStore, SimulatedDisk, SledSettings, SledStore,
        StoredEvent, testing::FailingStore,
    },
};

/// An agent that completes each task when it is allowed to, or asks for input; and panics at the given query for its
/// restart time.
struct Acting {
    may_go_on: Semaphore,
    asked: AtomicUsize,
    breaks: usize,
    survives_restart_for: Option<Duration>,
}

impl Acting {
    fn new(breaks: usize) -> Arc<Self> {
        Arc::new(Self {
            may_go_on: Semaphore::new(0),
            asked: AtomicUsize::new(0),
            breaks,
            survives_restart_for: None,
        })
    }
}

#[async_trait]
impl Executor for Acting {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let state = match turn.message.text().as_str() {
            "ask" => TaskState::InputRequired,
            "wait" => {
                self.may_go_on.acquire().await.unwrap().forget();
                TaskState::Completed
            }
            "wait and ask" => {
                self.may_go_on.acquire().await.unwrap().forget();
                TaskState::InputRequired
            }
            "go on for ever" => loop {
                let piece = Update::piece("endless", vec![Part::text("x".repeat(1 << 10))], false);
                let _ = turn.handle.emit(vec![piece]).await;
            },
            "say all at once" => {
                let all = vec![Part::text("x".repeat(1 << 20))];
                return vec![Update::piece("large", all, true)];
            }
            "go on after the end" => {
                return vec![
                    Update::said(TaskState::Completed, "first", "done"),
                    Update::state(TaskState::Failed),
                    Update::artifact("late", "Late", vec![Part::text("late")]),
                ];
            }
            "speak with the caller's id" => {
                let id = turn.message.message_id.as_str();
                let spoken = Update::said(TaskState::Working, id, "mine");
                turn.handle.emit(vec![spoken]).await.unwrap();
                TaskState::Completed
            }
            _ => TaskState::Completed,
        };
        let id = format!("{}-answer", turn.message.message_id);
        vec![Update::said(state, id, "done")]
    }

    async fn resume(&self, turn: Turn) -> Vec<Update> {
        self.execute(turn).await
    }

    fn survives_restart_for(&self) -> Option<Duration> {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        assert_ne!(asked, self.breaks, "it breaks down");
        self.survives_restart_for
    }
}

fn agent(executor: &Arc<Acting>) -> Agent {
    Agent {
        name: "acting".into(),
        card: AgentCard::named("Acting", "Acts"),
        executor: executor.clone(),
        settings: TurnSettings {
            conversation: ConversationScope::Context,
            ..TurnSettings::default()
        },
    }
}

fn incoming(id: &str, text: &str, task: Option<&str>) -> IncomingMessage {
    let mut message = Message::new(id, Role::User, vec![Part::text(text)]);
    message.task_id = task.map(str::to_owned);
    message.context_id = task.is_none().then(|| "context".to_owned());
    IncomingMessage {
        agent: "acting".into(),
        caller: Caller::anonymous(),
        message,
        client_id: None,
        metadata: None,
        seen: None,
        is_watched: false,
    }
}

/// Returns the head of a task when none of its turns is open.
async fn settled(turns: &Turns, task: &str) -> Arc<Head> {
    let watch = turns.store().watch(&Caller::anonymous(), task).await;
    let (mut watch, mut seen) = (watch.unwrap(), 0);
    loop {
        let head = watch.after(seen).await.unwrap();
        seen = head.seq;
        if head.turns.is_empty() {
            return head;
        }
    }
}

async fn said(turns: &Turns, task: &str) -> String {
    let task = turns.store().task(&Caller::anonymous(), task).await.unwrap();
    task.task.status.message.as_ref().unwrap().text()
}

#[tokio::test]
async fn a_turn_whose_work_panics_fails_and_the_next_one_runs() {
    let acting = Acting::new(2);
    let turns = Turns::new(Arc::new(MemoryStore::new()), [agent(&acting)]);
    let first = turns.submit(incoming("m-1", "wait", None)).await.unwrap();
    let second = turns.submit(incoming("m-2", "hello", None)).await.unwrap();
    let third = turns.submit(incoming("m-3", "hello", None)).await.unwrap();
    acting.may_go_on.add_permits(1);
    assert_eq!(settled(&turns, &first.task).await.state, TaskState::Completed);
    assert_eq!(settled(&turns, &second.task).await.state, TaskState::Failed);
    assert!(said(&turns, &second.task).await.starts_with("The bridge failed"));
    assert_eq!(settled(&turns, &third.task).await.state, TaskState::Completed);
}

#[tokio::test]
async fn turns_of_a_removed_agent_end_and_are_measured_until_then() {
    let acting = Acting::new(0);
    let turns = Turns::new(Arc::new(MemoryStore::new()), [agent(&acting)]);
    let first = turns.submit(incoming("m-1", "wait", None)).await.unwrap();
    let waiting = turns.submit(incoming("m-2", "hello", None)).await.unwrap();
    let running = || {
        let text = turns.measured().text(TextFormat::OpenMetrics);
        let mut lines = text.lines();
        lines.find_map(|line| line.strip_prefix("bridge_turns_running{")).map(str::to_owned)
    };
    let one = Some("agent=\"acting\"} 1".to_owned());
    assert_eq!(running(), one);
    turns.replace([]);
    assert_eq!(running(), one);
    acting.may_go_on.add_permits(1);
    assert_eq!(settled(&turns, &first.task).await.state, TaskState::Completed);
    assert_eq!(settled(&turns, &waiting.task).await.state, TaskState::Failed);
    assert_eq!(said(&turns, &waiting.task).await, "The agent is not hosted here any more.");
    while turns.running() > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(running(), None);
}

#[tokio::test]
async fn a_turn_ends_although_its_agent_continues_after_the_end_of_the_task() {
    let turns = Turns::new(Arc::new(MemoryStore::new()), [agent(&Acting::new(0))]);
    let sent = incoming("m-1", "go on after the end", None);
    let task = turns.submit(sent).await.unwrap().task;
    let ended = settled(&turns, &task);
    let ended = tokio::time::timeout(Duration::from_secs(60), ended).await;
    assert_eq!(ended.unwrap().state, TaskState::Completed);
    let found = turns.store().task(&Caller::anonymous(), &task).await;
    assert!(found.unwrap().task.artifacts.is_empty());
}

#[tokio::test]
async fn a_message_of_the_agent_with_the_callers_id_leaves_the_callers() {
    let turns = Turns::new(Arc::new(MemoryStore::new()), [agent(&Acting::new(0))]);
    let sent = incoming("m-1", "speak with the caller's id", None);
    let task = turns.submit(sent).await.unwrap().task;
    settled(&turns, &task).await;
    let found = turns.store().task(&Caller::anonymous(), &task).await;
    let history = &found.unwrap().task.history;
    let said: Vec<_> = history.iter().map(|one| (one.role.clone(), one.text())).collect();
    let expected = [(Role::User, "speak with the caller's id"), (Role::Agent, "mine")];
    assert_eq!(said, expected.map(|(role, text)| (role, text.to_owned())));
}

#[tokio::test]
async fn a_message_whose_taking_panics_leaves_its_conversation_free() {
    let acting = Acting::new(1);
    let turns = Turns::new(Arc::new(MemoryStore::new()), [agent(&acting)]);
    let taking = turns.clone();
    let taken = tokio::spawn(async move { taking.submit(incoming("m-1", "hello", None)).await });
    assert!(taken.await.unwrap_err().is_panic());
    let next = turns.submit(incoming("m-2", "hello", None)).await.unwrap();
    assert_eq!(settled(&turns, &next.task).await.state, TaskState::Completed);
}

#[test]
fn a_message_on_its_way_when_the_program_ends_may_be_sent_again() {
    let turns = Turns::new(Arc::new(MemoryStore::new()), [agent(&Acting::new(0))]);
    let program = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut submitting = pin!(turns.submit(incoming("m-1", "hello", None)));
    let mut context = Context::from_waker(Waker::noop());
    {
        let _inside = program.enter();
        assert!(submitting.as_mut().poll(&mut context).is_pending());
    }
    drop(program);
    let ended = submitting.as_mut().poll(&mut context);
    let may_be_sent_again =
        matches!(ended, Poll::Ready(Err(TurnError::Store(StoreError::Unavailable { .. }))));
    assert!(may_be_sent_again, "{ended:?}");
}

#[tokio::test]
async fn an_answer_that_the_disk_has_no_room_for_is_kept_when_it_has() {
    let (folder, acting) = (tempfile::tempdir().unwrap(), Acting::new(0));
    let (settings, disk) = (SledSettings::in_folder(folder.path()), SimulatedDisk::new(1));
    let store = Arc::new(SledStore::open_simulated(&settings, &disk).unwrap());
    let turns = Turns::new(store.clone(), [agent(&acting)]);
    let submitted = turns.submit(incoming("m-1", "wait", None)).await.unwrap();
    disk.set_room(0);
    acting.may_go_on.add_permits(1);
    let refused = turns.submit(incoming("m-2", "hello", None)).await;
    let is_full = matches!(refused, Err(TurnError::Store(StoreError::Full { .. })));
    assert!(is_full, "{refused:?}");
    disk.set_room(usize::MAX);
    let head = settled(&turns, &submitted.task).await;
    assert_eq!(head.state, TaskState::Completed);
    assert_eq!(said(&turns, &submitted.task).await, "done");
    let again = turns.submit(incoming("m-2", "hello", None)).await.unwrap();
    assert_eq!(settled(&turns, &again.task).await.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_turn_whose_start_is_not_logged_begins_later() {
    let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let acting = Acting::new(0);
    let limits = TurnLimits { at_once: 1, ..TurnLimits::default() };
    let turns = Turns::with_limits(limits, store.clone(), [agent(&acting)]);
    turns.submit(incoming("m-1", "wait", None)).await.unwrap();
    let mut queued = incoming("m-2", "hello", None);
    queued.message.context_id = Some("another".to_owned());
    let queued = turns.submit(queued).await.unwrap();
    // The turn waits for its agent for much longer than a client waits for the store.
    sleep(Duration::from_secs(60)).await;
    // The end of the first turn is in the log when the store fails.
    store.delayed.store(1, Ordering::SeqCst);
    acting.may_go_on.add_permits(1);
    while store.delayed.load(Ordering::SeqCst) > 0 {
        tokio::task::yield_now().await;
    }
    store.full.store(3, Ordering::SeqCst);
    store.release.add_permits(1);
    tokio::select! {
        biased;
        end = turns.unlogged_end(&queued.task, queued.turn) => panic!("clients get {end:?} too early"),
        head = settled(&turns, &queued.task) => assert_eq!(head.state, TaskState::Completed),
    }
    assert_eq!(said(&turns, &queued.task).await, "done");
    assert_eq!(turns.unlogged_end_count(), 0);
}

#[tokio::test]
async fn a_first_piece_that_was_refused_is_the_first_when_it_is_emitted_again() {
    let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let turns = Turns::new(store.clone(), [agent(&Acting::new(0))]);
    let (sent, caller) = (incoming("m-1", "wait", None), Caller::anonymous());
    let task = turns.submit(sent).await.unwrap().task;
    let head = store.head(&caller, &task).await.unwrap();
    let (handle, seen) = (TaskHandle::new(store.clone(), head.clone()), head.seq);
    let piece = |id: &str| vec![Update::piece(id, vec![Part::text("x")], false)];
    let is_first =
        |stored: &StoredEvent| matches!(stored.event, Event::Artifact { append: false, .. });
    store.unavailable.store(1, Ordering::SeqCst);
    assert!(handle.emit(piece("a")).await.is_err());
    handle.emit(piece("a")).await.unwrap();
    // The agent does not wait until its piece is refused.
    store.unavailable.store(1, Ordering::SeqCst);
    store.delayed.store(1, Ordering::SeqCst);
    assert!(timeout(Duration::ZERO, handle.emit(piece("b"))).await.is_err());
    handle.emit(piece("b")).await.unwrap();
    let logged = store.read(&caller, &task, seen, 2).await.unwrap();
    assert!(logged.len() == 2 && logged.iter().all(is_first), "{logged:?}");
}

#[tokio::test(start_paused = true)]
async fn a_read_that_fails_after_the_start_of_a_turn_ends_it_as_failed() {
    let acting = Acting::new(0);
    let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let turns = Turns::new(store.clone(), [agent(&acting)]);
    // The first query is for the turn: a message that begins a task needs none.
    store.unreadable.store(1, Ordering::SeqCst);
    let first = turns.submit(incoming("m-1", "hello", None)).await.unwrap();
    assert_eq!(settled(&turns, &first.task).await.state, TaskState::Failed);
    let text = said(&turns, &first.task).await;
    assert!(text.starts_with("The bridge could not store"), "{text}");
    let next = turns.submit(incoming("m-2", "hello", None)).await.unwrap();
    assert_eq!(settled(&turns, &next.task).await.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_a_turn_is_failed_leaves_its_conversation_free() {
    let acting = Acting::new(0);
    let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let turns = Turns::new(store.clone(), [agent(&acting)]);
    let first = turns.submit(incoming("m-1", "wait", None)).await.unwrap();
    turns.submit(incoming("m-2", "hello", None)).await.unwrap();
    let third = turns.submit(incoming("m-3", "hello", None)).await.unwrap();
    // The second query reads the head at the start, and so does the code that fails the turn after that.
    store.panicking.store(2, Ordering::SeqCst);
    acting.may_go_on.add_permits(1);
    assert_eq!(settled(&turns, &first.task).await.state, TaskState::Completed);
    assert_eq!(settled(&turns, &third.task).await.state, TaskState::Completed);
    let fourth = turns.submit(incoming("m-4", "hello", None)).await.unwrap();
    assert_eq!(settled(&turns, &fourth.task).await.state, TaskState::Completed);
}

/// Opens the store in a folder, once earlier users have released it.
async fn opened(folder: &Path) -> Arc<dyn Store> {
    loop {
        match SledStore::open(&SledSettings::in_folder(folder)) {
            Err(StoreError::InUse { .. }) => tokio::task::yield_now().await,
            opened => return Arc::new(opened.unwrap()),
        }
    }
}

/// Changes the kind of the first record of the log.
fn damage(folder: &Path) {
    let log = folder.join("log/0000000000000000.log");
    let mut bytes = fs::read(&log).unwrap();
    bytes[60] ^= 1;
    fs::write(&log, bytes).unwrap();
}

#[tokio::test]
async fn a_damaged_task_refuses_what_is_said_in_it_and_stops_nothing_else() {
    let (folder, acting) = (tempfile::tempdir().unwrap(), Acting::new(0));
    let turns = Turns::new(opened(folder.path()).await, [agent(&acting)]);
    let task = turns.submit(incoming("m-1", "ask", None)).await.unwrap().task;
    settled(&turns, &task).await;
    drop(turns);
    damage(folder.path());
    for round in 0..3 {
        let turns = Turns::new(opened(folder.path()).await, [agent(&acting)]);
        turns.recover().await.unwrap();
        let id = format!("m-2-{round}");
        let refused = turns.submit(incoming(&id, "hello", Some(&task))).await;
        let canceled = turns.cancel("acting", &Caller::anonymous(), &task).await;
        for error in [refused.unwrap_err(), canceled.unwrap_err()] {
            let is_told = matches!(error, TurnError::Store(StoreError::Damaged { .. }));
            assert!(is_told, "{error}");
        }
        let other = incoming(&format!("m-3-{round}"), "hello", None);
        let other = turns.submit(other).await.unwrap();
        assert_eq!(settled(&turns, &other.task).await.state, TaskState::Completed);
    }
}

/// Returns a store in which an earlier process has logged a turn as started, and these further events.
async fn begun(later: Vec<Event>) -> Arc<dyn Store> {
    let store = MemoryStore::new();
    let later = [vec![started(Timestamp::now(), None)], later].concat();
    log_message(&store, "t", "m-1", "wait", later).await;
    Arc::new(store)
}

/// Logs a message that creates a task, and these further events, as another process does.
async fn log_message(store: &dyn Store, task: &str, id: &str, text: &str, later: Vec<Event>) {
    let caller = Caller::anonymous();
    let mut events = vec![
        Event::Created(Created {
            agent: "acting".into(),
            owner: caller.clone(),
            context_id: "context".into(),
            client_id: None,
            metadata: None,
        }),
        Event::Message(Message::new(id, Role::User, vec![Part::text(text)])),
        Event::TurnQueued {
            turn: 1,
            message_id: id.into(),
            names_context: None,
            traceparent: None,
        },
    ];
    events.extend(later);
    let append = Append { task: task.into(), expected: 0, time: Timestamp::now(), events };
    store.append(&caller, append).await.unwrap();
}

fn started(now: Timestamp, reference: Option<Metadata>) -> Event {
    Event::TurnStarted { turn: 1, open_until: Some(now + Duration::from_secs(3600)), reference }
}

#[tokio::test]
async fn a_recovered_turn_is_no_longer_than_usual_if_the_clock_was_set_back() {
    let arrived = started(Timestamp::now(), Some(Metadata::new()));
    let acting = Arc::new(Acting {
        survives_restart_for: Some(Duration::from_millis(1)),
        ..Arc::into_inner(Acting::new(0)).unwrap()
    });
    let turns = Turns::new(begun(vec![arrived]).await, [agent(&acting)]);
    turns.recover().await.unwrap();
    assert_eq!(settled(&turns, "t").await.state, TaskState::Failed);
}

#[tokio::test]
async fn a_turn_that_perhaps_never_left_fails_after_a_restart_and_one_that_did_stays_open() {
    let said = Update::said(TaskState::Working, "a-1", "I am at it").into_event("t", "context");
    let arrived = started(Timestamp::now(), Some(Metadata::new()));
    let next = vec![
        Event::Message(Message::new("m-2", Role::User, vec![Part::text("hello")])),
        Event::TurnQueued {
            turn: 2,
            message_id: "m-2".into(),
            names_context: None,
            traceparent: None,
        },
        Event::Metadata { metadata: Metadata::new(), revised: None },
    ];
    for (later, is_open) in
        [(vec![], false), (next, false), (vec![arrived], true), (vec![said], true)]
    {
        let acting = Arc::new(Acting {
            survives_restart_for: Some(Duration::from_secs(3600)),
            ..Arc::into_inner(Acting::new(0)).unwrap()
        });
        let turns = Turns::new(begun(later.clone()).await, [agent(&acting)]);
        turns.recover().await.unwrap();
        let head = turns.store().head(&Caller::anonymous(), "t").await.unwrap();
        match is_open {
            true => assert_ne!(head.state, TaskState::Failed, "{later:?}"),
            false => {
                assert_eq!(head.state, TaskState::Failed);
                let text = self::said(&turns, "t").await;
                assert!(
                    text.contains("was restarted") && text.contains("not sent again"),
                    "{text}"
                );
            }
        }
    }
}
