//! Reads `[harness]`, with the settings for running and judging the scenario. An unknown key in it is a mistake.

use clap::ValueEnum;
use green_agent_transcript::SnapshotSettings;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use toml::de::DeValue;

use super::{
    expect::{self, ExpectationKeys},
    gate::GateTable,
    roles::DeclaredRoles,
    values::{self, Positive, Python, choices, either, quoted, word},
};
use crate::{
    expectation::ValuePath,
    gate::{Gates, StopWhen, StopWhenTable},
    model::{AgentErrors, Harness, Ports, Requirement, Retries, Reuse, Timeouts},
    reader::{DefaultValue, Key, Kind as _, Node, Table, kind, table},
};

/// The only version of the table.
const VERSION: i64 = 1;

table! {
    /// How the harness runs and judges the scenario.
    pub(crate) struct HarnessKeys<'a> as "Harness", closed {
        /// The version of this table.
        later_required version: Key<'a> as i64 {"const": VERSION},
        /// The number of trials of each scenario.
        default trials: u32 as Positive = 1,
        /// The seed for environments and for agents' random choices, so that a run can be repeated.
        default seed: u64 as Seed = 0,
        /// The variables of the caller's environment and of .env that started agents get: clean passes those that
        /// every program needs (PATH, HOME, the locale, folders for temporary files, proxies, certificates,
        /// Python's and uv's variables) and those that an agent's env and pass_env name; inherit passes all of
        /// both, as in files without this table.
        default env: Inherited = "clean",
        /// The requirements of every agent of the scenario. If one is missing, the scenario is reported as not
        /// run, never as passed. Packages of npm are found by import and require, with Node.js 20 or later.
        default requires: Vec<Requirement> = [],
        /// The version of Python with which the agents run, such as 3.12.
        optional python: Requirement as Python,
        /// The ports on which agents listen: those of the file (fixed), or free ones that replace them in
        /// endpoint, cmd, and the variables PORT and *_PORT of env (auto).
        default ports: Ports = "fixed",
        /// The limits of each phase.
        default timeout: Timeouts = {},
        /// The comparison of the transcript with a snapshot: false for none, or a table with details.
        optional snapshot: Option<SnapshotSettings> as Snapshot,
        /// The expectations of the run.
        later expect: Key<'a> as Vec<ExpectationKeys<'a>>,
        /// The lowest score with which the evaluation passes. Without it an episode passes when its environment
        /// reports success, and another evaluation when it completes.
        optional pass_score: f64,
        /// Further metrics by name, each with the place of its number in the list of the evaluator's results, as in an
        /// expectation with on = "result": a JSON pointer such as "/0/summary/accuracy", or a JSONPath such as
        /// "$[0].tasks[*].reward", of whose numbers the mean counts; true and false are 1 and 0. Other metrics are the
        /// numbers of a result's object "metrics", or at the top level of a result without one; of several results with the
        /// same members, such as one for each task, the means, and of different results the last with that number.
        default metrics: BTreeMap<String, ValuePath> as MetricPlaces = {},
        /// The most MiB that all parties of a trial may send, with 2 KiB added for each message; the trial ends when it is
        /// more, as a fault of the party that sent the most. Calls over gRPC are not recorded; of these, the answers in a
        /// conversation or an episode count.
        default transcript_limit: u32 as Positive = 1024,
        /// The effect of a crash, a hang or a broken protocol of an evaluated agent that was ready before: failed (exit
        /// code 1, score 0) or infrastructure (exit code 4, no score).
        default agent_errors: AgentErrors = "failed",
        /// The demands on the figures of all trials, which decide whether the scenario passes.
        default gate: Gates as GateTable = {},
        /// The condition under which no more trials are needed.
        optional stop_when: StopWhen as StopWhenTable,
        /// The number of retries of a trial; the last attempt counts.
        default retries: Retries = {},
        /// The parts that are reused in the next trial: nothing, or agents, whose programs are then started once for
        /// many trials, each with its own transcript, episode and contexts. Such an agent must treat each context
        /// independently. It gets the first trial's HARNESS_SEED and no HARNESS_TRIAL.
        default reuse: Reuse = "nothing",
    }
    // These keys are read before the rest of the file, because they fill it.
    known {
        /// A file whose rows fill {row.FIELD} in the texts of this file, each row a sample: JSON Lines (.jsonl), CSV
        /// (.csv) or TOML with [[row]] (.toml), relative to this file. The field id names the sample, or task_id,
        /// instance_id or question_id.
        dataset: DatasetFile,
        /// Axes whose values fill {matrix.AXIS} in the texts of this file. Every sample runs in every combination of
        /// values.
        matrix: BTreeMap<String, Axis>,
    }
}

table! {
    /// The settings of a snapshot.
    struct SnapshotKeys as "SnapshotSettings", closed {
        /// JSON pointers into bodies, with * for any one segment, to values that differ from run to run.
        default redact: Vec<String> as Vec<Pointer> = [],
    }
}

kind! {
    /// A seed.
    inline Seed => u64, |node| node.integer(0);
    |_| json!({"type": "integer", "minimum": 0})
}

/// The environment that started agents get.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Inherited {
    Clean,
    Inherit,
}

kind! {
    /// The environment that started agents get.
    impl Inherited => |node| {
        word(node, &format!("{} (variables stand in the env of each agent)", quoted::<Inherited>()))
    };
    |_| choices::<Inherited>()
}

kind! {
    /// The places of metrics.
    enum MetricPlaces => BTreeMap<String, ValuePath>, |node| {
        let table = node.table()?;
        let place = |(name, node): (&str, Node<'_>)| Some((name.to_owned(), expect::value_path(&node)?));
        table.entries().map(place).collect()
    };
    |_| json!({
        "type": "object",
        "additionalProperties": {"type": "string", "pattern": r"^(/|\$)"},
    })
}

kind! {
    /// The ports on which agents listen.
    impl Ports => either;
    |_| choices::<Ports>()
}

kind! {
    /// The effect of an evaluated agent's own error.
    impl AgentErrors => either;
    |_| choices::<AgentErrors>()
}

kind! {
    /// The parts that are reused in the next trial.
    impl Reuse => either;
    |_| choices::<Reuse>()
}

kind! {
    /// Whether and how the transcript is compared with the snapshot.
    enum Snapshot => Option<SnapshotSettings>, |node| {
        let settings = |keys: SnapshotKeys| SnapshotSettings { redact: keys.redact };
        node.settings_or_flag("false, or a table with redact", |table| SnapshotKeys::of(table).map(settings))
    };
    |generator| {
        let settings = generator.subschema_for::<SnapshotKeys>();
        json!({"anyOf": [generator.subschema_for::<bool>(), settings]})
    }
}

kind! {
    /// A JSON pointer (RFC 6901).
    enum Pointer => String, |node| {
        let expected = "a JSON pointer such as \"/result/artifacts/*/parts\"";
        node.read(expected, |text| values::is_pointer(text).then(|| text.to_owned()))
    };
    |_| json!({"type": "string", "pattern": r"^(/([^/~]|~[01])*)*$"})
}

kind! {
    /// The name of a dataset's file.
    enum DatasetFile;
    |_| json!({"type": "string", "pattern": r"\.(jsonl|ndjson|csv|toml)$"})
}

kind! {
    /// The values of an axis.
    enum Axis;
    |generator| {
        let value = generator.subschema_for::<AxisValue>();
        json!({"type": "array", "items": value, "minItems": 1, "uniqueItems": true})
    }
}

kind! {
    /// One value of an axis.
    enum AxisValue => Value, axis_value;
    |_| values::single()
}

/// Reads `[harness]`, or returns the defaults for a plain AgentBeats file, which has no snapshot.
pub(super) fn harness(harness: &Key<'_>, roles: &DeclaredRoles) -> Option<Harness> {
    static ABSENT: DefaultValue = DefaultValue::new(|| DeValue::parse("{}").ok());
    let table = harness.table();
    let declared = table.is_some();
    let mut table = match table {
        Some(table) => table,
        None => harness.with(ABSENT.as_ref()?).table()?,
    };
    let keys = HarnessKeys::of(&mut table)?;
    if declared {
        check_version(&keys.version);
    }
    Some(Harness {
        declared,
        trials: keys.trials,
        seed: keys.seed,
        // AgentBeats' own runner does the same.
        inherit: keys.env == Inherited::Inherit || !declared,
        requires: keys.requires.into_iter().chain(keys.python).collect(),
        ports: keys.ports,
        timeout: keys.timeout,
        snapshot: match declared {
            true => keys.snapshot.unwrap_or(Some(SnapshotSettings::default())),
            false => None,
        },
        expect: keys.expect.tables(|table| expect::expectation(table, roles)),
        pass_score: keys.pass_score,
        metrics: keys.metrics,
        transcript_limit: keys.transcript_limit,
        agent_errors: keys.agent_errors,
        gate: keys.gate,
        stop_when: keys.stop_when,
        retries: keys.retries,
        reuse: keys.reuse,
    })
}

/// Reads the axes of `matrix`, in alphabetical order, each with its values.
pub(crate) fn matrix(table: &mut Table<'_>) -> Option<Vec<(String, Vec<Value>)>> {
    let axes = table.entries().map(|(name, node)| {
        let values = Vec::<AxisValue>::read(&node)?;
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

fn check_version(version: &Key<'_>) {
    let expected = format!("version = {VERSION}");
    let Some(node) = version.need(&expected) else {
        return;
    };
    if node.json().is_some_and(|version| version != VERSION) {
        node.expected::<()>(format!("{VERSION}, the only version there is"));
    }
}

#[cfg(test)]
mod tests;
