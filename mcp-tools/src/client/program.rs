//! A program that is started, and that speaks over its standard streams (MCP 2025-11-25, transports, stdio).

use std::{
    collections::BTreeMap,
    env, io,
    path::{Path, PathBuf, absolute},
    process::Stdio,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, killpg},
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

/// A program in a process group of its own. The group is killed when the pipe has been closed, and when it
/// is dropped.
pub(super) struct Program {
    pipe: AsyncRwTransport<RoleClient, ChildStdout, ChildStdin>,
    child: Child,
    group: Group,
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
        let mut program = Command::new(located(command)?);
        program
            .args(args)
            .env_clear()
            .envs(inherited())
            .envs(env.iter().map(|(name, value)| (name, value.expose())))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(cwd) = cwd {
            program.current_dir(cwd);
        }
        let mut child = program.spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok());
        let no_pipe = || io::Error::other("it has no standard input and output");
        let stdin = child.stdin.take().ok_or_else(no_pipe)?;
        let stdout = child.stdout.take().ok_or_else(no_pipe)?;
        Ok(Self {
            pipe: AsyncRwTransport::new(stdout, stdin),
            child,
            group: Group(group.map(Pid::from_raw)),
            has_ended: false,
        })
    }

    async fn ends_by_itself(&mut self) -> bool {
        timeout(GRACE, self.child.wait()).await.is_ok()
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
    /// of its group if it still does not.
    async fn close(&mut self) -> io::Result<()> {
        let closed = self.pipe.close().await;
        if !self.ends_by_itself().await {
            self.group.signal(Signal::SIGTERM);
            self.ends_by_itself().await;
        }
        self.group.kill();
        closed
    }
}

impl Group {
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
