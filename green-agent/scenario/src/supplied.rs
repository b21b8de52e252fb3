//! Completes scenarios that only name their agents, as AgentBeats' leaderboard files do: from the command
//! line, from an overlay file, or with the container image that the file names.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde_json::Value;
use url::Url;

use super::{
    container::{self, Engine},
    error::ScenarioErrors,
    inherits::Inherits,
    meaning,
    model::{Agent, GREEN, Scenario, Start},
    parse,
    placeholder::PORT,
};

/// The commands and addresses of agents, by role.
#[derive(Clone, Debug, Default)]
pub struct AgentOverrides {
    agents: BTreeMap<String, Agent>,
}

/// The reason why the settings cannot be applied.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum AgentOverridesError {
    /// A flag cannot be parsed.
    #[error("--agent {flag}: expected {expected}")]
    Flag { flag: String, expected: &'static str },
    /// The URL of a flag contains a user or password, which the message does not repeat.
    #[error("--agent {role}: {}", super::error::Problem::Credentials)]
    Credentials { role: String },
    /// The overlay file cannot be read.
    #[error(transparent)]
    Overlay(#[from] ScenarioErrors),
    /// No agent has the role.
    #[error("--agent or overlay: no agent has the role {role:?}; {}", super::error::roles(known))]
    NoSuchRole { role: String, known: Vec<String> },
}

impl AgentOverrides {
    /// Reads an overlay file and flags; flags take precedence.
    ///
    /// # Errors
    /// If one of them cannot be read.
    pub fn new(overlay: Option<&Path>, flags: &[String]) -> Result<Self, AgentOverridesError> {
        let mut agents = BTreeMap::new();
        if let Some(path) = overlay {
            let given = parse::overlay(path)?.into_iter();
            agents.extend(given.map(|agent| (agent.role.clone(), agent)));
        }
        for flag in flags {
            let (role, start) = read(flag)?;
            agents.insert(role.clone(), Agent::new(role, start));
        }
        Ok(Self { agents })
    }

    /// Returns the meaning of the settings for the digest of a scenario, without addresses and paths.
    pub(super) fn meaning(&self) -> BTreeMap<&str, Vec<String>> {
        let meaning = self.agents.iter().map(|(role, given)| {
            let words = given.start.words().join(" ");
            let env = given.env.iter().map(|(name, value)| format!("{name}={value}"));
            let texts = std::iter::once(words).chain(env);
            let texts = texts.map(|text| meaning::words(&text, &[]));
            (role.as_str(), texts.chain(in_process(&given.start)).collect())
        });
        meaning.collect()
    }

    /// Returns whether there are no settings.
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// Checks that the settings are for agents with these roles. An empty set means that the roles are not known.
    ///
    /// # Errors
    /// If a role is not among them.
    pub fn check_roles(&self, known: &BTreeSet<String>) -> Result<(), AgentOverridesError> {
        let stranger = self.agents.keys().find(|role| !known.contains(*role));
        let Some(role) = stranger.filter(|_| !known.is_empty()).cloned() else {
            return Ok(());
        };
        Err(AgentOverridesError::NoSuchRole { role, known: known.iter().cloned().collect() })
    }

    /// Applies the settings to a scenario.
    ///
    /// # Errors
    /// If the scenario has no such role.
    pub fn apply(&self, scenario: &mut Scenario) -> Result<(), AgentOverridesError> {
        self.check_roles(&scenario.agents().map(|one| one.role.clone()).collect())?;
        for agent in scenario.agents_mut() {
            if let Some(given) = self.agents.get(&agent.role) {
                agent.start = given.start.clone();
                agent.env.extend(given.env.clone());
                agent.inherits.extend(&given.inherits);
                agent.requires.extend(given.requires.clone());
                agent.is_trusted |= given.is_trusted;
                agent.message_only |= given.message_only;
                if given.agentbeats_id.is_some() {
                    agent.agentbeats_id.clone_from(&given.agentbeats_id);
                }
            }
        }
        Ok(())
    }
}

/// Returns a sentence about each agent of a scenario whose start neither the file nor the command line specifies.
pub fn unknown(scenario: &Scenario) -> Vec<String> {
    let absent = scenario.agents().filter_map(|agent| {
        let Start::Absent { image, entrypoint, is_built } = &agent.start else {
            return None;
        };
        let (role, cmd) = (&agent.role, cmd(entrypoint));
        let option = if role.contains(' ') { format!("'{role}'") } else { role.clone() };
        let but = match image {
            Some(image) => {
                format!(", but for the image {image}, and neither docker nor podman is installed")
            }
            None if *is_built => {
                ", but for how its image is built, which is not done here: build it and name it as image".to_owned()
            }
            None => String::new(),
        };
        Some(format!(
            "{role}: the file does not say how it is started{but}; use --agent {option}=\"{cmd}\" or --agent {option}=URL, or in \
             an --overlay file"
        ))
    });
    absent.collect()
}

/// Returns a command with the port, of which the words may be known.
fn cmd(entrypoint: &[String]) -> String {
    let known = shlex::try_join(entrypoint.iter().map(String::as_str)).unwrap_or_default();
    // The placeholder needs no quotes of its own between those of the option.
    let known = known.replace(&format!("'{PORT}'"), PORT);
    match known.as_str() {
        "" => format!("CMD --port {PORT}"),
        _ if known.contains(PORT) => known,
        _ => format!("{known} --port {PORT}"),
    }
}

/// Sets agents that have an image and no other way to be started to run as containers.
pub fn contain(scenario: &mut Scenario, engine: Engine) {
    for agent in scenario.agents_mut() {
        if let Start::Absent { image: Some(image), entrypoint, .. } = &agent.start {
            agent.start = contained(agent, image, entrypoint, engine);
        }
    }
}

fn contained(agent: &Agent, image: &str, entrypoint: &[String], engine: Engine) -> Start {
    let passed = match &agent.inherits {
        Inherits::Named(names) => names.as_slice(),
        Inherits::Everything => &[],
    };
    let passed = passed.iter().filter(|name| !name.ends_with('*'));
    let variables = agent.env.keys().chain(passed).map(String::as_str);
    let cmd = container::command(engine, image, entrypoint, variables);
    Start::Program { endpoint: anywhere(), cmd }
}

/// Returns the settings of an agent in this process, which has no command.
fn in_process(start: &Start) -> Vec<String> {
    match start {
        Start::Builtin { name } => vec![name.clone()],
        Start::Policy(policy) => {
            let mut settings = Value::Object(policy.settings.clone());
            meaning::without_addresses(&mut settings);
            let (steps, time, call) = (policy.limits.steps, policy.limits.time, policy.call);
            let limits = format!("{steps} {time:?} {call:?}");
            vec![policy.name.clone(), settings.to_string(), limits]
        }
        _ => Vec::new(),
    }
}

/// Parses `ROLE=URL` or `ROLE=CMD`.
fn read(flag: &str) -> Result<(String, Start), AgentOverridesError> {
    const EXPECTED: &str = "ROLE=URL or ROLE=\"CMD\"";
    let wrong = |expected| AgentOverridesError::Flag { flag: flag.to_owned(), expected };
    let (role, how) = flag.split_once('=').ok_or_else(|| wrong(EXPECTED))?;
    let (role, how) = (role.trim().to_owned(), how.trim());
    if role.is_empty() || how.is_empty() {
        return Err(wrong(EXPECTED));
    }
    if how.starts_with("http://") || how.starts_with("https://") {
        let endpoint = Url::parse(how).ok().filter(Url::has_host);
        let endpoint = endpoint.ok_or_else(|| wrong("a URL with a host after ROLE="))?;
        return match endpoint.username().is_empty() && endpoint.password().is_none() {
            true => Ok((role, Start::Running { endpoint })),
            false => Err(AgentOverridesError::Credentials { role }),
        };
    }
    let cmd = shlex::split(how).filter(|words| !words.is_empty());
    let cmd = cmd.ok_or_else(|| wrong("a command whose quotes are balanced after ROLE="))?;
    Ok((role, program(cmd).map_err(wrong)?))
}

/// Returns a program that listens on the address in its own arguments.
fn program(cmd: Vec<String>) -> Result<Start, &'static str> {
    if cmd.iter().any(|word| word.contains(GREEN)) {
        return Ok(Start::Client { cmd });
    }
    if cmd.iter().any(|word| word.contains(PORT)) {
        let endpoint = anywhere();
        return Ok(Start::Program { endpoint, cmd });
    }
    let port = named_port(&cmd).filter(|port| *port != 0).ok_or(
        "the port in CMD, at which the agent will listen: --port {port} for a free one, or --port N",
    )?;
    let mut endpoint = anywhere();
    // The URL has a host, so setting a port cannot fail.
    let _ = endpoint.set_port(Some(port));
    Ok(Start::Program { endpoint, cmd })
}

fn named_port(cmd: &[String]) -> Option<u16> {
    let joined = cmd.iter().find_map(|word| word.strip_prefix("--port=")?.parse().ok());
    let after = || {
        let at = cmd.iter().position(|word| word == "--port" || word == "-p")?;
        cmd.get(at + 1)?.parse().ok()
    };
    joined.or_else(after)
}

/// Returns a loopback address, whose port will become the free port of [`PORT`].
#[expect(clippy::unwrap_used, reason = "the text is a URL")]
pub(super) fn anywhere() -> Url {
    Url::parse("http://127.0.0.1:0/").unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::scenario_of;

    const FILE: &str = "[green_agent]\nagentbeats_id = ''\nenv = { A = 'b' }\n[[participants]]\nname = 'purple'\nimage = 'ghcr.io/x/y:1'\nenv = { KEY = '${KEY}' }\n";

    fn supplied(flags: &[&str]) -> Result<AgentOverrides, String> {
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        AgentOverrides::new(None, &flags).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_supply_what_the_file_omits() {
        let mut scenario = scenario_of(FILE);
        let unknown = unknown(&scenario);
        assert_eq!(unknown.len(), 2);
        assert_eq!(
            unknown[0],
            "purple: the file does not say how it is started, but for the image ghcr.io/x/y:1, and neither docker nor \
             podman is installed; use --agent purple=\"CMD --port {port}\" or --agent purple=URL, or in an \
             --overlay file"
        );
        let supplied = supplied(&["green=http://127.0.0.1:9", "purple=x --port {port}"]).unwrap();
        supplied.apply(&mut scenario).unwrap();
        assert!(super::unknown(&scenario).is_empty());
        let starts: Vec<_> = scenario.agents().map(|agent| agent.start.clone()).collect();
        assert!(
            matches!(&starts[0], Start::Program { endpoint, cmd } if endpoint.port() == Some(0) && cmd[0] == "x")
        );
        assert!(matches!(&starts[1], Start::Running { endpoint } if endpoint.port() == Some(9)));
        assert_eq!(scenario.participants[0].env["KEY"], "${KEY}");
    }

    #[test]
    fn an_agent_whose_image_is_built_is_started_by_a_flag() {
        let mut scenario = scenario_of(
            "[green_agent]\nbuild = '.'\n[[participants]]\nname = 'purple'\nbuild = { context = '.', dockerfile = 'x' }\n",
        );
        let said = &unknown(&scenario)[0];
        assert_eq!(
            said,
            "purple: the file does not say how it is started, but for how its image is built, which is not done here: build \
             it and name it as image; use --agent purple=\"CMD --port {port}\" or --agent purple=URL, or in an \
             --overlay file"
        );
        let flags = ["green=http://127.0.0.1:9", "purple=x --port {port}"];
        supplied(&flags).unwrap().apply(&mut scenario).unwrap();
        assert!(unknown(&scenario).is_empty());
    }

    #[test]
    fn an_entrypoint_is_shown_as_the_command_and_run_in_the_image() {
        let mut scenario = scenario_of(FILE);
        let purple = &mut scenario.participants[0];
        let image = Some("ghcr.io/x/y:1".to_owned());
        let entrypoint = ["serve", "my app.py", "--port", PORT].map(str::to_owned).to_vec();
        purple.start = Start::Absent { image, entrypoint, is_built: false };
        purple.inherits = Inherits::Named(vec!["TOKEN".to_owned(), "AWS_*".to_owned()]);
        let said = &unknown(&scenario)[0];
        let cmd = "use --agent purple=\"serve 'my app.py' --port {port}\" or";
        assert!(said.contains(cmd), "{said}");
        contain(&mut scenario, Engine::Docker);
        let words = scenario.participants[0].start.words().join(" ");
        assert_eq!(
            words,
            "docker run --rm --init --network=host -e KEY -e TOKEN --entrypoint serve ghcr.io/x/y:1 my app.py --port {port}"
        );
    }

    #[test]
    fn an_overlay_has_the_same_form_as_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("local.toml");
        let text = "[green_agent]\ncmd = 'judge --port 9009'\nendpoint = 'http://127.0.0.1:9009'\n\
                    requires = ['python:uvicorn==0.54.0']\npython = '3.12'\n\
                    [[participants]]\nname = 'purple'\npolicy = 'sum-and-shop'\nagentbeats_id = '0198'\n";
        std::fs::write(&path, text).unwrap();
        let mut scenario = scenario_of(FILE);
        let flags = ["green=other --port=9010".to_owned()];
        let supplied = AgentOverrides::new(Some(&path), &flags).unwrap();
        supplied.apply(&mut scenario).unwrap();
        let starts: Vec<_> = scenario.agents().map(|agent| agent.start.clone()).collect();
        assert!(matches!(&starts[0], Start::Policy(_)));
        assert_eq!(scenario.participants[0].agentbeats_id.as_deref(), Some("0198"));
        let requires: Vec<usize> = scenario.agents().map(|agent| agent.requires.len()).collect();
        assert_eq!(requires, [0, 0], "a flag starts another program than the overlay's");
        let supplied = AgentOverrides::new(Some(&path), &[]).unwrap();
        supplied.apply(&mut scenario).unwrap();
        let green = scenario.agents().find(|agent| agent.role == "green").unwrap();
        let green: Vec<String> = green.requires.iter().map(ToString::to_string).collect();
        assert_eq!(green, ["python:uvicorn==0.54.0", "python 3.12"]);
        assert!(
            matches!(&starts[1], Start::Program { endpoint, .. } if endpoint.port() == Some(9010))
        );
    }

    #[test]
    fn a_program_of_an_overlay_gets_a_free_port_as_one_of_a_flag_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("local.toml");
        let flags = ["purple=x --port {port}".to_owned()];
        let started = |supplied: &AgentOverrides| {
            let mut scenario = scenario_of(FILE);
            supplied.apply(&mut scenario).unwrap();
            scenario.participants[0].start.clone()
        };
        let by_flag = started(&AgentOverrides::new(None, &flags).unwrap());
        for (endpoint, expected) in [
            ("", "http://127.0.0.1:0/"),
            ("endpoint = 'http://127.0.0.1:9009'", "http://127.0.0.1:0/"),
            ("endpoint = 'http://127.0.0.1:9009/a2a'", "http://127.0.0.1:0/a2a"),
        ] {
            let text = format!(
                "[[participants]]\nrole = 'purple'\ncmd = 'x --port {{port}}'\n{endpoint}\n"
            );
            std::fs::write(&path, text).unwrap();
            let Start::Program { endpoint, cmd } =
                started(&AgentOverrides::new(Some(&path), &[]).unwrap())
            else {
                panic!("a program is started");
            };
            assert_eq!(endpoint.as_str(), expected);
            assert_eq!(cmd, by_flag.words());
        }
    }

    #[test]
    fn an_overlay_says_what_agents_inherit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("local.toml");
        let text = "[green_agent]\ncmd = 'judge --port 9009'\nendpoint = 'http://127.0.0.1:9009'\nenv = 'inherit'\n\
                    [[participants]]\nname = 'purple'\ncmd = 'x --port {port}'\npass_env = ['B']\n";
        std::fs::write(&path, text).unwrap();
        let file = FILE.replacen("env = { KEY", "pass_env = ['A']\nenv = { KEY", 1);
        let mut scenario = scenario_of(&format!("{file}[harness]\nversion = 1\n"));
        let supplied = AgentOverrides::new(Some(&path), &[]).unwrap();
        supplied.apply(&mut scenario).unwrap();
        let inherits: Vec<_> = scenario.agents().map(|agent| &agent.inherits).collect();
        let named = Inherits::Named(vec!["A".to_owned(), "B".to_owned()]);
        assert_eq!(inherits, [&named, &Inherits::Everything]);
    }

    #[test]
    fn impossible_flags_are_reported() {
        for (flag, expected) in [
            ("purple", "--agent purple: expected ROLE=URL or ROLE"),
            ("purple=x", "--agent purple=x: expected the port in CMD"),
            ("purple=x --port 0", "--agent purple=x --port 0: expected the port in CMD"),
            ("purple=http://", "--agent purple=http://: expected a URL"),
            ("purple='x", "--agent purple='x: expected a command"),
        ] {
            let error = supplied(&[flag]).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
        let nobody = supplied(&["red=http://h"]).unwrap();
        let error = nobody.apply(&mut scenario_of(FILE)).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("no agent has the role \"red\"; expected one of: green, purple")
        );
    }

    #[test]
    fn a_password_in_a_url_is_refused_and_not_repeated() {
        let error = supplied(&["purple=http://me:hunter2@h:1"]).unwrap_err();
        assert!(error.starts_with("--agent purple: user or password found in the URL"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn a_policy_of_an_overlay_keeps_its_settings_in_the_digest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("local.toml");
        let meaning = |text: &str| {
            std::fs::write(&path, format!("[[participants]]\nname = 'purple'\n{text}\n")).unwrap();
            let supplied = AgentOverrides::new(Some(&path), &[]).unwrap();
            let mut scenario = scenario_of(FILE);
            supplied.apply(&mut scenario).unwrap();
            (format!("{:?}", supplied.meaning()), scenario.participants[0].message_only)
        };
        let plain = meaning("policy = 'sum-and-shop'");
        for other in [
            "policy = 'lies'",
            "builtin = 'echo'",
            "policy = 'sum-and-shop'\nlimits = { steps = 3 }",
        ] {
            assert_ne!(meaning(other).0, plain.0, "{other}");
        }
        assert!(!plain.1 && meaning("builtin = 'echo'\nmessage_only = true").1);
    }
}
