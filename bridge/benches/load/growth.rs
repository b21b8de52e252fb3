//! A store with many tasks. `grow TASKS FOLDER [N]` writes them and ends without closing the store, as if it was
//! killed. One in N tasks waits for input; N is 10 by default. `grown TASKS FOLDER` opens the store and reads. Without
//! the folder `keys` in it, the index is first built again.

use std::{
    num::NonZeroU64,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bridge::{
    caller::Caller,
    store::{Append, Created, Event, Idle, ListQuery, SledSettings, SledStore, Store},
};
use bridge_protocol::a2a::{Message, Part, Role, TaskState, TaskStatus};
use jiff::Timestamp;

use crate::Outcome;

const AGENT: &str = "grown";
/// The number of writers.
const WRITERS: u64 = 512;
/// The number of tasks of each caller.
const PER_CALLER: u64 = 1000;
/// The default of N: every tenth task waits for input, the others are completed.
pub(crate) const WAITING: NonZeroU64 = NonZeroU64::new(10).unwrap();
/// The number of queries for tasks that have waited too long.
const QUERIES: u32 = 1_000;
/// The number of tasks that each of these queries asks for.
const PAGE: usize = 256;
/// The time for which each kind of read is measured.
const READING: Duration = Duration::from_secs(3);

/// Writes tasks, prints figures, and ends the process.
pub(crate) async fn grow(tasks: u64, folder: &Path, waiting: NonZeroU64) -> Outcome<()> {
    let store = Arc::new(SledStore::open(&SledSettings::in_folder(folder))?);
    let (next, begun) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let write = |_| {
        let (store, next) = (Arc::clone(&store), Arc::clone(&next));
        tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= tasks {
                    return Ok(());
                }
                for append in appends(number, waiting) {
                    store.append(&caller(number), append).await?;
                }
            }
        })
    };
    for writer in (0..WRITERS).map(write).collect::<Vec<_>>() {
        writer.await?.map_err(|error: bridge::store::StoreError| error)?;
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("{tasks} tasks written, {:.0}/s", tasks as f64 / seconds);
    println!("processor time {:.1} us a task", cpu()? / tasks as f64 * 1e6);
    println!("memory {} MiB", resident()? >> 20);
    std::process::exit(0);
}

/// Opens the store, measures reads, and prints figures.
pub(crate) async fn grown(tasks: u64, folder: &Path) -> Outcome<()> {
    let begun = Instant::now();
    let store = SledStore::open(&SledSettings::in_folder(folder))?;
    println!("opened in {:.2?}, processor time {:.2} s", begun.elapsed(), cpu()?);
    let begun = Instant::now();
    let (turns, counts) = (store.open_turns("", 1000).await?, store.counts().await?);
    println!("open turns {}, open tasks {counts:?}, in {:.2?}", turns.len(), begun.elapsed());
    println!("memory {} MiB", resident()? >> 20);
    let before = cpu()?;
    for _ in 0..QUERIES {
        let due = store.idle_tasks(Idle::Waiting, AGENT, None, Timestamp::UNIX_EPOCH, PAGE);
        if !due.await?.is_empty() {
            return Err("expected no task that has waited for so long".into());
        }
    }
    println!(
        "a query for tasks that wait too long: {:.1} us of processor time",
        (cpu()? - before) * 1e6 / f64::from(QUERIES)
    );
    for (what, spread) in [("any task", tasks), ("the newest 1000", tasks.min(1000))] {
        let (begun, mut count) = (Instant::now(), 0_u64);
        while begun.elapsed() < READING {
            let number = tasks - 1 - count.wrapping_mul(7_919_773) % spread;
            store.task(&caller(number), &id(number)).await?;
            count += 1;
        }
        println!("get {what}: {:.0}/s", count as f64 / begun.elapsed().as_secs_f64());
    }
    for (what, spread) in [("any caller", tasks), ("the newest caller", 1)] {
        let (begun, mut count) = (Instant::now(), 0_u64);
        while begun.elapsed() < READING {
            let number = tasks - 1 - count.wrapping_mul(7_919_773) % spread;
            let page = store.list(&caller(number), &ListQuery::of(AGENT)).await?;
            if page.tasks.is_empty() {
                return Err(format!("the caller of task {number} has no tasks").into());
            }
            count += 1;
        }
        println!("list {what}: {:.0}/s", count as f64 / begun.elapsed().as_secs_f64());
    }
    println!("memory {} MiB", resident()? >> 20);
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        println!("{}: {} bytes a task", path.display(), size(&path)? / tasks);
    }
    let begun = Instant::now();
    drop(store);
    println!("closed in {:.2?}", begun.elapsed());
    Ok(())
}

/// Returns the appends of a task: a message that begins a turn, and the end of the turn.
fn appends(number: u64, waiting: NonZeroU64) -> [Append; 2] {
    let text = format!("hello {number}, and a text of some length that stands for what people say");
    let message_id = format!("{}-message", id(number));
    let message = Message::new(message_id.as_str(), Role::User, vec![Part::text(text.as_str())]);
    let state = match number % waiting {
        0 => TaskState::InputRequired,
        _ => TaskState::Completed,
    };
    let mut status = TaskStatus::new(state);
    let answer_id = format!("{}-answer", id(number));
    status.message = Some(Message::new(answer_id, Role::Agent, vec![Part::text(text)]));
    let begin = vec![
        Event::Created(Created {
            agent: AGENT.into(),
            owner: caller(number),
            context_id: format!("context-{number}").into(),
            client_id: None,
            metadata: None,
        }),
        Event::Message(message),
        Event::TurnQueued { turn: 1, message_id, names_context: None, traceparent: None },
        Event::TurnStarted { turn: 1, open_until: None, reference: None },
    ];
    let metadata = None;
    let end = vec![Event::Status { status, metadata }, Event::TurnEnded { turn: 1 }];
    let append = |expected, events| Append {
        task: id(number).into(),
        expected,
        time: Timestamp::from_millisecond(1_700_000_000_000 + number as i64).unwrap_or_default(),
        events,
    };
    [append(0, begin), append(4, end)]
}

/// Returns an id; like the bridge's ids, they are ordered by creation.
fn id(number: u64) -> String {
    let random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
    format!("{:08x}-{:04x}-7000-8000-{random:012x}", number >> 16, number & 0xffff)
}

fn caller(number: u64) -> Caller {
    Caller::new(format!("caller-{}", number / PER_CALLER))
}

/// Returns the processor time of this process in seconds.
fn cpu() -> Outcome<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').ok_or("/proc/self/stat has no name")?;
    // These are user and system time, in hundredths of a second.
    let times = fields.split_whitespace().skip(11).take(2);
    let ticks = times.map(str::parse::<f64>).sum::<Result<f64, _>>()?;
    Ok(ticks / 100.0)
}

/// Returns the resident memory of this process in bytes.
fn resident() -> Outcome<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm")?;
    let pages = pages.split(' ').nth(1).unwrap_or_default();
    Ok(pages.parse::<u64>()? << 12)
}

fn size(path: &Path) -> Outcome<u64> {
    if path.is_file() {
        return Ok(path.metadata()?.len());
    }
    let mut sum = 0;
    for entry in std::fs::read_dir(path)? {
        sum += size(&entry?.path())?;
    }
    Ok(sum)
}
