//! `green-agent watch`: follows a running run from another terminal.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead as _, BufReader, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use clap::Args;

use crate::{
    record::{Manifest, RECORDS, TrialRecord, is_written},
    run::Outcome,
};
use bridge_program::{Exit, OrExit as _, outln, terminal::line};

/// The interval at which the records are read again.
const PAUSE: Duration = Duration::from_millis(500);

/// Follow a run: print a line for each trial when it ends, and the counts
#[derive(Debug, Args)]
pub(super) struct Watch {
    /// The folder of the run
    #[arg(value_name = "RUN")]
    run: PathBuf,
}

impl Watch {
    pub(super) fn execute(&self) -> Result<Exit, Exit> {
        Manifest::read(&self.run).or_exit(Exit::Unreadable)?;
        let followed = follow(&self.run.join(RECORDS));
        let named = |error| format!("cannot read {}: {error}", self.run.display());
        followed.map_err(named).or_exit(Exit::Unreadable).map(|()| Exit::Passed)
    }
}

/// Prints each record until no program writes the run any more. A run without the file has no records.
fn follow(path: &Path) -> io::Result<()> {
    let mut counts = BTreeMap::new();
    let mut read = 0;
    loop {
        // This is checked before the file is read, so that nothing is missed that was written before the end.
        let is_over = match is_written(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            is_written => {
                let is_over = !is_written?;
                read = show_from(path, read, &mut counts)?;
                is_over
            }
        };
        if is_over {
            outln!("ended: {}", summary(&counts));
            return Ok(());
        }
        thread::sleep(PAUSE);
    }
}

/// Prints the records after the first `read` bytes; returns how many bytes were read in whole lines.
fn show_from(path: &Path, mut read: u64, counts: &mut BTreeMap<Outcome, usize>) -> io::Result<u64> {
    let mut file = BufReader::new(File::open(path)?);
    file.seek(SeekFrom::Start(read))?;
    let mut text = Vec::new();
    while file.read_until(b'\n', &mut text)? > 0 && text.ends_with(b"\n") {
        read += text.len() as u64;
        let wrong = |error| {
            let line = counts.values().sum::<usize>() + 1;
            io::Error::other(format!(
                "{RECORDS}:{line}: expected a trial's record as JSON: {error}"
            ))
        };
        let record: TrialRecord = serde_json::from_slice(&text).map_err(wrong)?;
        *counts.entry(record.outcome).or_default() += 1;
        show(&record, counts);
        text.clear();
    }
    Ok(read)
}

fn show(record: &TrialRecord, counts: &BTreeMap<Outcome, usize>) {
    let mut text =
        format!("{:>7}  {}  {:.1} s", record.outcome.title(), record.title(), record.seconds);
    for (name, value) in record.metrics.iter().take(4) {
        text += &format!("  {name} {value:.3}");
    }
    if let Some(problem) = record.problems.first() {
        text += &format!("  {}", problem.to_string().lines().next().unwrap_or_default());
    }
    outln!("{}  [{}]", line(&text), summary(counts));
}

fn summary(counts: &BTreeMap<Outcome, usize>) -> String {
    let counted = counts.iter().map(|(outcome, count)| format!("{count} {}", outcome.title()));
    let counted: Vec<String> = counted.collect();
    if counted.is_empty() { "no trial has ended".to_owned() } else { counted.join(", ") }
}
