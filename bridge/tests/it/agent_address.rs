//! What load balancers and browsers get at an agent's address, where clients of A2A use POST.

use axum::{
    Router,
    body::Body,
    http::{Request, Response, StatusCode},
    routing::get,
};
use tower::ServiceExt as _;

use crate::app::{app, text};

const USAGE: &str = "agent \"echo\" expects JSON-RPC by POST at this address; its card is at \
                     /a2a/echo/.well-known/agent-card.json, HTTP+JSON at /a2a/echo/message:send and beside it, and a \
                     page to try it at /docs\n";

async fn ask(app: &Router, method: &str, path: &str, accept: Option<&str>) -> Response<Body> {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(accept) = accept {
        request = request.header("accept", accept);
    }
    app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
}

/// The default health checks of AWS, Google Cloud and Azure request `/`, some without `Accept`, and want 200.
#[tokio::test]
async fn a_health_check_at_the_address_succeeds() {
    let app = app().await;
    for path in ["/", "/a2a", "/a2a/", "/a2a/echo"] {
        for accept in [None, Some("*/*"), Some("text/plain")] {
            let response = ask(&app, "GET", path, accept).await;
            assert_eq!(response.status(), StatusCode::OK, "{path} {accept:?}");
            assert_eq!(response.headers()["x-content-type-options"], "nosniff");
            assert_eq!(text(response).await, USAGE);
            let response = ask(&app, "HEAD", path, accept).await;
            assert_eq!(response.status(), StatusCode::OK, "{path} {accept:?}");
        }
        // HAProxy's `option httpchk`.
        let response = ask(&app, "OPTIONS", path, None).await;
        assert_eq!(response.status(), StatusCode::NO_CONTENT);
        assert_eq!(response.headers()["allow"], "GET, HEAD, OPTIONS, POST");
    }
}

#[tokio::test]
async fn a_browser_gets_the_page() {
    let app = app().await;
    let accept = Some("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");
    for (path, page) in
        [("/", "docs"), ("/a2a", "docs"), ("/a2a/echo", "../docs"), ("/a2a/echo/", "../../docs")]
    {
        let response = ask(&app, "GET", path, accept).await;
        assert_eq!(response.status(), StatusCode::FOUND, "{path}");
        assert_eq!(response.headers()["location"], page, "{path}");
    }
}

/// A client that reads only JSON or events called the wrong address, and gets an error that it can read.
#[tokio::test]
async fn a_program_gets_an_error() {
    let app = app().await;
    for (method, path, accept) in [
        ("GET", "/", "application/json"),
        ("GET", "/a2a/echo", "application/a2a+json"),
        ("GET", "/a2a/echo", "text/event-stream"),
        ("PUT", "/", "*/*"),
    ] {
        let response = ask(&app, method, path, Some(accept)).await;
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{method} {path} {accept}");
        assert_eq!(response.headers()["allow"], "POST");
    }
}

/// A program that mounts the agents beside pages of its own has its own page at `/`.
#[tokio::test]
async fn a_page_of_ones_own_goes_first() {
    let app = app().await.route("/", get(|| async { "my page" }));
    assert_eq!(text(ask(&app, "GET", "/", None).await).await, "my page");
    assert_eq!(text(ask(&app, "GET", "/a2a", None).await).await, USAGE);
}
