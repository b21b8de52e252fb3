//! Tests the workers of a setting with different orders of their threads.
//!
//! A worker ends when everything was delivered, and the next event starts another one. The module is compiled here a
//! second time, with shuttle's lock, atomic and tasks, and a log in memory.

use futures_util::FutureExt as _;
use shuttle::{
    future::{JoinHandle, block_on, yield_now},
    sync::{
        self, Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
};

use super::{ORDERS, is_found_out};
use crate::{
    caller::Caller,
    setting::{self, SettingKey},
    store::{Head, Listener as _, Seq, testing::Sample},
};

#[expect(
    clippy::duplicate_mod,
    dead_code,
    reason = "compiled with another lock, and only parts of it are tried"
)]
#[path = "../../delivery_workers.rs"]
mod delivery_workers;

use delivery_workers::{DeliveryWorkers, StopSignal};
use event_reader::EventReader;

/// The number of the last event. Two threads append.
const LAST: Seq = 4;

fn lock<T>(mutex: &Mutex<T>) -> sync::MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

/// Spawns tasks of shuttle in place of tokio's.
#[derive(Debug)]
struct Handle;

impl Handle {
    fn current() -> Self {
        Self
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        shuttle::future::spawn(work)
    }
}

/// A task's log, and the events that its webhook received.
struct Webhook {
    log: Mutex<Seq>,
    delivered: Mutex<Seq>,
    told: Mutex<mpsc::Sender<Seq>>,
    is_delivering: AtomicBool,
    is_removed: AtomicBool,
    /// Whether a worker that ends does not check for new events.
    is_careless: bool,
    /// Whether the webhook does not answer.
    hangs: bool,
}

mod event_reader {
    use super::{Arc, Seq, Webhook, lock};

    /// The position of a worker that ends.
    pub(super) struct EventReader {
        pub(super) webhook: Arc<Webhook>,
        pub(super) seen: Seq,
    }

    impl EventReader {
        pub(super) fn seen(&self) -> Seq {
            self.seen
        }

        pub(super) fn has_news(&self) -> bool {
            !self.webhook.is_careless && *lock(&self.webhook.log) > self.seen
        }
    }
}

impl Webhook {
    fn new(is_careless: bool, hangs: bool) -> (Arc<Self>, mpsc::Receiver<Seq>) {
        let (told, telling) = mpsc::channel();
        let webhook = Self {
            log: Mutex::default(),
            delivered: Mutex::default(),
            told: Mutex::new(told),
            is_delivering: AtomicBool::new(false),
            is_removed: AtomicBool::new(false),
            is_careless,
            hangs,
        };
        (Arc::new(webhook), telling)
    }

    /// Delivers the events in the log, as a worker does.
    async fn deliver(self: Arc<Self>, mut stop: StopSignal) -> Option<EventReader> {
        let is_delivering = self.is_delivering.swap(true, Ordering::SeqCst);
        assert!(!is_delivering, "two workers deliver for one setting");
        let left = loop {
            if stop.requested().now_or_never().is_some() {
                break None;
            }
            let seen = *lock(&self.delivered);
            if seen == *lock(&self.log) {
                let webhook = Arc::clone(&self);
                break Some(EventReader { webhook, seen });
            }
            if self.hangs {
                stop.requested().await;
                break None;
            }
            yield_now().await;
            let is_removed = self.is_removed.load(Ordering::SeqCst);
            assert!(!is_removed, "a setting is removed, and gets an event");
            *lock(&self.delivered) = seen + 1;
            let _ = lock(&self.told).send(seen + 1);
        };
        self.is_delivering.store(false, Ordering::SeqCst);
        left
    }

    fn append(&self) -> Head {
        let mut log = lock(&self.log);
        *log += 1;
        head(*log)
    }
}

fn head(seq: Seq) -> Head {
    let sample = Sample::new("t");
    let append = sample.append(0, 1, vec![sample.created()]);
    let created = Head::after(None, &sample.caller, &append).unwrap();
    Head { seq, ..created }
}

fn key() -> SettingKey {
    SettingKey::new(&Caller::new("alice"), "t", "setting")
}

fn workers(webhook: &Arc<Webhook>) -> Arc<DeliveryWorkers> {
    let webhook = Arc::clone(webhook);
    let workers = DeliveryWorkers::new(move |_, stop| Box::pin(Arc::clone(&webhook).deliver(stop)));
    workers.start(key());
    workers
}

/// Appends as the store does, which notifies the workers as long as they exist.
fn write(webhook: &Arc<Webhook>, workers: &Arc<DeliveryWorkers>) -> [thread::JoinHandle<()>; 2] {
    [(); 2].map(|()| {
        let (webhook, workers) = (Arc::clone(webhook), Arc::downgrade(workers));
        thread::spawn(move || {
            for _ in 0..LAST / 2 {
                let head = webhook.append();
                let listener: Option<Arc<DeliveryWorkers>> = Weak::upgrade(&workers);
                listener.iter().for_each(|workers| workers.appended(&head));
            }
        })
    })
}

fn check(tried: impl Fn() + Copy + Send + Sync + 'static) {
    shuttle::check_random(tried, ORDERS);
    shuttle::check_pct(tried, ORDERS, 3);
}

/// Checks that every event is delivered once and in order, whenever workers end.
fn deliver(is_careless: bool) {
    let (webhook, told) = Webhook::new(is_careless, false);
    let workers = workers(&webhook);
    let writers = write(&webhook, &workers);
    (1..=LAST).for_each(|seq| assert_eq!(told.recv(), Ok(seq)));
    writers.into_iter().for_each(|one| one.join().unwrap());
    block_on(workers.stop(&key()));
    assert_eq!(workers.len(), (0, 0));
}

/// Checks that a removed setting gets no more events, and that no worker is started for it.
fn remove(stop: fn(&DeliveryWorkers)) {
    let (webhook, _told) = Webhook::new(false, false);
    let workers = workers(&webhook);
    let writers = write(&webhook, &workers);
    stop(&workers);
    webhook.is_removed.store(true, Ordering::SeqCst);
    writers.into_iter().for_each(|one| one.join().unwrap());
    assert_eq!(workers.len(), (0, 0));
}

#[test]
fn no_event_is_missed_while_a_worker_leaves() {
    check(|| deliver(false));
}

#[test]
fn a_worker_that_ends_without_checking_is_detected() {
    assert!(is_found_out(|| check(|| deliver(true))));
}

#[test]
fn a_removed_setting_gets_nothing_more() {
    check(|| remove(|workers| block_on(workers.stop(&key()))));
}

#[test]
fn a_removal_that_does_not_wait_for_the_worker_is_detected() {
    assert!(is_found_out(|| check(|| {
        remove(|workers| {
            let _ = workers.stop(&key()).now_or_never();
        });
    })));
}

/// A setting is changed while its worker delivers: the next worker continues after the last delivered event.
#[test]
fn a_changed_setting_gets_every_event_once() {
    check(|| {
        let (webhook, told) = Webhook::new(false, false);
        let workers = workers(&webhook);
        let writers = write(&webhook, &workers);
        block_on(workers.stop(&key()));
        workers.start(key());
        (1..=LAST).for_each(|seq| assert_eq!(told.recv(), Ok(seq)));
        writers.into_iter().for_each(|one| one.join().unwrap());
    });
}

/// When the workers are dropped, all of them end, even if a webhook does not answer and events arrive.
#[test]
fn workers_end_with_the_program() {
    check(|| {
        let (webhook, told) = Webhook::new(false, true);
        let workers = workers(&webhook);
        let writers = write(&webhook, &workers);
        drop((webhook, workers));
        writers.into_iter().for_each(|one| one.join().unwrap());
        // Every worker holds the sender.
        assert!(told.recv().is_err());
    });
}
