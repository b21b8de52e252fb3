//! One request and its answer.

use std::{convert::Infallible, net::SocketAddr, pin::Pin, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::ConnectInfo,
    http::{
        Extensions, HeaderValue, Request, Response, StatusCode, Version,
        header::{CONNECTION, RETRY_AFTER},
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
    gate::Share,
    outgoing::Room,
    question::{Account, Question, Trouble},
};

/// The app as one connection has it.
pub(super) struct Asked {
    pub(super) app: Router,
    pub(super) peer: SocketAddr,
    /// What is known of the client.
    pub(super) known: Extensions,
    pub(super) activity: Arc<Activity>,
    pub(super) share: Arc<Share>,
    pub(super) limits: Limits,
}

impl Service<Request<Incoming>> for Asked {
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Answer>, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let place = self.share.request();
        let is_full = place.is_none();
        let asking = Asking::new(self.activity.clone(), place);
        let account = Arc::new(Account::default());
        let version = request.version();
        let request = self.opened(request, &account);
        let app = self.app.clone();
        Box::pin(async move {
            let response = match is_full {
                // The request goes with its body, which is read away.
                true => full(request),
                false => match app.oneshot(request).await {
                    Ok(response) => response,
                    Err(never) => match never {},
                },
            };
            let mut response = match account.trouble() {
                None => response,
                Some(trouble) => troubled(trouble, version),
            };
            let room = response.extensions_mut().remove::<Room>();
            let is_http2 = version == Version::HTTP_2;
            Ok(response.map(|body| Answer::new(body, room, asking, is_http2)))
        })
    }
}

impl Asked {
    /// The request as the app gets it.
    fn opened(&self, request: Request<Incoming>, account: &Arc<Account>) -> Request<Body> {
        let (mut parts, body) = request.into_parts();
        parts.extensions.extend(self.known.clone());
        parts.extensions.insert(ConnectInfo(self.peer));
        let body = match body.is_end_stream() {
            true => Body::empty(),
            false => {
                let head = (parts.version, &parts.headers);
                let (account, share) = (account.clone(), self.share.clone());
                Body::new(Question::new(body, head, account, share, &self.limits))
            }
        };
        Request::from_parts(parts, body)
    }
}

/// The answer to one for whom there is no place.
fn full(request: Request<Body>) -> Response<Body> {
    drop(request);
    later("there are too many requests at once")
}

fn later(why: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(why));
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    let headers = response.headers_mut();
    headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn troubled(trouble: Trouble, version: Version) -> Response<Body> {
    match trouble {
        Trouble::Full => later("there is no room for the body at present"),
        Trouble::Late => {
            let mut response = Response::new(Body::from("the body did not come on"));
            *response.status_mut() = StatusCode::REQUEST_TIMEOUT;
            if version < Version::HTTP_2 {
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(CONNECTION, close);
            }
            response
        }
    }
}
