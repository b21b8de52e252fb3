//! `[green_agent]` and `[[participants]]`, in both of AgentBeats' dialects, and `[agent_under_test]` of CAR-bench's contest.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    policy::PolicyLimits,
    roles::DeclaredRoles,
    start::{StartFile, server_kind, start},
    values::{self, Endpoint, Python},
};
use crate::{
    error::Problem,
    model::{AGENT_UNDER_TEST, Agent, Inherits, Requirement, ServerKind, Start},
    reader::{Key, Kind as _, Node, Table, kind, table},
};

/// Matches the command of an agent that calls the green one.
const NAMES_GREEN: &str = r"\{green\}";

table! {
    /// An agent that is evaluated.
    pub(crate) struct AgentKeys<'a> as "Participant", spelled, with(|_| one_start()) {
        /// Its name, here and for the evaluator; unique in the file.
        later role: Key<'a> as RoleText,
        /// The role, as AgentBeats' leaderboards call it. Beside a role it is a name for people, which is not used.
        later name: Key<'a> as RoleText,
        /// The URL at which it listens. Required unless bot, server, builtin or policy is given, or cmd contains
        /// {green}.
        later endpoint: Key<'a> as Endpoint,
        /// The URL of a server that is no A2A agent but is used by the other participants: a bot, a model, an MCP
        /// server, a web site. It is ready when it answers HTTP, and it is not evaluated.
        later server: Key<'a> as Endpoint,
        /// The URL at which a bot receives activities, such as "http://127.0.0.1:3979/api/messages". The harness
        /// hosts it behind the bridge and evaluates it as an A2A agent; the activities are recorded in the
        /// transcript too.
        later bot: Key<'a> as Endpoint,
        /// The name of a built-in bot of the bridge, hosted inside the harness; without endpoint and cmd. sample repeats a
        /// message and completes the task, echo repeats it and waits for the next one; the others misbehave.
        later builtin: Key<'a> as String {"enum": bridge_bots::bot::BUILTINS.map(|(name, _)| name)},
        /// The name of a built-in policy of the purple agent, run inside the harness; without endpoint and cmd.
        later policy: Key<'a> as String {"enum": purple_agent::policy::BUILTINS.map(|(name, _)| name)},
        /// The settings of the policy, which depend on the policy.
        later settings: Key<'a> as Map<String, Value>,
        /// The hosts and commands to which the policy may connect; HTTP to this machine if absent.
        later allow: Key<'a> as Allow,
        /// The policy's limits.
        later limits: Key<'a> as PolicyLimits,
        /// The role of the participant that is the policy's MCP server from the start. That server gets a token
        /// in MCP_TOKEN, which the policy sends to it.
        later tools: Key<'a> as String,
        /// Whether it answers with a message, without a task, if a turn has one plain message: for evaluators that accept only
        /// messages. Only beside bot, builtin or policy.
        later message_only: Key<'a> as bool,
        /// The command that starts it, split into words as a shell would, without a shell: ${NAME} stays as it is. Without it
        /// the agent runs already. {green} becomes the URL of the green agent; a command with it starts an agent that calls
        /// the green one and does not listen. {ROLE}, here, in env and in settings, becomes the recorded URL of
        /// the participant in that role; for the agent's own role, the URL at which the evaluator reaches it.
        later cmd: Key<'a> as String,
        /// Its id on agentbeats.org, written to the results file.
        later agentbeats_id: Key<'a> as String,
        /// Its container image, which docker or podman runs unless endpoint, --agent or --overlay say otherwise.
        later image: Key<'a> as String,
        /// How its container image is built. Nothing is built here: build it and name it as image, or start the agent by
        /// --agent or --overlay.
        later build: Key<'a> as Value,
        /// Environment variables for cmd; ${NAME} is replaced by a variable of the caller's environment or of
        /// .env. The word "inherit" passes all of both instead of a clean environment.
        later env: Key<'a> as Env,
        /// Names of variables of the caller's environment and of .env that cmd gets if they are set; NAME*
        /// matches all that begin with NAME.
        later pass_env: Key<'a> as Vec<Variable>,
        /// The requirements of this agent on this machine, in addition to the scenario's.
        later requires: Key<'a> as Vec<Requirement>,
        /// The version of Python with which it runs, such as 3.12.
        later python: Key<'a> as Python,
        /// Whether a trial has no score if the agent reports that its language model could not be used, if it refuses its task
        /// for want of credentials, or if a server crashes while it answers a tool call of the agent. Otherwise the trial is
        /// scored, because the agent could bring this about in each trial that it would fail. A policy is always trusted.
        default trusted: bool = false,
    }
}

// These are the keys of a participant that runs elsewhere or is a program, some with other descriptions.
kind! {
    /// The agent that evaluates.
    pub(super) enum GreenAgent;
    |generator| {
        let mut green = AgentKeys::json_schema(generator).to_value();
        let properties = ["image", "build", "env", "pass_env", "requires", "python", "endpoint", "cmd", "agentbeats_id"];
        let properties = properties.map(|name| (name, green["properties"][name].take()));
        let mut properties = Map::from_iter(properties.map(|(name, key)| (name.to_owned(), key)));
        for (name, description) in [
            ("endpoint", "The URL at which it listens."),
            ("agentbeats_id", "Its id on agentbeats.org."),
            (
                "cmd",
                "The command that starts it, split into words as a shell would, without a shell: ${NAME} stays as it is. \
                 Without it the agent runs already. {environment} in it becomes the origin at which participants reach its MCP endpoint, \
                 which is the recorder's.",
            ),
        ] {
            properties[name]["description"] = json!(description);
        }
        json!({
            "type": "object",
            "properties": properties,
            "if": {"required": ["cmd"], "properties": {"cmd": {"pattern": r"\S"}}},
            "then": {"required": ["endpoint"]},
        })
    }
}

kind! {
    /// A role. green, runner, environment and names that end in .bot are reserved.
    enum RoleText as "Role";
    |_| json!({
        "type": "string",
        "pattern": r"^[^\s./\\]([^/\\]*[^\s/\\])?$",
        "not": {"anyOf": [{"enum": RESERVED}, {"pattern": r"\.bot$"}]},
    })
}

kind! {
    /// A table of variables, or the word inherit.
    enum Env;
    |generator| {
        let table = generator.subschema_for::<BTreeMap<String, Setting>>();
        json!({"anyOf": [{"type": "string", "const": "inherit"}, table]})
    }
}

kind! {
    /// A variable's value: text, a number, true or false.
    enum Setting => String, text_of;
    |_| values::single()
}

kind! {
    /// The name of a variable, or a prefix of names and *.
    enum Variable => String, |node| {
        node.read("a variable's name", |text| {
            let name = text.strip_suffix('*').unwrap_or(text);
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            (!name.is_empty() && name.chars().all(plain)).then(|| text.to_owned())
        })
    };
    |_| json!({"type": "string", "pattern": r"^[A-Za-z0-9_]+\*?$"})
}

// This is written by hand, because the policies' own reader reads the table.
kind! {
    /// The hosts and commands to which an agent may connect, whatever connection details it receives.
    enum Allow;
    |_| json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "loopback": {
                "type": "boolean", "default": true,
                "description": "Whether HTTP to this machine is allowed.",
            },
            "hosts": {
                "type": "array", "items": {"type": "string"},
                "description": "Further hosts for HTTP: names or addresses without a port.",
            },
            "commands": {
                "type": "array", "items": {"type": "string"},
                "description": "Programs that may be started, each exactly as connection details name them.",
            },
        },
    })
}

/// Returns the rule that a participant has a role and is started in one way.
fn one_start() -> Value {
    let has = |name: &str| json!({"required": [name]});
    let but = |own: &str| {
        let starts = ["endpoint", "server", "bot", "builtin", "policy", "cmd"].into_iter();
        let others: Vec<Value> = starts.filter(|name| *name != own).map(has).collect();
        json!({"anyOf": others})
    };
    let process = ["cmd", "env", "pass_env"].map(has);
    let has_process = json!({"anyOf": process});
    let calls = json!({"cmd": {"pattern": NAMES_GREEN}});
    json!({
        "anyOf": [has("role"), has("name")],
        "oneOf": [
            {"required": ["endpoint"], "not": {"properties": calls, "required": ["cmd"]}},
            has("server"),
            has("bot"),
            {"anyOf": [has("image"), has("build"), has("agentbeats_id")], "not": but("")},
            {"required": ["builtin"], "not": has_process},
            {"required": ["policy"], "not": has_process},
            {"required": ["cmd"], "properties": calls, "not": but("cmd")},
        ],
        "if": {"required": ["message_only"]},
        "then": {"anyOf": [has("bot"), has("builtin"), has("policy")]},
        "dependentRequired": {"settings": ["policy"], "allow": ["policy"], "limits": ["policy"], "tools": ["policy"]},
    })
}

/// Roles that name the harness's own parties in transcripts.
const RESERVED: [&str; 3] = ["green", "runner", "environment"];

/// Reads `[[participants]]`, or the table `[agent_under_test]`.
pub(super) fn participants<'a>(tables: &Key<'a>, file: StartFile) -> DeclaredRoles {
    let mut roles = DeclaredRoles::default();
    let mut declared = 0;
    let mut tools = Vec::new();
    let only = (tables.name() == AGENT_UNDER_TEST).then_some(AGENT_UNDER_TEST);
    let read = |table: &mut Table<'a>| {
        declared += 1;
        let keys = AgentKeys::of(table)?;
        let role = match only {
            Some(role) => {
                roles.roles.insert(role.to_owned(), table.line());
                Some(role.to_owned())
            }
            None => role(&keys, table.line(), &mut roles.roles),
        };
        // An agent without a role is dropped, but its other keys are still checked.
        let agent = agent(&keys, role.clone().unwrap_or_default(), file);
        let bot = keys.bot.node().is_some();
        tools.extend(keys.tools.into_node());
        role.and(agent).map(|agent| (agent, bot))
    };
    let read = match only {
        Some(_) => tables.table().iter_mut().filter_map(read).collect(),
        None => tables.tables(read),
    };
    roles.declared = declared;
    register(&mut roles, read);
    for node in tools {
        check_tools(&node, &roles);
    }
    roles
}

/// The suffix that the bot's role has after the role of the agent that hosts it. No participant can have such
/// a role.
const BOT_SUFFIX: &str = ".bot";

/// Registers the participants; the flag marks bots. Bots are put at the end: the evaluator calls the bot's host, which
/// gets the role that the file names.
fn register(roles: &mut DeclaredRoles, participants: Vec<(Agent, bool)>) {
    let mut bots = Vec::new();
    for (agent, is_bot) in participants {
        if !is_bot {
            roles.agents.push(agent);
            continue;
        }
        let (host, bot) = behind_a_host(agent);
        let line = roles.roles.get(&host.role).copied();
        roles.roles.extend(line.map(|line| (bot.role.clone(), line)));
        roles.agents.push(host);
        bots.push(bot);
    }
    roles.declared += bots.len();
    roles.agents.extend(bots);
}

/// Returns the host of a bot, and the bot itself with its settings.
fn behind_a_host(bot: Agent) -> (Agent, Agent) {
    let role = format!("{}{BOT_SUFFIX}", bot.role);
    let host = Agent {
        agentbeats_id: bot.agentbeats_id,
        is_trusted: bot.is_trusted,
        message_only: bot.message_only,
        ..Agent::new(bot.role, Start::Bot { role: role.clone() })
    };
    let bot = Agent { role, agentbeats_id: None, ..bot };
    (host, bot)
}

/// Checks that `tools` names a server, which may be defined further down in the file.
fn check_tools(node: &Node<'_>, roles: &DeclaredRoles) {
    let role = node.text().and_then(|role| roles.check(role, &[], node));
    let agent = role.and_then(|role| roles.agents.iter().find(|agent| agent.role == role));
    if agent.is_some_and(|agent| agent.server_kind == ServerKind::Agent) {
        node.expected::<()>("the role of a participant with server, the URL of an MCP server");
    }
}

/// Reads the role, called `role` here and `name` on AgentBeats' leaderboards, and registers it. In files with both, the green
/// agent of a leaderboard knows the participant by its `role`.
fn role(keys: &AgentKeys<'_>, line: usize, roles: &mut BTreeMap<String, usize>) -> Option<String> {
    let Some(node) = keys.role.node().or_else(|| keys.name.node()) else {
        return keys.role.missing("the name of this participant");
    };
    let role = node.read(ROLE, |text| is_role(text).then(|| text.to_owned()))?;
    if is_reserved(&role) {
        node.report(Problem::ReservedRole(role));
        return None;
    }
    if let Some(&line) = roles.get(&role) {
        node.report(Problem::DuplicateRole { role, line });
        return None;
    }
    roles.insert(role.clone(), line);
    Some(role)
}

/// What a role has to be, in messages.
pub(super) const ROLE: &str = "a role: a text without \"->\", slashes or blanks around it";

/// Returns whether a role is one of the harness's own parties, or looks like that of a hosted bot.
pub(super) fn is_reserved(role: &str) -> bool {
    RESERVED.contains(&role) || role.ends_with(BOT_SUFFIX)
}

/// Returns whether a text can be a role. Roles are parts of hops (`green -> purple`) and of file names.
pub(super) fn is_role(text: &str) -> bool {
    let is_plain = |c: char| !c.is_control() && c != '/' && c != '\\';
    !text.is_empty()
        && text.trim() == text
        && !text.starts_with('.')
        && !text.contains("->")
        && text.chars().all(is_plain)
}

/// Reads all keys of an agent except its role.
pub(super) fn agent(keys: &AgentKeys<'_>, role: String, file: StartFile) -> Option<Agent> {
    let cmd = keys.cmd.node().and_then(values::words);
    let passed = Inherits::Named(keys.pass_env.read::<Vec<Variable>>().unwrap_or_default());
    let (env, inherits) = match keys.env.node() {
        Some(node) if node.as_text().is_some() => {
            node.read("a table, or \"inherit\"", |text| (text == "inherit").then_some(()));
            (BTreeMap::new(), Inherits::Everything)
        }
        Some(node) => (env(node), passed),
        None => (BTreeMap::new(), passed),
    };
    let python = keys.python.read::<Python>();
    let requires = keys.requires.read::<Vec<Requirement>>();
    let agentbeats_id = keys.agentbeats_id.read::<String>();
    Some(Agent {
        role,
        agentbeats_id: agentbeats_id.filter(|id| !id.trim().is_empty()),
        server_kind: server_kind(keys),
        message_only: message_only(keys),
        start: start(keys, cmd, file)?,
        env,
        inherits,
        requires: requires.into_iter().flatten().chain(python).collect(),
        is_trusted: keys.trusted,
    })
}

fn message_only(keys: &AgentKeys<'_>) -> bool {
    let is_hosted = [&keys.bot, &keys.builtin, &keys.policy].iter().any(|key| key.node().is_some());
    if let (false, Some(node)) = (is_hosted, keys.message_only.node()) {
        node.expected::<()>("it only beside bot, builtin or policy");
    }
    keys.message_only.read::<bool>().unwrap_or_default()
}

fn env(node: &Node<'_>) -> BTreeMap<String, String> {
    let entries = node.table().into_iter().flat_map(|table| {
        let texts = table.entries().map(|(name, value)| (name, Setting::read(&value)));
        texts.collect::<Vec<_>>()
    });
    entries.filter_map(|(name, text)| Some((name.to_owned(), text?))).collect()
}

/// Reads a variable's value; public files contain numbers and booleans too.
fn text_of(node: &Node<'_>) -> Option<String> {
    match node.json()? {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            node.expected("text, a number, true or false")
        }
    }
}

#[cfg(test)]
mod tests;
