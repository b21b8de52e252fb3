//! Serves the Connector's REST interface, which remote bots call below their service URL.
//!
//! | route below `/bots/SECRET/v3/conversations` | effect |
//! |-|-|
//! | GET, POST `` | lists conversations; creates one |
//! | POST `/{c}/activities`, `/{c}/activities/{a}` | posts an activity, or an answer to one |
//! | PUT, DELETE `/{c}/activities/{a}/reactions/{type}` | adds or removes a reaction to a message (Teams) |
//! | PUT, DELETE `/{c}/activities/{a}` | replaces or deletes an activity |
//! | POST `/{c}/activities/history` | stores activities from another conversation |
//! | GET `/{c}/members`, `/{c}/pagedmembers`, `/{c}/activities/{a}/members` | lists the members |
//! | GET, DELETE `/{c}/members/{m}` | returns or removes a member |
//! | POST `/{c}/attachments` | uploads a file |
//!
//! Files are downloaded at `/v3/attachments/{id}` and `/v3/attachments/{id}/views/{v}`, by bots also below their
//! service URL. Refused requests are answered with `{"error": {"code", "message"}}` and change nothing.

mod attachments;
mod bot_request;
mod error_response;
mod handlers;

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request},
    http::Method,
    middleware::{Next, from_fn},
    response::Response,
    routing::{any, get, post, put},
};

use crate::{
    bot::remote::{Channel, ConnectorError},
    run_to_completion,
};
pub use error_response::WrongCredential;

/// The smallest limit for request bodies, in bytes. Larger uploads raise it.
const MIN_BODY_LIMIT: usize = 16 << 20;

/// The size of an upload's other fields, in bytes.
const UPLOAD_OVERHEAD: usize = 64 << 10;

/// The paths of files below the version.
const FILE: &str = "/attachments/{attachment}";
const VIEW: &str = "/attachments/{attachment}/views/{view}";

/// Returns the routes for remote bots. Bots without an SDK often add `/v3` to a service URL, which ends with a slash.
pub fn router(channel: Channel) -> Router {
    let largest = largest_body(channel.upload_limit());
    versioned("/bots/{secret}/v3")
        .merge(versioned("/bots/{secret}//v3"))
        .route(&format!("/v3{FILE}"), get(attachments::info))
        .route(&format!("/v3{VIEW}"), get(attachments::view))
        .route("/v3/{*rest}", any(unknown_address))
        .route("/bots/{secret}/{*rest}", any(unknown_address))
        .layer(DefaultBodyLimit::max(largest))
        .layer(from_fn(finish_writes))
        .with_state(channel)
}

/// Returns the routes below `base`, which is a service URL with the version. A path may end with a slash, as where a bot without
/// an SDK has no id to add.
fn versioned(base: &str) -> Router<Channel> {
    let below = |path: &str| format!("{base}{path}");
    let one = |path: &str| below(&format!("/conversations/{{conversation}}{path}"));
    let say = post(handlers::say);
    let reactions = put(async |request| handlers::react("reactionsAdded", request).await)
        .delete(async |request| handlers::react("reactionsRemoved", request).await);
    let routes = [
        (below("/conversations"), get(handlers::conversations).post(handlers::begin)),
        (one("/activities"), say.clone()),
        (one("/activities/history"), post(handlers::history)),
        (one("/activities/{activity}"), say.put(handlers::update).delete(handlers::delete)),
        (one("/activities/{activity}/members"), get(handlers::members)),
        (one("/activities/{activity}/reactions/{reaction}"), reactions),
        (one("/members"), get(handlers::members)),
        (one("/pagedmembers"), get(handlers::members_page)),
        (one("/members/{member}"), get(handlers::member).delete(handlers::remove_member)),
        (one("/attachments"), post(attachments::upload)),
        (below(FILE), get(attachments::info)),
        (below(VIEW), get(attachments::view)),
    ];
    routes.into_iter().fold(Router::new(), |router, (path, methods)| {
        router.route(&format!("{path}/"), methods.clone()).route(&path, methods)
    })
}

/// Completes requests that write, even if the bot disconnects.
async fn finish_writes(request: Request, next: Next) -> Response {
    match *request.method() {
        Method::GET | Method::HEAD => next.run(request).await,
        _ => run_to_completion(next.run(request)).await,
    }
}

/// Returns the size limit of request bodies in bytes: for the largest upload in base64, which needs a third more,
/// and for all other requests.
fn largest_body(upload: usize) -> usize {
    let encoded = upload.div_ceil(3).saturating_mul(4);
    encoded.saturating_add(UPLOAD_OVERHEAD).max(MIN_BODY_LIMIT)
}

/// Refuses paths without a valid secret or route.
async fn unknown_address() -> ConnectorError {
    ConnectorError::UnknownAddress
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_upload_fits_into_a_body() {
        for (upload, body) in [
            (0, MIN_BODY_LIMIT),
            (10 << 20, MIN_BODY_LIMIT),
            (30 << 20, (40 << 20) + UPLOAD_OVERHEAD),
            (usize::MAX, usize::MAX),
        ] {
            assert_eq!(largest_body(upload), body);
        }
    }
}
