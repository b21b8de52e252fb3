//! Answers GET, HEAD and OPTIONS at an agent's address, where the specification has only POST.
//!
//! The default health checks of load balancers request `/` and count every other status than 200 as a failure. People
//! open the address of an agent in a browser, and are redirected to the page at `/docs`. Clients that accept only JSON
//! or events still get the error of HTTP+JSON: clients of MCP expect status 405 where they cannot listen.

use axum::{
    extract::State,
    http::{
        Method, StatusCode,
        header::{ACCEPT, ALLOW, LOCATION},
    },
    response::{IntoResponse as _, Response},
};

use super::{
    NO_SNIFFING,
    body::ReceivedRequest,
    rest::{self, MountedAgent, accepts},
};

/// Answers a request at an agent's address whose method is not POST.
pub(super) async fn handle(mount: State<MountedAgent>, received: ReceivedRequest) -> Response {
    let accepts = |media_type| accepts(&received.headers, media_type);
    // Without the header a client accepts all (RFC 9110, section 12.5.1).
    let takes_text =
        !received.headers.contains_key(ACCEPT) || accepts("*/*") || accepts("text/plain");
    let allow = [(ALLOW, "GET, HEAD, OPTIONS, POST")];
    match received.method {
        Method::OPTIONS => (StatusCode::NO_CONTENT, allow).into_response(),
        Method::GET | Method::HEAD if accepts("text/html") => {
            // Relative, so that the page is found below the prefix of a proxy, too.
            let depth = received.uri.path().matches('/').count().saturating_sub(1);
            let location = [(LOCATION, "../".repeat(depth) + "docs")];
            (StatusCode::FOUND, allow, location).into_response()
        }
        Method::GET | Method::HEAD if takes_text => {
            (allow, [NO_SNIFFING], mount.usage(received.nested.as_ref())).into_response()
        }
        _ => rest::handle(mount, received).await,
    }
}
