//! The hops of a trial: the pairs of parties that call each other, and the recorder's addresses for callers.

use std::collections::BTreeMap;

use url::{Position, Url};

use super::trial_agents::TrialAgents;
use crate::{
    evaluator::episode::MCP_PATH,
    recorder::HopSpec,
    scenario::{
        episode::{Direction, McpTransport},
        model::{Agent, ENVIRONMENT, Evaluator, GREEN, Green, Scenario, ServerKind},
        placeholder,
    },
    transcript::Hop,
};

/// The role of the environment in transcripts.
pub(super) const ENVIRONMENT_ROLE: &str = "environment";

/// Returns the hop over which an agent is called.
pub(super) fn hop_to(scenario: &Scenario, role: &str) -> Hop {
    match &scenario.green {
        Green::Agent(green) if green.role == role => Hop::new("runner", role),
        Green::Agent(_) | Green::Builtin(_) => Hop::new("green", role),
    }
}

/// Returns the hop over which a participant works in an environment.
pub(super) fn to_environment(role: &str) -> Hop {
    Hop::new(role, ENVIRONMENT_ROLE)
}

/// Returns the hop over which a participant asks for an evaluation.
pub(super) fn to_green(role: &str) -> Hop {
    Hop::new(role, "green")
}

/// Returns whether the scenario is an episode that its participant asks for.
pub(super) fn is_asked_for(scenario: &Scenario) -> bool {
    matches!(&scenario.green, Green::Builtin(Evaluator::Episode(episode)) if episode.direction == Direction::PurpleCalls)
}

/// Returns the participant that calls the green agent instead of being called, if there is one.
pub(super) fn caller(scenario: &Scenario) -> Option<&str> {
    let asks = match &scenario.green {
        Green::Builtin(_) => is_asked_for(scenario),
        Green::Agent(_) => scenario.participants.iter().any(|agent| agent.start.is_client()),
    };
    let agent = scenario.worker().filter(|_| asks)?;
    Some(&agent.role)
}

/// Returns every hop of a trial. Each is recorded separately, so that the transcript shows the sender of each message.
pub(super) fn hops(scenario: &Scenario, agents: &TrialAgents) -> Vec<HopSpec> {
    let mut hops: Vec<HopSpec> = agents
        .handles
        .iter()
        .filter(|handle| handle.server_kind == ServerKind::Agent || scenario.asks(&handle.role))
        .filter_map(|handle| {
            let upstream = handle.endpoint.clone()?;
            let hop = hop_to(scenario, &handle.role);
            Some(spec(scenario, &handle.role, hop, upstream))
        })
        .collect();
    hops.extend(of_participant(scenario, agents));
    hops.extend(among_participants(scenario, agents));
    hops
}

/// Returns the hop to the agent in a role, with the port of its endpoint in the file if it listens at another one.
fn spec(scenario: &Scenario, role: &str, hop: Hop, upstream: Url) -> HopSpec {
    let agent = scenario.agents().find(|agent| agent.role == role);
    let written = agent.and_then(|agent| agent.start.program()?.0.port_or_known_default());
    let written_port = written.filter(|port| upstream.port_or_known_default() != Some(*port));
    HopSpec { hop, upstream, written_port }
}

/// Returns the hop over which a participant reaches another. For its own role that is the hop from the evaluator,
/// because an agent announces its own address to the evaluator.
pub(super) fn known_to(scenario: &Scenario, from: &str, role: &str) -> Hop {
    if from == role { hop_to(scenario, role) } else { Hop::new(from, role) }
}

/// Returns the hops between participants: one wherever a participant names another's role.
fn among_participants(scenario: &Scenario, agents: &TrialAgents) -> Vec<HopSpec> {
    let all = &scenario.participants;
    let pairs = all.iter().flat_map(|from| all.iter().map(move |to| (from, to)));
    let knows = |from: &Agent, to: &Agent| {
        from.knows(&to.role) || from.answers(to) || scenario.tells(&from.role, &to.role)
    };
    let known = pairs.filter(|(from, to)| from.role != to.role && knows(from, to));
    let specs = known.filter_map(|(from, to)| {
        let upstream = agents.endpoint(&to.role)?;
        let hop = Hop::new(&from.role, &to.role);
        Some(spec(scenario, &to.role, hop, upstream))
    });
    specs.collect()
}

/// Returns the hops over which the only participant calls the green agent and its environment.
fn of_participant(scenario: &Scenario, agents: &TrialAgents) -> Vec<HopSpec> {
    let Some(role) = scenario.worker().map(|agent| &agent.role) else {
        return Vec::new();
    };
    let green = match (&scenario.green, &agents.environment_server) {
        (Green::Builtin(_), Some(environment_server)) => Some(environment_server.url().clone()),
        (Green::Builtin(_), None) => None,
        (Green::Agent(green), _) => agents.endpoint(&green.role),
    };
    let Some(green) = green else {
        return Vec::new();
    };
    let asks =
        caller(scenario).is_some().then(|| spec(scenario, GREEN, to_green(role), green.clone()));
    let works = environment(scenario, &green)
        .map(|upstream| spec(scenario, GREEN, to_environment(role), upstream));
    asks.into_iter().chain(works).collect()
}

/// Returns the address of the environment in which the participant works over HTTP.
fn environment(scenario: &Scenario, green: &Url) -> Option<Url> {
    match &scenario.green {
        Green::Builtin(Evaluator::Episode(episode)) => match episode.transport {
            McpTransport::Http => green.join(MCP_PATH).ok(),
            // With stdio, a wrapper program reports to the recorder instead.
            McpTransport::Stdio => None,
        },
        Green::Builtin(Evaluator::Conversation(_) | Evaluator::Pipeline(_)) => None,
        Green::Agent(agent) => {
            let (_, cmd) = agent.start.program()?;
            let is_named = cmd.iter().any(|word| word.contains(ENVIRONMENT));
            is_named.then(|| Url::parse(&green[..Position::BeforePath]).ok())?
        }
    }
}

/// Returns the roles by address: by origin (scheme, host and port), and by origin and path of agents that share an origin. At
/// such an origin are the roles of all of them. Queries are left out, because they may have secrets.
pub(super) fn roles_by_address<'a>(
    agents: impl IntoIterator<Item = (&'a Url, &'a str)>,
) -> BTreeMap<String, String> {
    let mut by_origin: BTreeMap<String, Vec<(String, &str)>> = BTreeMap::new();
    for (endpoint, role) in agents {
        let origin = endpoint.origin().ascii_serialization();
        let address = format!("{origin}{}", endpoint.path().trim_end_matches('/'));
        by_origin.entry(origin).or_default().push((address, role));
    }
    let mut roles = BTreeMap::new();
    for (origin, agents) in by_origin {
        let all: Vec<&str> = agents.iter().map(|(_, role)| *role).collect();
        roles.insert(origin, all.join("+"));
        if agents.len() == 1 {
            continue;
        }
        for (address, _) in &agents {
            let here = agents.iter().filter(|(other, _)| other == address);
            let here: Vec<&str> = here.map(|(_, role)| *role).collect();
            roles.insert(address.clone(), here.join("+"));
        }
    }
    roles
}

/// Returns the evaluator with the placeholders of participants in its turns replaced by the addresses at which each
/// receiver reaches them; `url` returns the address of a hop.
pub(super) fn with_addresses(scenario: &Scenario, url: impl Fn(&Hop) -> Option<Url>) -> Green {
    let mut green = scenario.green.clone();
    if let Green::Builtin(Evaluator::Conversation(conversation)) = &mut green {
        for turn in &mut conversation.turns {
            for other in &scenario.participants {
                let Some(url) = url(&known_to(scenario, &turn.to, &other.role)) else {
                    continue;
                };
                for part in &mut turn.parts {
                    placeholder::fill_value(part, &other.role, url.as_str());
                }
            }
        }
    }
    green
}

/// Replaces [`GREEN`] and [`ENVIRONMENT`] in a command with addresses; `url` returns the address of a hop.
pub(super) fn fill_in(argv: &mut [String], scenario: &Scenario, url: impl Fn(&Hop) -> Option<Url>) {
    let Some(role) = scenario.worker().map(|agent| &agent.role) else {
        return;
    };
    let green = url(&to_green(role)).map(|url| url.to_string());
    let origin = |url: Url| url[..Position::BeforePath].to_owned();
    let environment = url(&to_environment(role)).map(origin);
    for word in argv {
        for (placeholder, value) in [(GREEN, &green), (ENVIRONMENT, &environment)] {
            if let Some(value) = value {
                *word = word.replace(placeholder, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::scenario::parse;

    #[test]
    fn callers_get_the_recorders_addresses() {
        let text = "[green_agent]\nendpoint = 'http://127.0.0.1:9009'\ncmd = 'green --mcp {environment}/mcp'\n\
                    [[participants]]\nrole = 'purple'\ncmd = 'purple {green}'\n";
        let scenario = parse(Path::new("a.toml"), text).unwrap();
        assert_eq!(caller(&scenario), Some("purple"));
        let mut argv = ["{environment}/mcp", "{green}", "{other}"].map(str::to_owned);
        fill_in(&mut argv, &scenario, |hop| {
            let port = if hop.to == "green" { 1 } else { 2 };
            Url::parse(&format!("http://127.0.0.1:{port}/")).ok()
        });
        let expected = ["http://127.0.0.1:2/mcp", "http://127.0.0.1:1/", "{other}"];
        assert_eq!(argv, expected);
    }

    #[test]
    fn agents_at_one_origin_keep_their_roles() {
        let roles = |agents: &[(&str, &'static str)]| {
            let urls: Vec<(Url, &str)> =
                agents.iter().map(|(url, role)| (Url::parse(url).unwrap(), *role)).collect();
            let roles = roles_by_address(urls.iter().map(|(url, role)| (url, *role)));
            Vec::from_iter(roles)
        };
        let expected = |roles: &[(&str, &str)]| {
            let owned =
                |(address, role): &(&str, &str)| ((*address).to_owned(), (*role).to_owned());
            roles.iter().map(owned).collect::<Vec<_>>()
        };
        assert_eq!(
            roles(&[("http://h:1/x", "a"), ("http://h:2", "b")]),
            expected(&[("http://h:1", "a"), ("http://h:2", "b")])
        );
        assert_eq!(
            roles(&[("http://h:1/x/", "a"), ("http://h:1/y", "b")]),
            expected(&[("http://h:1", "a+b"), ("http://h:1/x", "a"), ("http://h:1/y", "b")])
        );
        assert_eq!(
            roles(&[("http://h:1/", "a"), ("http://h:1/y", "b"), ("http://h:1/y", "c")]),
            expected(&[("http://h:1", "a"), ("http://h:1/y", "b+c")])
        );
        assert_eq!(
            roles(&[("http://h:1/x?api_key=s-1", "a"), ("http://me:s-2@h:1/y", "b")]),
            expected(&[("http://h:1", "a+b"), ("http://h:1/x", "a"), ("http://h:1/y", "b")])
        );
    }

    #[test]
    fn a_turn_tells_its_receiver_the_addresses_that_it_names() {
        let text = "[green_agent]\n[[participants]]\nrole = 'purple'\nbuiltin = 'sample'\n\
                    [[participants]]\nrole = 'shop'\nserver = 'http://127.0.0.1:9020'\n[config]\n\
                    evaluator = 'conversation'\n[[config.turn]]\nto = 'purple'\n\
                    parts = [{ text = 'Use {shop}/mcp, not {other}' }, { data = { url = ['{shop}/mcp'] } }]\n\
                    [harness]\nversion = 1\n";
        let scenario = parse(Path::new("a.toml"), text).unwrap();
        assert!(scenario.tells("purple", "shop") && !scenario.tells("shop", "purple"));
        let green = with_addresses(&scenario, |hop| {
            (*hop == Hop::new("purple", "shop")).then(|| Url::parse("http://127.0.0.1:1/").unwrap())
        });
        let Green::Builtin(Evaluator::Conversation(conversation)) = green else {
            panic!("the evaluator is a conversation");
        };
        let expected = [
            json!({"text": "Use http://127.0.0.1:1/mcp, not {other}"}),
            json!({"data": {"url": ["http://127.0.0.1:1/mcp"]}}),
        ];
        assert_eq!(conversation.turns[0].parts, expected);
    }

    #[test]
    fn a_green_agent_reaches_the_servers_that_it_names() {
        let text = "[green_agent]\nendpoint = 'http://127.0.0.1:9009'\ncmd = 'green'\nenv = { BASE_URL = '{model}/v1' }\n\
                    [[participants]]\nrole = 'model'\nserver = 'http://127.0.0.1:9020'\n\
                    [[participants]]\nrole = 'site'\nserver = 'http://127.0.0.1:9021'\n[harness]\nversion = 1\n";
        let scenario = parse(Path::new("a.toml"), text).unwrap();
        assert!(scenario.asks("model") && !scenario.asks("site"));
        let hop = known_to(&scenario, "green", "model");
        assert_eq!(hop, hop_to(&scenario, "model"));
    }
}
