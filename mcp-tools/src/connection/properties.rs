//! Properties that hold for any message and any details.

use std::collections::BTreeMap;

use jiff::Timestamp;
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
    sample::select,
    test_runner::RngSeed,
};
use serde_json::{Value, json};

use super::*;
use crate::secret::Secret;

/// Uses the same cases in every run, and writes no files next to the sources.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 512,
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn word() -> impl Strategy<Value = String> {
    "[a-zé ./\\-]{1,8}"
}

/// Generates secrets that are long enough to be masked, and that do not occur elsewhere by accident.
fn secrets(name: &'static str) -> impl Strategy<Value = BTreeMap<String, Secret>> {
    btree_map(name, "[A-Z0-9]{8,16}".prop_map(Secret::new), 0..4)
}

fn http() -> impl Strategy<Value = Transport> {
    let url =
        "https?://[a-z]{1,8}(:[1-9][0-9]{0,3})?(/[a-z0-9%20é]{0,5}){0,3}(\\?[a-z]=[a-z é]{0,3})?";
    let url = url.prop_filter_map("a URL", |text| text.parse().ok());
    (url, secrets("[A-Z][a-z-]{0,8}")).prop_map(|(url, headers)| Transport::Http { url, headers })
}

fn stdio() -> impl Strategy<Value = Transport> {
    let cwd = option::of(word().prop_map(Into::into));
    (word(), vec(word(), 0..4), secrets("[A-Z_]{1,8}"), cwd)
        .prop_map(|(command, args, env, cwd)| Transport::Stdio { command, args, env, cwd })
}

fn details() -> impl Strategy<Value = ConnectionDetails> {
    let transport = prop_oneof![http(), stdio()];
    let time = (0..4_000_000_000_i64, 0..1_000_000_000_i32);
    let time = time.prop_filter_map("a time", |(s, n)| Timestamp::new(s, n).ok());
    (word(), transport, option::of(word()), option::of(time)).prop_map(
        |(name, transport, episode_id, expires_at)| ConnectionDetails {
            name,
            transport,
            episode_id,
            expires_at,
        },
    )
}

/// Returns messages with the data in each of the positions that agents use.
fn places(data: &Value) -> [Value; 7] {
    [
        data.clone(),
        json!({ "data": data }),
        json!({"role": "ROLE_AGENT", "parts": [{"text": "hello"}, {"data": data}]}),
        json!({"kind": "message", "parts": [{"kind": "data", "data": data}]}),
        json!({"status": {"state": "working", "message": {"parts": [{"data": {"data": data}}]}}}),
        json!({"parts": [{"text": data.to_string()}]}),
        json!({"parts": [{"text": format!("Use this:\n```json\n{data:#}\n```\nto connect.")}]}),
    ]
}

/// Generates JSON in which the names of connection details are in all kinds of wrong positions.
fn any_json() -> impl Strategy<Value = Value> {
    const WORDS: [&str; 18] = [
        "mcpServers",
        "mcp_connection_details",
        "url",
        "command",
        "transport",
        "type",
        "data",
        "parts",
        "text",
        "headers",
        "name",
        "value",
        "http",
        "stdio",
        "args",
        "expiresAt",
        "episodeId",
        "http://a/",
    ];
    let text = prop_oneof![
        select(&WORDS[..]).prop_map(str::to_owned),
        "[-* `:{}\"a-z\n]{0,20}",
        "(- \\*\\*(URL|Transport|Command|Header|Environment)\\*\\*: `?[a-z:/=']{0,8}`?\n){0,5}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        let name = select(&WORDS[..]).prop_map(str::to_owned);
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(name, inner, 0..7).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn written_details_are_found_again(details in details()) {
        for data in [details.to_mcp_servers(), details.to_mcp_connection_details()] {
            for message in places(&data) {
                prop_assert_eq!(find(&message), vec![Ok(details.clone())], "{}", message);
            }
        }
    }

    #[test]
    fn details_in_both_shapes_are_found_once(details in details()) {
        let shapes = [details.to_mcp_servers(), details.to_mcp_connection_details()];
        let parts = shapes.map(|data| json!({ "data": data }));
        prop_assert_eq!(find(&json!({ "parts": parts })), vec![Ok(details.clone())]);
        let mut both = details.to_mcp_servers();
        let other = details.to_mcp_connection_details();
        both["mcp_connection_details"] = other["mcp_connection_details"].clone();
        prop_assert_eq!(find(&both), vec![Ok(details)]);
    }

    #[test]
    fn no_message_is_too_strange(message in any_json()) {
        let _ = find(&message);
        let _ = masked(&message);
    }

    #[test]
    fn secrets_are_masked_and_nothing_else(details in details()) {
        for data in [details.to_mcp_servers(), details.to_mcp_connection_details()] {
            for message in places(&data) {
                let shown = masked(&message).to_string();
                for secret in details.secrets() {
                    prop_assert!(!shown.contains(secret.expose()), "{}", shown);
                }
                if details.secrets().is_empty() {
                    prop_assert_eq!(shown, message.to_string());
                }
            }
        }
    }

    #[test]
    fn nothing_shows_its_secrets(details in details()) {
        let shown = format!("{details:?} {}", details.address());
        for secret in details.secrets() {
            prop_assert!(!shown.contains(secret.expose()), "{}", shown);
        }
    }
}

#[test]
fn text_that_is_written_is_found_again() {
    let mut details =
        ConnectionDetails::http("shop", "http://127.0.0.1:9/mcp?a=b".parse().unwrap());
    details = details.with_bearer(&Secret::new("t-1"));
    details.episode_id = Some("episode 7".to_owned());
    details.expires_at = Some("2026-01-31T12:00:00Z".parse().unwrap());
    let message =
        json!({"parts": [{"text": format!("Here it is:\n\n{}\n\nGood luck!", details.to_text())}]});
    assert_eq!(find(&message), [Ok(details)]);

    let mut details = ConnectionDetails::stdio("relay", "mcp tools", ["relay", "--url", "a b"]);
    let Transport::Stdio { env, .. } = &mut details.transport else { unreachable!() };
    env.insert("MCP_TOKEN".to_owned(), Secret::new("a=b"));
    assert_eq!(find(&json!(details.to_text())), [Ok(details)]);
}

#[test]
fn deep_messages_are_looked_into_up_to_a_limit() {
    let details = ConnectionDetails::http("a", "http://localhost/".parse().unwrap());
    let nested = |depth| (0..depth).fold(details.to_mcp_servers(), |inner, _| json!([inner]));
    assert_eq!(find(&nested(50)), [Ok(details.clone())]);
    assert_eq!(find(&nested(100)), []);
}

#[test]
fn of_many_details_the_last_count() {
    let servers = |range: std::ops::Range<usize>| {
        let details =
            range.map(|n| json!({"url": format!("http://localhost/{n}"), "transport": "http"}));
        find(&Value::from_iter(details))
    };
    assert_eq!(servers(0..100), servers(100 - MAX_DETAILS..100));
}
