//! `green-agent report`: makes reports of a run that has ended.

use std::path::PathBuf;

use bridge_program::Exit;
use clap::Args;

use super::{complain, interval::IntervalFlag};
use crate::report::{ReportRequest, source::ReportSource};

const EXAMPLES: &str = "\
Examples:
  green-agent report runs/20260102-030405-17                                print the figures
  green-agent report runs/20260102-030405-17 --report html=report.html     one page with all messages
  green-agent report runs/NEW runs/OLD --report html=report.html           compare two runs
  green-agent report runs/20260102-030405-17 --report junit=junit.xml --report markdown=comment.md";

/// Write reports of a finished run
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Report {
    /// The folder of the run
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// The folder of another run, with which the HTML report compares it
    #[arg(value_name = "OTHER")]
    other: Option<PathBuf>,
    #[arg(long, value_name = "KIND=FILE", default_value = "terminal", help = ReportRequest::HELP)]
    report: Vec<ReportRequest>,
    #[command(flatten)]
    interval: IntervalFlag,
}

impl Report {
    pub(super) fn execute(&self) -> Exit {
        let read = |path: &PathBuf| {
            ReportSource::read_with(path, self.interval.bootstrap()).map_err(|error| {
                complain(&error);
                Exit::Unreadable
            })
        };
        let runs = || Ok((read(&self.run)?, self.other.as_ref().map(read).transpose()?));
        let (run, other) = match runs() {
            Ok(runs) => runs,
            Err(exit) => return exit,
        };
        let mut exit = Exit::Passed;
        for request in &self.report {
            if let Err(error) = request.write(&run, other.as_ref()) {
                complain(&error);
                exit = Exit::Infrastructure;
            }
        }
        exit
    }
}
