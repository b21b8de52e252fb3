//! Rewrites agent cards so that callers who use their addresses stay on the recorder.

use bridge_protocol::{a2a::Binding, dialect::places};
use serde_json::{Map, Value};

use super::origin::{Origins, UrlTarget};

/// The suffixes of the paths of cards for authenticated callers, of 0.3 and of 1.0.
const EXTENDED: [&str; 2] = ["/v1/card", "/extendedAgentCard"];

/// The JSON-RPC methods whose result is a card, of A2A 1.0 and of 0.3.
const CARD_METHODS: [&str; 2] = ["GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard"];

/// The members of a card that list further interfaces, with the name of the member that holds the binding.
const INTERFACES: [(&str, &str); 2] =
    [("supportedInterfaces", "protocolBinding"), ("additionalInterfaces", "transport")];

/// The result of rewriting a card.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rewritten {
    /// Whether the card was changed.
    pub(super) changed: bool,
    /// URLs that lead away from the recorder and were not changed.
    pub(super) elsewhere: Vec<String>,
}

/// Returns whether a card is served at `path`, which has no query.
pub(super) fn is_card_path(path: &str) -> bool {
    places::is_one(path) || EXTENDED.iter().any(|end| path.ends_with(end))
}

/// Returns whether a JSON-RPC request asks for a card.
pub(super) fn asks_for_card(request: &Value) -> bool {
    request["method"].as_str().is_some_and(|method| CARD_METHODS.contains(&method))
}

/// Replaces the upstream's origin in a card with the recorder's.
///
/// gRPC interfaces are removed, since the recorder speaks HTTP/1.1 and a caller that used one would bypass
/// it; a card that has no other interfaces keeps them. Signatures are removed if anything was changed,
/// because they would not verify any more.
pub(super) fn rewrite(card: &mut Value, origins: &Origins) -> Rewritten {
    let mut rewritten = Rewritten::default();
    let Value::Object(card) = card else {
        return rewritten;
    };
    rewritten.changed = leave_grpc(card);
    let main_is_grpc = is_grpc(card.get("preferredTransport"));
    follow(card, "url", main_is_grpc, origins, &mut rewritten);
    follow(card, "base_url", false, origins, &mut rewritten);
    for (list, binding) in INTERFACES {
        let interfaces = card.get_mut(list).and_then(Value::as_array_mut);
        let interfaces = interfaces.into_iter().flatten();
        for interface in interfaces.filter_map(Value::as_object_mut) {
            let grpc = is_grpc(interface.get(binding));
            follow(interface, "url", grpc, origins, &mut rewritten);
        }
    }
    if rewritten.changed {
        card.remove("signatures");
    }
    rewritten
}

/// Rewrites the member `name` if it is a URL of the upstream, and reports other addresses.
fn follow(
    members: &mut Map<String, Value>,
    name: &str,
    grpc: bool,
    origins: &Origins,
    rewritten: &mut Rewritten,
) {
    let Some(Value::String(url)) = members.get_mut(name) else {
        return;
    };
    match origins.follow_card(url) {
        UrlTarget::Upstream(on_recorder) if !grpc => {
            rewritten.changed |= *url != on_recorder;
            *url = on_recorder;
        }
        UrlTarget::Here | UrlTarget::Recorded => {}
        UrlTarget::Upstream(_) | UrlTarget::Elsewhere => rewritten.elsewhere.push(url.clone()),
    }
}

/// Removes gRPC interfaces if there are others; returns whether it removed any.
fn leave_grpc(card: &mut Map<String, Value>) -> bool {
    let mut removed = prefer_another(card);
    for (list, binding) in INTERFACES {
        let main_is_left = list == "additionalInterfaces"
            && card.contains_key("url")
            && !is_grpc(card.get("preferredTransport"));
        let Some(Value::Array(interfaces)) = card.get_mut(list) else {
            continue;
        };
        let others = interfaces.iter().filter(|interface| !is_grpc(interface.get(binding))).count();
        if others < interfaces.len() && (others > 0 || main_is_left) {
            interfaces.retain(|interface| !is_grpc(interface.get(binding)));
            removed = true;
        }
    }
    removed
}

/// Makes the first other interface of a 0.3 card the preferred one if the card prefers gRPC.
fn prefer_another(card: &mut Map<String, Value>) -> bool {
    if !is_grpc(card.get("preferredTransport")) {
        return false;
    }
    let interfaces = card.get("additionalInterfaces").and_then(Value::as_array);
    let other = interfaces
        .into_iter()
        .flatten()
        .find(|interface| !is_grpc(interface.get("transport")) && interface["url"].is_string())
        .cloned();
    let Some(other) = other else {
        return false;
    };
    card.insert("url".to_owned(), other["url"].clone());
    card.insert("preferredTransport".to_owned(), other["transport"].clone());
    true
}

fn is_grpc(binding: Option<&Value>) -> bool {
    binding
        .and_then(Value::as_str)
        .is_some_and(|binding| Binding::of(binding) == Some(Binding::Grpc))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Compares the rewritten card and the reported addresses with the golden of this name.
    fn check(name: &str, mut card: Value) {
        let origins = Origins::new(&"http://127.0.0.1:9109/".parse().unwrap(), 4000).unwrap();
        let Rewritten { changed, elsewhere } = rewrite(&mut card, &origins);
        let outcome = json!({"card": card, "changed": changed, "elsewhere": elsewhere});
        insta::assert_json_snapshot!(name, outcome);
    }

    #[test]
    fn the_debate_judge_of_agentbeats() {
        let card = include_str!("../../../snapshots/wire/agentbeats/debate-judge-card.json");
        check("debate_judge", serde_json::from_str(card).unwrap());
    }

    #[test]
    fn a_card_of_1_0() {
        check(
            "v1_0",
            json!({
                "name": "Route planner", "version": "2.1.0",
                "provider": {"organization": "Example", "url": "http://127.0.0.1:9109/about"},
                "supportedInterfaces": [
                    {"url": "grpc.example:50051", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
                    {"url": "http://0.0.0.0:9109/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
                    {"url": "http://localhost:9109/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0", "tenant": "t"},
                    {"url": "https://planner.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
                ],
                "signatures": [{"protected": "e30", "signature": "c2ln"}],
            }),
        );
    }

    #[test]
    fn a_card_of_0_3_that_prefers_grpc() {
        check(
            "v0_3_grpc_first",
            json!({
                "name": "Planner", "protocolVersion": "0.3.0",
                "url": "http://127.0.0.1:50051", "preferredTransport": "GRPC",
                "additionalInterfaces": [
                    {"url": "http://127.0.0.1:50051", "transport": "GRPC"},
                    {"url": "http://127.0.0.1:9109/rpc", "transport": "JSONRPC"},
                ],
            }),
        );
    }

    /// gRPC does not pass through the recorder, so callers may see it only where there is nothing else.
    #[test]
    fn grpc_beside_another_binding_of_0_3_is_left_out() {
        let interfaces = |main: &str, others: &[&str]| {
            let interface = |transport: &&str| json!({"url": "http://127.0.0.1:9109/x", "transport": transport});
            let others: Vec<Value> = others.iter().map(interface).collect();
            let mut card = json!({"url": "http://127.0.0.1:9109/", "preferredTransport": main,
                "additionalInterfaces": others});
            rewrite(
                &mut card,
                &Origins::new(&"http://127.0.0.1:9109/".parse().unwrap(), 4000).unwrap(),
            );
            let left = card["additionalInterfaces"].as_array().unwrap().iter();
            let left: Vec<&str> = left.map(|one| one["transport"].as_str().unwrap()).collect();
            format!("{} {}", card["preferredTransport"].as_str().unwrap(), left.join(" "))
        };
        for (main, others, expected) in [
            ("JSONRPC", &["GRPC"][..], "JSONRPC "),
            ("JSONRPC", &["GRPC", "HTTP+JSON"], "JSONRPC HTTP+JSON"),
            ("JSONRPC", &["HTTP+JSON"], "JSONRPC HTTP+JSON"),
            ("GRPC", &["GRPC"], "GRPC GRPC"),
            ("GRPC", &["GRPC", "HTTP+JSON", "JSONRPC"], "HTTP+JSON HTTP+JSON JSONRPC"),
        ] {
            assert_eq!(interfaces(main, others), expected, "{main} {others:?}");
        }
    }

    #[test]
    fn a_card_of_python_a2a() {
        check(
            "python_a2a",
            json!({
                "name": "Weather", "url": "http://localhost:9109", "base_url": "http://localhost:9109",
                "authentication": null, "skills": [],
            }),
        );
    }

    #[test]
    fn a_card_that_is_only_grpc_stays() {
        check(
            "only_grpc",
            json!({
                "name": "Fast",
                "supportedInterfaces": [{"url": "127.0.0.1:50051", "protocolBinding": "GRPC", "protocolVersion": "1.0"}],
                "signatures": [{"protected": "e30", "signature": "c2ln"}],
            }),
        );
    }

    #[test]
    fn cards_are_known_by_path_and_method() {
        for path in [
            "/.well-known/agent-card.json",
            "/a2a/x/.well-known/agent.json",
            "/t/extendedAgentCard",
            "/v1/card",
        ] {
            assert!(is_card_path(path), "{path}");
        }
        for path in ["/", "/v1/message:send", "/.well-known/oauth-protected-resource"] {
            assert!(!is_card_path(path), "{path}");
        }
        assert!(asks_for_card(&json!({"method": "GetExtendedAgentCard"})));
        assert!(!asks_for_card(&json!({"method": "message/send"})));
        assert!(!asks_for_card(&json!([])));
    }
}
