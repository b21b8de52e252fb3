//! Gives participants the addresses of each other in place of `{ROLE}`, and gives policies the MCP servers and tokens
//! that they have from the start.

use std::{collections::BTreeMap, path::Path};

use bridge_program::{chain, clock};
use mcp_tools::{connection::ConnectionDetails, secret::Secret};
use url::Url;

use super::{
    Problem, ProblemKind, hops,
    hosted::{Hosted, Remote},
    trial_agents::{AgentHandle, AgentStart},
};
use crate::{
    evaluator::pipeline::Keyring,
    participant::{
        Launch,
        env_vars::{EnvVars, ResolvedEnv},
    },
    recorder::Masker,
    scenario::{
        model::{Policy, Scenario, Start},
        placeholder,
    },
    transcript::Hop,
};

/// The environment variable in which an MCP server gets the token that its users send.
pub(super) const TOKEN: &str = "MCP_TOKEN";

/// Returns a token for each MCP server whose tools a policy uses, by the server's role: the one in its own variables, which are in
/// the scenario's order of agents, or a new one. Tokens are masked in transcripts.
pub(super) fn tokens(
    scenario: &Scenario,
    variables: &[ResolvedEnv],
    masker: &Masker,
) -> BTreeMap<String, Secret> {
    let own = |role: &str| {
        let of_it = scenario.agents().zip(variables).find(|(agent, _)| agent.role == role);
        let token = of_it.and_then(|(_, variables)| variables.values.get(TOKEN));
        token.filter(|token| !token.is_empty()).cloned()
    };
    let token = |role: &str| Secret::new(own(role).unwrap_or_else(clock::new_secret));
    let servers = scenario.participants.iter().filter_map(|agent| match &agent.start {
        Start::Policy(policy) => policy.tools.clone(),
        _ => None,
    });
    let tokens: BTreeMap<String, Secret> =
        servers.map(|role| (role.clone(), token(&role))).collect();
    tokens.values().for_each(|token| masker.learn(token.expose()));
    tokens
}

/// Looks up the credentials that the built-in evaluator sends. Secrets are masked in transcripts.
pub(super) fn keyring(
    scenario: &Scenario,
    environment: &EnvVars,
    folder: &Path,
    masker: &Masker,
) -> Result<Keyring, Problem> {
    let variable = |name: &str| environment.variable(name);
    let keyring = Keyring::look_up(scenario.credentials(), variable, folder);
    let keyring = keyring.map_err(|error| ProblemKind::NotStarted.because(chain(&error)))?;
    for secret in keyring.secrets() {
        masker.learn(secret.expose());
    }
    Ok(keyring)
}

/// Gives an agent the addresses of the participants that it names; `url` returns the address of a hop.
pub(super) fn set_addresses(
    handle: &mut AgentHandle,
    scenario: &Scenario,
    tokens: &BTreeMap<String, Secret>,
    url: impl Fn(&Hop) -> Option<Url>,
) {
    if let AgentStart::Hosted { agent: Hosted::Remote(remote), .. } = &mut handle.start {
        return connect_bot(remote, &handle.role, scenario, url);
    }
    for other in &scenario.participants {
        let Some(url) = url(&hops::known_to(scenario, &handle.role, &other.role)) else {
            continue;
        };
        match &mut handle.start {
            AgentStart::Program { launch, .. } | AgentStart::Client(launch) => {
                fill(launch, &other.role, url.as_str());
            }
            AgentStart::Hosted { agent: Hosted::Policy(policy), .. }
            | AgentStart::Caller(policy) => {
                placeholder::fill_settings(&mut policy.settings, &other.role, url.as_str());
                if let Some(details) = details(policy, &other.role, &url, tokens) {
                    handle.tools = Some(details);
                }
            }
            AgentStart::Hosted { agent: Hosted::Bot(_) | Hosted::Remote(_), .. }
            | AgentStart::None => {}
        }
    }
}

/// Gives the host of a bot the addresses of the bot and of its callback. The host may have hops to others: a turn tells it the
/// addresses of servers.
fn connect_bot(
    remote: &mut Remote,
    role: &str,
    scenario: &Scenario,
    url: impl Fn(&Hop) -> Option<Url>,
) {
    let all = &scenario.participants;
    let host = all.iter().find(|one| one.role == role);
    let Some(bot) = host.and_then(|host| all.iter().find(|one| one.answers(host))) else {
        return;
    };
    remote.bot = url(&Hop::new(role, &bot.role));
    remote.callback = url(&Hop::new(&bot.role, role));
}

fn fill(launch: &mut Launch, role: &str, address: &str) {
    for text in launch.argv.iter_mut().chain(launch.env.values_mut()) {
        *text = placeholder::fill(text, role, address);
    }
}

/// Returns the connection details of the server in this role, if it is the one whose tools the policy uses.
fn details(
    policy: &Policy,
    role: &str,
    url: &Url,
    tokens: &BTreeMap<String, Secret>,
) -> Option<ConnectionDetails> {
    let token = tokens.get(role).filter(|_| policy.tools.as_deref() == Some(role))?;
    Some(ConnectionDetails::http(role, url.clone()).with_bearer(token))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::scenario::testing::scenario_of;

    #[test]
    fn a_policy_gets_the_token_that_its_server_has() {
        let server = |role: &str, own: &str| {
            format!(
                "[[participants]]\nrole = '{role}'\nserver = 'http://h/mcp'\ncmd = 'shop'\n{own}"
            )
        };
        let user = |role: &str, of: &str| {
            format!("[[participants]]\nrole = '{role}'\npolicy = 'sum-and-shop'\ntools = '{of}'\n")
        };
        let scenario = scenario_of(&format!(
            "[green_agent]\nendpoint = 'http://h'\n{}{}{}{}{}[harness]\nversion = 1\n",
            user("a", "one"),
            user("b", "other"),
            server("one", "env = { MCP_TOKEN = 'its-own' }\n"),
            server("other", "env = { MCP_TOKEN = '' }\n"),
            server("unused", "env = { MCP_TOKEN = 'unused' }\n"),
        ));
        let none = EnvVars::default();
        let variables = scenario
            .agents()
            .map(|agent| none.resolve(&agent.role, &agent.inherits, &agent.env).unwrap());
        let tokens = tokens(&scenario, &variables.collect::<Vec<_>>(), &Masker::default());
        assert_eq!(tokens.keys().collect::<Vec<_>>(), ["one", "other"]);
        assert_eq!(tokens["one"].expose(), "its-own");
        assert!(tokens["other"].expose().len() > 20);
    }

    #[test]
    fn a_message_for_a_bot_goes_to_the_bot_although_it_tells_of_a_server() {
        let scenario = scenario_of(
            "[green_agent]\n[[participants]]\nrole = 'purple'\nbot = 'http://127.0.0.1:9021/'\n\
             [[participants]]\nrole = 'shop'\nserver = 'http://127.0.0.1:9020/mcp'\n[config]\n\
             evaluator = 'conversation'\n[[config.turn]]\nto = 'purple'\ntext = 'Use {shop}'\n\
             [harness]\nversion = 1\n",
        );
        assert!(scenario.tells("purple", "shop"));
        let mut remote = Remote::new(Duration::from_secs(1));
        let url = |hop: &Hop| Url::parse(&format!("http://{}.to.{}/", hop.from, hop.to)).ok();
        connect_bot(&mut remote, "purple", &scenario, url);
        let shown = |url: &Option<Url>| url.as_ref().map(ToString::to_string);
        assert_eq!(
            (shown(&remote.bot).as_deref(), shown(&remote.callback).as_deref()),
            (Some("http://purple.to.purple.bot/"), Some("http://purple.bot.to.purple/"))
        );
    }
}
