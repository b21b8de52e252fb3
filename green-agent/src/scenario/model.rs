//! A scenario as the file says it: agents, the evaluation's configuration, and how the harness treats it.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use serde_json::{Map, Value};
use url::Url;

use mcp_tools::allow_list::AllowList;

use super::{
    episode::Episode,
    expectation::Expectation,
    pipeline::{Pipeline, Place},
    placeholder,
};

/// One scenario file.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Where it was read from.
    pub path: PathBuf,
    /// Its name in reports: the path below the nearest folder called `scenarios`, without ending.
    pub name: String,
    /// Who evaluates.
    pub green: Green,
    /// Who is evaluated, in the file's order.
    pub participants: Vec<Agent>,
    /// The `[config]` table, handed to the evaluator as it is.
    pub config: Map<String, Value>,
    /// The `[harness]` table.
    pub harness: Harness,
}

impl Scenario {
    /// Its agents in the order in which they are started: the green one last, after those it calls.
    pub fn agents(&self) -> impl Iterator<Item = &Agent> {
        let green = match &self.green {
            Green::Agent(agent) => Some(agent),
            Green::Builtin(_) => None,
        };
        self.participants.iter().chain(green)
    }

    /// The same agents, to be changed.
    pub fn agents_mut(&mut self) -> impl Iterator<Item = &mut Agent> {
        let green = match &mut self.green {
            Green::Agent(agent) => Some(agent),
            Green::Builtin(_) => None,
        };
        self.participants.iter_mut().chain(green)
    }

    /// The participant that works in an episode, or calls: the first that is an agent. Servers stand beside it.
    pub fn worker(&self) -> Option<&Agent> {
        let is_agent = |agent: &&Agent| agent.listens == Listens::Agent;
        self.participants.iter().find(is_agent)
    }

    /// Whether the evaluator is told by name to ask the participant in this role, be it an agent or not.
    pub fn asks(&self, role: &str) -> bool {
        let named = |place: &Place| matches!(place, Place::Role(named) if named == role);
        match &self.green {
            Green::Builtin(Evaluator::Pipeline(pipeline)) => pipeline.agents.places().any(named),
            Green::Builtin(Evaluator::Conversation(_) | Evaluator::Episode(_))
            | Green::Agent(_) => false,
        }
    }
}

/// The evaluator of a scenario.
#[derive(Clone, Debug)]
pub enum Green {
    /// A program or a server that speaks A2A.
    Agent(Agent),
    /// The built-in one, in the runner's process.
    Builtin(Evaluator),
}

/// The built-in evaluators, chosen by `config.evaluator`.
#[derive(Clone, Debug)]
pub enum Evaluator {
    /// Scripted turns.
    Conversation(Vec<Turn>),
    /// An environment that is worked in over MCP.
    Episode(Episode),
    /// Steps that agents do who are found by skill.
    Pipeline(Pipeline),
}

/// An agent and how it comes to be there.
#[derive(Clone, Debug)]
pub struct Agent {
    /// `green`, or the participant's `role` (leaderboard files call it `name`).
    pub role: String,
    /// Its id in AgentBeats' results file.
    pub agentbeats_id: Option<String>,
    /// Where it listens and what starts it.
    pub start: Start,
    /// What answers there.
    pub listens: Listens,
    /// `env`, with `${NAME}` not yet replaced.
    pub env: BTreeMap<String, String>,
    /// What it gets of the runner's environment and of `.env`.
    pub inherits: Inherits,
    /// What this agent alone needs, beside what the whole scenario needs.
    pub requires: Vec<Requirement>,
}

/// What of the runner's environment and of `.env` a started agent gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inherits {
    /// All of it: `env = "inherit"`, and what plain AgentBeats files mean.
    Everything,
    /// What every program needs, and the variables of these names; a `*` at the end stands for any rest.
    Named(Vec<String>),
}

impl Inherits {
    /// Gives what another says too.
    pub fn extend(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::Everything, _) => {}
            (Self::Named(_), Self::Everything) => *self = Self::Everything,
            (Self::Named(names), Self::Named(others)) => names.extend_from_slice(others),
        }
    }
}

impl Default for Inherits {
    fn default() -> Self {
        Self::Named(Vec::new())
    }
}

/// How an agent comes to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// The file does not say it, as those of leaderboards do not: whoever runs it does.
    Absent {
        /// The container image that the file names.
        image: Option<String>,
    },
    /// It runs already.
    Running {
        /// Where it listens.
        endpoint: Url,
    },
    /// A program is started.
    Program {
        /// Where it will listen.
        endpoint: Url,
        /// The words of `cmd`, split as a shell would.
        cmd: Vec<String>,
    },
    /// `builtin`: one of the bridge's own bots, hosted in the runner's process.
    Builtin {
        /// Its name.
        name: String,
    },
    /// `bot`: a running bot, hosted behind the bridge in the runner's process.
    Bot {
        /// The role of the participant that is the bot itself.
        role: String,
    },
    /// `policy`: a purple agent with one of its own policies, in the runner's process.
    Policy(Policy),
    /// A program that calls the green agent itself and listens nowhere: its `cmd` names [`GREEN`].
    Client {
        /// The words of `cmd`.
        cmd: Vec<String>,
    },
}

/// What answers where a participant listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listens {
    /// An A2A agent, which is evaluated: `endpoint`.
    Agent,
    /// A server that the other participants use, such as a bot, a model or an MCP server: `server`.
    Server,
}

/// Stands in a participant's `cmd` for the green agent's URL.
pub const GREEN: &str = "{green}";

/// Stands in the green agent's `cmd` for the origin under which participants reach its MCP endpoint: the
/// recorder's, so that what they do there is in the transcript.
pub const ENVIRONMENT: &str = "{environment}";

/// A built-in policy of a purple agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Its name, one of [`purple_agent::policy::BUILTINS`].
    pub name: String,
    /// Its settings, as the policy reads them.
    pub settings: Map<String, Value>,
    /// Which hosts and commands it may connect to.
    pub allow: AllowList,
    /// The participant that is the MCP server which it knows beforehand.
    pub tools: Option<String>,
}

impl Agent {
    /// Whether this participant is a bot that calls back the one in `role`, which hosts it.
    pub fn answers(&self, host: &Self) -> bool {
        matches!(&host.start, Start::Bot { role } if *role == self.role)
    }

    /// Whether this participant is told where the one in `role` is, by `{role}` in `cmd`, `env` or
    /// `settings`, or because that one has its tools.
    pub fn knows(&self, role: &str) -> bool {
        let words: &[String] = match &self.start {
            Start::Program { cmd, .. } | Start::Client { cmd } => cmd,
            Start::Absent { .. }
            | Start::Running { .. }
            | Start::Builtin { .. }
            | Start::Bot { .. }
            | Start::Policy(_) => &[],
        };
        let mut texts = words.iter().chain(self.env.values());
        texts.any(|text| placeholder::names(text, role)) || self.start.asks(role)
    }
}

impl Start {
    /// Whether a policy's settings or tools name the participant in this role, or a bot is that one.
    fn asks(&self, role: &str) -> bool {
        match self {
            Self::Policy(policy) => {
                policy.tools.as_deref() == Some(role)
                    || placeholder::stands_in(&policy.settings, role)
            }
            Self::Bot { role: bot } => bot == role,
            Self::Absent { .. }
            | Self::Running { .. }
            | Self::Program { .. }
            | Self::Builtin { .. }
            | Self::Client { .. } => false,
        }
    }

    /// Whether the agent calls the green one and is called by nobody.
    pub fn is_client(&self) -> bool {
        matches!(self, Self::Client { .. })
    }

    /// The words of the command that starts it; none where there is no command.
    pub fn words(&self) -> &[String] {
        match self {
            Self::Program { cmd, .. } | Self::Client { cmd } => cmd,
            Self::Absent { .. }
            | Self::Running { .. }
            | Self::Builtin { .. }
            | Self::Bot { .. }
            | Self::Policy(_) => &[],
        }
    }
}

/// One scripted turn: what is said, and what must follow. `[[config.turn]]`.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Line of the scenario file on which it begins, from 1.
    pub line: usize,
    /// The role it is said to.
    pub to: String,
    /// The parts of the message, in A2A 1.0 form; `text = "..."` is one text part.
    pub parts: Vec<Value>,
    /// The protocol version to speak; what the card offers if absent.
    pub version: Option<ProtocolVersion>,
    /// How calls are carried; what the card offers if absent.
    pub binding: Option<ProtocolBinding>,
    /// The extensions to speak in, by their URIs: agents may require some.
    pub extensions: Vec<String>,
    /// Use the streaming operation.
    pub stream: bool,
    /// Cancel the task; without parts this is the whole turn, with parts it comes while the turn runs.
    pub cancel: bool,
    /// Wait so long before the turn; with `cancel` and parts, between message and cancel.
    pub after: Option<Duration>,
    /// Begin a new task (and context) although the role's last task is still open.
    pub fresh: bool,
    /// The state that the task must be in after the turn, in the words of A2A 0.3 such as
    /// `input-required`; `message` where the answer must be a bare Message. Any if absent.
    pub state: Option<String>,
    /// A text that the answer must contain.
    pub contains: Option<String>,
}

/// The A2A versions that a turn can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolVersion {
    /// `0.1`
    V0_1,
    /// `0.3`
    V0_3,
    /// `1.0`
    V1_0,
}

/// The ways to carry calls that a turn can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolBinding {
    /// `jsonrpc`
    JsonRpc,
    /// `rest`: HTTP+JSON
    Rest,
    /// `grpc`
    Grpc,
}

/// What a scenario needs on this machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Requirement {
    /// `python:REQUIREMENT`, in pip's words, such as `python:a2a-sdk==0.3.26`.
    Python(String),
    /// `python:.` or another folder, told by its first letter: a checkout with a `pyproject.toml`, and perhaps a lock.
    Checkout(String),
    /// `python = "3.12"`: the version of the interpreter.
    Interpreter(String),
    /// `npm:PACKAGE@VERSION`
    Npm(String),
    /// `command:NAME`: a program on the PATH.
    Command(String),
}

impl fmt::Display for Requirement {
    /// As it stands in the file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Python(package) | Self::Checkout(package) => write!(f, "python:{package}"),
            Self::Interpreter(version) => write!(f, "python {version}"),
            Self::Npm(package) => write!(f, "npm:{package}"),
            Self::Command(name) => write!(f, "command:{name}"),
        }
    }
}

/// The `[harness]` table, which AgentBeats' own parsers ignore.
#[derive(Clone, Debug)]
pub struct Harness {
    /// Whether the file has the table at all.
    pub declared: bool,
    /// How many times the scenario runs.
    pub trials: u32,
    /// Handed to whatever draws lots.
    pub seed: u64,
    /// Whether all agents get the whole environment.
    pub inherit: bool,
    /// What every agent of the scenario needs.
    pub requires: Vec<Requirement>,
    /// Whether the endpoints' ports are replaced.
    pub ports: Ports,
    /// The limits of each phase.
    pub timeout: Timeouts,
    /// What is compared with the snapshot; `None` if nothing is.
    pub snapshot: Option<SnapshotSettings>,
    /// What is expected of the run.
    pub expect: Vec<Expectation>,
    /// The least score with which the evaluation passes; the evaluation's own word if absent.
    pub pass_score: Option<f64>,
    /// What a crash, a hang or a broken protocol of an evaluated agent counts as.
    pub agent_errors: AgentErrors,
}

/// What a crash, a hang or a broken protocol of an evaluated agent that had been ready counts as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentErrors {
    /// The agent failed, with a score of 0.
    #[default]
    Failed,
    /// The trial could not be carried out and says nothing about the agent.
    Infrastructure,
}

/// Which ports agents listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ports {
    /// Those of the file.
    Fixed,
    /// Free ones, put in the place of the file's in endpoint and cmd.
    Auto,
}

/// Time limits; every wait of a run is under one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From an agent's start until its card can be read.
    pub ready: Duration,
    /// With nothing passing over any hop.
    pub idle: Duration,
    /// The whole evaluation.
    pub total: Duration,
    /// From SIGTERM to SIGKILL.
    pub stop: Duration,
}

/// How the transcript becomes a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotSettings {
    /// JSON pointers, `*` for any one segment, into bodies whose values are replaced by `<redacted>`.
    pub redact: Vec<String>,
}
