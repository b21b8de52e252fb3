//! Reads `evaluator = "conversation"` with its `[[config.turn]]`.

use serde_json::{Value, json};

use super::{part, roles::DeclaredRoles, values};
use crate::{
    error::Problem,
    model::{ConversationTurn, Evaluator, Listens, ProtocolBinding, ProtocolVersion},
    reader::{Node, Table},
};
use green_agent_transcript::label::STATES;

/// The word for an answer without a task, used instead of a state.
const MESSAGE: &str = "message";

/// Returns the accepted values of `state`: the states, and [`MESSAGE`].
pub(crate) fn endings() -> Vec<&'static str> {
    [&STATES[..], &[MESSAGE]].concat()
}

/// Reads the turns of `evaluator = "conversation"`.
pub(super) fn conversation(config: &mut Table<'_>, roles: &DeclaredRoles) -> Option<Evaluator> {
    const EXPECTED: &str = "at least one [[config.turn]] that says something";
    if let Some(client) = roles.agents.iter().find(|agent| agent.start.is_client())
        && let Some(node) = config.get("evaluator")
    {
        let role = &client.role;
        node.expected::<()>(format!(
            "another one for {role:?}, which listens nowhere and cannot be spoken to"
        ));
    }
    let node = config.need("turn", EXPECTED)?;
    let tables = node.list()?;
    if tables.is_empty() {
        return node.expected(EXPECTED);
    }
    let turns = tables
        .iter()
        .filter_map(|node| turn(&mut node.table()?, roles));
    Some(Evaluator::Conversation(turns.collect()))
}

/// Reads the receiver, which must be an agent and no server.
fn spoken_to(node: &Node<'_>, roles: &DeclaredRoles) -> Option<String> {
    let role = roles.check(node.text()?, &[], node)?;
    let agent = roles.agents.iter().find(|agent| agent.role == role);
    match agent.is_some_and(|agent| agent.listens == Listens::Server) {
        true => node.expected("the role of an agent; a server does not speak A2A"),
        false => Some(role),
    }
}

fn turn(table: &mut Table<'_>, roles: &DeclaredRoles) -> Option<ConversationTurn> {
    let to = table
        .need("to", "the role that this is said to")
        .and_then(|node| spoken_to(&node, roles));
    // A turn without a role is dropped, but its other keys are still checked.
    let turn = ConversationTurn {
        line: table.line(),
        to: to.unwrap_or_default(),
        parts: parts(table),
        version: table.get("version").and_then(|node| version(&node)),
        binding: table.get("binding").and_then(|node| binding(&node)),
        extensions: table
            .get("extensions")
            .and_then(|node| node.list_of(extension))
            .unwrap_or_default(),
        stream: table.flag("stream"),
        cancel: table.flag("cancel"),
        after: table.get("after").and_then(|node| values::duration(&node)),
        fresh: table.flag("fresh"),
        state: table.get("state").and_then(|node| state(&node)),
        contains: table.text("contains").map(str::to_owned),
    };
    if !turn.cancel && table.get("text").is_none() && table.get("parts").is_none() {
        table.missing::<()>("text", "text, parts or cancel = true");
    }
    table.reject_unknown();
    Some(turn)
}

fn parts(table: &mut Table<'_>) -> Vec<Value> {
    let text = table.get("text");
    let parts = table.get("parts");
    if let (Some(_), Some(parts)) = (&text, &parts) {
        let advice = "write the text as one of the parts, { text = \"...\" }";
        parts.report(Problem::Together {
            other: "text",
            advice,
        });
    }
    let text = text.and_then(|node| Some(json!({"text": node.text()?})));
    let parts = parts.and_then(|node| part::parts(&node));
    text.into_iter().chain(parts.unwrap_or_default()).collect()
}

fn version(node: &Node<'_>) -> Option<ProtocolVersion> {
    node.read("the text \"0.1\", \"0.3\" or \"1.0\"", |text| match text {
        "0.1" => Some(ProtocolVersion::V0_1),
        "0.3" => Some(ProtocolVersion::V0_3),
        "1.0" => Some(ProtocolVersion::V1_0),
        _ => None,
    })
}

/// Reads an extension's URI, which must not contain a comma because all are sent in one header.
fn extension(node: &Node<'_>) -> Option<String> {
    node.read("the URI of an extension", |text| {
        let is_uri = text.contains(':') && !text.contains([',', ' ']);
        let is_legible = text.chars().all(|one| one.is_ascii_graphic());
        (is_uri && is_legible).then(|| text.to_owned())
    })
}

fn binding(node: &Node<'_>) -> Option<ProtocolBinding> {
    const EXPECTED: &str = "the text \"jsonrpc\", \"rest\" or \"grpc\"";
    node.read(EXPECTED, |text| match text {
        "jsonrpc" => Some(ProtocolBinding::JsonRpc),
        "rest" => Some(ProtocolBinding::Rest),
        "grpc" => Some(ProtocolBinding::Grpc),
        _ => None,
    })
}

fn state(node: &Node<'_>) -> Option<String> {
    let expected = format!("one of {}", endings().join(", "));
    node.read(&expected, |text| {
        endings().contains(&text).then(|| text.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        model::{Green, Scenario},
        tests::{errors_of, scenario_of},
    };

    const HEAD: &str = "[green_agent]\n\
                        [[participants]]\nrole = 'a'\nendpoint = 'http://h'\n\
                        [config]\nevaluator = 'conversation'\n";

    fn turns_of(scenario: Scenario) -> Vec<ConversationTurn> {
        match scenario.green {
            Green::Builtin(Evaluator::Conversation(turns)) => turns,
            other => panic!("the evaluator is a conversation, not {other:?}"),
        }
    }

    #[test]
    fn a_turn_is_read_with_all_its_keys() {
        let turns = turns_of(scenario_of(&format!(
            "{HEAD}[[config.turn]]\nto = 'a'\ntext = 'hi'\nversion = '0.3'\nbinding = 'rest'\nextensions = ['urn:a', 'urn:b']\nstream = true\ncancel = true\n\
             after = '2s'\nfresh = true\nstate = 'canceled'\ncontains = 'bye'\n\
             [[config.turn]]\nto = 'a'\ncancel = true\n"
        )));
        let [first, second] = &turns[..] else {
            panic!("there are two turns");
        };
        assert_eq!((first.line, second.line), (7, 19));
        assert_eq!(first.parts, [json!({"text": "hi"})]);
        assert_eq!(first.version, Some(ProtocolVersion::V0_3));
        assert_eq!(first.binding, Some(ProtocolBinding::Rest));
        assert_eq!(first.extensions, ["urn:a", "urn:b"]);
        assert!(first.stream && first.cancel && first.fresh);
        assert_eq!(first.after, Some(Duration::from_secs(2)));
        assert_eq!(first.state.as_deref(), Some("canceled"));
        assert_eq!(first.contains.as_deref(), Some("bye"));
        assert!(second.parts.is_empty() && second.cancel && !second.fresh);
    }

    #[test]
    fn what_is_wrong_with_a_turn_is_said_at_its_key() {
        for (turn, expected) in [
            (
                "to = 'b'\ntext = ''",
                "a.toml:8:6: config.turn[0].to: nobody has the role \"b\"; expected one of: a",
            ),
            (
                "to = 'green'\ntext = ''",
                "a.toml:8:6: config.turn[0].to: nobody has the role \"green\"",
            ),
            ("text = ''", "a.toml:7:1: config.turn[0].to: missing"),
            (
                "to = 'a'",
                "a.toml:7:1: config.turn[0].text: missing; expected text, parts or cancel",
            ),
            (
                "to = 'a'\ncancel = false",
                "a.toml:7:1: config.turn[0].text: missing; expected text, parts or cancel",
            ),
            (
                "to = 'a'\ntext = ''\nparts = [{ text = '' }]",
                "a.toml:10:9: config.turn[0].parts: expected it without text",
            ),
            (
                "to = 'a'\ntext = ''\nstat = 'failed'",
                "a.toml:10:1: config.turn[0].stat: unknown key; did you mean state?",
            ),
            (
                "to = 'a'\ntext = ''\nstate = 'done'",
                "a.toml:10:9: config.turn[0].state: expected one of submitted, ",
            ),
            (
                "to = 'a'\ntext = ''\nversion = 1.0",
                "a.toml:10:11: config.turn[0].version: expected the text \"0.1\", \"0.3\" or \"1.0\", found 1.0",
            ),
            (
                "to = 'a'\ntext = ''\nextensions = ['urn:a, urn:b']",
                "a.toml:10:15: config.turn[0].extensions[0]: expected the URI of an extension, found \"urn:a, urn:b\"",
            ),
            (
                "to = 'a'\ntext = ''\nversion = '2'",
                "a.toml:10:11: config.turn[0].version: expected the text \"0.1\", \"0.3\" or \"1.0\", found \"2\"",
            ),
        ] {
            let errors = errors_of(&format!("{HEAD}[[config.turn]]\n{turn}\n"));
            assert!(errors.starts_with(expected), "{errors}");
            assert_eq!(errors.lines().count(), 1, "{errors}");
        }
    }
}
