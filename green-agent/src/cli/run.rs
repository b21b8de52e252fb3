//! `green-agent run`: runs scenarios and reports which passed.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use clap::{Args, ValueEnum as _};

use super::{Agents, Paths, complain, exits, machine, stop};
use crate::{
    record::{Manifest, RunFlags, RunFolder, RunSettings, Shard},
    recorder::MASK,
    report::{NotAReport, ReportKind, ReportRequest, source::ReportSource, terminal::Terminal},
    run::{self, RunLog, RunLogError, RunOptions, RunReport},
    scenario::{files::ScenarioFile, source, supplied::AgentOverrides},
    snapshot::SnapshotMode,
};
use bridge_client::Tls;
use bridge_program::{Exit, OrExit as _, shell_word};

const EXAMPLES: &str = "\
Examples:
  green-agent run scenarios/ --install --jobs 4
  green-agent run debate.toml --show-logs --snapshots off
  green-agent run debate.toml --snapshots accept     write the transcript as the snapshot
  green-agent run debate.toml --accept-baseline      use this run as the baseline of regress
  green-agent run debate.toml --serve-only           start its agents only
  green-agent run leaderboard.toml --agent purple=\"python purple.py --port {port}\" \\
    --agent green=http://127.0.0.1:9009
  green-agent run --resume runs/20260102-030405-77   continue a run
  green-agent run debate.toml --trials 100 --shard 3/8";

const NO_BASELINE: &str = "\
no scenario names a file for --accept-baseline; expected regress = { against = \"FILE\" } in [harness.gate]";

const PARTIAL_BASELINE: &str = "\
a part of a run is no baseline: join all parts with green-agent merge, then resume the joined run with --accept-baseline";

/// Returns whether a scenario has no gate that compares with an earlier run. A file that cannot be read is reported later.
fn has_no_baseline(found: &ScenarioFile) -> bool {
    let scenario = source::read(&found.path);
    scenario.is_ok_and(|scenario| scenario.harness.gate.regress.is_none())
}

/// The most trials that may run at a time.
const MOST_JOBS: i64 = 256;

/// Returns one for each processor: starting agents uses the processor, so that more trials at a time gain nothing. The
/// README has the measurement.
fn usual_jobs() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    processors.min(usize::try_from(MOST_JOBS).unwrap_or(1))
}

/// Run scenarios and report the results
#[derive(Debug, Default, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Run {
    /// Scenario files, or folders to search for them
    #[arg(required_unless_present = "resume", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Use only scenarios whose name contains this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Continue the run in this folder: run its trials that have not ended, with its original flags. --jobs, --cache and
    /// --report replace those of the run. --agent is repeated if it has a secret, which the folder does not keep
    #[arg(long, value_name = "RUN", conflicts_with_all = [
        "paths", "filter", "snapshots", "trials", "seed", "shard", "overlay", "rewrite_cards",
        "ca", "cert", "key", "serve_only", "runs",
    ])]
    resume: Option<PathBuf>,
    /// Run only one part of the trials, such as 3/8 for the third of eight parts; `merge` joins the runs of all parts
    #[arg(long, value_name = "PART/PARTS")]
    shard: Option<Shard>,
    /// The use of transcript snapshots
    #[arg(long, value_enum, default_value_t = SnapshotMode::Check)]
    snapshots: SnapshotMode,
    /// Write this run to the file that `against` of the gate `regress` names; later runs are compared with it
    #[arg(long, conflicts_with = "shard")]
    accept_baseline: bool,
    /// The number of trials of each scenario; overrides the file
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    trials: Option<u32>,
    #[command(flatten)]
    conditions: Conditions,
    /// Start the agents of one scenario and keep them running until Ctrl-C, without an evaluation
    #[arg(long, conflicts_with_all = ["report", "accept_baseline", "shard"])]
    serve_only: bool,
    #[arg(long, value_name = "KIND=FILE", help = ReportRequest::HELP)]
    report: Vec<ReportRequest>,
    /// Whether nothing is printed while the scenarios run.
    #[arg(skip)]
    is_quiet: bool,
}

/// The conditions under which scenarios run.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Conditions {
    /// The number of trials that run at the same time, over all scenarios [default: one for each processor]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS))]
    jobs: Option<u16>,
    /// The seed for agents and environments; overrides the files
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    agents: Agents,
    /// Rewrite all addresses in agent cards to the recorder's, even those at which the agent was not reached
    #[arg(long)]
    rewrite_cards: bool,
    /// Trust the certificates in this PEM file too, such as those of a company's own authority, when agents and servers of
    /// scenarios are called over https. The setting `ca` of the policy `llm` does this for a model that is no server of the scenario
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Show the certificate in this PEM file to agents that ask for one (mutual TLS)
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// The private key of --cert, in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Install the requirements of the scenarios into a cache folder, which later runs use again
    #[arg(long)]
    install: bool,
    /// The folder for installed requirements [default: green-agent in the user's cache folder]
    #[arg(long, value_name = "DIR", env = "GREEN_AGENT_CACHE")]
    cache: Option<PathBuf>,
    /// Show the output of agents, line by line
    #[arg(long)]
    show_logs: bool,
    /// The folder for transcripts and the agents' output; each run makes a folder in it
    #[arg(long, value_name = "DIR", default_value = "runs")]
    runs: PathBuf,
}

/// The scenarios and settings of a run.
struct Asked {
    found: Vec<ScenarioFile>,
    settings: RunSettings,
    flags: RunFlags,
    /// The reports to write at the end.
    reports: Vec<ReportRequest>,
    /// The run's folder.
    folder: PathBuf,
}

impl Run {
    /// Returns a run of all trials of some scenarios, without reports; if `is_quiet`, it prints nothing.
    pub(super) fn plain(
        paths: Vec<PathBuf>,
        trials: Option<u32>,
        conditions: Conditions,
        is_quiet: bool,
    ) -> Self {
        Self {
            paths,
            snapshots: SnapshotMode::Off,
            trials,
            conditions,
            is_quiet,
            ..Self::default()
        }
    }

    pub(super) fn execute(&self) -> Result<Exit, Exit> {
        self.execute_as(&stamp()).map(|(_, exit)| exit)
    }

    /// Runs the scenarios in a folder of this name, and returns the folder with the exit code.
    pub(super) fn execute_as(&self, name: &str) -> Result<(PathBuf, Exit), Exit> {
        let asked = self.asked(name)?;
        ReportRequest::check_files(&asked.reports).or_exit(Exit::Usage)?;
        for request in &asked.reports {
            request.check_writable().or_exit(Exit::Infrastructure)?;
        }
        if asked.flags.accept_baseline && asked.settings.shard.is_some() {
            complain(&PARTIAL_BASELINE);
            return Err(Exit::Usage);
        }
        if asked.flags.accept_baseline && asked.found.iter().all(has_no_baseline) {
            complain(&NO_BASELINE);
            return Err(Exit::Usage);
        }
        let runtime = bridge_program::runtime().or_exit(Exit::Infrastructure)?;
        let exit = runtime.block_on(self.run(&asked))?;
        Ok((asked.folder, exit))
    }

    /// Returns the scenarios and settings of a run: those of the flags in a new folder of this name, or those of the
    /// run that is resumed.
    fn asked(&self, name: &str) -> Result<Asked, Exit> {
        let Some(folder) = &self.resume else {
            let paths = Paths { paths: self.paths.clone(), filter: self.filter.clone() };
            return Ok(Asked {
                found: paths.collect()?,
                settings: self.settings(),
                flags: self.flags(),
                reports: self.report.clone(),
                folder: self.conditions.runs.join(name),
            });
        };
        let manifest = Manifest::read(folder).or_exit(Exit::Unreadable)?;
        let found = run::scenarios_of(&manifest).or_exit(Exit::Unreadable)?;
        let flags = self.flags().or(manifest.flags);
        let reports = flags.reports.iter().map(|report| report.parse());
        let reports: Result<_, NotAReport> = reports.collect();
        let agents = self.resumed_agents(manifest.settings.agents)?;
        Ok(Asked {
            found,
            settings: RunSettings { agents, ..manifest.settings },
            reports: reports.or_exit(Exit::Unreadable)?,
            flags,
            folder: folder.clone(),
        })
    }

    /// Returns the values of `--agent` for a resumed run: those in its folder, or the same ones from the command line with the
    /// secrets that the folder masks.
    fn resumed_agents(&self, kept: Vec<String>) -> Result<Vec<String>, Exit> {
        let given = &self.conditions.agents.agents;
        if run::masked_agents(given) == kept {
            return Ok(given.clone());
        }
        if given.is_empty() && !kept.iter().any(|agent| agent.contains(MASK)) {
            return Ok(kept);
        }
        let kept = kept.iter().map(|agent| format!("--agent {}", shell_word(agent.as_ref())));
        complain(&format!(
            "a run is resumed with its agents; repeat these flags with the secrets, which its folder does not keep: {}",
            kept.collect::<Vec<_>>().join(" ")
        ));
        Err(Exit::Usage)
    }

    fn settings(&self) -> RunSettings {
        let Conditions { agents, seed, rewrite_cards, ca, cert, key, .. } = &self.conditions;
        let path = |path: &PathBuf| path.display().to_string();
        let overlay = agents.overlay.as_ref();
        let snapshots = self.snapshots.to_possible_value();
        RunSettings {
            trials: self.trials,
            seed: *seed,
            shard: self.shard,
            snapshots: snapshots.map(|value| value.get_name().to_owned()),
            agents: agents.agents.clone(),
            overlay: overlay.map(path),
            rewrite_cards: *rewrite_cards,
            ca: ca.as_ref().map(path),
            client_certificate: cert
                .as_ref()
                .zip(key.as_ref())
                .map(|(cert, key)| [path(cert), path(key)]),
        }
    }

    fn flags(&self) -> RunFlags {
        let Conditions { jobs, install, cache, show_logs, .. } = &self.conditions;
        RunFlags {
            jobs: *jobs,
            install: *install,
            cache: cache.as_ref().map(|path| path.display().to_string()),
            show_logs: *show_logs,
            accept_baseline: self.accept_baseline,
            reports: self.report.iter().map(ToString::to_string).collect(),
        }
    }

    async fn run(&self, asked: &Asked) -> Result<Exit, Exit> {
        let is_printed = |request: &ReportRequest| request.path.is_none();
        let is_apart = asked.reports.iter().any(is_printed);
        let terminal = Arc::new(Terminal::new(asked.folder.clone(), is_apart));
        let settings = &asked.settings;
        let agents = Agents {
            agents: settings.agents.clone(),
            overlay: settings.overlay.as_ref().map(PathBuf::from),
        };
        let supplied = agents.supplied_to(&asked.found)?;
        let own = settings.client_certificate.as_ref();
        let own = own.map(|[cert, key]| (cert.as_ref(), key.as_ref()));
        let tls = Tls::from_files(settings.ca.as_ref().map(AsRef::as_ref), own);
        let tls = tls.or_exit(Exit::Unreadable)?;
        let jobs = asked.flags.jobs.map_or_else(usual_jobs, usize::from);
        let jobs = machine::jobs(jobs).or_exit(Exit::Infrastructure)?;
        let options = self.options(asked, jobs, supplied, tls, terminal.clone())?;
        let ticking = tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                // Without events, there is nothing to show.
                terminal.tick();
            }
        });
        let exit = match self.serve_only {
            true => serve(&asked.found, &options).await,
            false => self.run_all(asked, &options).await,
        };
        ticking.abort();
        exit
    }

    async fn run_all(&self, asked: &Asked, options: &RunOptions) -> Result<Exit, Exit> {
        let log = self.log(asked, &options.supplied).map_err(|error| {
            complain(&error);
            exits::of_log_error(&error)
        })?;
        let report = run::run(&asked.found, options, &log).await;
        Ok(asked.report(report, log.folder()))
    }

    fn log(&self, asked: &Asked, supplied: &AgentOverrides) -> Result<RunLog, RunLogError> {
        let Asked { found, settings, flags, folder, .. } = asked;
        let flags = flags.clone();
        match self.resume {
            Some(_) => RunLog::resume(folder, found, flags, supplied),
            None => RunLog::begin(folder, found, settings.clone(), flags, supplied),
        }
    }

    fn options(
        &self,
        asked: &Asked,
        jobs: usize,
        supplied: AgentOverrides,
        tls: Tls,
        terminal: Arc<Terminal>,
    ) -> Result<RunOptions, Exit> {
        let settings = &asked.settings;
        let snapshots = settings.snapshots.as_deref();
        let snapshots = snapshots.and_then(|name| SnapshotMode::from_str(name, false).ok());
        let snapshots = snapshots.unwrap_or(SnapshotMode::Check);
        let flags = &asked.flags;
        let mut options = RunOptions {
            jobs,
            settings: settings.clone(),
            snapshots,
            accepts_baseline: flags.accept_baseline,
            install: flags.install,
            show_logs: flags.show_logs || self.serve_only,
            supplied,
            tls,
            listener: match self.is_quiet {
                true => Arc::new(|_| ()),
                false => Arc::new(move |event| terminal.show(&event)),
            },
            ..RunOptions::in_folder(&asked.folder).or_exit(Exit::Infrastructure)?
        };
        if let Some(cache) = &flags.cache {
            options.installer.cache = options.working_dir.join(cache);
        }
        let resuming = (!self.serve_only).then(|| resume_with(&asked.folder));
        options.interrupt = stop::on_signal(resuming).or_exit(Exit::Infrastructure)?;
        Ok(options)
    }
}

impl Asked {
    /// Writes the requested reports. A report that cannot be written does not prevent the others.
    fn report(&self, report: RunReport, folder: &Path) -> Exit {
        let exit = report.exit;
        if self.reports.is_empty() {
            return exit;
        }
        let errors = match RunFolder::read(folder) {
            Ok(recorded) => self.write_reports(report, &recorded),
            Err(error) => vec![error.to_string()],
        };
        errors.iter().for_each(|error| complain(error));
        if errors.is_empty() { exit } else { Exit::Infrastructure }
    }

    fn write_reports(&self, report: RunReport, recorded: &RunFolder) -> Vec<String> {
        let is_json = |request: &&ReportRequest| request.kind == ReportKind::Json;
        let (json, others): (Vec<_>, Vec<_>) = self.reports.iter().partition(is_json);
        let mut written = Vec::new();
        if !json.is_empty() {
            let report = report.with_recorded(recorded);
            written.extend(json.iter().map(|request| request.write_json(&report)));
        }
        if !others.is_empty() {
            let run = ReportSource::new(recorded, None);
            written.extend(others.iter().map(|request| request.write(&run, None)));
        }
        let errors = written.into_iter().filter_map(Result::err);
        errors.map(|error| error.to_string()).collect()
    }
}

/// Says how a run that was ended goes on.
fn resume_with(folder: &Path) -> String {
    format!("to continue: green-agent run --resume {}", shell_word(folder))
}

/// Returns a folder name that is unique to this run and sorts by time.
pub(super) fn stamp() -> String {
    let now = jiff::Timestamp::now();
    format!("{}-{}", now.strftime("%Y%m%d-%H%M%S"), std::process::id())
}

async fn serve(found: &[ScenarioFile], options: &RunOptions) -> Result<Exit, Exit> {
    let [one] = found else {
        complain(&format!("--serve-only takes one scenario, found {}", found.len()));
        return Err(Exit::Usage);
    };
    let scenario = one.source().and_then(|source| source.first()).or_exit(Exit::Unreadable)?;
    let served = run::serve(&scenario, options).await;
    served.map(|()| Exit::Passed).map_err(|error| {
        complain(&error);
        error.0.exit()
    })
}
