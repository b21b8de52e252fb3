//! Merges several descriptions of the same server in one message.

use std::{collections::BTreeMap, path::PathBuf};

use super::{ConnectionDetails, DEFAULT_NAME, Transport, findings::Found};
use crate::secret::Secret;

/// Merges details that do not contradict one another into one entry with all their fields, at the position of the
/// last of them.
pub(super) fn merged(found: Found) -> Found {
    let mut all = Found::new();
    for one in found {
        match one {
            Ok(details) => add(&mut all, details),
            Err(error) => all.push(Err(error)),
        }
    }
    all
}

/// Adds details to the list. The newest entries are compared first: details that differ from the newest in their
/// token do not repeat an older entry.
fn add(all: &mut Found, details: ConnectionDetails) {
    let agreed = |known: &Result<ConnectionDetails, _>| union(known.as_ref().ok()?, &details);
    let found = all.iter().enumerate().rev().find_map(|(at, known)| Some((at, agreed(known)?)));
    let details = match found {
        Some((at, union)) => {
            let _ = all.remove(at);
            union
        }
        None => details,
    };
    all.push(Ok(details));
}

/// Returns the union of both, or `None` if they contradict one another.
fn union(a: &ConnectionDetails, b: &ConnectionDetails) -> Option<ConnectionDetails> {
    Some(ConnectionDetails {
        name: same_name(&a.name, &b.name)?,
        transport: same_transport(&a.transport, &b.transport)?,
        episode_id: same_or_either(&a.episode_id, &b.episode_id)?,
        expires_at: same_or_either(&a.expires_at, &b.expires_at)?,
    })
}

fn same_transport(a: &Transport, b: &Transport) -> Option<Transport> {
    match (a, b) {
        (
            Transport::Http { url, headers },
            Transport::Http { url: other_url, headers: other_headers },
        ) if url == other_url => {
            Some(Transport::Http { url: url.clone(), headers: superset(headers, other_headers)? })
        }
        (
            Transport::Stdio { command, args, env, cwd },
            Transport::Stdio {
                command: other_command,
                args: other_args,
                env: other_env,
                cwd: other_cwd,
            },
        ) if (command, args) == (other_command, other_args) => Some(Transport::Stdio {
            command: command.clone(),
            args: args.clone(),
            env: superset(env, other_env)?,
            cwd: same_or_either::<PathBuf>(cwd, other_cwd)?,
        }),
        (Transport::Http { .. } | Transport::Stdio { .. }, _) => None,
    }
}

/// Returns the map that contains the other, if one does.
fn superset(
    a: &BTreeMap<String, Secret>,
    b: &BTreeMap<String, Secret>,
) -> Option<BTreeMap<String, Secret>> {
    let holds = |outer: &BTreeMap<String, Secret>, inner: &BTreeMap<String, Secret>| {
        inner.iter().all(|(name, value)| outer.get(name) == Some(value))
    };
    match (holds(a, b), holds(b, a)) {
        (true, _) => Some(a.clone()),
        (false, true) => Some(b.clone()),
        (false, false) => None,
    }
}

/// Returns the common name. Details without a name have the default name, which is compatible with any name.
fn same_name(a: &str, b: &str) -> Option<String> {
    match (a, b) {
        (DEFAULT_NAME, name) | (name, DEFAULT_NAME) => Some(name.to_owned()),
        (a, b) => (a == b).then(|| a.to_owned()),
    }
}

fn same_or_either<T: Clone + PartialEq>(a: &Option<T>, b: &Option<T>) -> Option<Option<T>> {
    match (a, b) {
        (Some(a), Some(b)) => (a == b).then(|| Some(a.clone())),
        (Some(one), None) | (None, Some(one)) => Some(Some(one.clone())),
        (None, None) => Some(None),
    }
}
