//! The shape of `[green_agent]` and `[[participants]]`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use crate::{model::Requirement, parse::Python};

/// Matches the command of an agent that calls the green one.
const NAMES_GREEN: &str = r"\{green\}";

/// The agent that evaluates.
#[derive(JsonSchema)]
#[schemars(extend("if" = names_an_agent(), "then" = {"required": ["endpoint"]}))]
#[expect(dead_code, reason = "only its shape is used")]
pub(super) struct GreenAgent {
    /// The URL at which it listens.
    endpoint: Option<Endpoint>,
    /// The command that starts it, split into words as a shell would, without a shell. Without it the agent
    /// runs already. {environment} in it becomes the origin at which participants reach its MCP endpoint,
    /// which is the recorder's.
    cmd: Option<String>,
    /// Its id on agentbeats.org.
    agentbeats_id: Option<String>,
    /// Its container image, which docker or podman runs unless endpoint, --agent or --overlay say otherwise.
    image: Option<String>,
    /// Environment variables for cmd; ${NAME} is replaced by a variable of the caller's environment or of
    /// .env. The word "inherit" passes all of both instead of a clean environment.
    env: Option<Env>,
    /// Names of variables of the caller's environment and of .env that cmd gets if they are set; NAME*
    /// matches all that begin with NAME.
    pass_env: Option<Vec<Variable>>,
    /// The requirements of this agent on this machine, in addition to the scenario's.
    requires: Option<Vec<Requirement>>,
    /// The version of Python with which it runs, such as 3.12.
    python: Option<Python>,
}

/// An agent that is evaluated.
#[derive(JsonSchema)]
#[schemars(extend(
    "anyOf" = [{"required": ["role"]}, {"required": ["name"]}],
    "oneOf" = [
        {"required": ["endpoint"], "not": {"properties": {"cmd": {"pattern": NAMES_GREEN}}, "required": ["cmd"]}},
        {"required": ["server"]},
        {"required": ["bot"]},
        {
            "anyOf": [{"required": ["image"]}, {"required": ["agentbeats_id"]}],
            "not": {"anyOf": STARTS.map(|name| serde_json::json!({"required": [name]}))},
        },
        {"required": ["builtin"], "not": {"required": ["cmd"]}},
        {"required": ["policy"], "not": {"required": ["cmd"]}},
        {
            "required": ["cmd"], "properties": {"cmd": {"pattern": NAMES_GREEN}},
            "not": {"anyOf": STARTS
                .iter().filter(|name| **name != "cmd").map(|name| serde_json::json!({"required": [name]})).collect::<Vec<_>>()},
        },
    ],
    "dependentRequired" = {"settings": ["policy"], "allow": ["policy"], "tools": ["policy"]}
))]
#[expect(dead_code, reason = "only its shape is used")]
pub(super) struct Participant {
    /// Its name, here and for the evaluator; unique in the file.
    role: Option<Role>,
    /// The same as role, as AgentBeats' leaderboards call it.
    name: Option<Role>,
    /// The URL at which it listens. Required unless bot, server, builtin or policy is given, or cmd contains
    /// {green}.
    endpoint: Option<Endpoint>,
    /// The URL of a server that is no A2A agent but is used by the other participants: a bot, a model, an MCP
    /// server, a web site. It is ready when it answers HTTP, and it is not evaluated.
    server: Option<Endpoint>,
    /// The URL at which a bot receives activities, such as "http://127.0.0.1:3979/api/messages". The harness
    /// hosts it behind the bridge and evaluates it as an A2A agent; the activities are recorded in the
    /// transcript too.
    bot: Option<Endpoint>,
    /// The name of a built-in bot of the bridge, hosted inside the harness; without endpoint and cmd.
    #[schemars(extend("enum" = bridge_bots::bot::BUILTINS.map(|(name, _)| name)))]
    builtin: Option<String>,
    /// The name of a built-in policy of the purple agent, run inside the harness; without endpoint and cmd.
    #[schemars(extend("enum" = purple_agent::policy::BUILTINS.map(|(name, _)| name)))]
    policy: Option<String>,
    /// The settings of the policy, which depend on the policy.
    settings: Option<Map<String, Value>>,
    /// The hosts and commands to which the policy may connect; HTTP to this machine if absent.
    allow: Option<Allow>,
    /// The role of the participant that is the policy's MCP server from the start. That server gets a token
    /// in MCP_TOKEN, which the policy sends to it.
    tools: Option<String>,
    /// The command that starts it, split into words as a shell would, without a shell. Without it the agent
    /// runs already. {green} becomes the URL of the green agent; a command with it starts an agent that calls
    /// the green one and does not listen. {ROLE}, here, in env and in settings, becomes the recorded URL of
    /// the participant in that role; for the agent's own role, the URL at which the evaluator reaches it.
    cmd: Option<String>,
    /// Its id on agentbeats.org, written to the results file.
    agentbeats_id: Option<String>,
    /// Its container image, which docker or podman runs unless endpoint, --agent or --overlay say otherwise.
    image: Option<String>,
    /// Environment variables for cmd; ${NAME} is replaced by a variable of the caller's environment or of
    /// .env. The word "inherit" passes all of both instead of a clean environment.
    env: Option<Env>,
    /// Names of variables of the caller's environment and of .env that cmd gets if they are set; NAME*
    /// matches all that begin with NAME.
    pass_env: Option<Vec<Variable>>,
    /// The requirements of this agent on this machine, in addition to the scenario's.
    requires: Option<Vec<Requirement>>,
    /// The version of Python with which it runs, such as 3.12.
    python: Option<Python>,
}

/// A table of variables, or the word inherit.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its shape is used")]
enum Env {
    Word(#[schemars(extend("const" = "inherit"))] String),
    Table(BTreeMap<String, Setting>),
}

/// A variable's value: text, a number, true or false.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its shape is used")]
enum Setting {
    Text(String),
    Number(f64),
    Flag(bool),
}

/// The name of a variable, or a prefix of names and *.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
struct Variable(#[schemars(regex(pattern = r"^[A-Za-z0-9_]+\*?$"))] String);

/// The hosts and commands to which an agent may connect, whatever connection details it receives.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct Allow {
    /// Whether HTTP to this machine is allowed.
    #[schemars(extend("default" = true))]
    loopback: Option<bool>,
    /// Further hosts for HTTP: names or addresses without a port.
    hosts: Option<Vec<String>>,
    /// Programs that may be started, each exactly as connection details name them.
    commands: Option<Vec<String>>,
}

/// An http or https URL with a host and without user and password, such as "http://127.0.0.1:9009".
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
struct Endpoint(#[schemars(regex(pattern = r"^\s*[Hh][Tt][Tt][Pp][Ss]?:"))] String);

/// A role. green, runner, environment and names that end in .bot are reserved.
#[derive(JsonSchema)]
#[schemars(extend("not" = {"anyOf": [{"enum": ["green", "runner", "environment"]}, {"pattern": r"\.bot$"}]}))]
#[expect(dead_code, reason = "only its shape is used")]
struct Role(#[schemars(regex(pattern = r"^[^\s./\\]([^/\\]*[^\s/\\])?$"))] String);

/// The keys that say how an agent is started; one of them is required.
const STARTS: [&str; 6] = ["endpoint", "server", "bot", "builtin", "policy", "cmd"];

/// Returns the condition that a key is set which only an external agent has.
fn names_an_agent() -> Value {
    let filled = |name: &str| json!({"required": [name], "properties": {name: {"pattern": r"\S"}}});
    filled("cmd")
}
