//! The shape of `[harness]`.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use super::{
    expect::Expectation,
    gate::{Gates, StopWhen},
};
use crate::parse::VERSION;

/// How the harness runs and judges the scenario.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
pub(super) struct Harness {
    /// The version of this table.
    #[schemars(extend("const" = VERSION))]
    version: i64,
    /// How many times the scenario runs.
    #[schemars(range(min = 1), extend("default" = 1))]
    trials: Option<u32>,
    /// The seed for environments and for agents' random choices, so that a run can be repeated.
    #[schemars(range(min = 0), extend("default" = 0))]
    seed: Option<i64>,
    /// The variables of the caller's environment and of .env that started agents get: clean passes those that
    /// every program needs (PATH, HOME, the locale, folders for temporary files, proxies, certificates,
    /// Python's and uv's variables) and those that an agent's env and pass_env name; inherit passes all of
    /// both, as in files without this table.
    #[schemars(extend("default" = "clean"))]
    env: Option<Inherited>,
    /// The requirements of every agent of the scenario. If one is missing, the scenario is reported as not
    /// run, never as passed.
    requires: Option<Vec<Requirement>>,
    /// The version of Python with which the agents run, such as 3.12.
    python: Option<Python>,
    /// The ports on which agents listen: those of the file (fixed), or free ones that replace them in
    /// endpoint and cmd (auto).
    #[schemars(extend("default" = "fixed"))]
    ports: Option<Ports>,
    /// The limits of each phase.
    timeout: Option<Timeout>,
    /// The comparison of the transcript with a snapshot: false for none, or a table with details.
    snapshot: Option<Snapshot>,
    /// The expectations of the run.
    expect: Option<Vec<Expectation>>,
    /// The lowest score with which the evaluation passes. Without it an episode passes when its environment
    /// reports success, and another evaluation when it completes.
    pass_score: Option<f64>,
    /// How a crash, a hang or a broken protocol of an evaluated agent counts, once it was ready: failed (exit
    /// code 1, score 0) or infrastructure (exit code 4, no score).
    #[schemars(extend("default" = "failed"))]
    agent_errors: Option<AgentErrors>,
    /// The demands on the figures of all trials, which decide whether the scenario passes.
    gate: Option<Gates>,
    /// When no more trials are needed.
    stop_when: Option<StopWhen>,
    /// A file whose rows fill {row.FIELD} in the texts of this file, each row a sample: JSON Lines (.jsonl), CSV
    /// (.csv) or TOML with [[row]] (.toml), relative to this file. The field id names the sample.
    dataset: Option<DatasetFile>,
    /// Axes whose values fill {matrix.AXIS} in the texts of this file. Every sample runs in every combination of
    /// values.
    matrix: Option<BTreeMap<String, Axis>>,
    /// How often a trial is tried again; the last attempt counts.
    retries: Option<Retries>,
    /// What stays from one trial to the next: nothing, or agents, whose programs are then started once for many
    /// trials, each with its own transcript, episode and contexts. Such an agent must treat each context
    /// independently. It gets the first trial's HARNESS_SEED and no HARNESS_TRIAL.
    #[schemars(extend("default" = "nothing"))]
    reuse: Option<Reuse>,
}

/// The name of a dataset's file.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
struct DatasetFile(#[schemars(regex(pattern = r"\.(jsonl|ndjson|csv|toml)$"))] String);

/// The values of an axis.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
struct Axis(#[schemars(length(min = 1), extend("uniqueItems" = true))] Vec<AxisValue>);

/// One value of an axis.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its shape is used")]
enum AxisValue {
    Text(String),
    Number(f64),
    Flag(bool),
}

/// What stays from one trial to the next.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its shape is used")]
enum Reuse {
    Nothing,
    Agents,
}

/// How often a trial is tried again.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct Retries {
    /// How often after the environment, the model, the harness or the machine broke, but not the agent.
    #[schemars(range(min = 0), extend("default" = 0))]
    infrastructure: Option<u32>,
}

/// The environment that started agents get.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its shape is used")]
enum Inherited {
    Clean,
    Inherit,
}

/// How an evaluated agent's own error counts.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its shape is used")]
enum AgentErrors {
    Failed,
    Infrastructure,
}

/// A version of Python.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
pub(super) struct Python(#[schemars(regex(pattern = r"^3\.[0-9]+$"))] String);

/// A requirement on this machine: python:REQUIREMENT in pip's syntax, python:FOLDER for a checkout with a
/// pyproject.toml (and uv.lock), which begins with a dot or a slash, npm:PACKAGE@VERSION, command:NAME.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
pub(super) struct Requirement(#[schemars(regex(pattern = r"^(python|npm|command):\s*\S"))] String);

/// The ports on which agents listen.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its shape is used")]
enum Ports {
    Auto,
    Fixed,
}

/// Time limits; every wait of a run is under one of them.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct Timeout {
    /// The time from an agent's start until its card can be read.
    #[schemars(extend("default" = "30s"))]
    ready: Option<Limit>,
    /// The time without a sign of life: no byte passes between any two agents, on open replies too, and no
    /// agent that was started prints anything.
    #[schemars(extend("default" = "5m"))]
    idle: Option<Limit>,
    /// The time for the whole evaluation.
    #[schemars(extend("default" = "30m"))]
    total: Option<Limit>,
    /// The time from asking an agent to end until it is killed.
    #[schemars(extend("default" = "5s"))]
    stop: Option<Limit>,
}

/// A duration such as "30s", "1m30s", "1500ms" or "0s".
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
pub(super) struct Duration(
    #[schemars(length(min = 1), regex(pattern = r"^(\d+h)?(\d+m)?(\d+s)?(\d+ms)?$"))] String,
);

/// A duration longer than zero, such as "30s", "1m30s" or "1500ms".
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
pub(super) struct Limit(
    #[schemars(regex(pattern = r"^(?=.*[1-9])(\d+h)?(\d+m)?(\d+s)?(\d+ms)?$"))] String,
);

/// Whether and how the transcript is compared with the snapshot.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its shape is used")]
enum Snapshot {
    Asked(bool),
    Settings(SnapshotSettings),
}

/// The settings of a snapshot.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct SnapshotSettings {
    /// JSON pointers into bodies, with * for any one segment, to values that differ from run to run.
    redact: Option<Vec<Pointer>>,
}

/// A JSON pointer (RFC 6901).
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
struct Pointer(#[schemars(regex(pattern = r"^(/([^/~]|~[01])*)*$"))] String);
