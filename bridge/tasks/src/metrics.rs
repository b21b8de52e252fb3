//! Metrics for operators, in the text formats that Prometheus reads.
//!
//! Labels are few and bounded: agent names, operations, outcomes, and security schemes of cards. No label holds a
//! task, a caller or a text.

mod text_format;

use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock, atomic::Ordering},
    time::Duration,
};

use prometheus_client::{
    encoding::text::encode,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};

use crate::store::{CallCounts, Sharing};

pub use text_format::TextFormat;

/// Buckets in seconds; the default limit of a turn is half an hour, and few take longer than five minutes.
const TURNS: [f64; 11] = [0.001, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0];

/// Buckets in seconds: from an append in memory to one on a failing disk.
const APPENDS: [f64; 11] =
    [0.000_01, 0.000_1, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 1.0, 10.0];

/// Buckets in seconds; the default limit of a webhook is 15 seconds.
const PUSHES: [f64; 8] = [0.005, 0.02, 0.1, 0.5, 1.0, 5.0, 15.0, 30.0];

/// The number of metrics of a kind that are cached by agent and labels.
const RECENT: usize = 32;

/// All metrics, shared by clones.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Families>);

/// A cache of the metrics of one kind, by agent and two other labels: every message uses some of them, and should not
/// create and hash labels for each.
#[derive(Debug)]
struct Recent<M>(RwLock<Vec<(String, [&'static str; 2], M)>>);

impl<M> Default for Recent<M> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<M: Clone> Recent<M> {
    /// Returns a metric from the cache; `make` finds or creates it the first time.
    fn get(&self, agent: &str, labels: [&'static str; 2], make: impl FnOnce() -> M) -> M {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let is_it = |one: &&(String, _, _)| one.1 == labels && one.0 == agent;
        if let Some((_, _, metric)) = known.iter().find(is_it) {
            return metric.clone();
        }
        drop(known);
        let metric = make();
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() < RECENT {
            known.push((agent.to_owned(), labels, metric.clone()));
        }
        metric
    }
}

#[derive(Debug)]
struct Families {
    registry: Registry,
    requests: Family<Labels<3>, Counter>,
    recent_requests: Recent<Counter>,
    refusals: Family<Labels<3>, Counter>,
    limited: Family<Labels<3>, Counter>,
    turns: Family<Labels<2>, Histogram, fn() -> Histogram>,
    recent_turns: Recent<Histogram>,
    turns_running: Family<Labels<1>, Gauge>,
    turns_queued: Family<Labels<1>, Gauge>,
    tasks_open: Family<Labels<1>, Gauge>,
    recent_tasks_open: Recent<Gauge>,
    streams_open: Family<Labels<1>, Gauge>,
    turns_taken_over: Family<Labels<2>, Counter>,
    replicas: Gauge,
    leases_held: Gauge,
    handed_calls: Family<Labels<2>, Counter>,
    appends: Histogram,
    store_errors: Family<Labels<1>, Counter>,
    damaged_tasks: Gauge,
    lost_bytes: Gauge,
    tasks_deleted: Family<Labels<1>, Counter>,
    store_bytes: Family<Labels<1>, Gauge>,
    pushes: Family<Labels<2>, Histogram, fn() -> Histogram>,
    pushes_open: Family<Labels<1>, Gauge>,
    pushes_given_up: Family<Labels<1>, Gauge>,
    certificate_end: Family<Labels<1>, Gauge>,
}

/// The names and values of a metric's labels.
type Labels<const N: usize> = [(&'static str, Cow<'static, str>); N];

/// Counts a stream as open until it is dropped.
pub struct OpenStreamGuard(Gauge);

impl Drop for OpenStreamGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut families = Families {
            registry: Registry::with_prefix("bridge"),
            requests: Family::default(),
            recent_requests: Recent::default(),
            refusals: Family::default(),
            limited: Family::default(),
            turns: Family::new_with_constructor(|| Histogram::new(TURNS)),
            recent_turns: Recent::default(),
            turns_running: Family::default(),
            turns_queued: Family::default(),
            tasks_open: Family::default(),
            recent_tasks_open: Recent::default(),
            streams_open: Family::default(),
            turns_taken_over: Family::default(),
            replicas: Gauge::default(),
            leases_held: Gauge::default(),
            handed_calls: Family::default(),
            appends: Histogram::new(APPENDS),
            store_errors: Family::default(),
            damaged_tasks: Gauge::default(),
            lost_bytes: Gauge::default(),
            tasks_deleted: Family::default(),
            store_bytes: Family::default(),
            pushes: Family::new_with_constructor(|| Histogram::new(PUSHES)),
            pushes_open: Family::default(),
            pushes_given_up: Family::default(),
            certificate_end: Family::default(),
        };
        families.register();
        Self(Arc::new(families))
    }
}

impl Families {
    fn register(&mut self) {
        let all = &mut self.registry;
        let requests = "Requests by the operation's name in A2A 1.0 and its outcome";
        all.register("requests", requests, self.requests.clone());
        let refusals = "Requests with missing or insufficient credentials, by security scheme";
        all.register("refusals", refusals, self.refusals.clone());
        let limited = "Requests that a limit of their caller delayed or refused";
        all.register("limited", limited, self.limited.clone());
        let turns = "Duration of a turn: the work of an agent on one message";
        all.register_with_unit("turn_duration", turns, Unit::Seconds, self.turns.clone());
        let running = "Turns that run";
        all.register("turns_running", running, self.turns_running.clone());
        let queued = "Turns that wait for an earlier turn";
        all.register("turns_queued", queued, self.turns_queued.clone());
        let open = "Tasks that have not ended";
        all.register("tasks_open", open, self.tasks_open.clone());
        let streams = "Streams that clients read";
        all.register("streams_open", streams, self.streams_open.clone());
        let appends = "The time in which the task log made an append durable";
        let duration = "store_append_duration";
        all.register_with_unit(duration, appends, Unit::Seconds, self.appends.clone());
        let errors = "Failures of the task log";
        all.register("store_errors", errors, self.store_errors.clone());
        let damaged = "Tasks that were found damaged since the start; bridge store check lists all";
        all.register("store_damaged_tasks", damaged, self.damaged_tasks.clone());
        let lost = "Known bytes of the task log that are missing or damaged";
        all.register("store_lost_bytes", lost, self.lost_bytes.clone());
        let deleted = "Tasks that were deleted by a retention rule";
        all.register("tasks_deleted", deleted, self.tasks_deleted.clone());
        let bytes = "Bytes of the store: log and index are on the disk, live is neither deleted nor replaced, free \
                     is free space of the disk";
        all.register("store_bytes", bytes, self.store_bytes.clone());
        let end = "When the certificate in use expires, in seconds since 1970";
        let name = "certificate_end_timestamp";
        all.register_with_unit(name, end, Unit::Seconds, self.certificate_end.clone());
        self.register_pushes();
        self.register_sharing();
    }

    fn register_sharing(&mut self) {
        let all = &mut self.registry;
        let taken_over = "Turns of ended bridges that this bridge has continued or failed";
        all.register("turns_taken_over", taken_over, self.turns_taken_over.clone());
        let replicas = "Running bridges on the database";
        all.register("replicas", replicas, self.replicas.clone());
        let leases = "Conversations and webhooks whose lease this bridge holds";
        all.register("leases_held", leases, self.leases_held.clone());
        let calls = "Calls of bots that were passed to another bridge or received from one";
        all.register("handed_calls", calls, self.handed_calls.clone());
    }

    fn register_pushes(&mut self) {
        let all = &mut self.registry;
        let pushes = "The response time of webhooks";
        all.register_with_unit("push_duration", pushes, Unit::Seconds, self.pushes.clone());
        let open = "Push notification settings whose task is open or has undelivered events";
        all.register("push_settings_open", open, self.pushes_open.clone());
        let given_up = "Push notification settings whose delivery was given up";
        all.register("push_settings_given_up", given_up, self.pushes_given_up.clone());
    }
}

impl Metrics {
    /// Returns all metrics in a format.
    pub fn text(&self, format: TextFormat) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.0.registry);
        format.convert(text)
    }

    /// Counts a request.
    pub fn answered(&self, agent: &str, operation: &'static str, outcome: &'static str) {
        let Families { requests, recent_requests, .. } = &*self.0;
        let count = recent_requests.get(agent, [operation, outcome], || {
            let operation = ("operation", operation.into());
            let labels = [("agent", owned(agent)), operation, ("outcome", outcome.into())];
            requests.get_or_create_owned(&labels)
        });
        count.inc();
    }

    /// Counts a refused request, with the card's security scheme of the presented credential, if any.
    pub fn refused(&self, agent: &str, outcome: &'static str, scheme: Option<&str>) {
        let scheme = owned(scheme.unwrap_or("none"));
        let labels = [("agent", owned(agent)), ("outcome", outcome.into()), ("scheme", scheme)];
        self.0.refusals.get_or_create(&labels).inc();
    }

    /// Counts a request that a limit of its caller delayed or refused.
    pub fn limited(&self, agent: &str, limit: &'static str, outcome: &'static str) {
        let labels =
            [("agent", owned(agent)), ("limit", limit.into()), ("outcome", outcome.into())];
        self.0.limited.get_or_create(&labels).inc();
    }

    /// Records the duration of a turn.
    pub fn turn(&self, agent: &str, outcome: &'static str, took: Duration) {
        let Families { turns, recent_turns, .. } = &*self.0;
        let durations = recent_turns
            .get(agent, [outcome, ""], || turns.get_or_create_owned(&of_outcome(agent, outcome)));
        durations.observe(took.as_secs_f64());
    }

    /// Sets the numbers of running and waiting turns by agent, in place of earlier ones, and shows failed turns even if there
    /// are none yet: Prometheus sees no increase in a series that begins with the first failure.
    pub fn load(&self, load: &BTreeMap<Arc<str>, (usize, usize)>) {
        let Families { turns, turns_running, turns_queued, .. } = &*self.0;
        turns_running.clear();
        turns_queued.clear();
        for (agent, (running, queued)) in load {
            drop(turns.get_or_create(&of_outcome(agent, "failed")));
            let agent = of_agent(agent);
            turns_running.get_or_create(&agent).set(gauge(*running));
            turns_queued.get_or_create(&agent).set(gauge(*queued));
        }
    }

    /// Sets the number of open tasks.
    pub fn set_tasks_open(&self, agent: &str, count: usize) {
        self.tasks_open(agent).set(gauge(count));
    }

    /// Counts a turn of a bridge that has ended, by its outcome.
    pub fn turn_taken_over(&self, agent: &str, outcome: &'static str) {
        self.0.turns_taken_over.get_or_create(&of_outcome(agent, outcome)).inc();
    }

    /// Sets the metrics of the work that several bridges share.
    pub fn shared(&self, sharing: &Sharing) {
        let families = &*self.0;
        families.replicas.set(gauge(sharing.processes));
        families.leases_held.set(gauge(sharing.leases));
        for (agent, count) in &sharing.open_tasks {
            self.set_tasks_open(agent, *count);
        }
        for (direction, counts) in [("out", sharing.handed), ("in", sharing.taken)] {
            let CallCounts { answered, failed } = counts;
            for (outcome, count) in [("answered", answered), ("failed", failed)] {
                let labels = [("direction", direction.into()), ("outcome", outcome.into())];
                let calls = families.handed_calls.get_or_create(&labels);
                // Another request for the metrics may have stored a newer count.
                calls.inner().fetch_max(count, Ordering::Relaxed);
            }
        }
    }

    /// Returns the number of an agent's tasks that have not ended.
    pub(crate) fn tasks_open(&self, agent: &str) -> Gauge {
        let Families { tasks_open, recent_tasks_open, .. } = &*self.0;
        recent_tasks_open.get(agent, ["", ""], || tasks_open.get_or_create_owned(&of_agent(agent)))
    }

    /// Counts a stream as open until the result is dropped.
    pub fn stream(&self, agent: &str) -> OpenStreamGuard {
        let open = self.0.streams_open.get_or_create_owned(&of_agent(agent));
        open.inc();
        OpenStreamGuard(open)
    }

    /// Records the duration of an append.
    pub fn append(&self, took: Duration) {
        self.0.appends.observe(took.as_secs_f64());
    }

    /// Records the duration of one delivery attempt of a push notification.
    pub fn pushed(&self, agent: &str, outcome: &'static str, took: Duration) {
        let pushes = self.0.pushes.get_or_create(&of_outcome(agent, outcome));
        pushes.observe(took.as_secs_f64());
    }

    /// Changes the number of settings with events to deliver.
    pub fn push_open(&self, agent: &str, more: i64) {
        self.0.pushes_open.get_or_create(&of_agent(agent)).inc_by(more);
    }

    /// Changes the number of settings whose delivery was given up.
    pub fn push_given_up(&self, agent: &str, more: i64) {
        self.0.pushes_given_up.get_or_create(&of_agent(agent)).inc_by(more);
    }

    /// Sets the numbers of settings with events to deliver, and of those whose delivery was given up, of each agent.
    pub fn set_pushes(&self, counts: &BTreeMap<Arc<str>, (i64, i64)>) {
        self.0.pushes_open.clear();
        self.0.pushes_given_up.clear();
        for (agent, (open, given_up)) in counts {
            self.0.pushes_open.get_or_create(&of_agent(agent)).set(*open);
            self.0.pushes_given_up.get_or_create(&of_agent(agent)).set(*given_up);
        }
    }

    /// Sets the extent of the store's damage.
    pub fn damage(&self, tasks: usize, bytes: u64) {
        self.0.damaged_tasks.set(gauge(tasks));
        self.0.lost_bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// Counts a task that a rule deleted.
    pub fn task_deleted(&self, agent: &str) {
        self.0.tasks_deleted.get_or_create(&of_agent(agent)).inc();
    }

    /// Sets the size of a part of the store in bytes.
    pub fn store_bytes(&self, part: &'static str, bytes: u64) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.0.store_bytes.get_or_create(&[("part", part.into())]).set(bytes);
    }

    /// Sets the end of the server certificate's validity, in seconds since 1970, in place of an earlier value.
    pub fn certificate_end(&self, file: String, end: i64) {
        let ends = &self.0.certificate_end;
        ends.clear();
        ends.get_or_create(&[("file", file.into())]).set(end);
    }

    /// Counts a failure of the store.
    pub fn store_failed(&self, error: &'static str) {
        self.0.store_errors.get_or_create(&[("error", error.into())]).inc();
    }
}

fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn owned(value: &str) -> Cow<'static, str> {
    value.to_owned().into()
}

fn of_agent(agent: &str) -> Labels<1> {
    [("agent", owned(agent))]
}

fn of_outcome(agent: &str, outcome: &'static str) -> Labels<2> {
    [("agent", owned(agent)), ("outcome", outcome.into())]
}
