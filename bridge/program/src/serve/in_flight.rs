//! The request that is being answered, as its handler and the work that it starts see it.

use std::sync::{
    Arc, Mutex, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use axum::http::StatusCode;
use tokio::task_local;

use super::{
    large_responses::{LARGE_RESPONSE, ResponsePermit},
    request_limits::{AddressLimits, Permits},
};
use crate::lock;

task_local! {
    static IN_FLIGHT: InFlight;
}

/// The memory that any request may use beside its body without a permit, in bytes.
const FREE: usize = 16 << 10;

/// The reason for which a body was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyError {
    /// The client sent the body too slowly.
    TooSlow,
    /// Other requests use all the memory for bodies.
    NoMemory,
}

impl BodyError {
    /// Returns the status of the response.
    pub fn status(self) -> StatusCode {
        match self {
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::NoMemory => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// A request that is being answered, with its part of the memory that all requests have together. The memory is released with
/// the last clone: work that goes on after the response keeps one.
#[derive(Clone, Debug)]
pub struct InFlight(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limits: Arc<AddressLimits>,
    permits: Mutex<Vec<Permits>>,
    response: Mutex<Option<ResponsePermit>>,
    body_error: OnceLock<BodyError>,
    is_error_reported: AtomicBool,
    is_body_read: AtomicBool,
}

impl InFlight {
    pub(super) fn new(limits: Arc<AddressLimits>) -> Self {
        Self(Arc::new(Inner {
            limits,
            permits: Mutex::default(),
            response: Mutex::default(),
            body_error: OnceLock::new(),
            is_error_reported: AtomicBool::new(false),
            is_body_read: AtomicBool::new(false),
        }))
    }

    /// Returns the request whose handler calls this. `None` outside of [`serve`](super::serve()).
    pub fn current() -> Option<Self> {
        IN_FLIGHT.try_with(Clone::clone).ok()
    }

    /// Makes this the current request of a future.
    pub(super) async fn scope<T>(self, handler: impl Future<Output = T>) -> T {
        IN_FLIGHT.scope(self, handler).await
    }

    /// Reserves the memory that the parsed body will use, beside its own bytes. Returns `false` if it is not free in time.
    pub async fn reserve(&self, bytes: usize) -> bool {
        if bytes <= FREE {
            return true;
        }
        let limits = &self.0.limits;
        // Requests that wait for this permit must not hold memory meanwhile, so that it is taken first.
        if bytes >= LARGE_RESPONSE {
            let Some(permits) = limits.expensive_body().await else {
                return false;
            };
            self.hold(permits);
        }
        let permits = limits.bytes(bytes as u64).await;
        let is_reserved = permits.is_some();
        lock(&self.0.permits).extend(permits);
        is_reserved
    }

    /// Releases the memory before the request ends, because the client may wait long for the response.
    pub fn release(&self) {
        lock(&self.0.permits).clear();
    }

    pub(super) fn limits(&self) -> &Arc<AddressLimits> {
        &self.0.limits
    }

    /// Keeps permits until the request ends or [`release`](Self::release) is called.
    pub(super) fn hold(&self, permits: Permits) {
        lock(&self.0.permits).push(permits);
    }

    /// Keeps the memory of the response until that takes it.
    pub(super) fn hold_response(&self, permit: Option<ResponsePermit>) {
        *lock(&self.0.response) = permit;
    }

    pub(super) fn take_response(&self) -> Option<ResponsePermit> {
        lock(&self.0.response).take()
    }

    /// Records why the body is not read to its end. The first reason counts.
    pub(super) fn set_body_error(&self, error: BodyError) {
        let _ = self.0.body_error.set(error);
    }

    /// Returns why the body was not read to its end. `None` if nothing went wrong so far.
    pub fn body_error(&self) -> Option<BodyError> {
        self.0.body_error.get().copied()
    }

    /// Returns [`body_error`](Self::body_error) to a handler that reports the error in its own form. The handler's response is
    /// then sent as it is.
    pub fn report_body_error(&self) -> Option<BodyError> {
        let error = self.body_error()?;
        self.0.is_error_reported.store(true, Ordering::Relaxed);
        Some(error)
    }

    pub(super) fn is_error_reported(&self) -> bool {
        self.0.is_error_reported.load(Ordering::Relaxed)
    }

    /// Records that the body was read to its end, or that there is none.
    pub(super) fn set_body_read(&self) {
        self.0.is_body_read.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_body_read(&self) -> bool {
        self.0.is_body_read.load(Ordering::Relaxed)
    }
}
