//! Measures how fast tasks are stored and read: `cargo bench --workspace --bench store`.
//!
//! Every append is one event of about 1 KB, and is durable before the next one of its writer. To compare, the same
//! bytes are appended to a plain file with group fsync in the same run. `STORE_BENCH_SECONDS` (2 by default) is the
//! length of each measurement. `-- sled` or `-- memory` measures only that store.

use std::{
    fs::File,
    io::Write as _,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use bridge::{
    caller::Caller,
    store::{Append, Created, Event, ListQuery, MemoryStore, Seq, SledSettings, SledStore, Store},
};
use bridge_protocol::a2a::{Message, Part, Role, TaskState, TaskStatus};
use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot};

/// The number of appends to a task: the first creates it, the last completes it.
const APPENDS: u64 = 8;
const AGENT: &str = "bench";

fn main() {
    // `cargo test --benches` runs this too, only to check that it works.
    let is_test = std::env::args().any(|argument| argument == "--test") || cfg!(debug_assertions);
    let seconds = std::env::var("STORE_BENCH_SECONDS").ok();
    let seconds = seconds.and_then(|seconds| seconds.parse().ok()).unwrap_or(2.0);
    let length = Duration::from_secs_f64(if is_test { 0.05 } else { seconds });
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.enable_all().build().expect("a runtime starts");
    let tasks = if is_test { 2 } else { 500 };
    runtime.block_on(run(length, tasks));
}

async fn run(length: Duration, tasks: u64) {
    let folder = tempfile::tempdir().expect("a folder is made");
    let names = std::env::args().skip(1).filter(|name| !name.starts_with("--"));
    let chosen: Vec<String> = names.collect();
    let is_chosen = |name: &str| chosen.is_empty() || chosen.iter().any(|one| one == name);
    println!("{:<32} {:>10} {:>9} {:>9}", "", "per second", "p50 ms", "p99 ms");
    if is_chosen("sled") {
        bench_sled(folder.path(), length, tasks).await;
    }
    if is_chosen("memory") {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        bench_appends("memory", &store, length, None).await;
        bench_reads("memory", &store, length, tasks).await;
    }
}

async fn bench_sled(folder: &Path, length: Duration, tasks: u64) {
    let settings = SledSettings::in_folder(folder.join("sled"));
    let store: Arc<dyn Store> = Arc::new(SledStore::open(&settings).expect("a store opens"));
    bench_appends("sled", &store, length, Some(&folder.join("log"))).await;
    bench_reads("sled", &store, length, tasks).await;
    drop(store);
    println!("memory of this process: {} MiB", resident() >> 20);
    let begun = Instant::now();
    SledStore::open(&settings).expect("a store opens");
    println!("sled, opened again in {:.0?}", begun.elapsed());
}

/// Measures appends, each directly after the same appends to the plain file, because the speed of a disk changes over
/// time.
async fn bench_appends(name: &str, store: &Arc<dyn Store>, length: Duration, file: Option<&Path>) {
    for writers in [1, 16, 64] {
        if let Some(path) = file {
            let log = Arc::new(GroupLog::start(path));
            let label = format!("bare file, {writers} writers");
            measure(&label, writers, length, move |_, _| {
                let log = Arc::clone(&log);
                async move { log.append(vec![b'x'; 1100]).await }
            })
            .await;
        }
        let (to, label) = (Arc::clone(store), format!("{name}, append, {writers} writers"));
        measure(&label, writers, length, move |writer, number| {
            let task = task(&writers.to_string(), writer, number / APPENDS);
            let store = Arc::clone(&to);
            async move { append(&*store, task, number % APPENDS).await }
        })
        .await;
        let (to, label) = (Arc::clone(store), format!("{name}, turn in 2, {writers} writers"));
        measure(&label, writers, length, move |writer, number| {
            let task = task(&format!("turn-{writers}"), writer, number);
            let store = Arc::clone(&to);
            async move {
                append(&*store, task.clone(), 0).await;
                append_at(&*store, task, 2, APPENDS - 1).await;
            }
        })
        .await;
    }
}

async fn bench_reads(name: &str, store: &Arc<dyn Store>, length: Duration, tasks: u64) {
    fill(store, tasks).await;
    for (what, readers, spread) in
        [("hot task", 1, 1), ("hot task", 16, 1), ("any task", 1, tasks), ("any task", 16, tasks)]
    {
        let (from, label) = (Arc::clone(store), format!("{name}, {what}, {readers} readers"));
        measure(&label, readers, length, move |reader, number| {
            let store = Arc::clone(&from);
            // The tasks are far apart, so that consecutive reads do not hit neighbours in the database.
            let task = task("read", reader, number * 7919 % spread);
            async move {
                let task = store.task(&caller(), &task).await;
                task.expect("the task is there");
            }
        })
        .await;
    }
    let (from, label) = (Arc::clone(store), format!("{name}, log of a task, 16 readers"));
    measure(&label, 16, length, move |reader, number| {
        let (store, task) = (Arc::clone(&from), task("read", reader, number % tasks));
        async move {
            let log = store.read(&caller(), &task, 0, 100).await;
            log.expect("the task is there");
        }
    })
    .await;
    let (from, label) = (Arc::clone(store), format!("{name}, list of 50, 4 readers"));
    measure(&label, 4, length, move |_, _| {
        let store = Arc::clone(&from);
        async move {
            let page = store.list(&caller(), &ListQuery::of(AGENT)).await;
            page.expect("the tasks are listed");
        }
    })
    .await;
}

/// Writes this many tasks for each of 16 readers.
async fn fill(store: &Arc<dyn Store>, tasks: u64) {
    let write = |writer| {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            for number in 0..tasks * APPENDS {
                let task = task("read", writer, number / APPENDS);
                append(&*store, task, number % APPENDS).await;
            }
        })
    };
    for writer in (0..16).map(write).collect::<Vec<_>>() {
        writer.await.expect("a writer succeeds");
    }
}

/// Lets each worker repeat this work, and prints the rate and latencies.
async fn measure<F, W>(label: &str, workers: usize, length: Duration, work: F)
where
    F: Fn(usize, u64) -> W + Send + Sync + 'static,
    W: Future<Output = ()> + Send,
{
    let (work, begun) = (Arc::new(work), Instant::now());
    let start = |worker| {
        let work = Arc::clone(&work);
        tokio::spawn(async move {
            let mut times = Vec::new();
            while begun.elapsed() < length || times.is_empty() {
                let begun = Instant::now();
                work(worker, times.len() as u64).await;
                times.push(begun.elapsed());
            }
            times
        })
    };
    let mut times = Vec::new();
    for worker in (0..workers).map(start).collect::<Vec<_>>() {
        times.extend(worker.await.expect("work succeeds"));
    }
    let rate = times.len() as f64 / begun.elapsed().as_secs_f64();
    times.sort();
    let percentile = |share: usize| times[times.len() * share / 100].as_secs_f64() * 1e3;
    let (p50, p99) = (percentile(50), percentile(99));
    println!("{label:<32} {rate:>10.0} {p50:>9.3} {p99:>9.3}");
}

/// Appends the event with this number to a task: the first creates it, the last completes it.
async fn append(store: &dyn Store, task: String, number: u64) {
    let expected = if number == 0 { 0 } else { number + 1 };
    append_at(store, task, expected, number).await;
}

async fn append_at(store: &dyn Store, task: String, expected: Seq, number: u64) {
    let id = format!("{task}/{number}");
    let message = Message::new(id, Role::User, vec![Part::text("x".repeat(1000))]);
    let mut status = TaskStatus::new(TaskState::Completed);
    let events = match number {
        0 => vec![created(), Event::Message(message)],
        last if last + 1 == APPENDS => {
            status.message = Some(message);
            let metadata = None;
            vec![Event::Status { status, metadata }]
        }
        _ => vec![Event::Message(message)],
    };
    let append = Append { task: task.into(), expected, time: Timestamp::now(), events };
    store.append(&caller(), append).await.expect("it is appended");
}

fn created() -> Event {
    Event::Created(Created {
        agent: AGENT.into(),
        owner: caller(),
        context_id: "context".into(),
        client_id: None,
        metadata: None,
    })
}

fn caller() -> Caller {
    Caller::new("caller")
}

fn task(group: &str, writer: usize, number: u64) -> String {
    format!("{group}-{writer}-{number}")
}

/// Returns the resident memory of the process in bytes, on Linux.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0_u64) * 4096
}

type Write = (Vec<u8>, oneshot::Sender<()>);

/// A plain file with one writing thread and one fsync for all waiting appends: the least cost of durable work.
struct GroupLog(mpsc::Sender<Write>);

impl GroupLog {
    fn start(path: &Path) -> Self {
        let (sender, mut waiting) = mpsc::channel::<Write>(1024);
        let mut file = File::create(path).expect("a file is made");
        std::thread::spawn(move || {
            let mut group = Vec::new();
            while waiting.blocking_recv_many(&mut group, 1024) > 0 {
                let bytes: Vec<u8> = group.iter().flat_map(|(bytes, _)| bytes).copied().collect();
                file.write_all(&bytes).expect("the file is written");
                file.sync_data().expect("the file is synced");
                for (_, done) in group.drain(..) {
                    let _ = done.send(());
                }
            }
        });
        Self(sender)
    }

    async fn append(&self, bytes: Vec<u8>) {
        let (done, wait) = oneshot::channel();
        self.0.send((bytes, done)).await.expect("the thread runs");
        wait.await.expect("the thread answers");
    }
}
