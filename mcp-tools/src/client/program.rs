//! A program that is started, and that speaks over its standard streams.

use std::{
    collections::BTreeMap,
    env, io,
    path::{Path, PathBuf, absolute},
    process::Stdio,
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{TokioChildProcess, Transport},
};
use tokio::process::Command;

use crate::secret::Secret;

/// What a program gets of this one's environment. The rest, keys of language models among it, is none of
/// its business.
const INHERITED: [&str; 8] = [
    "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER",
];

/// A program in a process group of its own, with a pipe to and from it. The group is killed when the pipe
/// has been closed, and when it is dropped.
pub(super) struct Program {
    pipe: TokioChildProcess,
    group: Group,
}

/// A group of processes, until it is killed.
struct Group(Option<Pid>);

impl Program {
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
            .envs(
                INHERITED
                    .iter()
                    .filter_map(|name| Some((name, env::var_os(name)?))),
            )
            .envs(env.iter().map(|(name, value)| (name, value.expose())))
            .process_group(0)
            .kill_on_drop(true);
        if let Some(cwd) = cwd {
            program.current_dir(cwd);
        }
        let (pipe, _) = TokioChildProcess::builder(program)
            .stderr(Stdio::inherit())
            .spawn()?;
        let group = pipe.id().and_then(|id| i32::try_from(id).ok());
        let group = Group(group.map(Pid::from_raw));
        Ok(Self { pipe, group })
    }
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

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.pipe.receive().await
    }

    /// Closes the program's standard input, sends SIGTERM if it does not end, and kills it and what is left
    /// of its group.
    async fn close(&mut self) -> io::Result<()> {
        let closed = self.pipe.close().await;
        self.group.kill();
        closed
    }
}

impl Group {
    /// Once only: later the number may be another group's.
    fn kill(&mut self) {
        if let Some(group) = self.0.take() {
            // A group that has ended already is as wanted.
            let _ = killpg(group, Signal::SIGKILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
