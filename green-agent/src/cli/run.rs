//! `green-agent run`: runs scenarios and reports which passed.

use std::{
    error::Error,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use clap::Args;

use super::{Agents, Paths, complain, stop};
use crate::{
    install::{self, Installer},
    participant::{Supervisor, ports::PortPool},
    report::{ReportKind, ReportRequest, source::ReportSource, terminal::Terminal},
    run::{self, RunOptions, RunReport},
    scenario::{files::ScenarioFile, parse, supplied::AgentOverrides},
    snapshot::SnapshotMode,
};
use bridge_program::Exit;

const EXAMPLES: &str = "\
Examples:
  green-agent run scenarios/ --install --jobs 4
  green-agent run debate.toml --show-logs --snapshots off
  green-agent run debate.toml --snapshots accept     keep what this run shows
  green-agent run debate.toml --serve-only           only start its agents
  green-agent run leaderboard.toml --agent purple=\"python purple.py --port {port}\" --agent green=http://127.0.0.1:9009";

/// The most trials that may run at a time.
const MOST_JOBS: i64 = 256;

/// One for each processor: starting agents is work for it, so that more of them at a time gain nothing. The README has the
/// measurement.
fn usual_jobs() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    processors.min(usize::try_from(MOST_JOBS).unwrap_or(1))
}

/// Run scenarios and report which passed
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Run {
    #[command(flatten)]
    paths: Paths,
    /// What to do with transcript snapshots
    #[arg(long, value_enum, default_value_t = SnapshotMode::Check)]
    snapshots: SnapshotMode,
    /// How many trials run at the same time, of one scenario or of several [default: one for each processor]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS))]
    jobs: Option<u16>,
    /// How many times to run each scenario; replaces what the scenario says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    trials: Option<u32>,
    /// The seed for agents and environments; replaces what the scenarios say
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    agents: Agents,
    /// Rewrite every address in agent cards to the recorder's, also one at which the agent was not reached
    #[arg(long)]
    rewrite_cards: bool,
    /// Install what scenarios require, into a cache folder that later runs use again
    #[arg(long)]
    install: bool,
    /// The folder for installed requirements [default: green-agent in the user's cache folder]
    #[arg(long, value_name = "DIR", env = "GREEN_AGENT_CACHE")]
    cache: Option<PathBuf>,
    /// Show what agents print, line by line
    #[arg(long)]
    show_logs: bool,
    /// Start the agents of one scenario and keep them running until Ctrl-C, without an evaluation
    #[arg(long)]
    serve_only: bool,
    /// The folder for transcripts and the agents' output; each run makes a folder in it
    #[arg(long, value_name = "DIR", default_value = "runs")]
    runs: PathBuf,
    #[arg(long, value_name = "KIND=FILE", help = ReportRequest::HELP)]
    report: Vec<ReportRequest>,
}

impl Run {
    pub(super) fn execute(&self) -> Exit {
        let found = match self.paths.collect() {
            Ok(found) => found,
            Err(exit) => return exit,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build();
        let ended = runtime.and_then(|runtime| runtime.block_on(self.run(&found)));
        ended.unwrap_or_else(|error| {
            complain(&error);
            Exit::Infrastructure
        })
    }

    async fn run(&self, found: &[ScenarioFile]) -> std::io::Result<Exit> {
        let terminal = Arc::new(Terminal::default());
        let supplied = match self.agents.supplied() {
            Ok(supplied) => supplied,
            Err(exit) => return Ok(exit),
        };
        let options = self.options(supplied, terminal.clone())?;
        let ticking = tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                terminal.tick();
            }
        });
        let exit = match self.serve_only {
            true => serve(found, &options).await,
            false => self.report(&run::run(found, &options).await, &options.folder),
        };
        ticking.abort();
        Ok(exit)
    }

    fn options(
        &self,
        supplied: AgentOverrides,
        terminal: Arc<Terminal>,
    ) -> std::io::Result<RunOptions> {
        let working_dir = std::env::current_dir()?;
        let supervisor = Supervisor::current_exe()?;
        let cache = self.cache.clone().or_else(install::default_cache);
        let installer = Installer {
            // Without a home folder, the working directory is the only place that outlives the run.
            cache: working_dir.join(cache.unwrap_or_else(|| ".green-agent-cache".into())),
            working_dir: working_dir.clone(),
            supervisor: supervisor.clone(),
        };
        Ok(RunOptions {
            jobs: self.jobs.map_or_else(usual_jobs, usize::from),
            trials: self.trials,
            seed: self.seed,
            snapshots: self.snapshots,
            install: self.install,
            show_logs: self.show_logs || self.serve_only,
            folder: self.runs.join(stamp()),
            working_dir,
            supplied,
            rewrite_cards: self.rewrite_cards,
            engine: install::engine(),
            installer,
            supervisor,
            ports: PortPool::default(),
            listener: Arc::new(move |event| terminal.show(&event)),
            interrupt: stop::on_signal()?,
        })
    }

    /// Writes the reports that are asked for.
    fn report(&self, report: &RunReport, folder: &Path) -> Exit {
        match self.write_reports(report, folder) {
            Ok(()) => report.exit,
            Err(error) => {
                complain(&*error);
                Exit::Infrastructure
            }
        }
    }

    fn write_reports(&self, report: &RunReport, folder: &Path) -> Result<(), Box<dyn Error>> {
        let is_json = |request: &&ReportRequest| request.kind == ReportKind::Json;
        let (json, others): (Vec<_>, Vec<_>) = self.report.iter().partition(is_json);
        for request in json {
            request.write_json(report)?;
        }
        if others.is_empty() {
            return Ok(());
        }
        let run = ReportSource::read(folder)?;
        for request in others {
            request.write(&run, None)?;
        }
        Ok(())
    }
}

/// Returns a folder name that is unique to this run and sorts by time.
fn stamp() -> String {
    let now = jiff::Zoned::now();
    format!("{}-{}", now.strftime("%Y%m%d-%H%M%S"), std::process::id())
}

async fn serve(found: &[ScenarioFile], options: &RunOptions) -> Exit {
    let [one] = found else {
        complain(&format!(
            "--serve-only takes one scenario, found {}",
            found.len()
        ));
        return Exit::Usage;
    };
    let scenario = match parse::read(&one.path) {
        Ok(scenario) => scenario,
        Err(errors) => {
            complain(&errors);
            return Exit::Unreadable;
        }
    };
    match run::serve(&scenario, options).await {
        Ok(()) => Exit::Passed,
        Err(error) => {
            complain(&error);
            error.0.exit()
        }
    }
}
