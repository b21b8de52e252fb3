//! Completes scenarios that do not specify how their agents are started.

use super::{Problem, ProblemKind, RunOptions};
use crate::scenario::{model::Scenario, reuse, supplied};

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
    let lines: Vec<String> = unknown.iter().map(ToString::to_string).collect();
    Err(ProblemKind::NotStarted.because(lines.join("\n")))
}
