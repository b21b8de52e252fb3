//! The trials of one scenario: each sample in each cell, with its number of repetitions, and how its agents are started.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Problem, ProblemKind, RunOptions, TrialReport};
use crate::{
    dataset::{Row, digest},
    record::{RunSettings, Shard},
    scenario::{
        Cell, ScenarioFile, ScenarioSource,
        model::{Retries, Scenario},
        reuse,
        source::cell_texts,
        supplied::{self, AgentOverrides},
    },
};

/// The longest name of a sample or a cell in a path, in bytes; file systems allow 255.
const MAX_NAME: usize = 100;

/// The trials of a scenario.
pub(super) struct Plan {
    pub(super) name: String,
    /// The folder of its trials, below that of the run.
    folder: String,
    pub(super) source: ScenarioSource,
    /// The digest of the scenario.
    pub(super) digest: String,
    pub(super) cells: Vec<Cell>,
    pub(super) retries: Retries,
    /// The scenario of the first cell and the first row.
    pub(super) first: Scenario,
    pub(super) trials: u32,
    seed: u64,
}

/// One trial that is to run.
#[derive(Clone)]
pub(super) struct PlannedTrial<'a> {
    /// The number of the cell, from 0.
    pub(super) at: usize,
    pub(super) cell: &'a Cell,
    pub(super) row: Option<&'a Row>,
    /// The number of the trial, from 1.
    pub(super) trial: u32,
    pub(super) seed: u64,
    /// The digest of the trial's meaning, 32 hexadecimal digits.
    pub(super) key: String,
}

impl PlannedTrial<'_> {
    pub(super) fn reported(&self, report: TrialReport, attempt: u32) -> TrialReport {
        TrialReport {
            sample: self.row.map(|row| row.name.clone()),
            cell: cell_texts(self.cell),
            trial: self.trial,
            attempt,
            ..report
        }
    }
}

impl Plan {
    /// Reads the scenario, its dataset and its matrix.
    pub(super) fn read(found: &ScenarioFile, options: &RunOptions) -> Result<Self, Problem> {
        let unreadable = |errors| ProblemKind::Unreadable.because(errors);
        let source = found.source().map_err(unreadable)?;
        source.check().map_err(unreadable)?;
        let first = source.first().map_err(unreadable)?;
        Ok(Self::of(source, first, &options.settings, &options.supplied))
    }

    /// Returns the plan of a scenario that was read; `first` is the scenario of its first cell and its first row.
    pub(super) fn of(
        source: ScenarioSource,
        first: Scenario,
        settings: &RunSettings,
        overrides: &AgentOverrides,
    ) -> Self {
        Self {
            name: first.name.clone(),
            folder: first.name.clone(),
            digest: source.digest(overrides),
            cells: source.cells(),
            trials: settings.trials.unwrap_or(first.harness.trials),
            seed: settings.seed.unwrap_or(first.harness.seed),
            retries: first.harness.retries,
            source,
            first,
        }
    }

    /// Takes another folder if trials of these scenarios could have the same one: a sample `coffee` of `shop` would have that of
    /// the scenario `shop/coffee`.
    pub(super) fn keep_apart_from(&mut self, found: &[ScenarioFile]) {
        let below = format!("{}/", self.name);
        if self.source.is_filled() && found.iter().any(|one| one.name.starts_with(&below)) {
            self.folder.push_str(".samples");
        }
    }

    /// Returns the number of trials, or of those in a part of the run.
    pub(super) fn count(&self, shard: Option<Shard>) -> usize {
        match shard {
            Some(shard) => self.trials().filter(|one| shard.has(&one.key)).count(),
            None => self.cells.len() * self.source.rows().len() * self.trials as usize,
        }
    }

    /// Returns all trials: cell by cell, sample by sample.
    pub(super) fn trials(&self) -> impl Iterator<Item = PlannedTrial<'_>> {
        let cells = self.cells.iter().enumerate();
        cells.flat_map(move |(at, cell)| {
            let rows = self.source.rows().into_iter();
            rows.flat_map(move |row| {
                (1..=self.trials).map(move |trial| {
                    // Each trial has the next seed after the one before it.
                    let seed = self.seed.wrapping_add(u64::from(trial) - 1);
                    PlannedTrial {
                        at,
                        cell,
                        row,
                        trial,
                        seed,
                        key: self.key(cell, row, seed, trial),
                    }
                })
            })
        })
    }

    /// Returns the scenario of a trial, with the agents of the command line.
    pub(super) fn scenario(
        &self,
        planned: &PlannedTrial<'_>,
        options: &RunOptions,
    ) -> Result<Scenario, Problem> {
        let scenario = match self.source.is_filled() {
            true => self.source.scenario(planned.cell, planned.row),
            // This is the same for every trial.
            false => Ok(self.first.clone()),
        };
        let mut scenario = scenario.map_err(|errors| ProblemKind::Unreadable.because(errors))?;
        supply(&mut scenario, options)?;
        Ok(scenario)
    }

    fn key(&self, cell: &Cell, row: Option<&Row>, seed: u64, trial: u32) -> String {
        let row = row.map(|row| [&row.name, &row.digest]);
        let cell = cell_texts(cell);
        key_of(&json!([self.name, self.digest, row, cell, seed, trial]))
    }

    /// Returns the folder of an attempt, relative to the run's folder.
    pub(super) fn folder(&self, planned: &PlannedTrial<'_>, attempt: u32) -> PathBuf {
        let mut folder = PathBuf::from(&self.folder);
        if !planned.cell.is_empty() {
            let texts = cell_texts(planned.cell);
            let texts = texts.iter().map(|(axis, value)| format!("{axis}={value}"));
            folder.push(file_name(&texts.collect::<Vec<_>>().join(",")));
        }
        if let Some(row) = planned.row {
            folder.push(file_name(&row.name));
        }
        folder.push(format!("trial-{}", planned.trial));
        match attempt {
            0 | 1 => folder,
            _ => folder.join(format!("try-{attempt}")),
        }
    }
}

/// Adds the start of the agents to a scenario that does not specify it.
pub(super) fn supply(scenario: &mut Scenario, options: &RunOptions) -> Result<(), Problem> {
    let applied = options.supplied.apply(scenario);
    applied.map_err(|error| ProblemKind::NotStarted.because(error))?;
    if let Some(engine) = options.engine {
        supplied::contain(scenario, engine);
    }
    if let Some(obstacle) = reuse::obstacle(scenario) {
        let kept_back = format!("harness.reuse: agents cannot be kept between trials: {obstacle}");
        return Err(ProblemKind::NotStarted.because(kept_back));
    }
    let unknown = supplied::unknown(scenario);
    if unknown.is_empty() {
        return Ok(());
    }
    Err(ProblemKind::NotStarted.because(unknown.join("\n")))
}

/// Returns a path with `/` between its segments on every system.
pub(super) fn written(path: &Path) -> String {
    let segments = path.iter().map(|segment| segment.to_string_lossy());
    segments.collect::<Vec<_>>().join("/")
}

/// Returns the key of a trial with this meaning.
pub(super) fn key_of(meaning: &Value) -> String {
    hex(&digest(meaning), 32)
}

/// Returns the first digits of a digest.
fn hex(digest: &str, length: usize) -> String {
    let digits = digest.trim_start_matches("sha256:");
    digits.chars().take(length).collect()
}

/// Returns a name, such as that of a sample or a role, as one segment of a path. Different names stay different: a changed name
/// ends with a digest.
pub(super) fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_.,=+".contains(c) { c } else { '_' };
    let mut changed: String = name.chars().map(plain).collect();
    if changed.starts_with('.') {
        changed.replace_range(..1, "_");
    }
    if changed == name && name.len() <= MAX_NAME && !name.is_empty() {
        return changed;
    }
    let end = changed.floor_char_boundary(MAX_NAME);
    format!("{}-{}", &changed[..end], hex(&digest(&json!(name)), 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_path_is_one_segment_and_stays_different() {
        for plain in ["q-1", "a.b", "model=gpt-5,heat=0.5", "ümlaut"] {
            assert_eq!(file_name(plain), plain);
        }
        let names = ["..", ".", "", "a/b", "a\\b", "a b", "a_b", "../../x", "~/x"];
        let written: std::collections::BTreeSet<String> =
            names.iter().map(|name| file_name(name)).collect();
        assert_eq!(written.len(), names.len(), "{written:?}");
        for name in written {
            assert!(!name.contains(['/', '\\']) && !name.starts_with('.'), "{name}");
        }
        assert!(file_name(&"ü".repeat(500)).len() < 120);
    }
}
