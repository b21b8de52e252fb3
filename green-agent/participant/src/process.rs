//! Runs one agent's process, from its start to its end.

use std::{
    fmt,
    io::{PipeWriter, Write},
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use bridge_program::lock;
use bridge_program::supervisor::{KILL_LIMIT, MAX_GRACE, kill_supervised, stop_line};
use tokio::{
    process::Child,
    sync::{Notify, watch},
    time::timeout,
};

use super::{
    AgentExit,
    launch::{Launch, StartError},
    output::Output,
};

/// The time for which output is still read after the agent and all its child processes have ended.
const DRAIN_LIMIT: Duration = Duration::from_secs(1);

/// A running agent. Dropping it kills the agent and all its child processes; [`AgentProcess::stop`] gives it
/// time to end in an orderly way.
pub struct AgentProcess {
    role: String,
    kill: Arc<Notify>,
    orders: Mutex<PipeWriter>,
    output: Arc<Output>,
    exit: watch::Receiver<Option<AgentExit>>,
}

impl AgentProcess {
    /// Starts an agent. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// If the log cannot be opened, or the program not be started.
    pub fn start(launch: &Launch) -> Result<Self, StartError> {
        let output = Arc::new(launch.output()?);
        let (child, orders) = launch.spawn()?;
        let (says_exit, exit) = watch::channel(None);
        let kill = Arc::new(Notify::new());
        tokio::spawn(watch_over(child, kill.clone(), output.clone(), says_exit));
        Ok(Self { role: launch.role.clone(), kill, orders: Mutex::new(orders), output, exit })
    }

    /// Returns the agent's role.
    pub fn role(&self) -> &str {
        &self.role
    }

    /// Returns its exit status, or `None` if it is still running. Does not wait.
    pub fn exited(&self) -> Option<AgentExit> {
        *self.exit.borrow()
    }

    /// Waits until the agent and all its child processes have ended, without a time limit.
    pub async fn wait(&self) -> AgentExit {
        let mut exit = self.exit.clone();
        let ended = exit.wait_for(Option::is_some).await;
        ended.ok().and_then(|exit| *exit).unwrap_or(AgentExit::Unknown)
    }

    /// Sends SIGTERM to the agent and all its child processes, SIGKILL after `grace`, and waits for the end.
    /// Returns at most about 15 seconds after `grace`; immediately if the agent has ended already.
    pub async fn stop(&self, grace: Duration) -> AgentExit {
        self.order_stop(grace);
        let limit = grace.min(MAX_GRACE) + KILL_LIMIT + DRAIN_LIMIT;
        if let Ok(exit) = timeout(limit, self.wait()).await {
            return exit;
        }
        // The supervisor does not react.
        self.kill.notify_one();
        let limit = DRAIN_LIMIT + DRAIN_LIMIT;
        timeout(limit, self.wait()).await.unwrap_or(AgentExit::Unknown)
    }

    /// Switches to another log; see [`Output::switch`].
    ///
    /// # Errors
    /// If the log cannot be opened.
    pub fn log_to(&self, log: &Path) -> Result<(), StartError> {
        let switched = self.output.switch(log);
        switched.map_err(|source| StartError::Log {
            role: self.role.clone(),
            log: log.to_owned(),
            source,
        })
    }

    /// Returns the number of lines of its output that were read.
    pub fn lines_read(&self) -> u64 {
        self.output.lines_read()
    }

    /// Returns its last lines of output, at most 20, with secrets masked.
    pub fn last_lines(&self) -> Vec<String> {
        self.output.last_lines()
    }

    /// Returns the number of its lines that were dropped because the sink was full, and of which nothing was shown.
    pub fn lines_not_shown(&self) -> u64 {
        self.output.lines_not_shown()
    }

    /// Sends the order to stop. A few bytes always fit into the pipe, so this does not block; if the
    /// supervisor has ended, there is nothing to stop.
    fn order_stop(&self, grace: Duration) {
        let mut orders = lock(&self.orders);
        let _ = orders.write_all(stop_line(grace).as_bytes());
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

/// Reads the output and waits for the supervisor, which ends after all its processes, or is killed with them.
async fn watch_over(
    mut child: Child,
    kill: Arc<Notify>,
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
    let ended = tokio::select! {
        ended = child.wait() => ended,
        () = kill.notified() => {
            kill_supervised(&mut child);
            child.wait().await
        }
    };
    let exit = ended.map_or(AgentExit::Unknown, AgentExit::from);
    // The last output belongs to the exit. The limit is needed because a process that escaped the supervisor
    // could keep the pipes open forever.
    let _ = timeout(DRAIN_LIMIT, async { while readers.join_next().await.is_some() {} }).await;
    says_exit.send_replace(Some(exit));
}
