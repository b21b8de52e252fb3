//! The shape of `[green_agent]` and `[[participants]]`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::harness::{Python, Requirement};

/// Whether a command is that of an agent which calls the green one.
const NAMES_GREEN: &str = r"\{green\}";

/// The agent that evaluates.
#[derive(JsonSchema)]
#[schemars(extend("if" = names_an_agent(), "then" = {"required": ["endpoint"]}))]
#[expect(dead_code, reason = "only its shape is used")]
pub(super) struct GreenAgent {
    /// Where it listens.
    endpoint: Option<Endpoint>,
    /// The command that starts it, split into words as a shell would, without a shell. Without it the agent
    /// runs already. {environment} in it becomes the origin under which participants reach its MCP endpoint:
    /// the recorder's.
    cmd: Option<String>,
    /// Its id on agentbeats.org.
    agentbeats_id: Option<String>,
    /// Its container image, which docker or podman runs unless endpoint, --agent or --overlay say otherwise.
    image: Option<String>,
    /// Environment variables for cmd; ${NAME} is replaced from the caller's environment and .env. Or "inherit": all
    /// of both, in the place of a clean environment.
    env: Option<Env>,
    /// Variables of the caller's environment and of .env that cmd gets if they are set; NAME* is all that begin so.
    pass_env: Option<Vec<Variable>>,
    /// What this agent needs on this machine, beside what the whole scenario needs.
    requires: Option<Vec<Requirement>>,
    /// The version of Python that it runs with, such as 3.12.
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
    /// What it is called, here and by the evaluator; unique in the file.
    role: Option<Role>,
    /// The same as role, in the words of AgentBeats' leaderboards.
    name: Option<Role>,
    /// Where it listens. Needed unless bot, server, builtin or policy is given, or cmd names {green}.
    endpoint: Option<Endpoint>,
    /// Where it listens, if it is no A2A agent but something that the others use: a bot, a model, an MCP
    /// server, a web site. It is ready when it answers HTTP, and it is not evaluated.
    server: Option<Endpoint>,
    /// Where it takes activities, if it is a bot, such as "http://127.0.0.1:3979/api/messages". It is hosted
    /// behind the bridge inside the harness, and evaluated as an A2A agent; what passes between the two is in the
    /// transcript.
    bot: Option<Endpoint>,
    /// One of the bridge's own bots, hosted inside the harness; without endpoint and cmd.
    #[schemars(extend("enum" = bridge::bot::BUILTINS.map(|(name, _)| name)))]
    builtin: Option<String>,
    /// One of the purple agent's own policies, inside the harness; without endpoint and cmd.
    #[schemars(extend("enum" = purple_agent::policy::BUILTINS.map(|(name, _)| name)))]
    policy: Option<String>,
    /// What the policy is told; what may stand here is the policy's to say.
    settings: Option<Map<String, Value>>,
    /// Which hosts and commands the policy may connect to; HTTP to this machine if absent.
    allow: Option<Allow>,
    /// The role of the participant that is the MCP server which the policy knows beforehand. That server gets
    /// a token in MCP_TOKEN, which the policy shows it.
    tools: Option<String>,
    /// The command that starts it, split into words as a shell would, without a shell. Without it the agent
    /// runs already. A command that names {green} starts an agent that calls the green one, whose URL is put
    /// in its place, and that listens nowhere. {ROLE} in it, in env and in settings becomes the URL of the
    /// participant in that role, as the recorder has it; of its own role that at which the evaluator reaches it.
    cmd: Option<String>,
    /// Its id on agentbeats.org, which stands in the results file.
    agentbeats_id: Option<String>,
    /// Its container image, which docker or podman runs unless endpoint, --agent or --overlay say otherwise.
    image: Option<String>,
    /// Environment variables for cmd; ${NAME} is replaced from the caller's environment and .env. Or "inherit": all
    /// of both, in the place of a clean environment.
    env: Option<Env>,
    /// Variables of the caller's environment and of .env that cmd gets if they are set; NAME* is all that begin so.
    pass_env: Option<Vec<Variable>>,
    /// What this agent needs on this machine, beside what the whole scenario needs.
    requires: Option<Vec<Requirement>>,
    /// The version of Python that it runs with, such as 3.12.
    python: Option<Python>,
}

/// Variables, or the word inherit.
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

/// The name of a variable, or its beginning and *.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
struct Variable(#[schemars(regex(pattern = r"^[A-Za-z0-9_]+\*?$"))] String);

/// Which hosts and commands an agent may connect to, whoever tells it to.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct Allow {
    /// HTTP to this machine.
    #[schemars(extend("default" = true))]
    loopback: Option<bool>,
    /// Further hosts over HTTP, names or addresses without a port.
    hosts: Option<Vec<String>>,
    /// Programs that may be started, each exactly as connection details name them.
    commands: Option<Vec<String>>,
}

/// An http or https URL with a host and without user and password, such as "http://127.0.0.1:9009".
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
struct Endpoint(#[schemars(regex(pattern = r"^\s*[Hh][Tt][Tt][Pp][Ss]?:"))] String);

/// A role; green, runner, environment and what ends with .bot are reserved.
#[derive(JsonSchema)]
#[schemars(extend("not" = {"anyOf": [{"enum": ["green", "runner", "environment"]}, {"pattern": r"\.bot$"}]}))]
#[expect(dead_code, reason = "only its shape is used")]
struct Role(#[schemars(regex(pattern = r"^[^\s./\\]([^/\\]*[^\s/\\])?$"))] String);

/// The keys by one of which an agent comes to be there.
const STARTS: [&str; 6] = ["endpoint", "server", "bot", "builtin", "policy", "cmd"];

/// Whether a key is filled in that only an agent of its own has.
fn names_an_agent() -> Value {
    let filled = |name: &str| json!({"required": [name], "properties": {name: {"pattern": r"\S"}}});
    filled("cmd")
}
