//! Tests that an agent or a log that blocks its thread does not delay acknowledgements for others.

use std::{
    pin::pin,
    sync::{
        Arc, Mutex,
        mpsc::{self, Receiver, SyncSender},
    },
    time::Duration,
};

use async_trait::async_trait;
use bridge::{
    agent::{Agent, TurnSettings},
    bot::{Bot, BotError, BotExecutor, BotSettings, Echo, TurnContext},
    caller::Caller,
    executor::{Executor, Turn, Update},
    service::{Context, Service, Settings},
    store::{SledSettings, SledStore, Store},
    turns::Turns,
};
use bridge_protocol::a2a::{
    AgentCard, Message, Part, Role, SendMessageRequest, SendMessageResponse, Task, TaskState,
};
use futures_util::future::{join_all, ready};
use tokio::time::timeout;

/// The time limit for all operations here, none of which waits for anything.
const LIMIT: Duration = Duration::from_secs(60);

/// The number of other conversations at the same time.
const OTHERS: usize = 64;

/// An agent that signals its start, and then computes without yielding until it is stopped.
struct Computing {
    has_begun: SyncSender<()>,
    is_done: Mutex<Receiver<()>>,
}

#[async_trait]
impl Bot for Computing {
    async fn on_activity(&self, turn: &mut TurnContext) -> Result<(), BotError> {
        turn.send_text("I compute").await?;
        self.has_begun.send(())?;
        // The agent keeps its thread, because there is no await here.
        self.is_done.lock().unwrap().recv()?;
        turn.send_text("done").await?;
        Ok(())
    }
}

fn bot(name: &str, bot: impl Bot, store: &Arc<dyn Store>) -> Agent {
    BotExecutor::new(Arc::new(bot), store.clone(), BotSettings::new(name)).into_agent()
}

fn on_disk(folder: &tempfile::TempDir) -> Arc<dyn Store> {
    Arc::new(SledStore::open(&SledSettings::in_folder(folder.path())).unwrap())
}

async fn say(service: Service, agent: &str, caller: &str) -> Arc<Task> {
    let context = Context::new(agent, Caller::new(caller));
    let message = Message::new("m", Role::User, vec![Part::text("hello")]);
    let answer = service.send_message(&context, SendMessageRequest::new(message));
    match timeout(LIMIT, answer).await.unwrap().unwrap() {
        SendMessageResponse::Task(task) => task,
        SendMessageResponse::Message(message) => panic!("{message:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_computes_delays_no_other_bot() {
    let folder = tempfile::tempdir().unwrap();
    let store = on_disk(&folder);
    let (has_begun, begun) = mpsc::sync_channel(1);
    let (done, is_done) = mpsc::sync_channel(1);
    let computing = Computing { has_begun, is_done: Mutex::new(is_done) };
    let agents = [bot("computing", computing, &store), bot("echo", Echo, &store)];
    let service = Service::new(Turns::new(store, agents), Settings::default());
    let computed = tokio::spawn(say(service.clone(), "computing", "first"));
    let begun = tokio::task::spawn_blocking(move || begun.recv_timeout(LIMIT));
    begun.await.unwrap().unwrap();
    let others = (0..OTHERS).map(|other| {
        let service = service.clone();
        tokio::spawn(async move { say(service, "echo", &format!("caller {other}")).await })
    });
    for answered in join_all(others).await {
        let task = answered.unwrap();
        assert_eq!(task.status.state, TaskState::InputRequired);
    }
    assert!(!computed.is_finished());
    done.send(()).unwrap();
    let task = computed.await.unwrap();
    assert_eq!(task.status.message.as_ref().unwrap().text(), "I compute\ndone");
}

/// An agent that starts an append, and waits for another one before it polls the first one again.
struct Selecting;

#[async_trait]
impl Executor for Selecting {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let says = |text: &str| vec![Update::said(TaskState::Working, text, text)];
        let mut first = pin!(turn.handle.emit(says("first")));
        tokio::select! {
            biased;
            // The append was complete at once.
            emitted = &mut first => {
                emitted.unwrap();
                turn.handle.emit(says("second")).await.unwrap();
            }
            () = ready(()) => {
                turn.handle.emit(says("second")).await.unwrap();
                first.await.unwrap();
            }
        }
        vec![Update::said(TaskState::Completed, "third", "third")]
    }
}

#[tokio::test]
async fn an_append_within_an_append_completes() {
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent {
        name: "selecting".into(),
        card: AgentCard::named("Selecting", "Says two things at once"),
        executor: Arc::new(Selecting),
        settings: TurnSettings::default(),
    };
    let service = Service::new(Turns::new(on_disk(&folder), [agent]), Settings::default());
    let task = say(service, "selecting", "me").await;
    assert_eq!(task.status.state, TaskState::Completed);
    let said = format!("{task:?}");
    for text in ["first", "second", "third"] {
        assert!(said.contains(text), "{said}");
    }
}
