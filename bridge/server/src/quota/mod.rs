//! Limits of each caller: requests a second and at the same time, open streams, tasks that have not ended, and wrong
//! credentials.
//!
//! An authenticated caller is limited by its id, whatever tenants and agents it uses. A caller without credentials is
//! limited by its address, since all of them have the same id; on this machine it is not limited, because there it is
//! the operator, or a proxy that no setting trusts to name its clients.
//!
//! A request that comes too early is delayed if that takes less than a second, and is refused otherwise: a client that
//! is a little too fast becomes slower without errors.
//!
//! - `buckets`: the state of each caller, in limited memory
//! - `guesses`: wrong credentials of an address
//! - `open_tasks`: tasks of a caller that have not ended

mod buckets;
mod guesses;
mod open_tasks;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    num::NonZeroU32,
    sync::Arc,
    time::Duration,
};

use axum::{extract::ConnectInfo, http::Extensions};
use bridge_program::network;
use tokio::time::Instant;

use crate::{caller::Caller, metrics::Metrics};
use buckets::{Buckets, CallerState, Pace};
use guesses::Guesses;
use open_tasks::OpenTasks;

/// The longest delay of a request.
const PATIENCE: Duration = Duration::from_secs(1);

/// The number of seconds whose requests may come at once.
const BURST_SECONDS: u32 = 2;

/// The limits of a caller. The defaults are far above the needs of a client that works for one user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaSettings {
    /// The number of requests a second; twice as many may come at once.
    pub requests: NonZeroU32,
    /// The number of requests that are answered at the same time, streams not included.
    pub requests_at_once: NonZeroU32,
    /// The number of streams that are open at the same time.
    pub streams: NonZeroU32,
    /// The number of tasks of one agent that have not ended.
    pub open_tasks: NonZeroU32,
    /// The number of wrong credentials from one address in a minute.
    pub wrong_credentials: NonZeroU32,
}

impl Default for QuotaSettings {
    fn default() -> Self {
        let of = |count| NonZeroU32::new(count).unwrap_or(NonZeroU32::MAX);
        Self {
            requests: of(1_000),
            requests_at_once: of(1_024),
            streams: of(4_096),
            open_tasks: of(100_000),
            wrong_credentials: of(300),
        }
    }
}

/// The address of a client, if a trusted proxy named it. A layer that knows it adds it as an [`axum::Extension`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

/// Returns the address from which a request came.
pub(crate) fn source(extensions: &Extensions) -> Option<IpAddr> {
    let named = extensions.get::<ClientAddress>().map(|named| named.0);
    let peer = || extensions.get::<ConnectInfo<SocketAddr>>();
    named.or_else(|| peer().map(|ConnectInfo(peer)| peer.ip()))
}

/// A limit that a caller has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exceeded {
    pub(crate) limit: Limit,
    /// The number of seconds after which the request can be sent again.
    pub(crate) retry_after: u32,
    /// The configured number.
    allowed: u32,
}

/// The limits, by their names in metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    Requests,
    RequestsAtOnce,
    Streams,
    OpenTasks,
    WrongCredentials,
}

impl Limit {
    /// Returns the name in metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::RequestsAtOnce => "requests_at_once",
            Self::Streams => "streams",
            Self::OpenTasks => "open_tasks",
            Self::WrongCredentials => "wrong_credentials",
        }
    }
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let allowed = self.allowed;
        match self.limit {
            Limit::Requests => write!(f, "a caller may send {allowed} requests a second"),
            Limit::RequestsAtOnce => {
                write!(f, "a caller may have {allowed} requests at the same time")
            }
            Limit::Streams => write!(f, "a caller may have {allowed} streams open at once"),
            Limit::OpenTasks => write!(
                f,
                "a caller may have {allowed} tasks that have not ended: continue or cancel some"
            ),
            Limit::WrongCredentials => {
                write!(f, "too many wrong credentials came from this address")
            }
        }
    }
}

/// The limits of all callers, and their states. Shared by clones.
#[derive(Clone)]
pub(crate) struct Quota(Arc<Inner>);

struct Inner {
    settings: QuotaSettings,
    metrics: Metrics,
    began: Instant,
    pace: Pace,
    callers: Buckets,
    open_tasks: OpenTasks,
    guesses: Guesses,
}

impl Quota {
    pub(crate) fn new(settings: QuotaSettings, metrics: Metrics) -> Self {
        Self(Arc::new(Inner {
            began: Instant::now(),
            pace: Pace::new(settings.requests, Duration::from_secs(1), BURST_SECONDS),
            callers: Buckets::keeping_counts(),
            open_tasks: OpenTasks::new(settings.open_tasks),
            guesses: Guesses::new(settings.wrong_credentials),
            settings,
            metrics,
        }))
    }

    /// Admits a request, which counts as being answered until the result is dropped.
    pub(crate) fn request(
        &self,
        agent: &str,
        caller: &Caller,
        source: Option<IpAddr>,
    ) -> Result<Admission, Exceeded> {
        let Some(key) = self.key(caller, source) else {
            return Ok(Admission::default());
        };
        let now = self.now();
        match self.0.callers.with(key, now, |state| self.take(state, now)) {
            Ok(wait) => {
                let wait = Some(wait).filter(|wait| !wait.is_zero());
                if wait.is_some() {
                    let (metrics, name) = (&self.0.metrics, Limit::Requests.name());
                    metrics.limited(agent, name, "delayed");
                }
                let place = Some(self.place(key, |state| &mut state.running));
                Ok(Admission { wait, place })
            }
            Err((limit, wait)) => Err(self.exceeded(agent, limit, wait)),
        }
    }

    /// Takes a place and a token, or neither.
    fn take(&self, state: &mut CallerState, now: Duration) -> Result<Duration, (Limit, Duration)> {
        if state.running >= self.0.settings.requests_at_once.get() {
            return Err((Limit::RequestsAtOnce, PATIENCE));
        }
        let wait = self.0.pace.take(state, now, PATIENCE);
        let wait = wait.map_err(|wait| (Limit::Requests, wait))?;
        state.running += 1;
        Ok(wait)
    }

    /// Counts a stream as open until the result is dropped.
    pub(crate) fn stream(
        &self,
        agent: &str,
        caller: &Caller,
        source: Option<IpAddr>,
    ) -> Result<Option<Place>, Exceeded> {
        let Some(key) = self.key(caller, source) else {
            return Ok(None);
        };
        let limit = self.0.settings.streams.get();
        let take = |state: &mut CallerState| {
            let is_free = state.count < limit;
            state.count += u32::from(is_free);
            is_free
        };
        match self.0.callers.with(key, self.now(), take) {
            true => Ok(Some(self.place(key, |state| &mut state.count))),
            false => Err(self.exceeded(agent, Limit::Streams, PATIENCE)),
        }
    }

    fn place(&self, key: u64, counter: fn(&mut CallerState) -> &mut u32) -> Place {
        Place { quota: self.clone(), key, counter }
    }

    /// Counts a new task of this owner. `count` returns the number of the owner's tasks that have not ended; it is only
    /// called when the limit could be reached.
    pub(crate) async fn task<E>(
        &self,
        agent: &str,
        owner: &Caller,
        count: impl Future<Output = Result<usize, E>>,
    ) -> Result<Result<(), Exceeded>, E> {
        // All callers without credentials share their tasks, so no single one can be limited.
        if owner.is_anonymous() {
            return Ok(Ok(()));
        }
        let taken = self.0.open_tasks.take(agent, owner, self.now(), count);
        let refused = |wait| self.exceeded(agent, Limit::OpenTasks, wait);
        Ok(taken.await?.map_err(refused))
    }

    /// Checks whether credentials from this address may be tried. `shown` identifies them: those that were good before
    /// are checked in any case, because others may share the address.
    pub(crate) fn may_try(
        &self,
        agent: &str,
        source: Option<IpAddr>,
        shown: impl FnOnce() -> String,
    ) -> Result<(), Exceeded> {
        let Some(address) = source else {
            return Ok(());
        };
        let allowed = self.0.guesses.allows(network(address), shown, self.now());
        allowed.map_err(|wait| self.exceeded(agent, Limit::WrongCredentials, wait))
    }

    /// Counts wrong credentials.
    pub(crate) fn wrong(&self, source: Option<IpAddr>) {
        if let Some(address) = source {
            self.0.guesses.wrong(network(address), self.now());
        }
    }

    /// Remembers good credentials, as long as wrong ones are sent.
    pub(crate) fn right(&self, shown: impl FnOnce() -> String) {
        self.0.guesses.right(shown, self.now());
    }

    /// Returns the key of the caller whose limits apply; `None` if there are none.
    fn key(&self, caller: &Caller, source: Option<IpAddr>) -> Option<u64> {
        match (caller.name(), source) {
            ("", None) => None,
            ("", Some(address)) => match address.to_canonical().is_loopback() {
                true => None,
                false => Some(self.0.callers.key(&network(address))),
            },
            (name, _) => Some(self.0.callers.key(&name)),
        }
    }

    fn exceeded(&self, agent: &str, limit: Limit, wait: Duration) -> Exceeded {
        let Inner { settings, metrics, .. } = &*self.0;
        metrics.limited(agent, limit.name(), "refused");
        let allowed = match limit {
            Limit::Requests => settings.requests,
            Limit::RequestsAtOnce => settings.requests_at_once,
            Limit::Streams => settings.streams,
            Limit::OpenTasks => settings.open_tasks,
            Limit::WrongCredentials => settings.wrong_credentials,
        };
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        Exceeded {
            limit,
            retry_after: u32::try_from(seconds).unwrap_or(u32::MAX).max(1),
            allowed: allowed.get(),
        }
    }

    /// Returns the time since the start.
    fn now(&self) -> Duration {
        self.0.began.elapsed()
    }
}

impl fmt::Debug for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Quota").field(&self.0.settings).finish()
    }
}

/// A request that is admitted.
#[derive(Debug, Default)]
pub(crate) struct Admission {
    /// The time for which it must wait; absent for most requests.
    pub(crate) wait: Option<Duration>,
    /// Its place, unless its caller is not limited.
    #[expect(dead_code, reason = "it is there to be dropped")]
    place: Option<Place>,
}

/// The place of a request that is being answered, or of an open stream.
#[derive(Debug)]
pub(crate) struct Place {
    quota: Quota,
    key: u64,
    /// The count of the caller's places.
    counter: fn(&mut CallerState) -> &mut u32,
}

impl Drop for Place {
    fn drop(&mut self) {
        let Self { quota, key, counter } = self;
        quota.0.callers.with(*key, quota.now(), |state| {
            let count = counter(state);
            *count = count.saturating_sub(1);
        });
    }
}
