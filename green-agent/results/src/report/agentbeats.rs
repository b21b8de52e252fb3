//! The results as AgentBeats' leaderboards read them: the ids of the participants, and everything that the evaluators
//! reported, trial by trial.

use std::{fs, io};

use serde_json::{Map, Value, json};

use super::{source::ReportSource, text};

/// Returns the document: `{"participants": {ROLE: ID}, "results": [...]}`.
pub(super) fn of(run: &ReportSource) -> io::Result<String> {
    let mut participants = Map::new();
    for group in &run.groups {
        participants.extend(ids(run, &group.scenario));
    }
    let results: Vec<&Value> = run.counted().iter().flat_map(|record| &record.results).collect();
    text::json(&json!({"participants": participants, "results": results}))
}

/// Returns the ids of a scenario's participants, which are part of the results of each trial.
fn ids(run: &ReportSource, scenario: &str) -> Map<String, Value> {
    let read = |folder: std::path::PathBuf| -> Option<Map<String, Value>> {
        let text = fs::read(folder.join("results.json")).ok()?;
        let results: Value = serde_json::from_slice(&text).ok()?;
        results.get("participants")?.as_object().cloned()
    };
    let trials = run.counted().iter().filter(|record| record.scenario == scenario);
    trials.filter_map(|record| read(run.folder_of(record)?)).next().unwrap_or_default()
}
