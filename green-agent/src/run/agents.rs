//! Prepares the agents of one trial: their addresses, their commands, and the addresses that each gets of the others.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use bridge_program::chain;
use bridge_telemetry::TraceContext;
use mcp_tools::secret::Secret;
use tokio::sync::mpsc;
use url::Url;

use super::{
    Problem, ProblemKind, RunEvent, RunOptions,
    agent_set::AgentSet,
    hops,
    hosted::{Hosted, Remote},
    peers,
    requirements::{Installed, requirements},
    trial_agents::{AgentHandle, AgentStart, TrialAgents, log_path},
};
use crate::{
    participant::{
        AgentLine, Launch, LocalServer,
        env_vars::{EnvVars, EnvVarsError, ResolvedEnv, secrets_of_command},
        ports::{PortLease, is_free, replace_port, with_port},
    },
    recorder::Masker,
    scenario::{
        model::{Agent, Evaluator, Green, Inherits, Ports, Reuse, Scenario, Start},
        placeholder::{PORT, unreplaced_setting, unreplaced_variable},
    },
    transcript::Hop,
};

/// The most output lines that wait to be shown; further lines are written to the log file only.
const SHOWN_LINES: usize = 1024;

impl TrialAgents {
    /// Gives every agent its port, its environment variables and its log file, unless its program in `set` is already
    /// running.
    pub(super) fn prepare(
        scenario: &Scenario,
        installed: &Installed,
        trial: u32,
        folder: &Path,
        set: &AgentSet,
        options: &RunOptions,
    ) -> Result<Self, Problem> {
        let not_started = |error: EnvVarsError| ProblemKind::NotStarted.because(chain(&error));
        let environment = EnvVars::load(&options.working_dir).map_err(not_started)?;
        let resolved = resolve(scenario, &environment)?;
        let secrets = resolved.iter().flat_map(|one| one.secrets.iter().cloned());
        let in_commands = scenario.agents().map(|agent| agent.start.words());
        let secrets = secrets.chain(in_commands.flat_map(secrets_of_command));
        let (tokens, masker) = set.secrets().unwrap_or_else(|| {
            let masker = Masker::new(secrets.collect());
            (peers::tokens(scenario, &resolved, &masker), masker)
        });
        let keyring = peers::keyring(scenario, &environment, &options.working_dir, &masker)?;
        let context = TrialContext {
            scenario,
            tokens: &tokens,
            installed,
            trial,
            folder,
            masker: masker.clone(),
            lines: shown_lines(scenario, options),
            set,
            options,
        };
        let has_environment = matches!(scenario.green, Green::Builtin(Evaluator::Episode(_)));
        let handles =
            scenario.agents().zip(resolved).map(|(agent, env)| context.handle(agent, env));
        Ok(Self {
            handles: handles.collect::<Result<_, _>>()?,
            environment_server: has_environment.then(local_server).transpose()?,
            masker,
            keyring,
            tokens,
        })
    }

    /// Replaces placeholders for other parties with their addresses; `url` returns the address of a hop.
    pub(super) fn fill_in(&mut self, scenario: &Scenario, url: impl Fn(&Hop) -> Option<Url>) {
        for handle in &mut self.handles {
            match &mut handle.start {
                AgentStart::Program { launch, .. } | AgentStart::Client(launch) => {
                    hops::fill_in(&mut launch.argv, scenario, &url);
                }
                AgentStart::None | AgentStart::Hosted { .. } | AgentStart::Caller(_) => {}
            }
            peers::set_addresses(handle, scenario, &self.tokens, &url);
        }
    }
}

/// Returns the environment variables of each agent, in the scenario's order.
fn resolve(scenario: &Scenario, environment: &EnvVars) -> Result<Vec<ResolvedEnv>, Problem> {
    let (mut resolved, mut errors) = (Vec::new(), Vec::new());
    for agent in scenario.agents() {
        let inherits = match scenario.harness.inherit {
            true => &Inherits::Everything,
            false => &agent.inherits,
        };
        match environment.resolve(&agent.role, inherits, &agent.env) {
            Ok(env) => resolved.push(env),
            Err(error) => errors.push(chain(&error)),
        }
    }
    match errors.is_empty() {
        true => Ok(resolved),
        false => Err(ProblemKind::NotStarted.because(errors.join("\n"))),
    }
}

fn local_server() -> Result<LocalServer, Problem> {
    LocalServer::open().map_err(|error| ProblemKind::Harness.because(error))
}

/// Returns the seed of a trial: each trial has the next seed after the one before it.
pub(super) fn seed(scenario: &Scenario, options: &RunOptions, trial: u32) -> u64 {
    let seed = options.settings.seed.unwrap_or(scenario.harness.seed);
    seed.wrapping_add(u64::from(trial) - 1)
}

/// The inputs for the preparation of every agent of a trial.
struct TrialContext<'a> {
    scenario: &'a Scenario,
    tokens: &'a BTreeMap<String, Secret>,
    installed: &'a Installed,
    trial: u32,
    folder: &'a Path,
    masker: Masker,
    lines: Option<mpsc::Sender<AgentLine>>,
    set: &'a AgentSet,
    options: &'a RunOptions,
}

impl TrialContext<'_> {
    fn handle(&self, agent: &Agent, mut env: ResolvedEnv) -> Result<AgentHandle, Problem> {
        let (endpoint, start) = match &agent.start {
            Start::Absent { .. } => return Err(absent(agent)),
            Start::Running { endpoint } => (Some(endpoint.clone()), AgentStart::None),
            Start::Builtin { name } => hosted(agent, Hosted::Bot(name.clone()))?,
            Start::Bot { .. } => {
                let limit = self.scenario.harness.timeout.total;
                hosted(agent, Hosted::Remote(Remote::new(limit)))?
            }
            // It calls the evaluator instead of being called.
            Start::Policy(policy) if hops::is_asked_for(self.scenario) => {
                (None, AgentStart::Caller(policy.clone()))
            }
            Start::Policy(policy) => hosted(agent, Hosted::Policy(policy.clone()))?,
            Start::Client { cmd } => {
                let launch = self.launch(agent, cmd.clone(), env);
                (None, AgentStart::Client(Box::new(launch)))
            }
            Start::Program { .. } if self.set.is_running() => {
                (self.set.endpoint(&agent.role).cloned(), AgentStart::None)
            }
            Start::Program { endpoint, cmd } => {
                let mut argv = cmd.clone();
                let (endpoint, port) = self.place(agent, endpoint, &mut argv, &mut env.values)?;
                let launch = Box::new(self.launch(agent, argv, env));
                let start = AgentStart::Program { launch, port };
                (Some(endpoint), start)
            }
        };
        Ok(AgentHandle {
            role: agent.role.clone(),
            endpoint,
            server_kind: agent.server_kind,
            tools: None,
            start,
        })
    }

    fn launch(&self, agent: &Agent, argv: Vec<String>, env: ResolvedEnv) -> Launch {
        let prepared = self.installed.get(&requirements(self.scenario, agent));
        let prepared = prepared.cloned().unwrap_or_default();
        let mut variables = env.inherited;
        variables.extend(self.variables());
        variables.extend(trace_variables(&agent.role));
        let token = self.tokens.get(&agent.role);
        variables.extend(token.map(|token| (peers::TOKEN.to_owned(), token.expose().to_owned())));
        variables.extend(prepared.env);
        variables.extend(env.values);
        let masker = self.masker.clone();
        Launch {
            role: agent.role.clone(),
            argv,
            env: variables,
            clean: !env.inherits_all,
            path_prepend: prepared.path_prepend.into_iter().chain(beside()).collect(),
            working_dir: self.options.working_dir.clone(),
            log: log_path(self.folder, &agent.role),
            mask: Arc::new(move |line| masker.mask_text(line)),
            on_activity: self.set.on_activity(),
            sink: self.lines.clone(),
            grace: self.scenario.harness.timeout.stop,
            supervisor: self.options.supervisor.clone(),
        }
    }

    /// Returns the variables of every agent, among them the seed, with which an agent can repeat its random choices. A
    /// program that is kept for many trials gets the seed of the first one, and no number.
    fn variables(&self) -> BTreeMap<String, String> {
        let (seed_of, number) = match self.scenario.harness.reuse {
            Reuse::Nothing => (self.trial, Some(self.trial)),
            Reuse::Agents => (1, None),
        };
        let seed = seed(self.scenario, self.options, seed_of);
        let number = number.map(|number| ("HARNESS_TRIAL".to_owned(), number.to_string()));
        let lasting = [
            ("HARNESS_SEED".to_owned(), seed.to_string()),
            // Otherwise Python holds back output until some kilobytes have accumulated.
            ("PYTHONUNBUFFERED".to_owned(), "1".to_owned()),
        ];
        lasting.into_iter().chain(number).collect()
    }

    /// Returns the address at which an agent listens. With automatic ports, replaces the file's port in the
    /// address, in `argv` and in `env`.
    fn place(
        &self,
        agent: &Agent,
        endpoint: &Url,
        argv: &mut [String],
        env: &mut BTreeMap<String, String>,
    ) -> Result<(Url, Option<PortLease>), Problem> {
        let has_placeholder = endpoint.port() == Some(0);
        let from = endpoint.port_or_known_default().unwrap_or_default();
        if !has_placeholder && self.scenario.harness.ports == Ports::Fixed {
            return match shared(self.scenario, agent, endpoint) {
                Some(shared) => Err(ProblemKind::NotStarted.because(shared)),
                None if is_free(from) => Ok((endpoint.clone(), None)),
                None => Err(taken(agent, from)),
            };
        }
        let lease = self.options.ports.lease();
        let lease = lease.map_err(|error| ProblemKind::Harness.because(chain(&error)))?;
        if has_placeholder {
            let port = lease.port().to_string();
            for text in argv.iter_mut().chain(env.values_mut()) {
                *text = text.replace(PORT, &port);
            }
        } else if move_port(argv, env, from, lease.port()) == 0 {
            return Err(ProblemKind::NotStarted.because(not_named(agent, from)));
        }
        Ok((with_port(endpoint, lease.port()), Some(lease)))
    }
}

/// Returns the problem of an agent whose start is not specified. It should not occur: runs with such agents are refused
/// earlier.
fn absent(agent: &Agent) -> Problem {
    ProblemKind::NotStarted
        .because(format!("{}: the scenario does not say how to start it", agent.role))
}

fn hosted(participant: &Agent, agent: Hosted) -> Result<(Option<Url>, AgentStart), Problem> {
    let local_server = local_server()?;
    let message_only = participant.message_only;
    Ok((Some(local_server.url().clone()), AgentStart::Hosted { local_server, agent, message_only }))
}

/// Returns the folder of this program, which is put on the agents' PATH: the project's other programs are installed
/// there.
fn beside() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    program.parent().map(Path::to_owned)
}

/// Returns the problem of a port at which another program already listens: the evaluation would assess that program.
fn taken(agent: &Agent, port: u16) -> Problem {
    ProblemKind::NotStarted.because(format!(
        "{}: something listens on port {port} already; stop it, or set harness.ports = \"auto\"",
        agent.role
    ))
}

/// Replaces a port in a command, and in the variables whose names say that they are ports. Returns the number of places.
fn move_port(argv: &mut [String], env: &mut BTreeMap<String, String>, from: u16, to: u16) -> usize {
    let is_port = |name: &str| name == "PORT" || name.ends_with("_PORT");
    let ports = env.iter_mut().filter(|(name, _)| is_port(name));
    let moved = ports.filter(|(_, value)| **value == from.to_string());
    let variables = moved.map(|(_, value)| *value = to.to_string()).count();
    variables + replace_port(argv, from, to)
}

fn not_named(agent: &Agent, port: u16) -> String {
    format!(
        "{}: neither cmd nor a variable PORT or *_PORT of env names port {port} of its endpoint, so harness.ports = \"auto\" \
         cannot move it; write the port there, or set harness.ports = \"fixed\"",
        agent.role
    )
}

/// Describes the earlier agent that would listen at the same address, if there is one.
fn shared(scenario: &Scenario, agent: &Agent, endpoint: &Url) -> Option<String> {
    let address = |url: &Url| Some((url.host_str()?.to_owned(), url.port_or_known_default()?));
    let is_there = |one: &&Agent| {
        let program = one.start.program();
        program.is_some_and(|(other, _)| address(other) == address(endpoint))
    };
    let mut before = scenario.agents().take_while(|one| one.role != agent.role);
    let other = before.find(is_there)?;
    Some(format!(
        "{}: {endpoint} is the endpoint of {} too; give each a port of its own, in endpoint and cmd",
        agent.role, other.role
    ))
}

/// Describes the agents that cannot have the port of their endpoint, or another one because their commands do not
/// contain it.
pub fn misplaced(scenario: &Scenario) -> Vec<String> {
    let misplaced = |agent: &Agent| {
        let (endpoint, cmd) = agent.start.program()?;
        let port = endpoint.port_or_known_default().filter(|port| *port != 0)?;
        match scenario.harness.ports {
            Ports::Fixed => shared(scenario, agent, endpoint),
            Ports::Auto => {
                let (mut argv, mut env) = (cmd.to_vec(), agent.env.clone());
                (move_port(&mut argv, &mut env, port, port) == 0).then(|| not_named(agent, port))
            }
        }
    };
    scenario.agents().filter_map(misplaced).collect()
}

/// Describes the variables in commands and in settings that nothing replaces.
pub fn unreplaced(scenario: &Scenario) -> Vec<String> {
    let unreplaced = |agent| unreplaced_in(agent).or_else(|| unreplaced_in_settings(agent));
    scenario.agents().filter_map(unreplaced).collect()
}

/// Says what to do about a variable in the settings of an agent's policy that nothing replaces.
fn unreplaced_in_settings(agent: &Agent) -> Option<String> {
    let Start::Policy(policy) = &agent.start else {
        return None;
    };
    let variable = unreplaced_setting(&policy.settings)?;
    Some(format!(
        "{}: {variable} in settings stays as it is; write the value, or {{matrix.NAME}} and a matrix with it; key_env takes the name of \
         the variable that has a key",
        agent.role
    ))
}

/// Says what to do about a variable in an agent's command that nothing replaces.
pub(super) fn unreplaced_in(agent: &Agent) -> Option<String> {
    let variable = unreplaced_variable(agent.start.words())?;
    Some(format!(
        "{}: {variable} in cmd stays as it is, because no shell runs cmd; write sh -c '...', or let the program read the variable, \
         which pass_env gives it",
        agent.role
    ))
}

/// Describes the mistakes in `env` tables that do not depend on which variables are set.
pub fn malformed_env(scenario: &Scenario) -> Vec<String> {
    let nothing = EnvVars::default();
    let resolve = |agent: &Agent| nothing.resolve(&agent.role, &agent.inherits, &agent.env).err();
    let errors = scenario.agents().filter_map(resolve);
    let malformed = errors.filter(|error| matches!(error, EnvVarsError::Malformed { .. }));
    malformed.map(|error| error.to_string()).collect()
}

/// Emits an event for each line that agents print, if lines are to be shown. The task ends when the last
/// agent has ended.
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

/// Returns the variables with which an agent that supports OpenTelemetry exports its spans as parts of the trial's
/// trace. The collector's headers are not among them: they may contain a credential.
fn trace_variables(role: &str) -> BTreeMap<String, String> {
    let Some(traceparent) = TraceContext::current().traceparent() else {
        return BTreeMap::new();
    };
    let mut variables = BTreeMap::from([
        ("TRACEPARENT".to_owned(), traceparent),
        ("OTEL_SERVICE_NAME".to_owned(), role.to_owned()),
    ]);
    for name in ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL"] {
        if let Ok(value) = std::env::var(name) {
            variables.insert(name.to_owned(), value);
        }
    }
    variables
}
