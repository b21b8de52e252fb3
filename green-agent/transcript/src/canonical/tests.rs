use std::{collections::BTreeMap, path::Path};

use serde_json::json;

use super::*;
use crate::{
    Body, Content,
    fixture::{Script, debate, end, event, failure, reply, request, result, rpc, stream},
};

pub(super) fn debate_names() -> Names {
    let origin = |port: u16, role: &str| (format!("http://127.0.0.1:{port}"), role.to_owned());
    Names {
        origins: BTreeMap::from([
            origin(9109, "green"),
            origin(9119, "pro_debater"),
            origin(9118, "con_debater"),
        ]),
        roles: vec!["pro_debater".to_owned(), "con_debater".to_owned()],
    }
}

fn plain(script: &Script) -> String {
    canonical(&script.entries, &Names::default(), &SnapshotSettings::default())
}

#[test]
fn a_debate_of_agentbeats_agents() {
    let text = canonical(&debate(), &debate_names(), &SnapshotSettings::default());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../snapshots/wire/agentbeats");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("debate.canonical", text));
}

#[test]
fn polls_collapse_to_distinct_answers() {
    let mut script = Script::default();
    let task = |state: &str| json!({"id": "t", "status": {"state": state}});
    let states = ["submitted", "working", "working", "working", "completed", "completed"];
    for state in states {
        let get = rpc("tasks/get", json!({"id": "t"}));
        script.exchange("green -> purple", [get, result(task(state))]);
    }
    let mut once = Script::default();
    for state in ["submitted", "working", "completed"] {
        let get = rpc("tasks/get", json!({"id": "t"}));
        once.exchange("green -> purple", [get, result(task(state))]);
    }
    assert_eq!(plain(&script), plain(&once));
}

#[test]
fn a_poll_that_answers_what_a_stream_said_before_is_no_news() {
    let mut script = Script::default();
    let hop = "purple -> green";
    let working =
        json!({"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_WORKING"}}});
    script.exchange(hop, [rpc("SendStreamingMessage", json!({})), stream(), event(working), end()]);
    for state in ["WORKING", "WORKING", "COMPLETED"] {
        let task = json!({"id": "t", "status": {"state": format!("TASK_STATE_{state}")}});
        script.exchange(hop, [rpc("GetTask", json!({"id": "t"})), result(task)]);
    }
    assert_eq!(plain(&script).matches("> GetTask").count(), 1);
}

#[test]
fn polls_of_different_tasks_do_not_collapse() {
    let mut script = Script::default();
    for id in ["a", "b"] {
        let get = request("GET", &format!("/tasks/{id}"), None);
        let task = json!({"id": id, "status": {"state": "TASK_STATE_WORKING"}});
        script.exchange("green -> purple", [get, reply(200, task)]);
    }
    assert_eq!(plain(&script).matches("> GET").count(), 2);
}

#[test]
fn cards_pings_and_idle_streams_of_mcp_vanish() {
    let mut script = Script::default();
    let hop = "purple -> tools";
    let to_mcp = |body| request("POST", "/mcp", Some(body));
    script.exchange(
        hop,
        [request("GET", "/.well-known/agent-card.json", None), reply(404, json!({}))],
    );
    script.exchange(
        hop,
        [request("GET", "/.well-known/agent.json", None), reply(200, json!({"name": "x"}))],
    );
    script.exchange(
        hop,
        [
            to_mcp(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}})),
            result(json!({"capabilities": {}})),
        ],
    );
    script.exchange(hop, [request("GET", "/mcp", None), stream(), end()]);
    script.exchange(
        hop,
        [to_mcp(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})), result(json!({}))],
    );
    script.exchange(hop, [request("DELETE", "/mcp", None), stream()]);
    insta::assert_snapshot!(plain(&script), @r#"
    ## purple -> tools

    card /.well-known/agent.json
    { "name": "x" }

    > connect
    "#);
}

#[test]
fn handshakes_of_mcp_are_one_line_unless_somebody_is_refused() {
    let mut script = Script::default();
    let hop = "purple -> environment";
    let ask = |method: &str| rpc(method, json!({}));
    let error = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "what?"}});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    for method in ["server/discover", "initialize"] {
        script.exchange(hop, [ask(method), reply(401, json!({}))]);
    }
    script.exchange(hop, [ask("server/discover"), reply(200, error)]);
    script.exchange(hop, [ask("initialize"), result(json!({"capabilities": {}}))]);
    script.exchange(hop, [request("POST", "/mcp", Some(initialized)), stream()]);
    let meta = json!({"progressToken": 1, "io.modelcontextprotocol/clientInfo": {"name": "c"}});
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": []}});
    let list = || rpc("tools/list", json!({"_meta": meta}));
    script.exchange(hop, [list(), stream(), event(answer.clone()), end()]);
    script.exchange(
        hop,
        [list(), stream(), event(answer), failure("the caller closed the connection")],
    );
    insta::assert_snapshot!(plain(&script), @r#"
    ## purple -> environment

    > connect
    < http 401

    > connect

    > tools/list
    < result
    { "tools": [] }
    "#);
}

#[test]
fn errors_failures_and_notifications_have_their_lines() {
    let mut script = Script::default();
    let hop = "green -> purple";
    let error =
        json!({"code": -32601, "message": "no such method", "data": {"method": "message/send"}});
    script.exchange(
        hop,
        [
            rpc("message/send", json!({})),
            reply(200, json!({"jsonrpc": "2.0", "id": 1, "error": error})),
        ],
    );
    script.exchange(hop, [
        rpc("message/send", json!({})),
        reply(401, json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32001, "message": "who are you"}})),
    ]);
    script.exchange(hop, [
        rpc("tools/call", json!({"name": "slow", "_meta": {"progressToken": 7}})),
        stream(),
        event(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 7, "progress": 1}})),
        failure("tcp connect error: Connection reset by peer (os error 104)"),
    ]);
    script.exchange(
        hop,
        [
            request("POST", "/message:send", Some(json!({"a": 1}))),
            reply(404, json!({"error": {"code": 404}})),
        ],
    );
    insta::assert_snapshot!(plain(&script), @r#"
    ## green -> purple

    > message/send
    < error -32601 no such method
    { "method": "message/send" }

    > message/send
    < http 401 error -32001 who are you

    > tools/call
    { "_meta": { "progressToken": "<request-1>" }, "name": "slow" }
    < notifications/progress
    { "progress": 1, "progressToken": "<request-1>" }
    < failure: connection lost

    > POST /message:send
    { "a": 1 }
    < http 404 result
    { "error": { "code": 404 } }
    "#);
}

#[test]
fn an_id_has_one_name_however_it_is_written() {
    let mut script = Script::default();
    let dashed = "8C5E619A-7E0B-441D-B99E-15A856D5E9F0";
    let bare = "8c5e619a7e0b441db99e15a856d5e9f0";
    script.exchange("green -> purple", [
        rpc("message/send", json!({"text": format!("A2A_USER_{bare}, not x{bare}")})),
        result(json!({"kind": "task", "id": dashed, "contextId": "conversation-42", "status": {"state": "working"}})),
    ]);
    script.exchange(
        "green -> purple",
        [
            request("GET", &format!("/tasks/{dashed}"), None),
            reply(
                200,
                json!({"note": "in conversation-42", "artifactId": "answer", "token": "s3cret"}),
            ),
        ],
    );
    let text = plain(&script);
    assert!(text.contains(&format!("A2A_USER_<task-1>, not x{bare}")), "{text}");
    assert!(text.contains(r#""id": "<task-1>""#), "{text}");
    assert!(text.contains("GET /tasks/<task-1>"), "{text}");
    assert!(text.contains("in <context-1>"), "{text}");
    assert!(text.contains(r#""artifactId": "answer""#), "{text}");
    assert!(text.contains(r#""token": "<token>""#), "{text}");
}

#[test]
fn responses_follow_their_requests_however_they_interleave() {
    let hop = "green -> purple";
    let ask = |text: &str| rpc("message/send", json!({ "text": text }));
    let answer = |id: &str| result(json!({"message": {"messageId": id, "parts": []}}));
    let ids = ["8c5e619a-7e0b-441d-b99e-15a856d5e9f0", "aa00c45e-68be-48c6-984d-751ee660974d"];
    let mut texts = Vec::new();
    for order in [[1, 2], [2, 1]] {
        let mut script = Script::default();
        script.push(hop, 1, ask("first"));
        script.push(hop, 2, ask("second"));
        for exchange in order {
            script.push(hop, exchange, answer(ids[exchange as usize - 1]));
        }
        texts.push(plain(&script));
    }
    assert_eq!(texts[0], texts[1]);
    assert!(texts[0].find("<message-1>") < texts[0].find("second"), "{}", texts[0]);
}

#[test]
fn redacted_values_do_not_show() {
    let settings = SnapshotSettings { redact: vec!["/result/artifact/parts/*/text".to_owned()] };
    let text = canonical(&debate(), &debate_names(), &settings);
    assert!(!text.contains("Mock judge"), "{text}");
    assert!(text.contains("<redacted>"), "{text}");
}

#[test]
fn registry_reads_are_shown_once_and_in_order() {
    let digest = |letter: &str| format!("sha256:{}", letter.repeat(64));
    let get = |path: &str| request("GET", path, None);
    let tags = |name: &str| reply(200, json!({"name": name, "tags": ["v1"]}));
    let mut script = Script::default();
    script.exchange("green -> registry", [get("/v2/"), reply(200, json!({}))]);
    script.exchange("green -> registry", [get("/v2/b/tags/list"), tags("b")]);
    script.exchange("green -> registry", [get("/v2/a/tags/list"), tags("a")]);
    let blob = format!("/v2/a/blobs/{}", digest("0"));
    script.exchange("green -> registry", [get(&blob), reply(200, json!({"name": "A"}))]);
    let upload = request("POST", "/v2/a/blobs/uploads/", None);
    script.exchange("green -> registry", [upload, reply(202, json!({}))]);
    let manifest = json!({"layers": [{"digest": digest("0")}]});
    let pushed = request("PUT", "/v2/a/manifests/v2", Some(manifest));
    script.exchange("green -> registry", [pushed, reply(201, json!({}))]);
    let mut otherwise = Script::default();
    let manifest = json!({"layers": [{"digest": digest("f")}]});
    let pushed = request("PUT", "/v2/a/manifests/v2", Some(manifest));
    otherwise.exchange("green -> registry", [pushed, reply(201, json!({}))]);
    let blob = format!("/v2/a/blobs/{}", digest("f"));
    otherwise.exchange("green -> registry", [get(&blob), reply(200, json!({"name": "A"}))]);
    for _ in 0..2 {
        otherwise.exchange("green -> registry", [get("/v2/a/tags/list"), tags("a")]);
        otherwise.exchange("green -> registry", [get("/v2/b/tags/list"), tags("b")]);
    }
    assert_eq!(plain(&script), plain(&otherwise));
    insta::assert_snapshot!(plain(&script));
}

#[test]
fn a_task_is_shown_with_its_content_once_nothing_happens_to_it_any_more() {
    let text = |answer: &str| {
        let mut script = Script::default();
        let hop = "green -> purple";
        let status = json!({"state": "TASK_STATE_COMPLETED"});
        let update = json!({"statusUpdate": {"taskId": "t", "status": status}});
        script.exchange(
            hop,
            [rpc("SendStreamingMessage", json!({})), stream(), event(update), end()],
        );
        let artifact = json!({"artifactId": "a", "parts": [{"text": answer}]});
        let task = json!({"id": "t", "status": status, "artifacts": [artifact]});
        for _ in 0..2 {
            script.exchange(hop, [rpc("GetTask", json!({"id": "t"})), result(task.clone())]);
        }
        plain(&script)
    };
    assert_ne!(text("right"), text("wrong"));
    assert_eq!(text("right").matches("> GetTask").count(), 1);
}

#[test]
fn a_card_is_shown_once_and_then_what_changes_in_it() {
    let mut script = Script::default();
    let get = || request("GET", "/.well-known/agent-card.json", None);
    let card = |version: &str| json!({"name": "x", "version": version, "skills": []});
    let hop = "green -> purple";
    for version in ["1", "1", "2", "2"] {
        script.exchange(hop, [get(), reply(200, card(version))]);
    }
    script.exchange(hop, [get(), reply(503, json!({}))]);
    script.exchange(hop, [get(), reply(200, json!({"name": "x", "version": "2"}))]);
    insta::assert_snapshot!(plain(&script), @r#"
    ## green -> purple

    card /.well-known/agent-card.json
    { "name": "x", "skills": [], "version": "1" }

    card /.well-known/agent-card.json changed
    { "version": "2" }

    card /.well-known/agent-card.json changed
    { "skills": null }
    "#);
}

#[test]
fn bodies_that_are_no_text_show_their_size_and_digest() {
    let text = |bytes, sha256: &str| {
        let mut script = Script::default();
        let mut answer = stream();
        if let Content::Reply { body, .. } = &mut answer {
            *body = Some(Body::Omitted {
                bytes,
                why: "binary".to_owned(),
                sha256: Some(sha256.to_owned()),
            });
        }
        script.exchange("a -> b", [request("GET", "/image", None), answer]);
        plain(&script)
    };
    assert_ne!(text(2, "aa"), text(2, "bb"));
    assert_ne!(text(2, "aa"), text(3, "aa"));
    assert!(text(2, "aa").contains("<omitted: binary, 2 bytes, SHA-256 aa>"));
}

#[test]
fn digests_are_distinguished_by_their_content() {
    let digest = |letter: &str| format!("sha256:{}", letter.repeat(64));
    let text = |first: &str, second: &str| {
        let mut script = Script::default();
        let body = json!({"config": digest(first), "layer": digest(second)});
        script.exchange("a -> b", [request("PUT", "/x", Some(body)), stream()]);
        plain(&script)
    };
    assert_eq!(text("1", "2"), text("f", "0"));
    assert_ne!(text("1", "2"), text("1", "1"));
    assert!(text("1", "2").contains("sha256:<digest-2>"));
}
