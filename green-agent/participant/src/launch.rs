//! Describes how an agent's process is started, and starts it.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    io::{self, PipeWriter},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use bridge_program::{
    path,
    supervisor::{self, Supervisor},
};
use tokio::{
    process::{Child, Command},
    sync::mpsc,
};

use super::output::{ActivityListener, AgentLine, Mask, Output};

/// The description of a process to start.
#[derive(Clone)]
pub struct Launch {
    /// The role of the agent, for messages.
    pub role: String,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Its environment variables, or those added to the runner's.
    pub env: BTreeMap<String, String>,
    /// Whether it gets only the variables in `env`.
    pub clean: bool,
    /// Folders that come before the PATH, such as the bin folders of installed requirements.
    pub path_prepend: Vec<PathBuf>,
    /// The working directory, which must exist.
    pub working_dir: PathBuf,
    /// The file to which its output is appended.
    pub log: PathBuf,
    /// Masks the secrets in its output.
    pub mask: Mask,
    /// Called whenever it prints something.
    pub on_activity: ActivityListener,
    /// The channel for its output lines. If the channel is full, lines are dropped and their number is shown later; the
    /// agent never waits for it.
    pub sink: Option<mpsc::Sender<AgentLine>>,
    /// The time from SIGTERM to SIGKILL if the runner ends without stopping the agent.
    pub grace: Duration,
    /// Ends the process if the runner ends. Its program must be an absolute path.
    pub supervisor: Supervisor,
}

impl Launch {
    /// Starts a supervisor process, which starts the program. Orders to the supervisor are written to the
    /// returned pipe.
    pub(super) fn spawn(&self) -> Result<(Child, PipeWriter), StartError> {
        let program = self.find_program()?;
        let spawn_error = |source| StartError::Spawn {
            role: self.role.clone(),
            program: program.to_owned(),
            supervisor: self.supervisor.program.clone(),
            source,
        };
        let (hears, orders) = io::pipe().map_err(spawn_error)?;
        let child = self.command().stdin(hears).spawn().map_err(spawn_error)?;
        Ok((child, orders))
    }

    /// Opens the log and the other destinations of the output.
    pub(super) fn output(&self) -> Result<Output, StartError> {
        let sink = self.sink.clone();
        let (mask, on_activity) = (self.mask.clone(), self.on_activity.clone());
        let output = Output::open(&self.role, &self.log, mask, on_activity, sink);
        output.map_err(|source| StartError::Log {
            role: self.role.clone(),
            log: self.log.clone(),
            source,
        })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.supervisor.program);
        if self.clean {
            command.env_clear();
        }
        command
            .args(supervisor::arguments(self.grace, &self.argv))
            .envs(&self.env)
            .env("PATH", path::joined(&self.path()))
            .current_dir(&self.working_dir)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Ctrl-C in a terminal must reach only the runner, which stops its agents in order.
        supervisor::own_group(command.as_std_mut());
        command
    }

    fn path(&self) -> Vec<PathBuf> {
        let own = self.env.get("PATH");
        let rest = own.map_or_else(path::inherited, |own| path::folders(OsStr::new(own)));
        self.path_prepend.iter().cloned().chain(rest).collect()
    }

    /// Checks that the program exists. The supervisor could report a missing program only after it was
    /// started.
    fn find_program(&self) -> Result<&str, StartError> {
        let role = self.role.clone();
        let Some(program) = self.argv.first().filter(|program| !program.is_empty()) else {
            return Err(StartError::Empty(role));
        };
        if !self.working_dir.is_dir() {
            return Err(StartError::NoFolder { role, folder: self.working_dir.clone() });
        }
        if path::find(program, &self.path(), &self.working_dir).is_some() {
            return Ok(program);
        }
        let (program, (place, hint)) = (program.clone(), self.where_it_should_be(program));
        Err(StartError::NotFound { role, program, place, hint })
    }

    fn where_it_should_be(&self, program: &str) -> (String, &'static str) {
        if Path::new(program).is_absolute() {
            return ("of this machine".to_owned(), "check its path, and that it may be executed");
        }
        if path::is_place(program) {
            let place = format!("below {}", self.working_dir.display());
            return (place, "relative paths begin in the folder that the run was started in");
        }
        (format!("in any of the {} folders of PATH", self.path().len()), hint(program))
    }
}

fn hint(program: &str) -> &'static str {
    match program {
        "python" => {
            "write `python3`, or add `requires = [\"python:PACKAGE==VERSION\"]`, which brings a `python`"
        }
        "node" | "npm" | "npx" => "install Node.js",
        "cd" | "export" | "source" => {
            "no shell runs `cmd`; for commands of a shell, write `sh -c '...'`"
        }
        _ if program.contains('=') => "no shell runs `cmd`; write the variable into `env`",
        _ => {
            "install it, or add what brings it to `requires`, such as \"python:PACKAGE==VERSION\" or \"npm:PACKAGE@VERSION\""
        }
    }
}

/// The reason why an agent could not be started.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum StartError {
    /// The command is empty.
    #[error("{0}: `cmd` is empty, it must name a program")]
    Empty(String),
    /// The program was not found.
    #[error("{role}: {program:?} is not a program {place}; {hint}")]
    NotFound {
        role: String,
        /// The first word of `cmd`.
        program: String,
        place: String,
        hint: &'static str,
    },
    /// The working directory does not exist.
    #[error("{role}: cannot run in {}, which is not a folder", folder.display())]
    NoFolder { role: String, folder: PathBuf },
    /// The log file could not be opened.
    #[error("{role}: cannot write the log {}", log.display())]
    Log { role: String, log: PathBuf, source: io::Error },
    /// The supervisor process could not be started.
    #[error("{role}: cannot start {program:?} through {}", supervisor.display())]
    Spawn {
        role: String,
        /// The first word of `cmd`.
        program: String,
        supervisor: PathBuf,
        source: io::Error,
    },
}
