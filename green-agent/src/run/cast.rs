//! The agents of one trial: where each listens, what it is started with, who calls it.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use tokio::sync::mpsc;
use url::Url;

use super::{
    Problem, ProblemKind, RunEvent, RunOptions,
    problem::chain,
    requirements::{Installed, requirements},
};
use crate::{
    participant::{
        AgentLine, Booth, Launch,
        environment::{Environment, EnvironmentError, Resolved},
        ports::{PortLease, is_free, replace_port, with_port},
    },
    recorder::{HopSpec, Masker},
    scenario::model::{Agent, Green, Ports, Scenario, Start},
    transcript::Hop,
};

/// Lines of output that may wait to be shown; more are dropped and stand in the log only.
const SHOWN_LINES: usize = 1024;

/// What one agent is in one trial.
pub(super) struct Player {
    pub(super) role: String,
    pub(super) endpoint: Url,
    pub(super) part: Part,
}

/// What has to be done for an agent to listen.
pub(super) enum Part {
    /// Nothing: it runs already.
    None,
    /// A program is started.
    Program {
        launch: Box<Launch>,
        /// Held for as long as the trial lasts, so that no other trial takes the port.
        _port: Option<PortLease>,
    },
    /// A built-in bot is hosted.
    Builtin(Booth),
}

/// Everybody in one trial, and what must not be shown.
pub(super) struct Cast {
    /// In the order in which they are started, the green agent last.
    pub(super) players: Vec<Player>,
    pub(super) masker: Masker,
}

impl Cast {
    /// Gives every agent its port, its environment and its place for output.
    pub(super) fn prepare(
        scenario: &Scenario,
        installed: &Installed,
        trial: u32,
        folder: &Path,
        options: &RunOptions,
    ) -> Result<Self, Problem> {
        let not_started = |error: EnvironmentError| ProblemKind::NotStarted.because(chain(&error));
        let environment = Environment::load(&options.working_dir).map_err(not_started)?;
        let mut resolved = Vec::new();
        for agent in scenario.agents() {
            resolved.push(
                environment
                    .resolve(&agent.role, &agent.env)
                    .map_err(not_started)?,
            );
        }
        let secrets = resolved.iter().flat_map(|one| one.secrets.iter().cloned());
        let masker = Masker::new(secrets.collect());
        let stage = Stage {
            scenario,
            installed,
            trial,
            folder,
            masker: masker.clone(),
            lines: shown_lines(scenario, options),
            options,
        };
        let players = scenario
            .agents()
            .zip(resolved)
            .map(|(agent, env)| stage.player(agent, env));
        Ok(Self {
            players: players.collect::<Result<_, _>>()?,
            masker,
        })
    }

    /// Who calls whom: the runner calls the green agent, which calls every participant. Each such hop is
    /// recorded by itself, so that the transcript knows who spoke.
    pub(super) fn hops(&self, scenario: &Scenario) -> Vec<HopSpec> {
        let hop = |player: &Player| HopSpec {
            hop: hop_to(scenario, &player.role),
            upstream: player.endpoint.clone(),
        };
        self.players.iter().map(hop).collect()
    }
}

/// The hop over which an agent is called.
pub(super) fn hop_to(scenario: &Scenario, role: &str) -> Hop {
    match &scenario.green {
        Green::Agent(green) if green.role == role => Hop::new("runner", role),
        Green::Agent(_) | Green::Builtin(_) => Hop::new("green", role),
    }
}

/// What all agents of a trial share.
struct Stage<'a> {
    scenario: &'a Scenario,
    installed: &'a Installed,
    trial: u32,
    folder: &'a Path,
    masker: Masker,
    lines: Option<mpsc::Sender<AgentLine>>,
    options: &'a RunOptions,
}

impl Stage<'_> {
    fn player(&self, agent: &Agent, env: Resolved) -> Result<Player, Problem> {
        let role = agent.role.clone();
        let (endpoint, part) = match &agent.start {
            Start::Running { endpoint } => (endpoint.clone(), Part::None),
            Start::Builtin { name } => {
                let stage = Booth::open(name.clone());
                let booth = stage.map_err(|error| ProblemKind::Harness.because(error))?;
                (booth.url().clone(), Part::Builtin(booth))
            }
            Start::Program { endpoint, cmd } => {
                let mut argv = cmd.clone();
                let (endpoint, port) = self.place(agent, endpoint, &mut argv)?;
                let launch = Box::new(self.launch(agent, argv, env));
                (
                    endpoint,
                    Part::Program {
                        launch,
                        _port: port,
                    },
                )
            }
        };
        Ok(Player {
            role,
            endpoint,
            part,
        })
    }

    fn launch(&self, agent: &Agent, argv: Vec<String>, env: Resolved) -> Launch {
        let prepared = self.installed.get(&requirements(self.scenario, agent));
        let prepared = prepared.cloned().unwrap_or_default();
        let mut variables = self.variables();
        variables.extend(prepared.env);
        variables.extend(env.values);
        let masker = self.masker.clone();
        Launch {
            role: agent.role.clone(),
            argv,
            env: variables,
            path_prepend: prepared.path_prepend,
            working_dir: self.options.working_dir.clone(),
            log: self.folder.join(format!("{}.log", file_name(&agent.role))),
            mask: Arc::new(move |line| masker.mask_text(line)),
            sink: self.lines.clone(),
            grace: self.scenario.harness.timeout.stop,
            keeper: self.options.keeper.clone(),
        }
    }

    /// What every agent is told: an agent that draws lots can draw the same ones again.
    fn variables(&self) -> BTreeMap<String, String> {
        let seed = self.options.seed.unwrap_or(self.scenario.harness.seed);
        BTreeMap::from([
            (
                "HARNESS_SEED".to_owned(),
                seed.wrapping_add(u64::from(self.trial) - 1).to_string(),
            ),
            ("HARNESS_TRIAL".to_owned(), self.trial.to_string()),
            // Python would keep what it prints until it has a few KB of it.
            ("PYTHONUNBUFFERED".to_owned(), "1".to_owned()),
        ])
    }

    /// Where an agent listens, with its port replaced in `argv` too where the scenario wants that.
    fn place(
        &self,
        agent: &Agent,
        endpoint: &Url,
        argv: &mut [String],
    ) -> Result<(Url, Option<PortLease>), Problem> {
        let from = endpoint.port_or_known_default().unwrap_or_default();
        if self.scenario.harness.ports == Ports::Fixed {
            return match is_free(from) {
                true => Ok((endpoint.clone(), None)),
                false => Err(taken(agent, from)),
            };
        }
        let lease = self.options.ports.lease();
        let lease = lease.map_err(|error| ProblemKind::Harness.because(chain(&error)))?;
        match replace_port(argv, from, lease.port()) {
            0 => Err(not_named(agent, from)),
            _ => Ok((with_port(endpoint, lease.port()), Some(lease))),
        }
    }
}

/// Somebody else's agent would be assessed in the place of the one that cannot listen.
fn taken(agent: &Agent, port: u16) -> Problem {
    ProblemKind::NotStarted.because(format!(
        "{}: something listens on port {port} already; stop it, or set harness.ports = \"auto\"",
        agent.role
    ))
}

fn not_named(agent: &Agent, port: u16) -> Problem {
    ProblemKind::NotStarted.because(format!(
        "{}: cmd does not name port {port} of its endpoint, so harness.ports = \"auto\" cannot move it",
        agent.role
    ))
}

/// Passes on what agents print, if it is to be shown. It ends with the last agent.
fn shown_lines(scenario: &Scenario, options: &RunOptions) -> Option<mpsc::Sender<AgentLine>> {
    if !options.show_logs {
        return None;
    }
    let (sender, mut lines) = mpsc::channel::<AgentLine>(SHOWN_LINES);
    let listener = options.listener.clone();
    let scenario = scenario.name.clone();
    tokio::spawn(async move {
        while let Some(line) = lines.recv().await {
            listener(RunEvent::Output {
                scenario: scenario.clone(),
                role: line.role,
                line: line.text,
            });
        }
    });
    Some(sender)
}

/// A role as a file's name: roles are free text.
fn file_name(role: &str) -> String {
    let plain = |c: char| {
        if c.is_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '_'
        }
    };
    role.chars().map(plain).collect()
}
