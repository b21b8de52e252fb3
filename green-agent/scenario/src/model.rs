//! The contents of a scenario file: agents, the evaluation's configuration, and the harness's settings.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use clap::ValueEnum;
use green_agent_transcript::SnapshotSettings;
use serde_json::{Map, Value};
use url::Url;

use mcp_tools::allow_list::AllowList;
use purple_agent::agent::Limits;

pub use super::inherits::Inherits;
use super::{
    duration::Limit,
    episode::Episode,
    expectation::{AnswerCheck, Expectation, ValuePath},
    gate::{Gates, StopWhen},
    pipeline::{AgentAddress, Credential, Pipeline},
    placeholder,
    reader::table,
};

/// One scenario file.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The path of the file.
    pub path: PathBuf,
    /// The name in reports: the path below the nearest folder called `scenarios`, without extension.
    pub name: String,
    /// The evaluator.
    pub green: Green,
    /// The participants, in the file's order.
    pub participants: Vec<Agent>,
    /// The `[config]` table, passed to the evaluator unchanged.
    pub config: Map<String, Value>,
    /// The `[harness]` table.
    pub harness: Harness,
}

impl Scenario {
    /// Returns the agents in the order in which they are started: the green one last, after those it calls.
    pub fn agents(&self) -> impl Iterator<Item = &Agent> {
        let green = match &self.green {
            Green::Agent(agent) => Some(agent),
            Green::Builtin(_) => None,
        };
        self.participants.iter().chain(green)
    }

    /// Returns the same agents for modification.
    pub fn agents_mut(&mut self) -> impl Iterator<Item = &mut Agent> {
        let green = match &mut self.green {
            Green::Agent(agent) => Some(agent),
            Green::Builtin(_) => None,
        };
        self.participants.iter_mut().chain(green)
    }

    /// Returns the participant that works in an episode, or calls: the first that is an agent and not a
    /// server.
    pub fn worker(&self) -> Option<&Agent> {
        let is_agent = |agent: &&Agent| agent.server_kind == ServerKind::Agent;
        self.participants.iter().find(is_agent)
    }

    /// Returns whether the evaluator may call the participant in this role: a pipeline names it, or the green agent gets its address.
    pub fn asks(&self, role: &str) -> bool {
        let named =
            |place: &AgentAddress| matches!(place, AgentAddress::Role(named) if named == role);
        match &self.green {
            Green::Builtin(Evaluator::Pipeline(pipeline)) => pipeline.agents.addresses().any(named),
            Green::Builtin(Evaluator::Conversation(_) | Evaluator::Episode(_)) => false,
            Green::Agent(green) => green.knows(role),
        }
    }

    /// Returns whether a turn of a conversation tells one participant the address of another by `{role}`.
    pub fn tells(&self, participant: &str, role: &str) -> bool {
        let Green::Builtin(Evaluator::Conversation(conversation)) = &self.green else {
            return false;
        };
        let turns = conversation.turns.iter();
        let mut parts = turns.filter(|turn| turn.to == participant).flat_map(|turn| &turn.parts);
        parts.any(|part| placeholder::value_names(part, role))
    }

    /// Returns the credentials that the built-in evaluator sends.
    pub fn credentials(&self) -> &[Credential] {
        match &self.green {
            Green::Builtin(Evaluator::Conversation(conversation)) => &conversation.credentials,
            Green::Builtin(Evaluator::Episode(episode)) => &episode.credentials,
            Green::Builtin(Evaluator::Pipeline(pipeline)) => &pipeline.credentials,
            Green::Agent(_) => &[],
        }
    }

    /// Returns whether the participant in this role is shown a credential, so that its card may want one too.
    pub fn shows_credential_to(&self, role: &str) -> bool {
        let mut receivers = self.credentials().iter().map(|one| &one.agent);
        receivers.any(|agent| matches!(agent, AgentAddress::Role(named) if named == role))
    }
}

/// The evaluator of a scenario.
#[derive(Clone, Debug)]
pub enum Green {
    /// A program or a server that speaks A2A.
    Agent(Agent),
    /// A built-in evaluator, in the runner's process.
    Builtin(Evaluator),
}

/// The built-in evaluators, chosen by `config.evaluator`.
#[derive(Clone, Debug)]
pub enum Evaluator {
    /// `conversation`: sends scripted turns.
    Conversation(Conversation),
    /// `episode`: has a participant work in an environment over MCP.
    Episode(Episode),
    /// `pipeline`: has agents that are found by skill carry out steps.
    Pipeline(Pipeline),
}

/// An agent, with the way in which it is started.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// `green`, or the participant's `role` (leaderboard files call it `name`).
    pub role: String,
    /// Its id in AgentBeats' results file.
    pub agentbeats_id: Option<String>,
    /// The way in which it is started, and the address at which it listens.
    pub start: Start,
    /// The kind of server at its address.
    pub server_kind: ServerKind,
    /// The table `env`, with `${NAME}` not yet replaced.
    pub env: BTreeMap<String, String>,
    /// The variables that it inherits from the runner's environment and from `.env`.
    pub inherits: Inherits,
    /// The requirements of this agent, in addition to the scenario's.
    pub requires: Vec<Requirement>,
    /// Whether it answers with messages in place of tasks; only an agent that is hosted in the runner's process can.
    pub message_only: bool,
    /// Whether the file says that its reports of a broken model count.
    pub is_trusted: bool,
}

/// The way in which an agent is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// The file does not specify it, like AgentBeats' leaderboard files; the command line or an overlay must do so.
    Absent {
        /// The container image that the file names.
        image: Option<String>,
        /// The words of the command in the image that the file names; [`PORT`](super::placeholder::PORT) in them becomes a port.
        entrypoint: Vec<String>,
        /// Whether the file says how its image is built.
        is_built: bool,
    },
    /// It runs already.
    Running {
        /// The address at which it listens.
        endpoint: Url,
    },
    /// A program is started.
    Program {
        /// The address at which it will listen.
        endpoint: Url,
        /// The words of `cmd`, split as a shell would.
        cmd: Vec<String>,
    },
    /// `builtin`: a built-in bot of the bridge, hosted in the runner's process.
    Builtin {
        /// Its name.
        name: String,
    },
    /// `bot`: a running bot, hosted behind the bridge in the runner's process.
    Bot {
        /// The role of the participant that is the bot itself.
        role: String,
    },
    /// `policy`: a purple agent with a built-in policy, in the runner's process.
    Policy(Policy),
    /// A program that calls the green agent itself and does not listen: its `cmd` contains [`GREEN`].
    Client {
        /// The words of `cmd`.
        cmd: Vec<String>,
    },
}

impl Start {
    /// Returns the address and the words of `cmd` of a program that is started and listens.
    pub fn program(&self) -> Option<(&Url, &[String])> {
        match self {
            Self::Program { endpoint, cmd } => Some((endpoint, cmd)),
            _ => None,
        }
    }
}

/// The kind of server at a participant's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// An A2A agent, which is evaluated: `endpoint`.
    Agent,
    /// A server that the other participants use, such as a bot, a model or an MCP server: `server`.
    Server,
}

/// The placeholder in a participant's `cmd` for the green agent's URL.
pub const GREEN: &str = "{green}";

/// The placeholder in the green agent's `cmd` for the origin at which participants reach its MCP endpoint.
/// That is the recorder's, so that the participants' work is in the transcript.
pub const ENVIRONMENT: &str = "{environment}";

/// The role of the only participant in the files of CAR-bench's contest, and the table that describes it.
pub const AGENT_UNDER_TEST: &str = "agent_under_test";

/// A built-in policy of a purple agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Its name, one of [`purple_agent::policy::BUILTINS`].
    pub name: String,
    /// Its settings, which the policy reads itself.
    pub settings: Map<String, Value>,
    /// The hosts and commands to which it may connect.
    pub allow: AllowList,
    /// The role of the participant that is its MCP server from the start.
    pub tools: Option<String>,
    /// The limits of each conversation.
    pub limits: Limits,
    /// The time limit of a call of an MCP server's tool.
    pub call: Duration,
}

impl Agent {
    /// Returns an agent that speaks A2A, with nothing but a role and a way to start.
    pub(super) fn new(role: impl Into<String>, start: Start) -> Self {
        Self {
            role: role.into(),
            agentbeats_id: None,
            start,
            server_kind: ServerKind::Agent,
            env: BTreeMap::new(),
            inherits: Inherits::default(),
            requires: Vec::new(),
            message_only: false,
            is_trusted: false,
        }
    }

    /// Returns whether this participant is a bot that calls back the one in `role`, which hosts it.
    pub fn answers(&self, host: &Self) -> bool {
        matches!(&host.start, Start::Bot { role } if *role == self.role)
    }

    /// Returns whether this participant gets the address of the one in `role`: by `{role}` in `cmd`, `env` or
    /// `settings`, or because that one is its MCP server.
    pub fn knows(&self, role: &str) -> bool {
        let mut texts = self.start.words().iter().chain(self.env.values());
        texts.any(|text| placeholder::names(text, role)) || self.start.asks(role)
    }
}

impl Start {
    /// Returns whether a policy's settings or tools, or a hosted bot, name the participant in this role.
    fn asks(&self, role: &str) -> bool {
        match self {
            Self::Policy(policy) => {
                policy.tools.as_deref() == Some(role)
                    || placeholder::stands_in(&policy.settings, role)
            }
            Self::Bot { role: bot } => bot == role,
            _ => false,
        }
    }

    /// Returns whether the agent calls the green one and does not listen.
    pub fn is_client(&self) -> bool {
        matches!(self, Self::Client { .. })
    }

    /// Returns the words of the command that starts it; empty without a command.
    pub fn words(&self) -> &[String] {
        match self {
            Self::Program { cmd, .. } | Self::Client { cmd } => cmd,
            _ => &[],
        }
    }
}

/// A scripted conversation.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// The turns, in their order.
    pub turns: Vec<ConversationTurn>,
    /// The credentials that participants are sent.
    pub credentials: Vec<Credential>,
}

/// One scripted turn, `[[config.turn]]`: a message, and the expected answer.
#[derive(Clone, Debug)]
pub struct ConversationTurn {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// The role of the receiver.
    pub to: String,
    /// The parts of the message, in A2A 1.0 form; `text = "..."` is one text part.
    pub parts: Vec<Value>,
    /// The protocol version to use; chosen from the card if absent.
    pub version: Option<ProtocolVersion>,
    /// The protocol binding to use; chosen from the card if absent.
    pub binding: Option<ProtocolBinding>,
    /// The URIs of the extensions to activate: agents may require some.
    pub extensions: Vec<String>,
    /// Whether to use the streaming operation; the turn fails if the agent refuses it.
    pub stream: bool,
    /// Whether to cancel the task. Without parts, this is the whole turn; with parts, the task is canceled
    /// while the turn runs.
    pub cancel: bool,
    /// The pause before the turn; with `cancel` and parts, the pause between message and cancel.
    pub after: Option<Duration>,
    /// Whether to begin a new task (and context) although the role's last task is still open.
    pub fresh: bool,
    /// The state that the task must have after the turn, by its A2A 0.3 name such as `input-required`;
    /// `message` if the answer must be a bare Message. Any state if absent.
    pub state: Option<String>,
    /// The checks that the answer must pass: those of `contains`, `contains_all`, `contains_any`, `matches` and `expect`.
    pub expect: Vec<AnswerCheck>,
}

/// The A2A versions that a turn can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProtocolVersion {
    /// `0.1`
    #[value(name = "0.1")]
    V0_1,
    /// `0.3`
    #[value(name = "0.3")]
    V0_3,
    /// `1.0`
    #[value(name = "1.0")]
    V1_0,
}

/// The protocol bindings that a turn can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProtocolBinding {
    /// `jsonrpc`
    #[value(name = "jsonrpc")]
    JsonRpc,
    /// `rest`: HTTP+JSON
    Rest,
    /// `grpc`
    Grpc,
}

/// A requirement of a scenario on this machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Requirement {
    /// `python:REQUIREMENT`, in pip's syntax, such as `python:a2a-sdk==0.3.26`.
    Python(String),
    /// `python:.` or another folder, recognized by its first character: a checkout with a `pyproject.toml`,
    /// and possibly a `uv.lock`.
    Checkout(String),
    /// `python = "3.12"`: the version of the interpreter.
    Interpreter(String),
    /// `npm:PACKAGE@VERSION`
    Npm(String),
    /// `command:NAME`: a program on the PATH.
    Command(String),
}

impl fmt::Display for Requirement {
    /// Writes the requirement as in the file.
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
    /// Whether the file has the table.
    pub declared: bool,
    /// The number of trials of each scenario.
    pub trials: u32,
    /// The seed for environments and for agents' random choices.
    pub seed: u64,
    /// Whether all agents inherit the whole environment.
    pub inherit: bool,
    /// The requirements of every agent of the scenario.
    pub requires: Vec<Requirement>,
    /// Whether the endpoints' ports are replaced.
    pub ports: Ports,
    /// The limits of each phase.
    pub timeout: Timeouts,
    /// The settings of the snapshot; `None` if no snapshot is compared.
    pub snapshot: Option<SnapshotSettings>,
    /// The expectations.
    pub expect: Vec<Expectation>,
    /// The lowest score with which the evaluation passes; if absent, the evaluation's own verdict counts.
    pub pass_score: Option<f64>,
    /// The places of further metrics in the list of the evaluator's results, by name.
    pub metrics: BTreeMap<String, ValuePath>,
    /// The most MiB that the parties of a trial may send.
    pub transcript_limit: u32,
    /// The effect of a crash, a hang or a broken protocol of an evaluated agent.
    pub agent_errors: AgentErrors,
    /// The demands on the figures of all trials.
    pub gate: Gates,
    /// The condition under which no more trials are needed; `None` if all are run.
    pub stop_when: Option<StopWhen>,
    /// The number of retries of a trial.
    pub retries: Retries,
    /// The parts that are reused in the next trial.
    pub reuse: Reuse,
}

/// The parts that are reused in the next trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Reuse {
    /// Nothing: each trial starts its own agents.
    #[default]
    Nothing,
    /// The programs of the agents, which are started once for many trials.
    Agents,
}

table! {
    /// The number of retries of a trial.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Retries as "Retries", closed {
        /// The number of retries after a failure of the environment, the model, the harness or the machine.
        default infrastructure: u32 = 0,
    }
}

/// The effect of a crash, a hang or a broken protocol of an evaluated agent that was ready before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum AgentErrors {
    /// It counts as a failure of the agent, with a score of 0.
    #[default]
    Failed,
    /// It counts as a trial that could not be carried out and says nothing about the agent.
    Infrastructure,
}

/// The ports on which agents listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Ports {
    /// Free ports, which replace the file's ports in endpoint and cmd.
    Auto,
    /// The ports in the file.
    Fixed,
}

table! {
    /// Time limits; every wait of a run is under one of them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Timeouts as "Timeout", closed {
        /// The time from an agent's start until its card can be read.
        default ready: Duration as Limit = "3m",
        /// The time without activity: no byte passes between any two agents, on open replies too, and no agent that was
        /// started prints anything. Polls without news, and lines of logs about them, are no activity.
        default idle: Duration as Limit = "5m",
        /// The time for the whole evaluation.
        default total: Duration as Limit = "30m",
        /// The time from asking an agent to end until it is killed.
        default stop: Duration as Limit = "5s",
    }
}
