//! Tests the answers to invalid requests.

use axum::{body::Body, http::Request};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::{ask, json_of, ok};
use crate::app::{app, say};

#[tokio::test]
async fn errors_name_what_was_expected() {
    let app = app().await;
    let ended = ok(&app, "POST /a2a/message:send", Some(&say("m-1", "hi"))).await;
    let id = ended["task"]["id"].as_str().unwrap().to_owned();
    let cancel = format!("POST /a2a/tasks/{id}:cancel");
    let hi = say("m-2", "hi");
    let cases: &[(&str, &[&str], Option<Value>)] = &[
        ("GET /a2a/tasks/none", &[], None),
        ("GET /a2a/tasks?pageSize=0", &[], None),
        ("GET /a2a/tasks?pageSize=many", &[], None),
        ("GET /a2a/tasks?page_size=7", &[], None),
        ("GET /a2a/tasks?status=working", &[], None),
        ("GET /a2a/tasks?statusTimestampAfter=yesterday", &[], None),
        ("GET /a2a/tasks/t?historyLength=-1", &[], None),
        (&cancel, &[], None),
        ("POST /a2a/tasks/t:cancel", &[], Some(json!({"id": "u"}))),
        ("POST /a2a/message:send", &[], None),
        ("POST /a2a/message:send", &[], Some(json!({"message": {"messageId": "m"}}))),
        ("POST /a2a/message:send", &["content-type: text/plain"], None),
        ("POST /a2a/message:send", &["A2A-Version: 0.3"], Some(hi.clone())),
        ("POST /a2a/v1/message:send", &["A2A-Version: 1.0"], Some(hi.clone())),
        ("POST /a2a/message:send?A2A-Version=7.0", &[], Some(hi.clone())),
        ("GET /a2a/tasks/t:subscribe", &["Last-Event-ID: x"], None),
        ("GET /a2a/tasks/t:subscribe", &["Accept: text/event-stream"], None),
        ("GET /a2a/tasks/t/pushNotificationConfigs", &[], None),
        ("GET /a2a/extendedAgentCard", &[], None),
        ("GET /a2a/v1/card", &[], None),
        ("PUT /a2a", &[], None),
        ("GET /a2a/message:send", &[], None),
        ("DELETE /a2a/tasks/t", &[], None),
        ("GET /a2a/nobody", &[], None),
        ("POST /a2a/nobody/message:send", &[], Some(hi.clone())),
        ("GET /a2a/tasks/t:explode", &[], None),
        (
            "POST /a2a/echo/acme/message:send",
            &[],
            Some(json!({"tenant": "other", "message": hi["message"]})),
        ),
    ];
    let mut shown = String::new();
    for (what, headers, body) in cases {
        let response = ask(&app, what, headers, body.as_ref()).await;
        let status = response.status();
        let is_older = what.contains("/v1");
        // Readers of streams that look at the media type of an error know the plain one.
        let is_plain = is_older || headers.contains(&"Accept: text/event-stream");
        let media_type = ["application/a2a+json", "application/json"][usize::from(is_plain)];
        assert_eq!(response.headers()["content-type"], media_type, "{what}");
        let allow = response.headers().get("allow").cloned();
        let allow = allow.map(|allow| format!(" (allow: {})", allow.to_str().unwrap()));
        let mut body = json_of(response).await;
        let error = body["error"].take();
        assert_eq!(error["code"], status.as_u16());
        // Readers of 0.3 look for the code of JSON-RPC, and find it outside.
        let older = (body["code"].is_i64(), body["message"] == error["message"]);
        assert_eq!(older, (is_older, is_older), "{what}: {body}");
        let info = &error["details"][0];
        assert_eq!(info["domain"], "a2a-protocol.org");
        let field = &error["details"][1]["fieldViolations"][0]["field"];
        let field = field.as_str().map(|field| format!(" [{field}]"));
        shown += &format!(
            "{what}\n  {status}{} {} {}{}\n  {}\n",
            allow.unwrap_or_default(),
            error["status"].as_str().unwrap(),
            info["reason"].as_str().unwrap(),
            field.unwrap_or_default(),
            error["message"].as_str().unwrap(),
        );
    }
    insta::assert_snapshot!(shown.replace(&id, "TASK"));
}

/// Clients should name their version, but not all do. Each path is of one version.
#[tokio::test]
async fn the_path_tells_the_version_of_a_request_that_names_none() {
    let app = app().await;
    for (path, headers, expected) in [
        ("/a2a/tasks/none", &[][..], "TASK_NOT_FOUND"),
        ("/a2a/tasks/none", &[" "][..], "TASK_NOT_FOUND"),
        ("/a2a/tasks/none?A2A-Version=", &[], "TASK_NOT_FOUND"),
        ("/a2a/tasks/none?A2A-Version=1.0", &[], "TASK_NOT_FOUND"),
        ("/a2a/tasks/none", &["0.3"], "VERSION_NOT_SUPPORTED"),
        ("/a2a/v1/tasks/none", &[], "TASK_NOT_FOUND"),
        ("/a2a/v1/tasks/none", &[""], "TASK_NOT_FOUND"),
        ("/a2a/v1/tasks/none", &["1.0"], "VERSION_NOT_SUPPORTED"),
    ] {
        let mut request = Request::get(path);
        for version in headers {
            request = request.header("a2a-version", *version);
        }
        let request = request.body(Body::empty()).unwrap();
        let answer = json_of(app.clone().oneshot(request).await.unwrap()).await;
        let error = &answer["error"];
        assert_eq!(error["details"][0]["reason"], expected, "{path} {headers:?}: {error}");
    }
}

#[tokio::test]
async fn an_error_is_a_google_rpc_status() {
    let app = app().await;
    let refused = ask(&app, "GET /a2a/tasks?pageSize=x", &["Accept: application/json"], None).await;
    assert_eq!(refused.headers()["content-type"], "application/json");
    insta::assert_json_snapshot!(json_of(refused).await);
}
