//! Tests that a client of a protected server finds the authorization without leaving the recorder.

use axum::{
    Json,
    http::{HeaderMap, StatusCode, header},
    response::IntoResponse as _,
    routing::{get, post},
};
use serde_json::{Value, json};

use super::*;

#[tokio::test]
async fn the_authorization_of_a_server_is_found_on_the_recorder() {
    const METADATA: &str = "/.well-known/oauth-protected-resource/mcp";
    let own = |headers: &HeaderMap, path: &str| {
        format!("http://{}{path}", headers["host"].to_str().unwrap())
    };
    let refuse = move |headers: HeaderMap| async move {
        let challenge = format!("Bearer resource_metadata=\"{}\"", own(&headers, METADATA));
        (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, challenge)]).into_response()
    };
    let metadata = move |headers: HeaderMap| async move {
        Json(json!({
            "resource": own(&headers, "/mcp"),
            "authorization_servers": [own(&headers, ""), "https://login.example"],
        }))
    };
    let app = Router::new().route("/mcp", post(refuse)).route(METADATA, get(metadata));
    let origin = serve(app).await;
    let setup = Setup::new(&origin, RecorderOptions::default()).await;

    let refused = setup.client.post(setup.url("/mcp")).send().await.unwrap();
    let challenge = refused.headers()[header::WWW_AUTHENTICATE].to_str().unwrap();
    let (_, url) = challenge.split_once("resource_metadata=\"").unwrap();
    let url = url.trim_end_matches('"');
    assert_eq!(url, setup.url(METADATA).as_str());
    let found: Value = setup.client.get(url).send().await.unwrap().json().await.unwrap();
    let ours = setup.url("/mcp");
    assert_eq!(found["resource"], ours.as_str());
    let expected = json!([ours.origin().ascii_serialization(), "https://login.example"]);
    assert_eq!(found["authorization_servers"], expected);
    let theirs = format!("{origin}/mcp");
    let is_unchanged = |content: Content| matches!(content, Content::Reply { body: Some(Body::Json(said)), .. } if said["resource"] == theirs);
    assert!(
        setup.contents().into_iter().any(is_unchanged),
        "the transcript has what the server said"
    );
}
