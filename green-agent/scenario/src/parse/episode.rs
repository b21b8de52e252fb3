//! Reads the `[config]` of `evaluator = "episode"`.

use std::time::Duration;

use mcp_tools::environments::BUILTINS;
use serde_json::json;

use super::{
    credential::{self, CredentialKeys},
    green::EPISODE,
    roles::DeclaredRoles,
    values::{Positive, choices, one_of},
};
use crate::{
    duration::Limit,
    episode::{
        Acknowledge, Delivery, DetailsShape, Direction, Episode, EpisodeLimits, McpTransport,
        TokenKind,
    },
    model::{Agent, Evaluator, ServerKind, Start},
    reader::{Key, Table, kind, table},
};

table! {
    /// The settings of the built-in evaluator that has one participant work in an environment, over MCP.
    pub(crate) struct EpisodeKeys<'a> as "Episode", closed {
        /// The name of the built-in evaluator.
        later_required evaluator: Key<'a> as String {"const": EPISODE},
        /// The name of the built-in environment, which is created from the trial's seed.
        later_required environment: Key<'a> as String {"enum": BUILTINS.map(|(name, _)| name)},
        /// The credentials that the participant is sent.
        later credential: Key<'a> as Vec<CredentialKeys<'a>>,
        /// The direction of A2A calls: green-calls, as in AgentBeats, or purple-calls.
        later direction: Key<'a> as Direction = "green-calls",
        /// The form in which connection details are sent: data parts, nested in a data part, or a text.
        /// With text the whole message is text, for participants that read nothing else.
        default details: DetailsShape = "data",
        /// The MCP transport to the environment: http, or a program over stdio that relays to it.
        default transport: McpTransport = "http",
        /// How details are delivered: in messages; with purple-calls also in a synchronous reply; or preset in a
        /// policy, which has them from the start.
        later delivery: Key<'a> as Delivery = "messages",
        /// The token in the details. A participant must get access with the valid one only.
        default token: TokenKind = "valid",
        /// The participant's limits.
        default limits: Limits = {},
        /// Whether messages are repeated until a participant that supports it acknowledges them.
        optional acknowledge: Option<Acknowledge> as Acknowledging,
    }
}

table! {
    /// The participant's limits.
    pub(crate) struct Limits as "Limits", closed {
        /// The most calls of the environment's tools.
        optional steps: u32 as Positive,
        /// The longest time from the episode's beginning to its end.
        optional time: Duration as Limit,
    }
}

kind! { impl Direction => one_of; |_| choices::<Direction>() }
kind! { impl DetailsShape => one_of; |_| choices::<DetailsShape>() }
kind! { impl McpTransport => one_of; |_| choices::<McpTransport>() }
kind! { impl Delivery => one_of; |_| choices::<Delivery>() }
kind! { impl TokenKind => one_of; |_| choices::<TokenKind>() }

kind! {
    /// Whether messages are to be acknowledged: true, false, or a table with details.
    enum Acknowledging as "Acknowledge" => Option<Acknowledge>, |node| {
        node.settings_or_flag("true, false, or a table with after and resend", Acknowledge::of)
    };
    |generator| {
        let settings = generator.subschema_for::<Acknowledge>();
        json!({"anyOf": [generator.subschema_for::<bool>(), settings]})
    }
}

pub(super) fn episode(config: &mut Table<'_>, roles: &DeclaredRoles) -> Option<Evaluator> {
    let keys = EpisodeKeys::of(config)?;
    let names = BUILTINS.map(|(name, _)| name);
    let expected = format!("a built-in environment: {}", names.join(", "));
    let environment = keys.environment.need(&expected).and_then(|node| {
        node.read(&expected, |name| names.contains(&name).then(|| name.to_owned()))
    });
    let default = EpisodeLimits::default();
    // An episode without an environment is dropped, but its other keys are still checked.
    let episode = Episode {
        environment: environment.clone().unwrap_or_default(),
        direction: keys.direction.read::<Direction>().unwrap_or_default(),
        details: keys.details,
        transport: keys.transport,
        delivery: keys.delivery.read::<Delivery>().unwrap_or_default(),
        token: keys.token,
        limits: EpisodeLimits {
            steps: keys.limits.steps.unwrap_or(default.steps),
            time: keys.limits.time.unwrap_or(default.time),
        },
        acknowledge: keys.acknowledge.flatten(),
        credentials: keys.credential.tables(|table| credential::credential(table, roles)),
    };
    check(&keys, &episode, roles);
    environment.map(|_| Evaluator::Episode(episode))
}

/// Checks that the direction of calls is possible, and that no key is set which the direction ignores.
fn check(keys: &EpisodeKeys<'_>, episode: &Episode, roles: &DeclaredRoles) {
    let is_agent = |agent: &&Agent| agent.server_kind == ServerKind::Agent;
    let agents: Vec<&Agent> = roles.agents.iter().filter(is_agent).collect();
    let [agent] = agents[..] else {
        // A participant may be missing because of another mistake, which is reported at its place.
        if let (false, Some(node)) = (roles.has_mistakes(), keys.evaluator.node()) {
            let found = agents.len();
            node.expected::<()>(format!("one participant for it, not {found}"));
        }
        return;
    };
    let wrong = match (episode.direction, &agent.start) {
        (Direction::GreenCalls, Start::Client { .. }) => {
            Some("purple-calls, because the participant does not listen")
        }
        (Direction::PurpleCalls, Start::Policy(_) | Start::Client { .. })
        | (Direction::GreenCalls, _) => None,
        (Direction::PurpleCalls, _) => {
            Some("green-calls, because only a policy, or a cmd that names {green}, calls")
        }
    };
    if let Some(expected) = wrong {
        match keys.direction.node() {
            Some(node) => node.expected::<()>(expected),
            None => keys.direction.missing(expected),
        };
    }
    let delivered = match (episode.delivery, episode.direction, &agent.start) {
        (Delivery::Synchronous, Direction::GreenCalls, _) => {
            Some("messages where green-calls, because there is no reply to put details into")
        }
        (Delivery::Preset, _, start) if !matches!(start, Start::Policy(_)) => {
            Some("messages, because only a policy can be set up beforehand")
        }
        (Delivery::Messages | Delivery::Synchronous | Delivery::Preset, _, _) => None,
    };
    if let (Some(expected), Some(node)) = (delivered, keys.delivery.node()) {
        node.expected::<()>(expected);
    }
    if let (Direction::PurpleCalls, Some(node)) = (episode.direction, keys.credential.node()) {
        node.expected::<()>("credentials only where green-calls, because the participant calls");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        episode::{DetailsShape, McpTransport, TokenKind},
        model::Green,
        tests::{errors_of, scenario_of},
    };

    const HEAD: &str = "[green_agent]\n[[participants]]\nrole = 'a'\npolicy = 'sum-and-shop'\n\
                        [config]\nevaluator = 'episode'\n";

    #[test]
    fn every_key_is_read() {
        let scenario = scenario_of(&format!(
            "{HEAD}environment = 'shop'\ndirection = 'purple-calls'\ndetails = 'text'\n\
             transport = 'stdio'\ndelivery = 'synchronous'\ntoken = 'foreign'\n\
             limits = {{ steps = 7, time = '9s' }}\nacknowledge = {{ after = '1s', resend = 3 }}\n"
        ));
        let Green::Builtin(Evaluator::Episode(episode)) = scenario.green else {
            panic!("the evaluator is an episode");
        };
        let expected = Episode {
            direction: Direction::PurpleCalls,
            details: DetailsShape::Text,
            transport: McpTransport::Stdio,
            delivery: Delivery::Synchronous,
            token: TokenKind::Foreign,
            limits: EpisodeLimits { steps: 7, time: Duration::from_secs(9) },
            acknowledge: Some(Acknowledge { after: Duration::from_secs(1), resend: 3 }),
            ..Episode::new("shop")
        };
        assert_eq!(episode, expected);
    }

    #[test]
    fn mistakes_are_reported_at_their_key() {
        for (keys, expected) in [
            (
                "",
                "a.toml:5:1: config.environment: missing; expected a built-in environment: sum, shop",
            ),
            (
                "environment = 'x'",
                "a.toml:7:15: config.environment: expected a built-in environment: ",
            ),
            (
                "environment = 'sum'\ndetail = 'text'",
                "a.toml:8:1: config.detail: unknown key; did you mean details?",
            ),
            (
                "environment = 'sum'\ntoken = 'old'",
                "a.toml:8:9: config.token: expected one of valid, wrong, expired, foreign, found",
            ),
            (
                "environment = 'sum'\nlimits = { steps = 0 }",
                "a.toml:8:20: config.limits.steps: expected a whole number of at least 1",
            ),
            (
                "environment = 'sum'\nacknowledge = 'yes'",
                "a.toml:8:15: config.acknowledge: expected true, false, or a table",
            ),
            (
                "environment = 'sum'\ndelivery = 'synchronous'",
                "a.toml:8:12: config.delivery: expected messages where green-calls",
            ),
            (
                "environment = 'sum'\ndirection = 'purple-calls'\n[[config.credential]]\nagent = 'a'\n\
                 header = 'X'\nsecret = { env = 'A' }",
                "a.toml:9:1: config.credential: expected credentials only where green-calls",
            ),
        ] {
            let errors = errors_of(&format!("{HEAD}{keys}\n"));
            assert!(errors.starts_with(expected), "{errors}");
            assert_eq!(errors.lines().count(), 1, "{errors}");
        }
    }

    #[test]
    fn servers_may_be_beside_the_agent() {
        let scenario = scenario_of(
            "[green_agent]\n[[participants]]\nrole = 'model'\nserver = 'http://127.0.0.1:9301'\n\
             [[participants]]\nrole = 'a'\npolicy = 'heuristic'\n\
             [config]\nevaluator = 'episode'\nenvironment = 'sum'\n",
        );
        assert_eq!(scenario.worker().unwrap().role, "a");
    }

    #[test]
    fn a_calling_participant_must_be_able_to_call() {
        for (participants, direction, expected) in [
            (
                "[[participants]]\nrole = 'a'\nendpoint = 'http://h'\n",
                "direction = 'purple-calls'",
                "config.direction: expected green-calls, because only a policy",
            ),
            (
                "[[participants]]\nrole = 'a'\ncmd = 'purple-agent run --green {green}'\n",
                "",
                "config.direction: missing; expected purple-calls, because the participant does not listen",
            ),
            ("", "", "config.evaluator: expected one participant for it, not 0"),
        ] {
            let errors = errors_of(&format!(
                "[green_agent]\n{participants}[config]\nevaluator = 'episode'\nenvironment = 'sum'\n{direction}\n"
            ));
            assert!(errors.contains(expected), "{errors}");
            assert_eq!(errors.lines().count(), 1, "{errors}");
        }
    }
}
