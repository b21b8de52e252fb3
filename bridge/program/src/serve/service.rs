//! Serves one request.

use std::{convert::Infallible, net::SocketAddr, pin::Pin, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::ConnectInfo,
    http::{
        Extensions, HeaderMap, HeaderValue, Request, Response, StatusCode, Version,
        header::{CONNECTION, HOST, RETRY_AFTER},
        request::Parts,
        uri::Authority,
    },
};
use hyper::{
    body::{Body as _, Incoming},
    service::Service,
};
use tower::ServiceExt as _;

use super::{
    Limits,
    connection_monitor::ConnectionMonitor,
    idle_stream::{self, StreamSlot},
    in_flight::{BodyError, InFlight},
    monitored_io::FREE,
    rejection::{Rejection, RejectionResponse},
    request_body::RequestBody,
    request_limits::{AddressLimits, Permits},
    response_body::{RequestGuard, SentBody, SplitBody},
};

/// A router, and the responses to requests that it does not get.
#[derive(Clone, Debug)]
pub struct App {
    router: Router,
    pub(super) reject: RejectionResponse,
    is_reserved: fn(&str) -> bool,
}

impl From<Router> for App {
    /// Rejected requests are answered in plain text.
    fn from(router: Router) -> Self {
        let reject = |_: &Parts, reason: Rejection| match reason {
            Rejection::Overloaded => unavailable(reason.text()),
            Rejection::HeadTooLarge | Rejection::Host => plain_text(reason.status(), reason.text()),
        };
        Self { router, reject, is_reserved: |_| false }
    }
}

impl App {
    /// Answers rejected requests with `reject`, in the form that the clients of the router read.
    #[must_use]
    pub fn with_rejections(self, reject: fn(&Parts, Rejection) -> Response<Body>) -> Self {
        Self { reject, ..self }
    }

    /// Reserves a part of the connections, and requests and bytes of their own, for requests to these paths, so that a flood of
    /// other requests does not delay them.
    #[must_use]
    pub fn with_reserve(self, is_reserved: fn(&str) -> bool) -> Self {
        Self { is_reserved, ..self }
    }
}

/// Answers the requests of one connection.
pub(super) struct ConnectionService {
    pub(super) app: App,
    pub(super) peer: SocketAddr,
    /// What the handshake found out about the client.
    pub(super) client: Extensions,
    pub(super) monitor: Arc<ConnectionMonitor>,
    pub(super) address_limits: Arc<AddressLimits>,
    pub(super) reserved_limits: Arc<AddressLimits>,
    pub(super) limits: Limits,
    pub(super) slot: StreamSlot,
}

impl Service<Request<Incoming>> for ConnectionService {
    type Response = Response<SentBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<SentBody>, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let is_reserved = (self.app.is_reserved)(request.uri().path());
        let (limits, permits) = self.permits(is_reserved);
        let in_flight = InFlight::new(limits.clone());
        let is_overloaded = permits.is_none() || !self.reserve_head(&request, &in_flight);
        let rejection = match is_overloaded {
            true => Some(Rejection::Overloaded),
            false => (!names_host(&request)).then_some(Rejection::Host),
        };
        let guard = RequestGuard::new(self.monitor.clone(), permits);
        let version = request.version();
        let is_kept_alive = version == Version::HTTP_11 && !closes(request.headers());
        let slot = is_kept_alive.then(|| self.slot.clone());
        let request = self.prepare(request, &in_flight);
        let App { router, reject, .. } = self.app.clone();
        Box::pin(async move {
            let response = match rejection {
                // The body is dropped with the request, which discards its bytes.
                Some(reason) => reject(&request.into_parts().0, reason),
                None => match in_flight.clone().scope(router.oneshot(request)).await {
                    Ok(response) => response,
                    Err(never) => match never {},
                },
            };
            let response = match in_flight.body_error() {
                None => response,
                Some(_) if in_flight.is_error_reported() => response,
                Some(error) => body_error_response(error, response, version),
            };
            let permit = in_flight.take_response();
            let is_http2 = version == Version::HTTP_2;
            // hyper has to read the body of the request to its end.
            let slot =
                slot.filter(|_| in_flight.is_body_read() && idle_stream::is_detachable(&response));
            Ok(response.map(|body| match slot {
                None => SentBody::new(body, permit, guard, is_http2),
                Some(slot) => slot.attach(SplitBody::new(body, permit, guard)),
            }))
        })
    }
}

impl ConnectionService {
    /// Returns the limits of a request, and its permits if there is room for it.
    fn permits(&self, is_reserved: bool) -> (&Arc<AddressLimits>, Option<Permits>) {
        if is_reserved {
            self.monitor.set_reserved();
            return (&self.reserved_limits, self.reserved_limits.try_request());
        }
        let is_excess = self.monitor.is_excess(self.limits.unreserved_connections());
        let permits = (!is_excess).then(|| self.address_limits.try_request()).flatten();
        (&self.address_limits, permits)
    }

    /// Reserves the memory of the request's head. Returns `false` if it is not free. For HTTP/1 it was reserved while the head was
    /// read.
    fn reserve_head(&self, request: &Request<Incoming>, in_flight: &InFlight) -> bool {
        let permits = self.monitor.take_head_permits();
        permits.into_iter().for_each(|permits| in_flight.hold(permits));
        if request.version() < Version::HTTP_2 {
            return true;
        }
        let size = request.headers().iter();
        let size = size.map(|(name, value)| name.as_str().len() + value.len());
        match size.sum() {
            0..FREE => true,
            size => {
                let permits = in_flight.limits().try_bytes(size);
                let is_reserved = permits.is_some();
                permits.into_iter().for_each(|permits| in_flight.hold(permits));
                is_reserved
            }
        }
    }

    /// Returns the request as the router gets it.
    fn prepare(&self, request: Request<Incoming>, in_flight: &InFlight) -> Request<Body> {
        let (mut parts, body) = request.into_parts();
        parts.extensions.extend(self.client.clone());
        parts.extensions.insert(ConnectInfo(self.peer));
        let body = match body.is_end_stream() {
            true => {
                in_flight.set_body_read();
                Body::empty()
            }
            false => {
                let head = (parts.version, &parts.headers);
                Body::new(RequestBody::new(body, head, in_flight.clone(), &self.limits))
            }
        };
        Request::from_parts(parts, body)
    }
}

/// Returns whether the request names one host, which may be empty, as its version requires (RFC 9112, 3.2; RFC 9113, 8.3.1). A
/// proxy in front may read another one from several, or from what is none.
fn names_host(request: &Request<Incoming>) -> bool {
    let hosts = request.headers().get_all(HOST);
    let count = hosts.iter().count();
    let is_named = count == 1 || (count == 0 && request.version() != Version::HTTP_11);
    let authority = request.uri().authority().map(|authority| authority.as_str().as_bytes());
    is_named && hosts.iter().map(HeaderValue::as_bytes).chain(authority).all(is_host)
}

/// Returns whether the bytes are a host with an optional port, without a user (RFC 9110, 7.2).
fn is_host(bytes: &[u8]) -> bool {
    bytes.is_empty() || (!bytes.contains(&b'@') && Authority::try_from(bytes).is_ok())
}

fn unavailable(message: &'static str) -> Response<Body> {
    let mut response = plain_text(StatusCode::SERVICE_UNAVAILABLE, message);
    let headers = response.headers_mut();
    headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn plain_text(status: StatusCode, message: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(message));
    *response.status_mut() = status;
    response
}

/// Returns whether the client asks to close the connection after the response.
fn closes(headers: &HeaderMap) -> bool {
    let values = headers.get_all(CONNECTION).iter();
    let mut values = values.filter_map(|value| value.to_str().ok());
    values.any(|value| value.to_ascii_lowercase().contains("close"))
}

/// Returns the response to a request whose body was not read to its end: that of the handler, if it has the same status.
fn body_error_response(
    error: BodyError,
    response: Response<Body>,
    version: Version,
) -> Response<Body> {
    let is_from_handler = response.status() == error.status();
    let mut response = match error {
        _ if is_from_handler => response,
        BodyError::NoMemory => unavailable("there is not enough memory for the body at present"),
        BodyError::TooSlow => plain_text(error.status(), "the body arrived too slowly"),
    };
    if error == BodyError::TooSlow && version < Version::HTTP_2 {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    response
}
