//! Prints what decides about a run that was joined or judged again.

use crate::{
    record::RunFolder,
    report::source::{DecisionKind, ReportSource},
    run::RunReport,
};
use bridge_program::{
    Exit, errln, outln,
    terminal::{line, lines},
};

/// Prints the results of all gates, and returns the exit code of the scenarios that have some.
pub(super) fn show_gates(report: &RunReport) -> Exit {
    let mut exit = Exit::Passed;
    for one in &report.scenarios {
        if one.gates.is_empty() && one.gate_problems.is_empty() {
            continue;
        }
        exit = exit.max(one.exit);
        for gate in one.gates.iter().filter(|gate| gate.met) {
            outln!("{}: gate met: {}", one.name, line(&gate.message));
        }
        for problem in &one.gate_problems {
            outln!("{}: {}", one.name, lines(&problem.to_string()));
        }
    }
    exit
}

/// Says which scenarios of a run have trials that have not ended.
pub(super) fn note_unended(run: &RunFolder) {
    let decisions = ReportSource::new(run, None).decisions();
    for one in decisions.iter().filter(|one| one.about == DecisionKind::UnendedTrials) {
        errln!("note: {}", line(&one.sentence()));
    }
}
