//! One agent, from its start to its end.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fmt,
    io::{self, PipeWriter, Write},
    path::PathBuf,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{
    process::{Child, Command},
    sync::{mpsc, watch},
    time::timeout,
};

use super::{
    exit::AgentExit,
    keeper::{self, Keeper, LONGEST_GRACE},
    output::{AgentLine, Mask, Output},
    path,
    tree::{KILL_LIMIT, kill_descendants},
};

/// How long output is still read after the agent and all that it started have ended.
const DRAIN_LIMIT: Duration = Duration::from_secs(1);

/// What is started, and how.
#[derive(Clone)]
pub struct Launch {
    /// Whose process it is, for messages.
    pub role: String,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Added to the environment of the runner.
    pub env: BTreeMap<String, String>,
    /// Folders that come before the PATH, such as the bin folders of installed requirements.
    pub path_prepend: Vec<PathBuf>,
    /// The folder it runs in, which must exist.
    pub working_dir: PathBuf,
    /// The file that its output is appended to.
    pub log: PathBuf,
    /// Takes the secrets out of its output.
    pub mask: Mask,
    /// Where its lines are shown. A full one loses lines; the agent never waits for it.
    pub sink: Option<mpsc::Sender<AgentLine>>,
    /// From SIGTERM to SIGKILL if the runner is gone without having stopped it.
    pub grace: Duration,
    /// Who makes sure that it ends.
    pub keeper: Keeper,
}

impl Launch {
    fn path(&self) -> Vec<PathBuf> {
        let own = self.env.get("PATH");
        let rest = own.map_or_else(path::inherited, |own| path::folders(OsStr::new(own)));
        self.path_prepend.iter().cloned().chain(rest).collect()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.keeper.program);
        command
            .args(keeper::arguments(self.grace, &self.argv))
            .envs(&self.env)
            .env("PATH", path::joined(&self.path()))
            .current_dir(&self.working_dir)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C in a terminal reaches the runner's group only; the runner stops its agents in order.
            .process_group(0);
        command
    }
}

/// Why an agent could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There was nothing to start.
    #[error("{role}: `cmd` is empty, it must name a program")]
    Empty {
        /// The agent's role.
        role: String,
    },
    /// The program is not where it should be.
    #[error("{role}: {program:?} is not a program {place}; {hint}")]
    NotFound {
        /// The agent's role.
        role: String,
        /// The first word of `cmd`.
        program: String,
        /// Where it was looked for.
        place: String,
        /// What can be done.
        hint: &'static str,
    },
    /// The folder it should run in is not there.
    #[error("{role}: cannot run in {}, which is not a folder", folder.display())]
    NoFolder {
        /// The agent's role.
        role: String,
        /// That folder.
        folder: PathBuf,
    },
    /// Its log could not be opened.
    #[error("{role}: cannot write the log {}", log.display())]
    Log {
        /// The agent's role.
        role: String,
        /// The log.
        log: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system refused to start it.
    #[error("{role}: cannot start {program:?} through {}", keeper.display())]
    Spawn {
        /// The agent's role.
        role: String,
        /// The first word of `cmd`.
        program: String,
        /// The program that should have kept it.
        keeper: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A running agent. Dropping it kills the agent and everything that it started; [`AgentProcess::stop`]
/// gives it time to end in good order.
pub struct AgentProcess {
    role: String,
    keeper: Option<Pid>,
    orders: Mutex<PipeWriter>,
    output: Arc<Output>,
    exit: watch::Receiver<Option<AgentExit>>,
}

impl AgentProcess {
    /// Starts an agent. Must be called within a tokio runtime.
    pub fn start(launch: &Launch) -> Result<Self, StartError> {
        let program = find_program(launch)?;
        let spawn_error = |source| StartError::Spawn {
            role: launch.role.clone(),
            program: program.to_owned(),
            keeper: launch.keeper.program.clone(),
            source,
        };
        let output = Arc::new(open_output(launch)?);
        let (hears, orders) = io::pipe().map_err(spawn_error)?;
        let child = launch.command().stdin(hears).spawn().map_err(spawn_error)?;
        let keeper = child.id().and_then(|id| i32::try_from(id).ok());
        let (says_exit, exit) = watch::channel(None);
        tokio::spawn(watch_over(child, output.clone(), says_exit));
        Ok(Self {
            role: launch.role.clone(),
            keeper: keeper.map(Pid::from_raw),
            orders: Mutex::new(orders),
            output,
            exit,
        })
    }

    /// Whose process it is.
    pub fn role(&self) -> &str {
        &self.role
    }

    /// How it ended, if it has. Never waits.
    pub fn exited(&self) -> Option<AgentExit> {
        *self.exit.borrow()
    }

    /// Waits until the agent and everything that it started have ended; there is no limit but the caller's.
    pub async fn wait(&self) -> AgentExit {
        let mut exit = self.exit.clone();
        let ended = exit.wait_for(Option::is_some).await;
        ended
            .ok()
            .and_then(|exit| *exit)
            .unwrap_or(AgentExit::Unknown)
    }

    /// Sends SIGTERM to the agent and everything that it started, SIGKILL after `grace`, and waits for
    /// the end. Returns at the latest some 15 seconds after `grace`, and at once if it has ended already.
    pub async fn stop(&self, grace: Duration) -> AgentExit {
        self.order_stop(grace);
        let limit = grace.min(LONGEST_GRACE) + KILL_LIMIT + DRAIN_LIMIT;
        if let Ok(exit) = timeout(limit, self.wait()).await {
            return exit;
        }
        self.kill_keeper();
        let limit = DRAIN_LIMIT + DRAIN_LIMIT;
        timeout(limit, self.wait())
            .await
            .unwrap_or(AgentExit::Unknown)
    }

    /// What it printed last, at most 20 lines, secrets masked.
    pub fn last_lines(&self) -> Vec<String> {
        self.output.last_lines()
    }

    /// How many of its lines the sink had no room for.
    pub fn lines_not_shown(&self) -> u64 {
        self.output.lines_not_shown()
    }

    /// A few bytes always fit into the pipe, so this does not wait; a keeper that is gone needs no order.
    fn order_stop(&self, grace: Duration) {
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = orders.write_all(keeper::stop_line(grace).as_bytes());
    }

    /// Only for a keeper that does not do its work, since without it orphans can no longer be found.
    fn kill_keeper(&self) {
        if let (Some(keeper), None) = (self.keeper, self.exited()) {
            kill_descendants(keeper);
            let _ = kill(keeper, Signal::SIGKILL);
        }
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        self.order_stop(Duration::ZERO);
    }
}

impl fmt::Debug for AgentProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentProcess")
            .field("role", &self.role)
            .field("exit", &self.exited())
            .finish_non_exhaustive()
    }
}

/// Reads the output and waits for the keeper, which ends after all that it keeps.
async fn watch_over(
    mut child: Child,
    output: Arc<Output>,
    says_exit: watch::Sender<Option<AgentExit>>,
) {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let mut readers = tokio::task::JoinSet::new();
    if let Some(stdout) = stdout {
        let output = output.clone();
        readers.spawn(async move { output.drain(stdout).await });
    }
    if let Some(stderr) = stderr {
        readers.spawn(async move { output.drain(stderr).await });
    }
    let exit = child
        .wait()
        .await
        .map_or(AgentExit::Unknown, AgentExit::from);
    // The last words belong to the exit, but whoever escaped the keeper could hold the pipes open for ever.
    let _ = timeout(DRAIN_LIMIT, async {
        while readers.join_next().await.is_some() {}
    })
    .await;
    says_exit.send_replace(Some(exit));
}

/// Looks before the start, because the keeper could only say afterwards that there is no such program.
fn find_program(launch: &Launch) -> Result<&str, StartError> {
    let role = || launch.role.clone();
    let Some(program) = launch.argv.first().filter(|program| !program.is_empty()) else {
        return Err(StartError::Empty { role: role() });
    };
    if !launch.working_dir.is_dir() {
        let folder = launch.working_dir.clone();
        return Err(StartError::NoFolder {
            role: role(),
            folder,
        });
    }
    let folders = launch.path();
    if path::find(program, &folders, &launch.working_dir).is_some() {
        return Ok(program);
    }
    let (place, hint) = if program.contains('/') {
        let place = format!("below {}", launch.working_dir.display());
        (
            place,
            "relative paths begin in the folder that the run was started in",
        )
    } else {
        (
            format!("in any of the {} folders of PATH", folders.len()),
            hint(program),
        )
    };
    Err(StartError::NotFound {
        role: role(),
        program: program.clone(),
        place,
        hint,
    })
}

fn hint(program: &str) -> &'static str {
    match program {
        "python" => {
            "activate an environment, write `python3`, or add `requires = [\"python:PACKAGE==VERSION\"]`, which brings one"
        }
        "node" | "npm" | "npx" => "install Node.js",
        _ => {
            "install it, or add what brings it to `requires`, such as \"python:PACKAGE==VERSION\" or \"npm:PACKAGE@VERSION\""
        }
    }
}

fn open_output(launch: &Launch) -> Result<Output, StartError> {
    let sink = launch.sink.clone();
    Output::open(&launch.role, &launch.log, launch.mask.clone(), sink).map_err(|source| {
        StartError::Log {
            role: launch.role.clone(),
            log: launch.log.clone(),
            source,
        }
    })
}
