//! Serves one request.

use std::{convert::Infallible, net::SocketAddr, pin::Pin, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::ConnectInfo,
    http::{
        Extensions, HeaderMap, HeaderValue, Request, Response, StatusCode, Version,
        header::{CONNECTION, RETRY_AFTER},
        request::Parts,
    },
};
use hyper::{
    body::{Body as _, Incoming},
    service::Service,
};
use tower::ServiceExt as _;

use super::{
    Limits,
    activity::Activity,
    answer::{Answer, Asking},
    flight::Flight,
    gate::Share,
    outgoing::Room,
    question::Question,
    quiet::{self, Sent, Slot},
    refusal::{Refuse, Unserved},
    trouble::Trouble,
    watched::FREE,
};

/// What is served, and how those are told who are not.
#[derive(Clone, Debug)]
pub struct App {
    router: Router,
    pub(super) refuse: Refuse,
}

impl From<Router> for App {
    /// Those who are not served are told so in plain text.
    fn from(router: Router) -> Self {
        let refuse = |_: &Parts, why: Unserved| match why {
            Unserved::Full => later(why.text()),
            Unserved::Head => told(why.status(), why.text()),
        };
        Self { router, refuse }
    }
}

impl App {
    /// The same where a request for which there is no place is answered in this way: in the form that its
    /// clients read.
    #[must_use]
    pub fn refusing(self, refuse: fn(&Parts, Unserved) -> Response<Body>) -> Self {
        Self { refuse, ..self }
    }
}

/// The app as one connection has it.
pub(super) struct Asked {
    pub(super) app: App,
    pub(super) peer: SocketAddr,
    /// What is known of the client.
    pub(super) known: Extensions,
    pub(super) activity: Arc<Activity>,
    pub(super) share: Arc<Share>,
    pub(super) limits: Limits,
    /// Where the connection finds a stream that it may take over.
    pub(super) slot: Slot,
}

impl Service<Request<Incoming>> for Asked {
    type Response = Response<Sent>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Sent>, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let place = self.share.request();
        let flight = Flight::new(self.share.clone());
        let is_full = place.is_none() || !self.has_room(&request, &flight);
        let asking = Asking::new(self.activity.clone(), place);
        let version = request.version();
        let goes_on = version == Version::HTTP_11 && !is_last(request.headers());
        let slot = goes_on.then(|| self.slot.clone());
        let request = self.opened(request, &flight);
        let App { router, refuse } = self.app.clone();
        Box::pin(async move {
            let response = match is_full {
                // The request goes with its body, which is read away.
                true => refuse(&request.into_parts().0, Unserved::Full),
                false => match flight.clone().during(router.oneshot(request)).await {
                    Ok(response) => response,
                    Err(never) => match never {},
                },
            };
            let mut response = match flight.trouble() {
                None => response,
                Some(_) if flight.is_told() => response,
                Some(trouble) => troubled(trouble, response, version),
            };
            let room = response.extensions_mut().remove::<Room>();
            let is_http2 = version == Version::HTTP_2;
            // A body that is still to be read has to be read by HTTP.
            let slot = slot.filter(|_| flight.is_read() && quiet::may_be(&response));
            Ok(response.map(|body| {
                let answer = Answer::new(body, room, asking, is_http2);
                match slot {
                    None => Sent::Whole(answer),
                    Some(slot) => Sent::Lent(slot.lend(answer)),
                }
            }))
        })
    }
}

impl Asked {
    /// Whether there is room for the request's head, which is held until the request lets go of all that it holds. What
    /// was read of it on HTTP/1 is held already.
    fn has_room(&self, request: &Request<Incoming>, flight: &Flight) -> bool {
        let held = self.activity.head();
        let is_held = request.version() < Version::HTTP_2;
        held.into_iter().for_each(|held| flight.keep(held));
        let size = request.headers().iter();
        let size = size.map(|(name, value)| name.as_str().len() + value.len());
        match size.sum() {
            _ if is_held => true,
            0..FREE => true,
            size => {
                let held = self.share.bytes_now(size);
                let has_room = held.is_some();
                held.into_iter().for_each(|held| flight.keep(held));
                has_room
            }
        }
    }

    /// The request as the app gets it.
    fn opened(&self, request: Request<Incoming>, flight: &Flight) -> Request<Body> {
        let (mut parts, body) = request.into_parts();
        parts.extensions.extend(self.known.clone());
        parts.extensions.insert(ConnectInfo(self.peer));
        let body = match body.is_end_stream() {
            true => {
                flight.read();
                Body::empty()
            }
            false => {
                let head = (parts.version, &parts.headers);
                Body::new(Question::new(body, head, flight.clone(), &self.limits))
            }
        };
        Request::from_parts(parts, body)
    }
}

fn later(why: &'static str) -> Response<Body> {
    let mut response = told(StatusCode::SERVICE_UNAVAILABLE, why);
    let headers = response.headers_mut();
    headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn told(status: StatusCode, why: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(why));
    *response.status_mut() = status;
    response
}

/// Whether the client wants the connection to be closed after the answer.
fn is_last(headers: &HeaderMap) -> bool {
    let named = headers.get_all(CONNECTION).iter();
    let mut named = named.filter_map(|value| value.to_str().ok());
    named.any(|value| value.to_ascii_lowercase().contains("close"))
}

/// The answer to a body that was not read to its end: the handler's own, if it knew of that.
fn troubled(trouble: Trouble, response: Response<Body>, version: Version) -> Response<Body> {
    let is_known = response.status() == trouble.status();
    let mut response = match trouble {
        _ if is_known => response,
        Trouble::Full => later("there is not enough memory for the body at present"),
        Trouble::Late => told(trouble.status(), "the body arrived too slowly"),
    };
    if trouble == Trouble::Late && version < Version::HTTP_2 {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    response
}
