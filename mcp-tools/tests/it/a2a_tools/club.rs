//! The football club of the document: its card, request and result, verbatim.

use mcp_tools::agents::AgentsSettings;
use serde_json::{Value, json};

use super::{Agent, Tools, settings};

/// Returns an example of the document, verbatim.
fn golden(name: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../snapshots/wire/club");
    let text = std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Returns the document's card with a local address.
fn club() -> Value {
    let mut card = golden("agent-card");
    card["base_url"] = json!("HERE");
    card
}

fn completed(data: &Value) -> Value {
    json!({
        "id": "t-1", "status": {"state": "completed"},
        "artifacts": [{"parts": [{"type": "data", "data": data}]}],
    })
}

#[tokio::test]
async fn the_documents_card_gives_the_documents_result() {
    let agent = Agent::start(club(), Vec::new()).await;
    let mut found = Tools::with(settings()).discover(&agent.url).await;
    assert_eq!(found["tasking_base_url"], agent.url);
    let expected = golden("discovery-result");
    found["tasking_base_url"] = expected["tasking_base_url"].clone();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&found), keys(&expected));
    let (skill, shown) = (&found["available_skills"][0], &expected["available_skills"][0]);
    for key in ["status", "agent_name"] {
        assert_eq!(found[key], expected[key]);
    }
    for key in ["id", "name", "description"] {
        assert_eq!(skill[key], shown[key]);
    }
    // The document's description of the parameter differs between its card and its result.
    assert_eq!(skill["parameters_schema"]["required"], shown["parameters_schema"]["required"]);
    assert_eq!(skill["parameters_schema"]["properties"]["age"]["type"], "integer");
}

#[tokio::test]
async fn the_documents_request_goes_out_as_the_documents_payload() {
    let agent = Agent::start(club(), vec![completed(&golden("result"))]).await;
    let mut request = golden("task-request");
    request["task_base_url"] = json!(agent.url);
    let outcome = Tools::with(settings()).invoke(request).await;
    assert_eq!((&outcome["status"], &outcome["state"]), (&json!("success"), &json!("completed")));
    assert_eq!(outcome["result_data"], golden("result"));

    let [(path, None, sent)] = &agent.seen()[..] else {
        panic!("{:?}", agent.seen());
    };
    assert_eq!(path, "/tasks/send");
    let (sent, expected) = (&sent["message"], &golden("payload")["message"]);
    assert_eq!(sent["role"], expected["role"]);
    assert_eq!(sent["parts"][0], expected["parts"][0]);
    for key in ["type", "data"] {
        assert_eq!(sent["parts"][1][key], expected["parts"][1][key]);
    }
}

#[tokio::test]
async fn a_site_is_reached_at_its_override() {
    let agent = Agent::start(golden("agent-card"), vec![completed(&golden("result"))]).await;
    let stand_in = format!("https://urmstontownjfc.co.uk={}", agent.url);
    let tools = Tools::with(AgentsSettings {
        overrides: vec![stand_in.parse().unwrap()],
        ..AgentsSettings::default()
    });
    let found = tools.discover("https://urmstontownjfc.co.uk").await;
    assert_eq!(found["tasking_base_url"], "https://urmstontownjfc.co.uk");
    assert_eq!(tools.invoke(golden("task-request")).await["status"], "success");
}
