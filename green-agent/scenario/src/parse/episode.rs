//! Reads the `[config]` of `evaluator = "episode"`.

use clap::ValueEnum;
use mcp_tools::environments::BUILTINS;

use super::{roles::DeclaredRoles, values};
use crate::{
    episode::{Acknowledge, Delivery, Direction, Episode, EpisodeLimits, names},
    model::{Agent, Evaluator, Listens, Start},
    reader::{FlagOrTable, Node, Table},
};

pub(super) fn episode(config: &mut Table<'_>, roles: &DeclaredRoles) -> Option<Evaluator> {
    let _ = config.get("evaluator");
    let names = BUILTINS.map(|(name, _)| name);
    let expected = format!("a built-in environment: {}", names.join(", "));
    let environment = config.need("environment", &expected).and_then(|node| {
        node.read(&expected, |name| {
            names.contains(&name).then(|| name.to_owned())
        })
    });
    // An episode without an environment is dropped, but its other keys are still checked.
    let episode = Episode {
        environment: environment.clone().unwrap_or_default(),
        direction: choice(config, "direction"),
        details: choice(config, "details"),
        transport: choice(config, "transport"),
        delivery: choice(config, "delivery"),
        token: choice(config, "token"),
        limits: config
            .table("limits")
            .map_or_else(EpisodeLimits::default, |mut table| limits(&mut table)),
        acknowledge: config
            .get("acknowledge")
            .and_then(|node| acknowledge(&node)),
    };
    check(config, &episode, roles);
    config.reject_unknown();
    environment.map(|_| Evaluator::Episode(episode))
}

/// Reads one of several words; the default if the key is absent.
fn choice<T: ValueEnum + Default>(table: &mut Table<'_>, name: &'static str) -> T {
    let Some(node) = table.get(name) else {
        return T::default();
    };
    let expected = format!("one of {}", names::<T>().join(", "));
    node.read(&expected, |text| T::from_str(text, false).ok())
        .unwrap_or_default()
}

fn limits(table: &mut Table<'_>) -> EpisodeLimits {
    let default = EpisodeLimits::default();
    let steps = table.get("steps").and_then(|node| node.integer(1));
    let time = table.get("time").and_then(|node| values::limit(&node));
    table.reject_unknown();
    EpisodeLimits {
        steps: steps.unwrap_or(default.steps),
        time: time.unwrap_or(default.time),
    }
}

fn acknowledge(node: &Node<'_>) -> Option<Acknowledge> {
    match node.flag_or_table("true, false, or a table with after and resend")? {
        FlagOrTable::Flag(asked) => asked.then(Acknowledge::default),
        FlagOrTable::Table(mut table) => {
            let default = Acknowledge::default();
            let after = table.get("after").and_then(|node| values::limit(&node));
            let resend = table.get("resend").and_then(|node| node.integer(0));
            table.reject_unknown();
            Some(Acknowledge {
                after: after.unwrap_or(default.after),
                resend: resend.unwrap_or(default.resend),
            })
        }
    }
}

/// Checks that the direction of calls is possible, and that no key is set which the direction ignores.
fn check(config: &mut Table<'_>, episode: &Episode, roles: &DeclaredRoles) {
    let is_agent = |agent: &&Agent| agent.listens == Listens::Agent;
    let agents: Vec<&Agent> = roles.agents.iter().filter(is_agent).collect();
    let [agent] = agents[..] else {
        // A participant may be missing because of another mistake, which is reported at its place.
        if let (false, Some(node)) = (roles.has_mistakes(), config.get("evaluator")) {
            let found = agents.len();
            node.expected::<()>(format!("one participant for it, not {found}"));
        }
        return;
    };
    let wrong = match (episode.direction, &agent.start) {
        (Direction::GreenCalls, Start::Client { .. }) => {
            Some("purple-calls, for the participant listens nowhere")
        }
        (Direction::PurpleCalls, Start::Policy(_) | Start::Client { .. })
        | (Direction::GreenCalls, _) => None,
        (Direction::PurpleCalls, _) => {
            Some("green-calls, for only a policy, or a cmd that names {green}, calls")
        }
    };
    if let Some(expected) = wrong {
        match config.get("direction") {
            Some(node) => node.expected::<()>(expected),
            None => config.missing("direction", expected),
        };
    }
    let delivered = match (episode.delivery, episode.direction, &agent.start) {
        (Delivery::Synchronous, Direction::GreenCalls, _) => {
            Some("messages where green-calls, for there is no reply to put details into")
        }
        (Delivery::Preset, _, start) if !matches!(start, Start::Policy(_)) => {
            Some("messages, for only a policy can be set up beforehand")
        }
        (Delivery::Messages | Delivery::Synchronous | Delivery::Preset, _, _) => None,
    };
    if let (Some(expected), Some(node)) = (delivered, config.get("delivery")) {
        node.expected::<()>(expected);
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
            limits: EpisodeLimits {
                steps: 7,
                time: Duration::from_secs(9),
            },
            acknowledge: Some(Acknowledge {
                after: Duration::from_secs(1),
                resend: 3,
            }),
            ..Episode::new("shop")
        };
        assert_eq!(episode, expected);
    }

    #[test]
    fn what_is_wrong_is_said_at_its_key() {
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
        ] {
            let errors = errors_of(&format!("{HEAD}{keys}\n"));
            assert!(errors.starts_with(expected), "{errors}");
            assert_eq!(errors.lines().count(), 1, "{errors}");
        }
    }

    #[test]
    fn servers_may_stand_beside_the_agent() {
        let scenario = scenario_of(
            "[green_agent]\n[[participants]]\nrole = 'model'\nserver = 'http://127.0.0.1:9301'\n\
             [[participants]]\nrole = 'a'\npolicy = 'heuristic'\n\
             [config]\nevaluator = 'episode'\nenvironment = 'sum'\n",
        );
        assert_eq!(scenario.worker().unwrap().role, "a");
    }

    #[test]
    fn who_calls_must_be_able_to() {
        for (participants, direction, expected) in [
            (
                "[[participants]]\nrole = 'a'\nendpoint = 'http://h'\n",
                "direction = 'purple-calls'",
                "config.direction: expected green-calls, for only a policy",
            ),
            (
                "[[participants]]\nrole = 'a'\ncmd = 'purple-agent run --green {green}'\n",
                "",
                "config.direction: missing; expected purple-calls, for the participant listens nowhere",
            ),
            (
                "",
                "",
                "config.evaluator: expected one participant for it, not 0",
            ),
        ] {
            let errors = errors_of(&format!(
                "[green_agent]\n{participants}[config]\nevaluator = 'episode'\nenvironment = 'sum'\n{direction}\n"
            ));
            assert!(errors.contains(expected), "{errors}");
            assert_eq!(errors.lines().count(), 1, "{errors}");
        }
    }
}
