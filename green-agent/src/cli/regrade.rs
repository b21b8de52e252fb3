//! `green-agent regrade`: judges a finished run by the present expectations of its scenarios.

use std::{fs, path::PathBuf};

use clap::Args;

use crate::{
    record::{Manifest, RECORDS, RecordWriter, RunFolder, TrialRecord, copy_trial},
    run::{Regraded, regrade},
    statistics::counted,
};
use bridge_program::{Exit, OrExit as _, outln};

/// Judge a finished run again by the current expectations of its scenarios, from its transcripts
#[derive(Debug, Args)]
pub(super) struct Regrade {
    /// The folder of the run
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// A new folder for the run with the new outcomes of its trials
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

impl Regrade {
    pub(super) fn execute(&self) -> Result<Exit, Exit> {
        let run = RunFolder::read(&self.run).or_exit(Exit::Unreadable)?;
        let regraded = regrade(&run).or_exit(Exit::Unreadable)?;
        for one in &regraded {
            if one.was != one.record.outcome {
                let (was, is) = (one.was.title(), one.record.outcome.title());
                outln!("{}: {was} -> {is}", one.record.title());
                for problem in &one.record.problems {
                    outln!("    {}", problem.to_string().replace('\n', "\n    "));
                }
            }
        }
        let changed = regraded.iter().filter(|one| one.was != one.record.outcome);
        outln!("{}, {} changed", counted(regraded.len(), "trial"), changed.count());
        if let Some(into) = &self.into {
            self.write(&run, &regraded, into).or_exit(Exit::Infrastructure)?;
        }
        Ok(regraded.iter().map(|one| one.record.exit).max().unwrap_or_default())
    }

    /// Writes the run with its new outcomes, and the transcripts beside them.
    fn write(&self, run: &RunFolder, regraded: &[Regraded], into: &PathBuf) -> Result<(), String> {
        if into.join(RECORDS).exists() {
            return Err(format!("{}: has a run already; expected a new folder", into.display()));
        }
        fs::create_dir_all(into).map_err(|error| error.to_string())?;
        let counted = regraded.iter().map(|one| &one.record);
        let records: Vec<&TrialRecord> = run.retried().into_iter().chain(counted).collect();
        for record in &records {
            copy_trial(&run.path, into, record).map_err(|error| error.to_string())?;
        }
        let manifest =
            Manifest { merged: vec![self.run.display().to_string()], ..run.manifest.clone() };
        RecordWriter::open(&into.join(RECORDS))
            .and_then(|writer| writer.append_all(&records))
            .and_then(|()| manifest.write(into))
            .map_err(|error| error.to_string())
    }
}
