//! Measures how the cost of an operation depends on what its task or its context has already: `scaling` of the load program.
//!
//! The operations are called in this process, without HTTP, and the figures are the processor time of the whole process
//! for one of them. `scaling turns [LENGTH,...]` measures turns and reads of one task with that many turns before,
//! `scaling pages [TASKS,...]` pages of one context with that many tasks.

use std::{fmt::Write as _, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use bridge::{
    agent::{Agent, TurnSettings},
    caller::Caller,
    executor::{Executor, Turn, Update},
    service::{Context, Service, Settings},
    store::{Append, Created, Event, ListQuery, MemoryStore, SledSettings, SledStore, Store},
    turns::{TurnLimits, Turns},
};
use bridge_protocol::a2a::{
    AgentCard, Error, GetTaskRequest, Message, Metadata, Part, Role, SendMessageConfiguration,
    SendMessageRequest, TaskState, TaskStatus,
};
use futures_util::StreamExt as _;
use jiff::Timestamp;
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::{TimeVal, TimeValLike as _},
};

use crate::Outcome;

const AGENT: &str = "asks";
const TASK: &str = "long";
const CONTEXT: &str = "context";
/// The number of operations of each kind that are measured, and the time after which fewer are enough.
const COUNT: u32 = 200;
const ENOUGH: Duration = Duration::from_secs(4);
/// The default numbers of turns and of tasks.
const TURNS: &str = "10,1000,4000,16000";
const TASKS: &str = "100,10000,100000";
const TEXT: &str = "a text of some length that stands for what people say to each other in a chat";

/// An agent that answers each message with a question, so that its task never ends.
struct Asks;

#[async_trait]
impl Executor for Asks {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let id = format!("{}.{}", turn.task.id, turn.number);
        vec![Update::said(TaskState::InputRequired, id, TEXT)]
    }
}

/// Measures with these arguments, and prints a table for each store.
pub(crate) fn run(arguments: &[&str]) -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (what, sizes) = match arguments {
        [what @ "turns"] => (what, TURNS),
        [what @ "pages"] => (what, TASKS),
        [what @ ("turns" | "pages"), sizes] => (what, *sizes),
        _ => return Err("expected scaling turns [LENGTH,...] or scaling pages [TASKS,...]".into()),
    };
    for name in ["memory", "sled"] {
        for size in sizes.split(',').map(str::parse) {
            let (size, folder) = (size?, tempfile::tempdir()?);
            let store = open(name, folder.path())?;
            let row = match *what {
                "turns" => runtime.block_on(turns(store, size))?,
                _ => runtime.block_on(pages(&*store, size))?,
            };
            println!("| {name} | {size} |{row}");
        }
    }
    Ok(())
}

fn open(name: &str, folder: &Path) -> Outcome<Arc<dyn Store>> {
    Ok(match name {
        "sled" => Arc::new(SledStore::open(&SledSettings::in_folder(folder))?),
        _ => Arc::new(MemoryStore::new()),
    })
}

/// Returns the cost of turns and reads of a task with this many turns.
async fn turns(store: Arc<dyn Store>, length: u64) -> Outcome<String> {
    grow(&*store, length).await?;
    let agent = Agent {
        name: AGENT.into(),
        card: AgentCard::named("Asks", "Asks again and again."),
        executor: Arc::new(Asks),
        settings: TurnSettings::default(),
    };
    let limits = TurnLimits { memory: 1 << 30, ..TurnLimits::default() };
    let turns = Turns::with_limits(limits, store, [agent]);
    let service = &Service::new(turns, Settings::default());
    let context = &Context::new(AGENT, caller());
    let mut row = String::new();
    let mut number = 0;
    for history in [Some(0), None] {
        let mut send = || {
            let request = request(&mut number, history);
            async move { service.send_message(context, request).await.map(drop) }
        };
        cost(&mut row, &format!("send {history:?}"), &mut send).await?;
    }
    let mut stream = || {
        let request = request(&mut number, Some(0));
        async move {
            let mut items = service.send_streaming_message(context, request).await?;
            while let Some(item) = items.next().await {
                item?;
            }
            Ok::<_, Error>(())
        }
    };
    cost(&mut row, "stream Some(0)", &mut stream).await?;
    for history_length in [Some(0), Some(1), Some(10), None] {
        let mut get = || async move {
            let request = GetTaskRequest { history_length, ..GetTaskRequest::new(TASK) };
            service.get_task(context, request).await.map(drop)
        };
        cost(&mut row, &format!("get {history_length:?}"), &mut get).await?;
    }
    Ok(row)
}

/// Returns the cost of pages of a context with this many tasks.
async fn pages(store: &dyn Store, tasks: u64) -> Outcome<String> {
    for number in 0..tasks {
        create(store, number).await?;
    }
    let mut row = String::new();
    let all = ListQuery::of(AGENT);
    let in_context = ListQuery { context_id: Some(CONTEXT.to_owned()), ..all.clone() };
    let of_state = ListQuery { state: Some(TaskState::InputRequired), ..in_context.clone() };
    let recent = ListQuery {
        after: Some(Timestamp::from_millisecond(tasks as i64 - 10)?),
        ..in_context.clone()
    };
    for (what, query) in
        [("all", all), ("context", in_context), ("and state", of_state), ("and time", recent)]
    {
        let first = store.list(&caller(), &query).await?;
        let next = ListQuery { page_token: first.next, ..query.clone() };
        for (page, query) in [("", &query), (" next", &next)] {
            let mut list = || async move { store.list(&caller(), query).await.map(drop) };
            cost(&mut row, &format!("{what}{page}"), &mut list).await?;
        }
    }
    Ok(row)
}

/// Measures an operation, and adds its cost to the row.
async fn cost<F, E>(row: &mut String, what: &str, operation: &mut impl FnMut() -> F) -> Outcome<()>
where
    F: Future<Output = Result<(), E>>,
    E: std::error::Error + Send + Sync + 'static,
{
    operation().await?;
    let (before, mut count) = (processor_time()?, 0);
    while count < COUNT && processor_time()? - before < ENOUGH {
        operation().await?;
        count += 1;
    }
    let each = (processor_time()? - before) / count;
    write!(row, " {what}: {:.3} ms |", each.as_secs_f64() * 1e3)?;
    Ok(())
}

/// Returns the processor time of this process.
fn processor_time() -> Outcome<Duration> {
    let used = getrusage(UsageWho::RUSAGE_SELF)?;
    let times = [used.user_time(), used.system_time()];
    let micros = |time: TimeVal| u64::try_from(time.num_microseconds()).unwrap_or_default();
    Ok(Duration::from_micros(times.map(micros).iter().sum()))
}

fn request(number: &mut u64, history: Option<i32>) -> SendMessageRequest {
    *number += 1;
    let mut message = message(&format!("measured-{number}"), Role::User);
    message.task_id = Some(TASK.to_owned());
    let configuration = SendMessageConfiguration {
        accepted_output_modes: Vec::new(),
        task_push_notification_config: None,
        history_length: history,
        return_immediately: false,
        extra: Metadata::new(),
    };
    SendMessageRequest { configuration: Some(configuration), ..SendMessageRequest::new(message) }
}

/// Writes a task with this many turns, as turns write it.
async fn grow(store: &dyn Store, length: u64) -> Outcome<()> {
    let mut seq = 0;
    for turn in 1..=length {
        let message_id = format!("said-{turn}");
        let mut begin = vec![
            Event::Message(message(&message_id, Role::User)),
            Event::TurnQueued { turn, message_id, names_context: None, traceparent: None },
            Event::TurnStarted { turn, open_until: None, reference: None },
        ];
        if turn == 1 {
            begin.insert(0, created());
        }
        let asked = message(&format!("asked-{turn}"), Role::Agent);
        let end = vec![status(asked), Event::TurnEnded { turn }];
        for events in [begin, end] {
            let append =
                Append { task: TASK.into(), expected: seq, time: Timestamp::now(), events };
            seq = store.append(&caller(), append).await?.seq;
        }
    }
    Ok(())
}

/// Writes a task of the context.
async fn create(store: &dyn Store, number: u64) -> Outcome<()> {
    let task = format!("{number:08}");
    let append = Append {
        expected: 0,
        time: Timestamp::from_millisecond(number as i64)?,
        events: vec![
            created(),
            Event::Message(message(&task, Role::User)),
            status(message("asked", Role::Agent)),
        ],
        task: task.into(),
    };
    store.append(&caller(), append).await?;
    Ok(())
}

fn created() -> Event {
    Event::Created(Created {
        agent: AGENT.into(),
        owner: caller(),
        context_id: CONTEXT.into(),
        client_id: None,
        metadata: None,
    })
}

fn status(asked: Message) -> Event {
    Event::Status {
        status: TaskStatus { message: Some(asked), ..TaskStatus::new(TaskState::InputRequired) },
        metadata: None,
    }
}

fn message(id: &str, role: Role) -> Message {
    Message::new(id, role, vec![Part::text(TEXT)])
}

fn caller() -> Caller {
    Caller::new("caller")
}
