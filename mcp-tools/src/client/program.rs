//! A program that is started, and that speaks over its standard streams (MCP 2025-11-25, transports, stdio).

use std::{
    collections::BTreeMap,
    env, io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf, absolute},
    process::Stdio,
    time::Duration,
};

use bridge_program::{
    keeper::{KILL_LIMIT, Keeper},
    path,
};
use nix::{
    sys::signal::{Signal, kill, killpg},
    unistd::Pid,
};
use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{Transport, async_rw::AsyncRwTransport},
};
use tokio::{
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use crate::secret::Secret;

/// What a program gets of this one's environment. The rest, keys of language models among it, is none of
/// its business.
const INHERITED: [&str; 8] = [
    "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER",
];

/// How long a program has to end after its input was closed, and once more after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// How long is read on after a program has ended: what it started may hold its output open for ever.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// A program, from its start to its end. Nothing of it is left once the pipe has been closed, or it was dropped.
pub(super) struct Program {
    pipe: AsyncRwTransport<RoleClient, ChildStdout, ChildStdin>,
    child: Child,
    /// What came from the program, where this process ends it. Otherwise the child is a keeper, which ends all of
    /// it even if this process is killed.
    group: Option<Group>,
    has_ended: bool,
}

/// A group of processes, until it is killed.
struct Group(Option<Pid>);

impl Program {
    /// Starts it; what it writes to standard error goes where this program's does.
    pub(super) fn start(
        command: &str,
        args: &[String],
        env: &BTreeMap<String, Secret>,
        cwd: Option<&Path>,
    ) -> io::Result<Self> {
        let keeper = Keeper::installed();
        let mut program = match keeper {
            Some(keeper) => keeper.over_streams(found(command)?.as_os_str(), args, GRACE),
            None => {
                let mut program = std::process::Command::new(located(command)?);
                program.args(args);
                program
            }
        };
        program
            .env_clear()
            .envs(inherited())
            .envs(env.iter().map(|(name, value)| (name, value.expose())))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0);
        if let Some(cwd) = cwd {
            program.current_dir(cwd);
        }
        let mut program = Command::from(program);
        // A keeper that is killed cannot end what it keeps.
        let mut child = program.kill_on_drop(keeper.is_none()).spawn()?;
        let group = keeper.is_none().then(|| Group::of(&child));
        let no_pipe = || io::Error::other("it has no standard input and output");
        let stdin = child.stdin.take().ok_or_else(no_pipe)?;
        let stdout = child.stdout.take().ok_or_else(no_pipe)?;
        Ok(Self {
            pipe: AsyncRwTransport::new(stdout, stdin),
            child,
            group,
            has_ended: false,
        })
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = &self.group {
            group.signal(signal);
        }
    }

    async fn ends_within(&mut self, limit: Duration) -> bool {
        timeout(limit, self.child.wait()).await.is_ok()
    }
}

fn inherited() -> impl Iterator<Item = (&'static str, std::ffi::OsString)> {
    let names = INHERITED.into_iter();
    names.filter_map(|name| Some((name, env::var_os(name)?)))
}

/// A relative path begins where this program runs. With the `cwd` of details before it, it would be
/// another program than the one that was allowed.
fn located(command: &str) -> io::Result<PathBuf> {
    if command.contains('/') {
        absolute(command)
    } else {
        Ok(command.into())
    }
}

/// The program's file. A keeper could only say afterwards that there is none.
fn found(command: &str) -> io::Result<PathBuf> {
    let located = located(command)?;
    if command.contains('/') {
        return Ok(located);
    }
    let folder = env::current_dir()?;
    path::find(command, &path::inherited(), &folder)
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such program in PATH"))
}

impl Transport<RoleClient> for Program {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.pipe.send(message)
    }

    /// The next message, or nothing once the program has ended: the end of its output does not come while
    /// something that it started lives on.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        if !self.has_ended {
            tokio::select! {
                biased;
                message = self.pipe.receive() => return message,
                _ = self.child.wait() => self.has_ended = true,
            }
        }
        timeout(LAST_WORDS, self.pipe.receive())
            .await
            .ok()
            .flatten()
    }

    /// Closes the program's standard input, sends SIGTERM if it does not end, and kills it with what is left
    /// of it if it still does not.
    async fn close(&mut self) -> io::Result<()> {
        let closed = self.pipe.close().await;
        if self.group.is_none() {
            self.ends_within(GRACE + GRACE + KILL_LIMIT).await;
        } else if !self.ends_within(GRACE).await {
            self.signal(Signal::SIGTERM);
            self.ends_within(GRACE).await;
        }
        if let Some(group) = &mut self.group {
            group.kill();
        }
        closed
    }
}

impl Drop for Program {
    /// A keeper ends what it keeps without waiting for the end of its input. One that has ended has no number.
    fn drop(&mut self) {
        let keeper = self.child.id().and_then(|id| i32::try_from(id).ok());
        if let (None, Some(keeper)) = (&self.group, keeper) {
            let _ = kill(Pid::from_raw(keeper), Signal::SIGTERM);
        }
    }
}

impl Group {
    fn of(child: &Child) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok());
        Self(leader.map(Pid::from_raw))
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // A group that has ended already is as wanted.
            let _ = killpg(group, signal);
        }
    }

    /// Once only: later the number may be another group's.
    fn kill(&mut self) {
        self.signal(Signal::SIGKILL);
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
