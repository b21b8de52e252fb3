//! What is started and how, and why it cannot be.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    io::{self, PipeWriter},
    path::PathBuf,
    process::Stdio,
    time::Duration,
};

use bridge_program::{
    keeper::{self, Keeper},
    path,
};
use tokio::{
    process::{Child, Command},
    sync::mpsc,
};

use super::output::{ActivityListener, AgentLine, Mask, Output};

/// What is started, and how.
#[derive(Clone)]
pub struct Launch {
    /// Whose process it is, for messages.
    pub role: String,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Its environment, or what is added to that of the runner.
    pub env: BTreeMap<String, String>,
    /// Whether it gets nothing but `env`.
    pub clean: bool,
    /// Folders that come before the PATH, such as the bin folders of installed requirements.
    pub path_prepend: Vec<PathBuf>,
    /// The folder it runs in, which must exist.
    pub working_dir: PathBuf,
    /// The file that its output is appended to.
    pub log: PathBuf,
    /// Takes the secrets out of its output.
    pub mask: Mask,
    /// Is told whenever it prints something.
    pub on_activity: ActivityListener,
    /// Where its lines are shown. A full one loses lines; the agent never waits for it.
    pub sink: Option<mpsc::Sender<AgentLine>>,
    /// From SIGTERM to SIGKILL if the runner is gone without having stopped it.
    pub grace: Duration,
    /// Who makes sure that it ends; its program must be an absolute path.
    pub keeper: Keeper,
}

impl Launch {
    /// Starts a keeper with the program; what is written to the pipe are orders to the keeper.
    pub(super) fn spawn(&self) -> Result<(Child, PipeWriter), StartError> {
        let program = self.find_program()?;
        let spawn_error = |source| StartError::Spawn {
            role: self.role.clone(),
            program: program.to_owned(),
            keeper: self.keeper.program.clone(),
            source,
        };
        let (hears, orders) = io::pipe().map_err(spawn_error)?;
        let child = self.command().stdin(hears).spawn().map_err(spawn_error)?;
        Ok((child, orders))
    }

    /// Opens the log and whatever else the output goes to.
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
        let mut command = Command::new(&self.keeper.program);
        if self.clean {
            command.env_clear();
        }
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

    fn path(&self) -> Vec<PathBuf> {
        let own = self.env.get("PATH");
        let rest = own.map_or_else(path::inherited, |own| path::folders(OsStr::new(own)));
        self.path_prepend.iter().cloned().chain(rest).collect()
    }

    /// Looks before the start, because the keeper could only say afterwards that there is no such program.
    fn find_program(&self) -> Result<&str, StartError> {
        let role = self.role.clone();
        let Some(program) = self.argv.first().filter(|program| !program.is_empty()) else {
            return Err(StartError::Empty { role });
        };
        if !self.working_dir.is_dir() {
            let folder = self.working_dir.clone();
            return Err(StartError::NoFolder { role, folder });
        }
        if path::find(program, &self.path(), &self.working_dir).is_some() {
            return Ok(program);
        }
        let (program, (place, hint)) = (program.clone(), self.where_it_should_be(program));
        Err(StartError::NotFound {
            role,
            program,
            place,
            hint,
        })
    }

    fn where_it_should_be(&self, program: &str) -> (String, &'static str) {
        if program.contains('/') {
            let place = format!("below {}", self.working_dir.display());
            return (
                place,
                "relative paths begin in the folder that the run was started in",
            );
        }
        (
            format!("in any of the {} folders of PATH", self.path().len()),
            hint(program),
        )
    }
}

fn hint(program: &str) -> &'static str {
    match program {
        "python" => {
            "write `python3`, or add `requires = [\"python:PACKAGE==VERSION\"]`, which brings a `python`"
        }
        "node" | "npm" | "npx" => "install Node.js",
        _ => {
            "install it, or add what brings it to `requires`, such as \"python:PACKAGE==VERSION\" or \"npm:PACKAGE@VERSION\""
        }
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
