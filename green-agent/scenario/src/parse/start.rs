//! Reads how an agent is started: `builtin`, `policy`, `endpoint`, `server` or `bot`, `cmd`.

use bridge_bots::bot::BUILTINS;
use url::Url;

use super::{policy, values};
use crate::{
    error::Problem,
    model::{GREEN, Listens, Start},
    reader::{Node, Table},
};

/// The keys of agents that run outside this process.
const OUTSIDE: [&str; 4] = ["endpoint", "server", "bot", "cmd"];

/// Reads the kind of server at the participant's address.
pub(super) fn listens(table: &mut Table<'_>) -> Listens {
    match (table.get("server"), table.get("bot")) {
        (None, None) => Listens::Agent,
        (Some(_), _) | (_, Some(_)) => Listens::Server,
    }
}

/// Reads how the agent is started: built in, a policy, a program that listens or calls, or not at all because
/// it runs already.
pub(super) fn start(table: &mut Table<'_>, cmd: Option<Vec<String>>) -> Option<Start> {
    let (builtin, policy) = (table.get("builtin"), table.get("policy"));
    if let Some(node) = builtin {
        return alone(table, "builtin", &["policy"])
            .and_then(|()| alone(table, "builtin", &OUTSIDE))
            .and_then(|()| builtin_bot(&node));
    }
    if let Some(node) = policy {
        let policy = policy::policy(table, &node);
        return alone(table, "policy", &OUTSIDE).and(policy.map(Start::Policy));
    }
    for name in ["settings", "allow", "tools"] {
        if let Some(node) = table.get(name) {
            node.expected::<()>("it only beside policy");
        }
    }
    match cmd {
        Some(cmd) if cmd.iter().any(|word| word.contains(GREEN)) => {
            if let Some(node) = table.get("endpoint") {
                let advice = "an agent whose cmd names {green} calls, and listens nowhere";
                node.report(Problem::Together {
                    other: GREEN,
                    advice,
                });
                return None;
            }
            Some(Start::Client { cmd })
        }
        Some(cmd) => Some(Start::Program {
            endpoint: endpoint(table)?,
            cmd,
        }),
        None => match is_left_out(table) {
            true => Some(Start::Absent {
                image: table
                    .text("image")
                    .filter(|image| !image.trim().is_empty())
                    .map(str::to_owned),
            }),
            false => Some(Start::Running {
                endpoint: endpoint(table)?,
            }),
        },
    }
}

fn builtin_bot(node: &Node<'_>) -> Option<Start> {
    let names = BUILTINS.map(|(name, _)| name);
    let expected = format!("a built-in bot: {}", names.join(", "));
    let name = node.read(&expected, |name| {
        names.contains(&name).then(|| name.to_owned())
    })?;
    Some(Start::Builtin { name })
}

/// Reports keys that say how to start a process, for an agent that runs in this process.
fn alone(table: &mut Table<'_>, own: &'static str, others: &[&'static str]) -> Option<()> {
    for other in others {
        if let Some(node) = table.get(other) {
            let advice = "leave it out, for this agent runs inside the harness";
            node.report(Problem::Together { other: own, advice });
            return None;
        }
    }
    Some(())
}

/// Returns whether an agent has only an image or an id, which the leaderboard template leaves empty.
fn is_left_out(table: &mut Table<'_>) -> bool {
    let mut has = |names: &[&'static str]| names.iter().any(|name| table.get(name).is_some());
    !has(&["endpoint", "server", "bot"]) && has(&["image", "agentbeats_id"])
}

/// Reads `endpoint`, `server` or `bot`; reports how to write one if all are missing.
fn endpoint(table: &mut Table<'_>) -> Option<Url> {
    for name in ["server", "bot"] {
        if let Some(node) = table.get(name) {
            return alone_of_addresses(table, name).and_then(|()| values::endpoint(&node));
        }
    }
    if let Some(node) = table.get("endpoint") {
        return values::endpoint(&node);
    }
    if let Some(cmd) = table.get("cmd").filter(|cmd| !cmd.is_blank()) {
        cmd.report(Problem::CmdWithoutEndpoint);
    } else {
        let expected = "the URL at which the agent listens, such as \"http://127.0.0.1:9009\"";
        return table.missing("endpoint", expected);
    }
    None
}

/// Reports a second address: a participant has only one of these keys.
fn alone_of_addresses(table: &mut Table<'_>, own: &'static str) -> Option<()> {
    let others = ["endpoint", "server", "bot"].into_iter();
    let mut others = others.filter(|name| *name != own);
    match others.find_map(|name| table.get(name)) {
        None => Some(()),
        Some(node) => {
            let advice = "endpoint is where an A2A agent listens, bot where one that speaks activities does, and server where \
                          anything else does";
            node.report(Problem::Together { other: own, advice });
            None
        }
    }
}

/// Returns whether the key has a value; the tutorial's own files leave `cmd = ""` and `agentbeats_id = ""` to
/// fill in.
pub(super) fn is_filled(table: &mut Table<'_>, name: &'static str) -> bool {
    table.get(name).is_some_and(|node| !node.is_blank())
}
