//! Reads `[harness]`: how the scenario is run and judged. An unknown key in it is a mistake.

use std::time::Duration;

use green_agent_transcript::SnapshotSettings;
use serde_json::Value;

use super::{expect, gate, roles::DeclaredRoles, values};
use crate::{
    gate::Gates,
    model::{AgentErrors, Harness, Ports, Retries, Reuse, Timeouts},
    reader::{FlagOrTable, Node, Table},
};

/// The only version of the table.
pub(crate) const VERSION: i64 = 1;

/// The default time limits.
const TIMEOUTS: Timeouts = Timeouts {
    ready: Duration::from_secs(30),
    idle: Duration::from_secs(5 * 60),
    total: Duration::from_secs(30 * 60),
    stop: Duration::from_secs(5),
};

/// Reads `[harness]`, or returns the defaults for a plain AgentBeats file, which has no snapshot.
pub(super) fn harness(root: &mut Table<'_>, roles: &DeclaredRoles) -> Harness {
    match root.table("harness") {
        Some(mut table) => declared(&mut table, roles),
        None => Harness {
            declared: false,
            trials: 1,
            seed: 0,
            // AgentBeats' own runner does the same.
            inherit: true,
            requires: Vec::new(),
            ports: Ports::Fixed,
            timeout: TIMEOUTS,
            snapshot: None,
            expect: Vec::new(),
            pass_score: None,
            agent_errors: AgentErrors::default(),
            gate: Gates::default(),
            stop_when: None,
            retries: Retries::default(),
            reuse: Reuse::default(),
        },
    }
}

fn declared(table: &mut Table<'_>, roles: &DeclaredRoles) -> Harness {
    check_version(table);
    let harness = Harness {
        declared: true,
        trials: number(table, "trials", 1).unwrap_or(1),
        seed: number(table, "seed", 0).unwrap_or(0),
        inherit: table
            .get("env")
            .and_then(|node| inherit(&node))
            .unwrap_or_default(),
        requires: values::requires(table),
        ports: table
            .get("ports")
            .and_then(|node| ports(&node))
            .unwrap_or(Ports::Fixed),
        timeout: table
            .table("timeout")
            .map_or(TIMEOUTS, |mut table| timeouts(&mut table)),
        snapshot: match table.get("snapshot") {
            Some(node) => snapshot(&node),
            None => Some(SnapshotSettings::default()),
        },
        expect: table.tables("expect", |table| expect::expectation(table, roles)),
        pass_score: table.get("pass_score").and_then(|node| node.number()),
        agent_errors: table
            .get("agent_errors")
            .and_then(|node| agent_errors(&node))
            .unwrap_or_default(),
        gate: table
            .table("gate")
            .map(|table| gate::gates(&table))
            .unwrap_or_default(),
        stop_when: table
            .get("stop_when")
            .and_then(|node| gate::stop_when(&node)),
        retries: table
            .table("retries")
            .map(|mut table| retries(&mut table))
            .unwrap_or_default(),
        reuse: table
            .get("reuse")
            .and_then(|node| reuse(&node))
            .unwrap_or_default(),
    };
    // Read before the rest of the file, which they fill.
    for name in ["dataset", "matrix"] {
        table.get(name);
    }
    table.reject_unknown();
    harness
}

fn inherit(node: &Node<'_>) -> Option<bool> {
    let expected = "\"clean\" or \"inherit\" (variables stand in the env of each agent)";
    node.read(expected, |text| match text {
        "clean" => Some(false),
        "inherit" => Some(true),
        _ => None,
    })
}

fn agent_errors(node: &Node<'_>) -> Option<AgentErrors> {
    node.read("\"failed\" or \"infrastructure\"", |text| match text {
        "failed" => Some(AgentErrors::Failed),
        "infrastructure" => Some(AgentErrors::Infrastructure),
        _ => None,
    })
}

fn reuse(node: &Node<'_>) -> Option<Reuse> {
    node.read("\"nothing\" or \"agents\"", |text| match text {
        "nothing" => Some(Reuse::Nothing),
        "agents" => Some(Reuse::Agents),
        _ => None,
    })
}

fn retries(table: &mut Table<'_>) -> Retries {
    let retries = Retries {
        infrastructure: number(table, "infrastructure", 0).unwrap_or_default(),
    };
    table.reject_unknown();
    retries
}

/// Reads the axes of `matrix`, in alphabetical order, each with its values.
pub(crate) fn matrix(table: &mut Table<'_>) -> Option<Vec<(String, Vec<Value>)>> {
    let axes = table.entries().map(|(name, node)| {
        let values = node.list_of(axis_value)?;
        if values.is_empty() {
            return node.expected("at least one value");
        }
        for (index, value) in values.iter().enumerate() {
            if values[..index].contains(value) {
                return node.expected("each value once");
            }
        }
        Some((name.to_owned(), values))
    });
    axes.collect()
}

/// Reads one value of an axis. It names a cell, so it is a single value.
fn axis_value(node: &Node<'_>) -> Option<Value> {
    match node.json()? {
        Value::Null | Value::Array(_) | Value::Object(_) => {
            node.expected("a text, a number, true or false")
        }
        value @ (Value::String(_) | Value::Number(_) | Value::Bool(_)) => Some(value),
    }
}

fn check_version(table: &mut Table<'_>) {
    let expected = format!("version = {VERSION}");
    let Some(node) = table.need("version", &expected) else {
        return;
    };
    if node.json().is_some_and(|version| version != VERSION) {
        node.expected::<()>(format!("{VERSION}, the only version there is"));
    }
}

fn number<T: TryFrom<i64>>(table: &mut Table<'_>, name: &'static str, least: i64) -> Option<T> {
    table.get(name)?.integer(least)
}

fn ports(node: &Node<'_>) -> Option<Ports> {
    node.read("\"auto\" or \"fixed\"", |text| match text {
        "auto" => Some(Ports::Auto),
        "fixed" => Some(Ports::Fixed),
        _ => None,
    })
}

fn timeouts(table: &mut Table<'_>) -> Timeouts {
    let timeouts = Timeouts {
        ready: limit(table, "ready", TIMEOUTS.ready),
        idle: limit(table, "idle", TIMEOUTS.idle),
        total: limit(table, "total", TIMEOUTS.total),
        stop: limit(table, "stop", TIMEOUTS.stop),
    };
    table.reject_unknown();
    timeouts
}

fn limit(table: &mut Table<'_>, name: &'static str, default: Duration) -> Duration {
    table
        .get(name)
        .and_then(|node| values::limit(&node))
        .unwrap_or(default)
}

fn snapshot(node: &Node<'_>) -> Option<SnapshotSettings> {
    match node.flag_or_table("false, or a table with redact")? {
        FlagOrTable::Flag(asked) => asked.then(SnapshotSettings::default),
        FlagOrTable::Table(mut table) => {
            let redact = table.get("redact").and_then(|list| list.list_of(pointer));
            table.reject_unknown();
            let redact = redact.unwrap_or_default();
            Some(SnapshotSettings { redact })
        }
    }
}

fn pointer(node: &Node<'_>) -> Option<String> {
    node.read(
        "a JSON pointer such as \"/result/artifacts/*/parts\"",
        |text| values::is_pointer(text).then(|| text.to_owned()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::Requirement,
        tests::{errors_of, scenario_of},
    };

    const GREEN: &str = "[green_agent]\nendpoint = 'http://h'\n";

    fn harness_of(text: &str) -> Harness {
        scenario_of(&format!("{GREEN}{text}")).harness
    }

    #[test]
    fn a_plain_file_asks_for_no_snapshot() {
        let plain = harness_of("");
        assert!(!plain.declared && plain.snapshot.is_none());
        assert_eq!(
            (plain.trials, plain.seed, plain.ports),
            (1, 0, Ports::Fixed)
        );
        assert_eq!(plain.timeout, TIMEOUTS);
        let declared = harness_of("[harness]\nversion = 1\n");
        assert!(declared.declared);
        assert_eq!(declared.snapshot, Some(SnapshotSettings::default()));
    }

    #[test]
    fn every_key_is_read() {
        let harness = harness_of(
            "[harness]\nversion = 1\ntrials = 3\nseed = 7\nrequires = ['command:uv']\nports = 'auto'\n\
             timeout = { ready = '1s', idle = '2s', total = '3s', stop = '4s' }\n\
             snapshot = { redact = ['/result/*/text'] }\n\
             pass_score = 0.5\nagent_errors = 'infrastructure'\n",
        );
        assert_eq!(harness.pass_score, Some(0.5));
        assert_eq!(harness.agent_errors, AgentErrors::Infrastructure);
        assert_eq!(
            (harness.trials, harness.seed, harness.ports),
            (3, 7, Ports::Auto)
        );
        assert_eq!(harness.requires, [Requirement::Command("uv".to_owned())]);
        let Timeouts {
            ready,
            idle,
            total,
            stop,
        } = harness.timeout;
        assert_eq!(
            [ready, idle, total, stop].map(|limit| limit.as_secs()),
            [1, 2, 3, 4]
        );
        assert_eq!(harness.snapshot.unwrap().redact, ["/result/*/text"]);
        assert!(
            harness_of("[harness]\nversion = 1\nsnapshot = false\n")
                .snapshot
                .is_none()
        );
    }

    #[test]
    fn what_is_wrong_is_said_at_its_key() {
        for (line, expected) in [
            (
                "trails = 3",
                "a.toml:5:1: harness.trails: unknown key; did you mean trials? known here: agent_errors, ",
            ),
            (
                "trials = 0",
                "a.toml:5:10: harness.trials: expected a whole number of at least 1, found 0",
            ),
            (
                "trials = 4294967296",
                "a.toml:5:10: harness.trials: expected",
            ),
            (
                "seed = -1",
                "a.toml:5:8: harness.seed: expected a whole number of at least 0, found -1",
            ),
            (
                "ports = 'any'",
                "a.toml:5:9: harness.ports: expected \"auto\" or \"fixed\", found \"any\"",
            ),
            (
                "agent_errors = 'ignore'",
                "a.toml:5:16: harness.agent_errors: expected \"failed\" or \"infrastructure\", found",
            ),
            (
                "reuse = 'ports'",
                "a.toml:5:9: harness.reuse: expected \"nothing\" or \"agents\", found \"ports\"",
            ),
            (
                "pass_score = '1'",
                "a.toml:5:14: harness.pass_score: expected a number",
            ),
            (
                "requires = ['uv']",
                "a.toml:5:13: harness.requires[0]: expected python:",
            ),
            (
                "timeout = { idle = '0s' }",
                "a.toml:5:20: harness.timeout.idle: expected a duration",
            ),
            (
                "timeout.redy = '1s'",
                "a.toml:5:9: harness.timeout.redy: unknown key; did you mean ready?",
            ),
            (
                "snapshot = 'no'",
                "a.toml:5:12: harness.snapshot: expected false, or a table with redact",
            ),
            (
                "snapshot = { redact = ['text'] }",
                "a.toml:5:24: harness.snapshot.redact[0]: expected a JSON pointer",
            ),
            (
                "env = { A = 'a' }",
                "a.toml:5:7: harness.env: expected \"clean\" or \"inherit\" (variables stand in",
            ),
        ] {
            let errors = errors_of(&format!("{GREEN}[harness]\nversion = 1\n{line}\n"));
            assert!(errors.starts_with(expected), "{errors}");
            assert_eq!(errors.lines().count(), 1, "{errors}");
        }
    }

    #[test]
    fn the_version_must_be_there_and_be_ours() {
        for (line, expected) in [
            (
                "",
                "a.toml:3:1: harness.version: missing; expected version = 1",
            ),
            (
                "version = 2",
                "a.toml:4:11: harness.version: expected 1, the only version there is, found 2",
            ),
            ("version = '1'", "a.toml:4:11: harness.version: expected"),
        ] {
            let errors = errors_of(&format!("{GREEN}[harness]\n{line}\n"));
            assert!(errors.starts_with(expected), "{errors}");
        }
    }
}
