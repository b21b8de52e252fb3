//! Extensions of the protocol that an agent offers or insists on (specification 4.6).

use axum::http::StatusCode;
use bridge_protocol::a2a::AgentExtension;
use serde_json::json;

use super::{ask, json_of, say_v0_3};
use crate::app::{app_with_card, say};

#[tokio::test]
async fn a_required_extension_is_insisted_on_and_named() {
    let offer = |uri: &str, required: bool| AgentExtension {
        required,
        ..AgentExtension::new(uri, "may be wanted")
    };
    let extensions = vec![offer("urn:must", true), offer("urn:may", false)];
    let app = app_with_card(|card| card.capabilities.extensions = extensions).await;
    let hi = say("m-1", "hi");
    let refused =
        ask(&app, "POST /a2a/message:send", &["A2A-Extensions: urn:may"], Some(&hi)).await;
    let error = json_of(refused).await["error"].take();
    assert_eq!(error["details"][0]["reason"], "EXTENSION_SUPPORT_REQUIRED");
    let message = "this agent requires an extension: send A2A-Extensions: urn:must";
    assert_eq!(error["message"], message);
    let asked: &[(&str, &[&str], &str)] = &[
        ("POST /a2a/message:send", &["A2A-Extensions: urn:must, urn:x"], "urn:must"),
        ("POST /a2a/message:send", &["A2A-Extensions: urn:may,urn:must"], "urn:may, urn:must"),
        ("POST /a2a/message:send?A2A-Extensions=urn:must", &[], "urn:must"),
    ];
    for (what, headers, active) in asked {
        let response = ask(&app, what, headers, Some(&hi)).await;
        assert_eq!(response.status(), StatusCode::OK, "{what} {headers:?}");
        assert_eq!(response.headers()["a2a-extensions"], *active);
    }
    let sent = ask(
        &app,
        "POST /a2a/message:send",
        &["A2A-Extensions: urn:may,urn:must,urn:x"],
        Some(&say("m-2", "hi")),
    )
    .await;
    let sent = json_of(sent).await;
    let told = &sent["task"]["history"][0]["extensions"];
    assert_eq!(*told, json!(["urn:may", "urn:must"]), "the agent knows which are active: {sent}");
    let mut using = hi.clone();
    using["message"]["extensions"] = json!(["urn:must"]);
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "SendMessage", "params": using});
    let response = ask(&app, "POST /a2a", &[], Some(&body)).await;
    assert_eq!(response.headers()["a2a-extensions"], "urn:must");
    let old = ask(
        &app,
        "POST /a2a/v1/message:send",
        &["X-A2A-Extensions: urn:must"],
        Some(&say_v0_3("m-3", "hi")),
    )
    .await;
    assert_eq!(old.headers()["x-a2a-extensions"], "urn:must");
}
