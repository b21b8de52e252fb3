//! Finds the mistakes in gates that are known before a trial runs.

use super::{against, baseline, earlier};
use bridge_program::chain;
use green_agent_scenario::{
    gate::{Gates, RegressionGate},
    model::Scenario,
};

/// A gate that cannot be judged, whatever the results of the trials are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum GateMistake {
    /// The earlier run cannot be read, or has nothing to compare with.
    #[error("{place}: {error}")]
    Against {
        /// The file, the line and the key.
        place: String,
        error: String,
    },
    /// There are too few trials for the figure.
    #[error(
        "{place}: expected at least {needed} trials of the scenario, found {trials}; set trials in [harness], or --trials"
    )]
    TooFewTrials {
        /// The file, the line and the key.
        place: String,
        needed: usize,
        /// The number of trials of each sample.
        trials: u32,
    },
}

/// Returns the gates that cannot be judged with this number of trials a sample, or whose earlier run cannot be read.
pub fn mistakes(scenario: &Scenario, trials: u32) -> Vec<GateMistake> {
    let gates = &scenario.harness.gate;
    let few = gates.figures.iter().filter_map(|gate| {
        let needed = gate.needed_trials().filter(|needed| *needed > trials as usize)?;
        let place = place(scenario, &gate.figure);
        Some(GateMistake::TooFewTrials { place, needed, trials })
    });
    let unread = gates.regress.iter().filter_map(|gate| {
        let error = unread(gate, scenario)?;
        Some(against_mistake(scenario, error))
    });
    few.chain(unread).collect()
}

/// Returns the reason why a run could not be kept as the baseline, if it is known before the run begins.
pub fn not_kept(scenario: &Scenario) -> Option<GateMistake> {
    let gate = scenario.harness.gate.regress.as_ref()?;
    let error = baseline::kept_so_far(gate, &scenario.path).err()?;
    Some(against_mistake(scenario, chain(&error)))
}

fn against_mistake(scenario: &Scenario, error: String) -> GateMistake {
    let place = place(scenario, Gates::REGRESS) + ".against";
    GateMistake::Against { place, error }
}

/// Returns the file, the line and the key of a gate.
fn place(scenario: &Scenario, key: &str) -> String {
    let line = scenario.harness.gate.lines.get(key).copied().unwrap_or(1);
    format!("{}:{line}: harness.gate.{key}", scenario.path.display())
}

/// Returns the reason why the earlier run of a gate cannot be used; `None` if it can.
fn unread(gate: &RegressionGate, scenario: &Scenario) -> Option<String> {
    const HOW: &str = "green-agent run --accept-baseline stores a run there";
    let path = against(gate, &scenario.path);
    match earlier(&path, &scenario.name) {
        Ok((run, _)) if run.trials() > 0 => None,
        Ok(_) => Some(format!(
            "{} has no trial of the scenario {:?} to compare with; {HOW}",
            path.display(),
            scenario.name
        )),
        Err(_) if !path.exists() => Some(format!("there is no {} yet; {HOW}", path.display())),
        Err(error) => Some(chain(&error)),
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::record::{TrialRecord, tests::record};
    use green_agent_scenario::testing::scenario_of;

    fn scenario(folder: &Path, gate: &str) -> Scenario {
        let scenario = scenario_of(&format!(
            "[green_agent]\nendpoint = 'http://h'\n[harness]\nversion = 1\n[harness.gate]\n{gate}\n"
        ));
        Scenario { path: folder.join("a.toml"), ..scenario }
    }

    fn mistakes_of(folder: &Path, gate: &str, trials: u32) -> Vec<String> {
        let found = mistakes(&scenario(folder, gate), trials);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn too_few_trials_are_found_before_any_runs() {
        let gate = "'pass@9' = { ge = 0.5 }\n'pass^2' = { ge = 0.5 }\npass_rate = { ge = 1 }";
        let folder = PathBuf::from("w");
        assert!(mistakes_of(&folder, gate, 9).is_empty());
        let found = mistakes_of(&folder, gate, 2);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with(
                "w/a.toml:6: harness.gate.pass@9: expected at least 9 trials of the scenario, found 2"
            ),
            "{found:?}"
        );
    }

    #[test]
    fn an_earlier_run_that_cannot_be_read_is_found_before_any_trial_runs() {
        let folder = tempfile::tempdir().unwrap();
        let gate = "regress = { against = 'base' }";
        let base = folder.path().join("base");
        let place =
            format!("{}:6: harness.gate.regress.against: ", folder.path().join("a.toml").display());
        let only = || mistakes_of(folder.path(), gate, 1).remove(0);
        let found = only();
        let none_yet = format!("{place}there is no {} yet; ", base.display());
        assert!(found.starts_with(&none_yet) && found.contains("--accept-baseline"), "{found}");
        std::fs::write(&base, "no record\n").unwrap();
        let found = only();
        let unreadable = format!("{place}{}:1: expected a trial's record", base.display());
        assert!(found.starts_with(&unreadable), "{found}");
        let of = |scenario: &str| TrialRecord { scenario: scenario.to_owned(), ..record("a", 1) };
        let line = |scenario: &str| serde_json::to_string(&of(scenario)).unwrap() + "\n";
        for without in [String::new(), line("another")] {
            std::fs::write(&base, without).unwrap();
            let found = only();
            assert!(
                found.contains("has no trial of the scenario") && found.starts_with(&place),
                "{found}"
            );
        }
        std::fs::write(&base, line(&scenario(folder.path(), gate).name)).unwrap();
        assert!(mistakes_of(folder.path(), gate, 1).is_empty());
    }

    #[test]
    fn a_baseline_whose_last_line_is_cut_is_neither_used_nor_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let gate = "regress = { against = 'base' }";
        let base = folder.path().join("base");
        let kept = serde_json::to_string(&record("a", 1)).unwrap();
        std::fs::write(&base, format!("{kept}\n{}", &kept[..40])).unwrap();
        let scenario = scenario(folder.path(), gate);
        let cut = format!("{}:2: expected a trial's record as JSON: EOF while", base.display());
        for mistake in [mistakes(&scenario, 1).pop(), not_kept(&scenario)] {
            let found = mistake.unwrap().to_string();
            assert!(found.contains(&cut), "{found}");
        }
    }
}
