//! `green-agent regrade`: judges a finished run by the present expectations of its scenarios.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;

use super::{
    complain, exits,
    gates::{note_unended, show_gates},
};
use crate::{
    record::{
        Manifest, MergeError, RECORDS, RecordError, RecordWriter, RunFolder, check_new, copy_trial,
    },
    run::{RegradedRun, RunReport, regrade},
    statistics::counted,
};
use bridge_program::{Exit, OrExit as _, outln};

/// Judge a finished run again by the current expectations of its scenarios, from its transcripts
#[derive(Debug, Args)]
pub(super) struct Regrade {
    /// The folder of the run
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// A new or empty folder for the run with the new outcomes of its trials
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

impl Regrade {
    pub(super) fn execute(&self) -> Result<Exit, Exit> {
        let told = |error: MergeError| {
            complain(&error);
            exits::of_merge_error(&error)
        };
        if let Some(into) = &self.into {
            check_new(into).map_err(told)?;
        }
        let run = RunFolder::read(&self.run).or_exit(Exit::Unreadable)?;
        let again = regrade(&run).or_exit(Exit::Unreadable)?;
        for one in &again.trials {
            if one.was != one.record.outcome {
                let (was, is) = (one.was.title(), one.record.outcome.title());
                outln!("{}: {was} -> {is}", one.record.title());
                for problem in &one.record.problems {
                    outln!("    {}", problem.to_string().replace('\n', "\n    "));
                }
            }
        }
        let changed = again.trials.iter().filter(|one| one.was != one.record.outcome);
        outln!("{}, {} changed", counted(again.trials.len(), "trial"), changed.count());
        note_unended(&run);
        let report = RunReport::of(&again.run, None);
        show_gates(&report);
        if let Some(into) = &self.into {
            self.write(&again, into).map_err(told)?;
        }
        Ok(report.exit)
    }

    /// Writes the run with its new outcomes, and the transcripts beside them.
    fn write(&self, again: &RegradedRun, into: &Path) -> Result<(), MergeError> {
        let run = &again.run;
        let path = into.join(RECORDS);
        // The records' file comes first and the manifest last: without it, the folder is not a run, and judging can be repeated.
        let emptied = fs::create_dir_all(into).and_then(|()| fs::write(&path, ""));
        emptied.map_err(|error| RecordError::Write { path: into.to_owned(), error })?;
        for record in &run.records {
            copy_trial(&run.path, into, record)?;
        }
        for one in &again.trials {
            one.rewrite(into)?;
        }
        RecordWriter::open(&path)?.append_all(&Vec::from_iter(&run.records))?;
        let manifest =
            Manifest { merged: vec![self.run.display().to_string()], ..run.manifest.clone() };
        Ok(manifest.write(into)?)
    }
}
