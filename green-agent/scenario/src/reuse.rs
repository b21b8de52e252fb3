//! Finds the agents that can be kept from one trial to the next, with `harness.reuse = "agents"`.

use super::{
    episode::{Delivery, Direction},
    model::{Agent, Evaluator, Green, Reuse, Scenario},
};

/// The variables that differ from trial to trial.
const PER_TRIAL: [&str; 2] = ["HARNESS_SEED", "HARNESS_TRIAL"];

/// Returns the reason why the agents of a scenario with `reuse = "agents"` cannot be kept, if there is one: a key of the file, such as
/// `participants[0].cmd`, and which part of it belongs to one trial only.
pub fn obstacle(scenario: &Scenario) -> Option<String> {
    if scenario.harness.reuse == Reuse::Nothing {
        return None;
    }
    let participants = scenario.participants.iter().enumerate();
    let mut participants = participants.map(|(at, one)| (format!("participants[{at}]"), one));
    let of_participant = participants.find_map(|(key, agent)| of_agent(&key, agent));
    of_participant.or_else(|| match &scenario.green {
        Green::Agent(green) => of_agent("green_agent", green),
        Green::Builtin(evaluator) => of_evaluator(evaluator),
    })
}

fn of_evaluator(evaluator: &Evaluator) -> Option<String> {
    let Evaluator::Episode(episode) = evaluator else {
        return None;
    };
    let obstacle = match (episode.direction, episode.delivery) {
        (Direction::PurpleCalls, _) => {
            "config.direction is \"purple-calls\", and a participant that calls is run once for each trial"
        }
        (Direction::GreenCalls, Delivery::Preset) => {
            "config.delivery is \"preset\", which gives a participant the connection details of one trial before it starts"
        }
        (Direction::GreenCalls, Delivery::Messages | Delivery::Synchronous) => return None,
    };
    Some(obstacle.to_owned())
}

fn of_agent(key: &str, agent: &Agent) -> Option<String> {
    if agent.start.is_client() {
        return Some(format!(
            "{key}.cmd names {{green}}, and a program that calls ends with its trial"
        ));
    }
    let words = agent.start.words().iter();
    let words = words.map(|word| (format!("{key}.cmd"), word));
    let env = agent.env.iter();
    let env = env.map(|(name, value)| (format!("{key}.env.{name}"), value));
    words.chain(env).find_map(|(key, text)| {
        let variable = PER_TRIAL.iter().find(|name| text.contains(**name))?;
        Some(format!("{key} refers to {variable}, which differs from trial to trial"))
    })
}

#[cfg(test)]
mod tests {
    use crate::tests::{errors_of, scenario_of};

    const KEPT: &str = "[harness]\nversion = 1\nreuse = 'agents'\n";

    #[test]
    fn keys_that_belong_to_one_trial_are_refused() {
        let green = "[green_agent]\nendpoint = 'http://127.0.0.1:1'\n";
        let episode = "[green_agent]\n[[participants]]\nrole = 'a'\npolicy = 'sum-and-shop'\n\
                       [config]\nevaluator = 'episode'\nenvironment = 'sum'\n";
        for (text, expected) in [
            (
                format!("{green}[[participants]]\nrole = 'a'\ncmd = 'a {{green}}'\n"),
                "participants[0].cmd names {green}, and a program that calls ends with its trial",
            ),
            (
                format!(
                    "{green}[[participants]]\nrole = 'a'\nendpoint = 'http://127.0.0.1:2'\n\
                         cmd = \"sh -c 'agent 2 --seed $HARNESS_SEED'\"\n"
                ),
                "participants[0].cmd refers to HARNESS_SEED, which differs from trial to trial",
            ),
            (
                format!("{green}cmd = 'green 1'\nenv = {{ N = '${{HARNESS_TRIAL}}' }}\n"),
                "green_agent.env.N refers to HARNESS_TRIAL, which differs",
            ),
            (
                format!("{episode}direction = 'purple-calls'\n"),
                "config.direction is \"purple-calls\", and",
            ),
            (
                format!("{episode}delivery = 'preset'\n"),
                "config.delivery is \"preset\", which gives",
            ),
        ] {
            let errors = errors_of(&format!("{text}{KEPT}"));
            let expected =
                format!("harness.reuse: agents cannot be kept between trials: {expected}");
            assert!(errors.contains(&expected), "{errors}");
            assert_eq!(errors.lines().count(), 1, "{errors}");
            scenario_of(&text);
        }
        scenario_of(&format!("{episode}{KEPT}"));
    }
}
