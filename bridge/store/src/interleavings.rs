//! Tests the feed and the cache under many interleavings of their threads.
//!
//! Both modules are compiled here a second time, with shuttle's locks and atomics in place of the standard library's.
//! Shuttle chooses the thread that continues at each of their operations, and detects deadlocks. The log is in memory
//! here; `sled/interleavings` tests the queue of commits.

use bridge_protocol::a2a::TaskState;
use shuttle::{
    future::block_on,
    sync::{self, Arc, Mutex, mpsc},
    thread,
};

use super::{
    Append, Event, Head, Seq, Snapshot, StoredEvent, Unordered, known_ids, size,
    testing::{Sample, status},
};

#[expect(
    clippy::duplicate_mod,
    dead_code,
    unreachable_pub,
    reason = "compiled with other locks, and only parts of it are tested"
)]
#[path = "cache.rs"]
mod cache;
#[expect(
    clippy::duplicate_mod,
    dead_code,
    unreachable_pub,
    reason = "compiled with other locks, and only parts of it are tested"
)]
#[path = "feed.rs"]
mod feed;

use cache::{Cache, CachedTask};
use feed::{Feed, Watch};

/// The number of interleavings by random choice and by random priorities, and the number of changes of priorities.
const INTERLEAVINGS: usize = 2_000;
const PRIORITY_CHANGES: usize = 3;

/// The number of the last event.
const LAST: Seq = 4;

pub(crate) fn check(tried: fn()) {
    shuttle::check_random(tried, INTERLEAVINGS);
    shuttle::check_pct(tried, INTERLEAVINGS, PRIORITY_CHANGES);
}

/// Returns whether shuttle finds an interleaving in which a test fails.
pub(crate) fn is_detected(tried: fn()) -> bool {
    std::panic::catch_unwind(|| check(tried)).is_err()
}

/// The log of one task and its head, in place of a backend's disk.
#[derive(Default)]
struct Log(Mutex<(Vec<Append>, Option<Arc<Head>>)>);

impl Log {
    /// Adds the next append, as the committer does.
    fn commit(&self) -> (Arc<Head>, Append) {
        let mut log = self.0.lock().unwrap();
        let (sample, seq) = (Sample::new("t"), log.0.len() as Seq);
        let event = match seq {
            0 => sample.created(),
            _ => status(TaskState::Working, &seq.to_string()),
        };
        let append = sample.append(seq, 1, vec![event]);
        let head = Arc::new(Head::after(log.1.as_deref(), &sample.caller, &append).unwrap());
        log.0.push(append.clone());
        log.1 = Some(Arc::clone(&head));
        (head, append)
    }

    fn head(&self) -> Option<Arc<Head>> {
        self.0.lock().unwrap().1.clone()
    }

    fn events(&self, after: Seq) -> Vec<StoredEvent> {
        let log = self.0.lock().unwrap();
        let later = log.0.iter().filter(|append| append.last() > after);
        later.cloned().flat_map(Append::into_stored).collect()
    }
}

struct Backend {
    log: Log,
    cache: Cache,
    feed: Feed,
}

impl Backend {
    fn new() -> Arc<Self> {
        Arc::new(Self { log: Log::default(), cache: Cache::new(1 << 20), feed: Feed::default() })
    }

    /// Watches the task as backends do: the head is read after the watcher was added.
    fn watch(&self) -> Watch {
        let watch = self.feed.watch("t").with_events();
        match self.log.head() {
            Some(head) => watch.with_head(&head),
            None => watch,
        }
    }

    /// Reads the task as the readers of stores do.
    fn snapshot(&self, seq: Seq) -> Snapshot {
        if let Some(snapshot) = self.cache.get("t", seq) {
            return snapshot;
        }
        let head = self.log.head().unwrap();
        let known = self.cache.take("t", seq);
        let mut cached = known.unwrap_or_else(|| CachedTask::empty(&head));
        let later = self.log.events(cached.snapshot.seq);
        later.into_iter().filter(|stored| stored.seq <= seq).for_each(|stored| cached.add(stored));
        let snapshot = cached.snapshot.clone();
        self.cache.put("t", cached);
        snapshot
    }

    /// Starts a thread that commits appends, and two threads that publish them in any order.
    fn write(self: &Arc<Self>) -> Vec<thread::JoinHandle<()>> {
        let (committed, waiting) = mpsc::channel();
        let backend = Arc::clone(self);
        let committer = thread::spawn(move || {
            for _ in 0..LAST {
                committed.send(backend.log.commit()).unwrap();
            }
        });
        let waiting = Arc::new(Mutex::new(waiting));
        let publisher = |_| {
            let (backend, waiting) = (Arc::clone(self), Arc::clone(&waiting));
            thread::spawn(move || {
                loop {
                    let durable = waiting.lock().unwrap().recv();
                    let Ok((head, append)) = durable else { return };
                    backend.cache.publish(&backend.feed, &head, append);
                }
            })
        };
        let mut threads: Vec<_> = (0..2).map(publisher).collect();
        threads.push(committer);
        threads
    }
}

fn text(event: &Event) -> String {
    match event {
        Event::Status { status, .. } => {
            status.message.as_ref().map(|said| said.text()).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// Reads up to the last event, from the feed where possible, and checks that each event comes once and in order.
fn follow(backend: &Backend, mut watch: Watch) {
    let mut seen = 0;
    while seen < LAST {
        let head = block_on(watch.after(seen)).unwrap();
        assert!(head.seq > seen);
        let events = match watch.events(seen) {
            Some(events) => events.to_vec(),
            None => backend.log.events(seen),
        };
        let already = events.partition_point(|stored| stored.seq <= seen);
        for stored in &events[already..] {
            assert_eq!(stored.seq, seen + 1);
            seen = stored.seq;
        }
    }
}

fn join(threads: Vec<thread::JoinHandle<()>>) {
    threads.into_iter().for_each(|one| one.join().unwrap());
}

fn readers_beside_writers() {
    let backend = Backend::new();
    let mut threads = backend.write();
    for _ in 0..2 {
        let backend = Arc::clone(&backend);
        threads.push(thread::spawn(move || follow(&backend, backend.watch())));
    }
    join(threads);
    assert!(!backend.feed.wants_events("t"));
    assert_eq!(backend.feed.watched(), 0);
}

#[test]
fn every_watcher_gets_every_event_once_in_all_interleavings() {
    check(readers_beside_writers);
}

#[test]
fn a_cached_task_equals_the_one_in_the_log_in_all_interleavings() {
    check(|| {
        let backend = Backend::new();
        let mut threads = backend.write();
        for _ in 0..2 {
            let backend = Arc::clone(&backend);
            threads.push(thread::spawn(move || {
                for _ in 0..LAST {
                    let Some(head) = backend.log.head() else {
                        continue;
                    };
                    let Snapshot { task, seq, .. } = backend.snapshot(head.seq);
                    assert_eq!(seq, head.seq);
                    let said = task.status.message.as_ref().map(|said| said.text());
                    let expected = backend.log.events(seq - 1);
                    assert_eq!(said.unwrap_or_default(), text(&expected[0].event));
                }
            }));
        }
        join(threads);
    });
}

#[test]
fn all_watchers_are_ended_in_all_interleavings() {
    check(|| {
        let feed = Arc::new(Feed::default());
        let mut watches = [feed.watch("t"), feed.watch("t")];
        let ending = {
            let feed = Arc::clone(&feed);
            thread::spawn(move || feed.end("t"))
        };
        let dropping = thread::spawn(move || drop(feed));
        for watch in &mut watches {
            assert_eq!(block_on(watch.after(0)), None);
        }
        ending.join().unwrap();
        dropping.join().unwrap();
    });
}

/// A backend that reads the head before it adds a watcher misses appends in between, and its watcher waits for ever.
#[test]
fn a_backend_that_reads_the_head_before_it_watches_is_detected() {
    assert!(is_detected(|| {
        let backend = Backend::new();
        let mut threads = backend.write();
        let reader = Arc::clone(&backend);
        threads.push(thread::spawn(move || {
            let head = reader.log.head();
            let watch = reader.feed.watch("t").with_events();
            let watch = head.iter().fold(watch, |watch, head| watch.with_head(head));
            follow(&reader, watch);
        }));
        join(threads);
    }));
}

/// A reader that does not read the log misses events that were not queued.
#[test]
fn a_reader_that_does_not_check_for_gaps_is_detected() {
    assert!(is_detected(|| {
        let backend = Backend::new();
        let mut watch = backend.watch();
        let threads = backend.write();
        let mut seen = 0;
        while seen < LAST {
            seen = block_on(watch.after(seen)).unwrap().seq;
        }
        let mut got = Vec::new();
        while let Some(events) = watch.events(got.len() as Seq) {
            got.extend(events.iter().map(|stored| stored.seq));
        }
        assert_eq!(got, [1, 2, 3, 4]);
        join(threads);
    }));
}
