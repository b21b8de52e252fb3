//! Reads the keys that start an agent: `builtin`, `policy`, `endpoint`, `server` or `bot`, `cmd`.

use bridge_bots::bot::BUILTINS;
use url::Url;

use super::{agents::AgentKeys, policy, values::Endpoint};
use crate::{
    error::Problem,
    model::{GREEN, ServerKind, Start},
    placeholder::PORT,
    reader::{Key, Kind as _},
    supplied::anywhere,
};

/// Reads the kind of server at the participant's address.
pub(super) fn server_kind(keys: &AgentKeys<'_>) -> ServerKind {
    match (keys.server.node(), keys.bot.node()) {
        (None, None) => ServerKind::Agent,
        (Some(_), _) | (_, Some(_)) => ServerKind::Server,
    }
}

/// The kind of file that contains an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StartFile {
    /// A scenario.
    Scenario,
    /// An overlay, where `{port}` in a `cmd` becomes a free port, as in `--agent`.
    Overlay,
}

/// Reads the way in which the agent is started: built in, a policy, a program that listens or calls, or nothing because
/// it runs already.
pub(super) fn start(
    keys: &AgentKeys<'_>,
    cmd: Option<Vec<String>>,
    file: StartFile,
) -> Option<Start> {
    const ALONE: &str = "remove one of them, because an agent of the harness has no address, program or variables of its own";
    // The keys of agents that run outside this process.
    let outside = [&keys.endpoint, &keys.server, &keys.bot, &keys.cmd, &keys.env, &keys.pass_env];
    if let Some(node) = keys.builtin.node() {
        without(keys.builtin.name(), [&keys.policy].into_iter().chain(outside), ALONE)?;
        let names = BUILTINS.map(|(name, _)| name);
        let expected = format!("a built-in bot: {}", names.join(", "));
        let name = node.read(&expected, |name| names.contains(&name).then(|| name.to_owned()))?;
        return Some(Start::Builtin { name });
    }
    if let Some(node) = keys.policy.node() {
        let policy = policy::policy(keys, node);
        return without(keys.policy.name(), outside, ALONE).and(policy.map(Start::Policy));
    }
    for key in [&keys.settings, &keys.allow, &keys.limits, &keys.tools] {
        if let Some(node) = key.node() {
            node.expected::<()>("it only beside policy");
        }
    }
    match cmd {
        Some(cmd) if cmd.iter().any(|word| word.contains(GREEN)) => {
            let advice = "an agent whose cmd names {green} calls, and does not listen";
            without(GREEN, [&keys.endpoint, &keys.server, &keys.bot], advice)?;
            Some(Start::Client { cmd })
        }
        Some(cmd) if file == StartFile::Overlay && cmd.iter().any(|word| word.contains(PORT)) => {
            let endpoint = free_port(keys)?;
            Some(Start::Program { endpoint, cmd })
        }
        Some(cmd) => Some(Start::Program { endpoint: endpoint(keys)?, cmd }),
        None => match is_left_out(keys) {
            true => Some(Start::Absent {
                image: keys.image.read::<String>().filter(|image| !image.trim().is_empty()),
                entrypoint: Vec::new(),
                is_built: keys.build.node().is_some(),
            }),
            false => Some(Start::Running { endpoint: endpoint(keys)? }),
        },
    }
}

/// Reads the address of a program that gets a free port. Its port is ignored, and the whole address may be absent.
fn free_port(keys: &AgentKeys<'_>) -> Option<Url> {
    let addresses = [&keys.server, &keys.bot, &keys.endpoint];
    if addresses.into_iter().all(|key| key.node().is_none()) {
        return Some(anywhere());
    }
    let mut endpoint = endpoint(keys)?;
    // The URL has a host, so setting a port cannot fail.
    let _ = endpoint.set_port(Some(0));
    Some(endpoint)
}

/// Reports the first of the keys that must not stand beside `other`.
fn without<'k, 'a: 'k>(
    other: &'static str,
    others: impl IntoIterator<Item = &'k Key<'a>>,
    advice: &'static str,
) -> Option<()> {
    match others.into_iter().find_map(Key::node) {
        None => Some(()),
        Some(node) => {
            node.report(Problem::Together { other, advice });
            None
        }
    }
}

/// Returns whether an agent has nothing but an image, a build or an id, which the leaderboard template leaves empty.
fn is_left_out(keys: &AgentKeys<'_>) -> bool {
    let has = |keys: &[&Key<'_>]| keys.iter().any(|key| key.node().is_some());
    !has(&[&keys.endpoint, &keys.server, &keys.bot])
        && has(&[&keys.image, &keys.build, &keys.agentbeats_id])
}

/// Reads `endpoint`, `server` or `bot`, of which a participant has one; reports how to write one if all are absent.
fn endpoint(keys: &AgentKeys<'_>) -> Option<Url> {
    let advice = "endpoint is where an A2A agent listens, bot where one that speaks activities does, and server where \
                  anything else does";
    let addresses = [&keys.server, &keys.bot, &keys.endpoint];
    for (own, others) in
        [(&keys.server, [&keys.endpoint, &keys.bot]), (&keys.bot, [&keys.endpoint, &keys.server])]
    {
        if own.node().is_some() {
            without(own.name(), others, advice)?;
        }
    }
    if let Some(node) = addresses.into_iter().find_map(Key::node) {
        return Endpoint::read(node);
    }
    if let Some(cmd) = keys.cmd.node().filter(|cmd| !cmd.is_blank()) {
        cmd.report(Problem::CmdWithoutEndpoint);
        return None;
    }
    let expected = "the URL at which the agent listens, such as \"http://127.0.0.1:9009\"";
    keys.endpoint.missing(expected)
}

/// Returns whether the key has a value; the tutorial's own files leave `cmd = ""` and `agentbeats_id = ""` to
/// fill in.
pub(super) fn is_filled(key: &Key<'_>) -> bool {
    key.node().is_some_and(|node| !node.is_blank())
}
