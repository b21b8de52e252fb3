//! `green-agent report`: makes reports of a run that has ended.

use std::path::PathBuf;

use bridge_program::{Exit, OrExit as _, errln};
use clap::Args;

use super::{complain, interval::IntervalFlag};
use crate::report::{ReportKind, ReportRequest, source::ReportSource};

const EXAMPLES: &str = "\
Examples:
  green-agent report runs/20260102-030405-17                            print the figures
  green-agent report runs/20260102-030405-17 --report html=report.html  one page with everything
  green-agent report runs/NEW --against runs/OLD --report html=report.html    what changed since OLD
  green-agent report runs/20260102-030405-17 --report junit=junit.xml --report markdown=comment.md";

/// Write reports of a finished run
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Report {
    /// The folder of the run
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// The folder of an earlier run: the HTML report shows what changed since then
    #[arg(long, value_name = "EARLIER")]
    against: Option<PathBuf>,
    #[arg(long, value_name = "KIND=FILE", default_value = "terminal", help = ReportRequest::HELP)]
    report: Vec<ReportRequest>,
    #[command(flatten)]
    interval: IntervalFlag,
}

impl Report {
    pub(super) fn execute(&self) -> Result<Exit, Exit> {
        ReportRequest::check_files(&self.report).or_exit(Exit::Usage)?;
        let read = |path: &PathBuf| {
            ReportSource::read(path, self.interval.bootstrap()).or_exit(Exit::Unreadable)
        };
        let (run, other) = (read(&self.run)?, self.against.as_ref().map(read).transpose()?);
        let shows_both = |one: &ReportRequest| one.kind == ReportKind::Html;
        if other.is_some() && !self.report.iter().any(shows_both) {
            errln!(
                "note: only the HTML report shows --against; to print it: green-agent diff EARLIER RUN"
            );
        }
        let mut exit = Exit::Passed;
        for request in &self.report {
            if let Err(error) = request.write(&run, other.as_ref()) {
                complain(&error);
                exit = Exit::Infrastructure;
            }
        }
        Ok(exit)
    }
}
