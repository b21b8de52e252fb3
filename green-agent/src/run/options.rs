//! The options of a run.

use std::{io, path::PathBuf, sync::Arc};

use bridge_client::Tls;
use tokio::sync::watch;

use super::RunEvent;
use crate::{
    install::{self, Installer},
    participant::{Supervisor, ports::PortPool, ready::StartTimes},
    record::RunSettings,
    scenario::{container::Engine, supplied::AgentOverrides},
    snapshot::SnapshotMode,
};

/// Receives the events of a run. It is called from any task and must not block.
pub type Listener = Arc<dyn Fn(RunEvent) + Send + Sync>;

/// The options of a run.
pub struct RunOptions {
    /// The most trials that run at the same time, of one scenario or of several.
    pub jobs: usize,
    /// The settings that its manifest has.
    pub settings: RunSettings,
    /// What to do with snapshots, as the settings say.
    pub snapshots: SnapshotMode,
    /// Whether the run becomes the baseline with which gates compare later runs.
    pub accepts_baseline: bool,
    /// Whether to install what scenarios require. Otherwise a scenario with a missing requirement does not
    /// run.
    pub install: bool,
    /// Whether to emit an event for every line that agents print.
    pub show_logs: bool,
    /// The folder of this run, for agents that are only served.
    pub folder: PathBuf,
    /// The folder in which agents run, and whose `.env` they get.
    pub working_dir: PathBuf,
    /// The commands and addresses of agents that files only name.
    pub supplied: AgentOverrides,
    /// The certificates of agents that are trusted beside those of public authorities, and the one that is shown to agents.
    pub tls: Tls,
    /// The container engine for images that files name.
    pub engine: Option<Engine>,
    /// Installs what scenarios require.
    pub installer: Installer,
    /// Ends agents even if this process is killed.
    pub supervisor: Supervisor,
    /// Assigns ports to agents.
    pub ports: PortPool,
    /// The start times of the agents' programs so far.
    pub start_times: StartTimes,
    /// Receives the events.
    pub listener: Listener,
    /// Becomes true when the run is to end early.
    pub interrupt: watch::Receiver<bool>,
}

/// The reason why there are no options with defaults.
#[derive(Debug, thiserror::Error)]
pub enum RunOptionsError {
    /// The program cannot run again as the supervisor of agents.
    #[error(
        "this program cannot supervise agents: its main function must call green_agent::participant::supervisor::main"
    )]
    NoSupervisor,
    /// The system does not say in which folder this program runs.
    #[error("the working directory cannot be used: {0}")]
    WorkingDir(io::Error),
}

impl RunOptions {
    /// Returns the options of a run in this folder as `green-agent run` has them without flags, but with one trial at a time:
    /// snapshots are compared, and nothing is installed. Its events go nowhere, and nothing interrupts it. Agents run in the
    /// working directory, and below the program that [`supervisor::main`](crate::participant::supervisor::main) has
    /// installed.
    ///
    /// # Errors
    /// If no supervisor is installed, or the working directory is unknown.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Result<Self, RunOptionsError> {
        let supervisor = Supervisor::installed().ok_or(RunOptionsError::NoSupervisor)?;
        let working_dir = std::env::current_dir().map_err(RunOptionsError::WorkingDir)?;
        // Without a home folder, the working directory is the only place that outlives the run.
        let cache = install::default_cache().unwrap_or_else(|| ".green-agent-cache".into());
        // Without a sender, the value never changes.
        let (_, interrupt) = watch::channel(false);
        Ok(Self {
            jobs: 1,
            settings: RunSettings::default(),
            snapshots: SnapshotMode::Check,
            accepts_baseline: false,
            install: false,
            show_logs: false,
            folder: folder.into(),
            supplied: AgentOverrides::default(),
            tls: Tls::default(),
            engine: install::engine(),
            installer: Installer {
                cache: working_dir.join(cache),
                working_dir: working_dir.clone(),
                supervisor: supervisor.clone(),
            },
            supervisor: supervisor.clone(),
            working_dir,
            ports: PortPool::default(),
            start_times: StartTimes::default(),
            listener: Arc::new(|_| ()),
            interrupt,
        })
    }

    pub(super) fn emit(&self, event: RunEvent) {
        (self.listener)(event);
    }

    pub(super) fn is_interrupted(&self) -> bool {
        *self.interrupt.borrow()
    }

    /// Waits until the run is to end early.
    pub(super) async fn interrupted(&self) {
        let mut interrupt = self.interrupt.clone();
        if interrupt.wait_for(|interrupted| *interrupted).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that is no supervisor would run again as itself, once for each agent, and so on.
    #[test]
    fn a_program_that_cannot_supervise_gets_no_options() {
        let refused = RunOptions::in_folder("runs").err().map(|error| error.to_string());
        let expected = "this program cannot supervise agents: its main function must call \
                        green_agent::participant::supervisor::main";
        assert_eq!(refused.as_deref(), Some(expected));
    }
}
