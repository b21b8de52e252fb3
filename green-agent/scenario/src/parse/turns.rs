//! Reads `evaluator = "conversation"` with its `[[config.turn]]`.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    credential::{self, CredentialKeys},
    expect::{AnswerKeys, answer_check, pattern},
    green::CONVERSATION,
    part::{self, PartKeys},
    roles::DeclaredRoles,
    values::{choices, quoted, word},
};
use crate::{
    duration::AnyDuration,
    error::Problem,
    expectation::{AnswerCheck, Check},
    model::{
        Conversation, ConversationTurn, Evaluator, ProtocolBinding, ProtocolVersion, ServerKind,
    },
    reader::{Key, Node, Table, kind, table},
};
use green_agent_transcript::label::STATES;

table! {
    /// The settings of the built-in evaluator that sends these turns, one after the other.
    pub(crate) struct ConversationKeys<'a> as "Conversation", closed {
        /// The name of the built-in evaluator.
        later_required evaluator: Key<'a> as String {"const": CONVERSATION},
        /// The credentials that participants are sent, such as the API key of an agent that runs elsewhere.
        later credential: Key<'a> as Vec<CredentialKeys<'a>>,
        /// The turns, in this order.
        later_required turn: Key<'a> as Vec<TurnKeys<'a>> {"minItems": 1},
    }
}

table! {
    /// One scripted turn: a message, and the expected answer.
    struct TurnKeys<'a> as "Turn", closed, with(|_| says_something()) {
        /// The role of the receiver.
        later_required to: Key<'a> as String,
        /// The message, if it is one text. {ROLE}, here and in parts, becomes the recorded URL of the participant in that
        /// role, at which the receiver reaches it.
        later text: Key<'a> as String,
        /// The message's parts, in A2A 1.0 form.
        later parts: Key<'a> as Vec<PartKeys<'a>> {"minItems": 1},
        /// The A2A version to use; chosen from the agent's card if absent.
        optional version: ProtocolVersion,
        /// The protocol binding to use: JSON-RPC, HTTP+JSON (rest) or gRPC; chosen from the agent's card if
        /// absent.
        optional binding: ProtocolBinding,
        /// The URIs of the A2A extensions to activate; the turn fails if the agent requires another one.
        default extensions: Vec<String> as Vec<Extension> = [],
        /// Whether to use the streaming operation; the turn fails if the agent refuses it.
        default stream: bool = false,
        /// Whether to cancel the task. Without text and parts this is the whole turn; with them, the task is
        /// canceled while the turn runs.
        default cancel: bool = false,
        /// The pause before the turn; with a message and cancel, the pause between the two.
        optional after: Duration as AnyDuration,
        /// Whether to begin a new task and context although the role's last task is still open.
        default fresh: bool = false,
        /// The state that the task must have after the turn; message if the answer must be a bare Message.
        optional state: String as Ending,
        /// A text that the answer must contain.
        optional contains: String,
        /// Texts, all of which the answer must contain; one text is a list of it.
        later contains_all: Key<'a> as Texts,
        /// Texts, of which the answer must contain one at least; one text is a list of it.
        later contains_any: Key<'a> as Texts,
        /// A regular expression that must find a match in the answer.
        later matches: Key<'a> as String,
        /// Further checks that the answer must pass.
        later expect: Key<'a> as Vec<AnswerKeys>,
    }
}

kind! {
    /// An A2A version.
    impl ProtocolVersion as "Version" => |node| {
        word(node, &format!("the text {}", quoted::<ProtocolVersion>()))
    };
    |_| choices::<ProtocolVersion>()
}

kind! {
    /// A protocol binding.
    impl ProtocolBinding as "Binding" => |node| {
        word(node, &format!("the text {}", quoted::<ProtocolBinding>()))
    };
    |_| choices::<ProtocolBinding>()
}

kind! {
    /// An extension's URI, which must not contain a comma because all are sent in one header.
    inline Extension => String, |node| {
        node.read("the URI of an extension", |text| {
            let is_uri = text.contains(':') && !text.contains([',', ' ']);
            let is_legible = text.chars().all(|one| one.is_ascii_graphic());
            (is_uri && is_legible).then(|| text.to_owned())
        })
    };
    |_| json!({"type": "string"})
}

kind! {
    /// A state, or the word for an answer without a task.
    inline Ending => String, |node| {
        let expected = format!("one of {}", endings().join(", "));
        node.read(&expected, |text| endings().contains(&text).then(|| text.to_owned()))
    };
    |_| json!({"type": "string", "enum": endings()})
}

kind! {
    /// A text, or several. An empty one is in every answer.
    inline Texts => Vec<String>, |node| match node.is_list() {
        true => match node.list_of(sought)? {
            none if none.is_empty() => node.expected("at least one text"),
            texts => Some(texts),
        },
        false => sought(node).map(|text| vec![text]),
    };
    |_| {
        let text = json!({"type": "string", "minLength": 1});
        json!({"anyOf": [text, {"type": "array", "items": text, "minItems": 1}]})
    }
}

fn sought(node: &Node<'_>) -> Option<String> {
    node.read("a text that is not empty", |text| (!text.is_empty()).then(|| text.to_owned()))
}

fn says_something() -> Value {
    json!({
        "anyOf": [
            {"required": ["text"]},
            {"required": ["parts"]},
            {"required": ["cancel"], "properties": {"cancel": {"const": true}}},
        ],
        "not": {"required": ["text", "parts"]},
    })
}

/// The word for an answer without a task, used instead of a state.
const MESSAGE: &str = "message";

/// Returns the accepted values of `state`: the states, and [`MESSAGE`].
fn endings() -> Vec<&'static str> {
    [&STATES[..], &[MESSAGE]].concat()
}

/// Reads the turns of `evaluator = "conversation"`.
pub(super) fn conversation(config: &mut Table<'_>, roles: &DeclaredRoles) -> Option<Evaluator> {
    const EXPECTED: &str = "at least one [[config.turn]] with a message";
    let keys = ConversationKeys::of(config)?;
    if let Some(node) = keys.evaluator.node() {
        roles.reject_clients(node);
    }
    let node = keys.turn.need(EXPECTED)?;
    let tables = node.list()?;
    if tables.is_empty() {
        return node.expected(EXPECTED);
    }
    let mut turns: Vec<ConversationTurn> = Vec::new();
    for node in &tables {
        if let Some(next) = node.table().and_then(|mut table| turn(&mut table, roles)) {
            check_cancelation(node, &next, &turns);
            turns.push(next);
        }
    }
    let credentials = keys.credential.tables(|table| credential::credential(table, roles));
    Some(Evaluator::Conversation(Conversation { turns, credentials }))
}

/// Reports a turn that only cancels, if no earlier turn can have begun a task.
fn check_cancelation(node: &Node<'_>, turn: &ConversationTurn, earlier: &[ConversationTurn]) {
    let begins_task = |one: &ConversationTurn| one.to == turn.to && !one.parts.is_empty();
    if !turn.cancel || !turn.parts.is_empty() || earlier.iter().any(begins_task) {
        return;
    }
    if let Some(cancel) = node.table().and_then(|mut table| table.get("cancel")) {
        cancel.expected::<()>("a message to the same role before, whose task it cancels");
    }
}

/// Reads the receiver, which must be an agent and no server.
fn receiver(node: &Node<'_>, roles: &DeclaredRoles) -> Option<String> {
    let role = roles.check(node.text()?, &[], node)?;
    let agent = roles.agents.iter().find(|agent| agent.role == role);
    match agent.is_some_and(|agent| agent.server_kind == ServerKind::Server) {
        true => node.expected("the role of an agent; a server does not speak A2A"),
        false => Some(role),
    }
}

fn turn(table: &mut Table<'_>, roles: &DeclaredRoles) -> Option<ConversationTurn> {
    let keys = TurnKeys::of(table)?;
    let to = keys.to.need("the role of the agent that gets the message");
    let to = to.and_then(|node| receiver(node, roles));
    if !keys.cancel && keys.text.node().is_none() && keys.parts.node().is_none() {
        keys.text.missing::<()>("text, parts or cancel = true");
    }
    // A turn without a role is dropped, but its other keys are still checked.
    Some(ConversationTurn {
        line: table.line(),
        to: to.unwrap_or_default(),
        parts: keys.message(),
        expect: keys.checks(table.line()),
        version: keys.version,
        binding: keys.binding,
        extensions: keys.extensions,
        stream: keys.stream,
        cancel: keys.cancel,
        after: keys.after,
        fresh: keys.fresh,
        state: keys.state,
    })
}

impl TurnKeys<'_> {
    /// Returns the checks of the answer, in the order in which they are applied.
    fn checks(&self, line: usize) -> Vec<AnswerCheck> {
        let of_text = |check| AnswerCheck { line, not: false, path: None, check };
        let all = self.contains_all.read::<Texts>().unwrap_or_default();
        let contained = self.contains.iter().cloned().chain(all);
        let contained = contained.map(|text| Check::Contains(text.into()));
        let any = self.contains_any.read::<Texts>().map(Check::ContainsAny);
        let pattern = self.matches.node().and_then(pattern).map(Check::Matches);
        let others = self.expect.tables(answer_check);
        contained.chain(any).chain(pattern).map(of_text).chain(others).collect()
    }

    fn message(&self) -> Vec<Value> {
        if let (Some(_), Some(parts)) = (self.text.node(), self.parts.node()) {
            let advice = "write the text as one of the parts, { text = \"...\" }";
            parts.report(Problem::Together { other: "text", advice });
        }
        let text = self.text.read::<String>().map(|text| json!({"text": text}));
        let parts = self.parts.node().and_then(part::parts);
        text.into_iter().chain(parts.unwrap_or_default()).collect()
    }
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
            Green::Builtin(Evaluator::Conversation(conversation)) => conversation.turns,
            other => panic!("the evaluator is a conversation, not {other:?}"),
        }
    }

    #[test]
    fn a_turn_is_read_with_all_its_keys() {
        let turns = turns_of(scenario_of(&format!(
            "{HEAD}[[config.turn]]\nto = 'a'\ntext = 'hi'\nversion = '0.3'\nbinding = 'rest'\nextensions = ['urn:a', 'urn:b']\nstream = true\ncancel = true\n\
             after = '2s'\nfresh = true\nstate = 'canceled'\ncontains = 'bye'\ncontains_all = ['good', 'day']\ncontains_any = ['a.', 'b']\nmatches = 'b.e'\n\
             expect = [{{ path = '/a', not = true, eq = 1 }}]\n\
             [[config.turn]]\nto = 'a'\ncancel = true\n"
        )));
        let [first, second] = &turns[..] else {
            panic!("there are two turns");
        };
        assert_eq!((first.line, second.line), (7, 23));
        assert_eq!(first.parts, [json!({"text": "hi"})]);
        assert_eq!(first.version, Some(ProtocolVersion::V0_3));
        assert_eq!(first.binding, Some(ProtocolBinding::Rest));
        assert_eq!(first.extensions, ["urn:a", "urn:b"]);
        assert!(first.stream && first.cancel && first.fresh);
        assert_eq!(first.after, Some(Duration::from_secs(2)));
        assert_eq!(first.state.as_deref(), Some("canceled"));
        let checks: Vec<_> = first
            .expect
            .iter()
            .map(|one| (one.line, one.not, format!("{:?}", one.check)))
            .collect();
        let expected = [
            (7, false, "Contains(String(\"bye\"))"),
            (7, false, "Contains(String(\"good\"))"),
            (7, false, "Contains(String(\"day\"))"),
            (7, false, "ContainsAny([\"a.\", \"b\"])"),
            (7, false, "Matches(Regex(\"b.e\"))"),
            (22, true, "Eq(Number(1))"),
        ];
        assert_eq!(checks, expected.map(|(line, not, check)| (line, not, check.to_owned())));
        assert!(second.parts.is_empty() && second.cancel && !second.fresh);
    }

    #[test]
    fn mistakes_of_a_turn_are_reported_at_their_key() {
        for (turn, expected) in [
            (
                "to = 'b'\ntext = ''",
                "a.toml:8:6: config.turn[0].to: no agent has the role \"b\"; expected one of: a",
            ),
            (
                "to = 'green'\ntext = ''",
                "a.toml:8:6: config.turn[0].to: no agent has the role \"green\"",
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
                "to = 'a'\ntext = ''\nmatches = '('",
                "a.toml:10:11: config.turn[0].matches: expected a regular expression, found \"(\": unclosed group",
            ),
            (
                "to = 'a'\ntext = ''\ncontains = ['a']",
                "a.toml:10:12: config.turn[0].contains: expected text, found a list of 1",
            ),
            (
                "to = 'a'\ntext = ''\ncontains_any = ['a', '']",
                "a.toml:10:22: config.turn[0].contains_any[1]: expected a text that is not empty, found \"\"",
            ),
            (
                "to = 'a'\ntext = ''\ncontains_all = []",
                "a.toml:10:16: config.turn[0].contains_all: expected at least one text, found a list of 0",
            ),
            (
                "to = 'a'\ntext = ''\nexpect = [{ on = 'score', eq = 1 }]",
                "a.toml:10:18: config.turn[0].expect[0].on: expected it only in [[harness.expect]], since a turn checks its answer",
            ),
            (
                "to = 'a'\ntext = ''\nexpect = [{ path = 'a', eq = 1 }]",
                "a.toml:10:20: config.turn[0].expect[0].path: expected a JSON pointer such as",
            ),
            (
                "to = 'a'\ntext = ''\nexpect = [{ not = true }]",
                "a.toml:10:11: config.turn[0].expect[0].eq: missing; expected exactly one of eq, ne",
            ),
            (
                "to = 'a'\ncancel = true",
                "a.toml:9:10: config.turn[0].cancel: expected a message to the same role before, whose task it cancels",
            ),
            (
                "to = 'b'\ntext = 'hi'\n[[config.turn]]\nto = 'a'\ncancel = true\n\
                 [[participants]]\nrole = 'b'\nendpoint = 'http://h'",
                "a.toml:12:10: config.turn[1].cancel: expected a message to the same role before, whose task it cancels",
            ),
            (
                "to = 'tools'\ntext = 'hi'\n[[participants]]\nrole = 'tools'\nserver = 'http://h'",
                "a.toml:8:6: config.turn[0].to: expected the role of an agent; a server does not speak A2A",
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

    #[test]
    fn a_misspelled_key_of_the_evaluator_is_an_error() {
        for (line, expected) in [
            (
                "[[config.credentials]]\nagent = 'a'\n",
                "config.credentials: unknown key; did you mean credential?",
            ),
            (
                "[config.turn]\nto = 'a'\n",
                "config.turn: expected a list, whose tables begin with [[config.turn]], found a table",
            ),
        ] {
            let errors = errors_of(&format!("{HEAD}{line}"));
            assert!(errors.contains(expected), "{line}: {errors}");
        }
    }
}
