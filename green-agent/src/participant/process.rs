//! One agent, from its start to its end.

use std::{
    fmt,
    io::{PipeWriter, Write},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bridge_program::keeper::{KILL_LIMIT, LONGEST_GRACE, kill_descendants, stop_line};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{process::Child, sync::watch, time::timeout};

use super::{
    AgentExit,
    launch::{Launch, StartError},
    output::Output,
};

/// How long output is still read after the agent and all that it started have ended.
const DRAIN_LIMIT: Duration = Duration::from_secs(1);

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
        let output = Arc::new(launch.output()?);
        let (child, orders) = launch.spawn()?;
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
        let _ = orders.write_all(stop_line(grace).as_bytes());
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
