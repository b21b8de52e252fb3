//! A program that the client starts, and that speaks MCP over its standard streams (MCP 2025-11-25, transports,
//! stdio).

use std::{
    collections::BTreeMap,
    env, io,
    path::{Path, PathBuf, absolute},
    process::Stdio,
    time::Duration,
};

use bridge_program::{
    path,
    supervisor::{self, KILL_LIMIT, ProcessGroup, Supervisor},
};
use rmcp::{
    RoleClient,
    model::{ClientRequest, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{Transport, async_rw::AsyncRwTransport},
};
use tokio::{
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use super::printed::{Printed, Watched};
use crate::secret::Secret;

/// The environment variables that a program inherits. All others, which may include keys of language models, are
/// withheld. With the certificates of a company, `npx` and `uvx` download programs. From APPDATA on they are those of
/// Windows.
const INHERITED: &str = "\
    HOME LANG LOGNAME PATH SHELL TERM TMPDIR USER \
    CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE SSL_CERT_DIR SSL_CERT_FILE \
    APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATHEXT \
    PROCESSOR_ARCHITECTURE PROGRAMFILES SYSTEMDRIVE SYSTEMROOT TEMP TMP USERNAME USERPROFILE";

/// The time that a program has to end after its input is closed, and again after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// The time for which output is read after a program has ended. The limit is needed because processes that it started
/// may keep the output open.
const READ_AFTER_EXIT: Duration = Duration::from_millis(200);

/// A running program. None of its processes is left after the pipe is closed or this value is dropped.
pub(super) struct Program {
    pipe: AsyncRwTransport<RoleClient, Watched<ChildStdout>, ChildStdin>,
    child: Child,
    /// The process group, if this process ends it. Otherwise the child is a supervisor, which ends the group even if
    /// this process is killed.
    group: Option<ProcessGroup>,
    has_ended: bool,
    discovery: Discovery,
}

/// The first request, `server/discover`, for which `rmcp` waits 10 seconds before it sends `initialize`. A program that
/// takes longer to start answers both then, and `rmcp` takes the late answer for a wrong one to `initialize`.
#[derive(Default)]
struct Discovery {
    request: Option<RequestId>,
    is_given_up: bool,
}

impl Discovery {
    fn sent(&mut self, message: &TxJsonRpcMessage<RoleClient>) {
        let JsonRpcMessage::Request(request) = message else {
            return;
        };
        match request.request {
            ClientRequest::DiscoverRequest(_) => self.request = Some(request.id.clone()),
            ClientRequest::InitializeRequest(_) => self.is_given_up = true,
            _ => {}
        }
    }

    fn is_late_answer(&self, message: &RxJsonRpcMessage<RoleClient>) -> bool {
        let answered = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        self.is_given_up && answered.is_some() && answered == self.request.as_ref()
    }
}

impl Program {
    /// Starts the program; its standard error is the standard error of this program. What it prints to standard output and
    /// is no message is noted.
    pub(super) fn start(
        command: &str,
        args: &[String],
        env: &BTreeMap<String, Secret>,
        cwd: Option<&Path>,
        printed: &Printed,
    ) -> io::Result<Self> {
        let installed = Supervisor::installed();
        let mut program = match installed {
            Some(supervisor) => supervisor.over_streams(found(command)?.as_os_str(), args, GRACE),
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
            .stdout(Stdio::piped());
        supervisor::own_group(&mut program);
        if let Some(cwd) = cwd {
            program.current_dir(cwd);
        }
        let mut program = Command::from(program);
        // The supervisor must not be killed, because then it could not end its processes.
        let mut child = program.kill_on_drop(installed.is_none()).spawn()?;
        let group = match installed {
            Some(_) => None,
            None => Some(ProcessGroup::of(&child)?),
        };
        let no_pipe = || io::Error::other("it has no standard input and output");
        let stdin = child.stdin.take().ok_or_else(no_pipe)?;
        let stdout = child.stdout.take().ok_or_else(no_pipe)?;
        printed.clear();
        let pipe = AsyncRwTransport::new(Watched::new(stdout, printed.clone()), stdin);
        Ok(Self { pipe, child, group, has_ended: false, discovery: Discovery::default() })
    }

    /// Returns the next message, or `None` once the program has ended. The end of the program is watched too,
    /// because its output stays open while a process that it started is alive.
    async fn next(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        if !self.has_ended {
            tokio::select! {
                biased;
                message = self.pipe.receive() => return message,
                _ = self.child.wait() => self.has_ended = true,
            }
        }
        timeout(READ_AFTER_EXIT, self.pipe.receive()).await.ok().flatten()
    }

    async fn ends_within(&mut self, limit: Duration) -> bool {
        timeout(limit, self.child.wait()).await.is_ok()
    }
}

fn inherited() -> impl Iterator<Item = (&'static str, std::ffi::OsString)> {
    let names = INHERITED.split(' ');
    names.filter_map(|name| Some((name, env::var_os(name)?)))
}

/// Returns the absolute path of a command. A relative path is relative to this program's working directory: with
/// the `cwd` of the details, it would be another program than the one that was allowed.
fn located(command: &str) -> io::Result<PathBuf> {
    if path::is_place(command) { absolute(command) } else { Ok(command.into()) }
}

/// Finds the program's file. A supervisor could report a missing file only afterwards.
fn found(command: &str) -> io::Result<PathBuf> {
    let located = located(command)?;
    if path::is_place(command) {
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
        self.discovery.sent(&message);
        let sending = self.pipe.send(message);
        async move {
            match sending.await {
                // The program has ended. It may have printed why, so its end is noticed when all of that has been read.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                sent => sent,
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = self.next().await?;
            if !self.discovery.is_late_answer(&message) {
                return Some(message);
            }
        }
    }

    /// Closes the program's standard input, sends SIGTERM if the program does not end, and finally kills all its
    /// processes.
    async fn close(&mut self) -> io::Result<()> {
        // A program that has stopped reading blocks the message that is being sent, and with it the end of its input.
        let closed = timeout(GRACE, self.pipe.close()).await;
        if self.group.is_none() {
            if closed.is_err() {
                supervisor::end_supervised(&mut self.child);
            }
            self.ends_within(GRACE + GRACE + KILL_LIMIT).await;
        } else if !self.ends_within(GRACE).await {
            self.group.iter().for_each(ProcessGroup::terminate);
            self.ends_within(GRACE).await;
        }
        if let Some(group) = &mut self.group {
            group.kill();
        }
        closed.unwrap_or(Ok(()))
    }
}

impl Drop for Program {
    /// Ends the program. A supervisor ends its processes without waiting for the end of its input; one that has ended
    /// has no process id.
    fn drop(&mut self) {
        if self.group.is_none() {
            supervisor::end_supervised(&mut self.child);
        }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{
        DiscoverRequest, DiscoverRequestParams, InitializeRequest, InitializeRequestParams,
    };

    use super::*;

    /// A program that reads two requests before it answers any, as one that starts slowly does.
    const SLOW: &str = r#"
        read discover; read initialize
        echo '{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"not initialized"}}'
        echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}'
    "#;

    #[tokio::test]
    async fn a_late_answer_to_discovery_is_not_one_to_initialize() {
        let arguments = ["-c", SLOW].map(str::to_owned);
        let mut program =
            Program::start("sh", &arguments, &BTreeMap::new(), None, &Printed::default()).unwrap();
        let discover = DiscoverRequest::new(DiscoverRequestParams {});
        let initialize = InitializeRequest::new(InitializeRequestParams::default());
        let requests = [
            ClientRequest::DiscoverRequest(discover),
            ClientRequest::InitializeRequest(initialize),
        ];
        for (id, request) in (0..).zip(requests) {
            let request = TxJsonRpcMessage::<RoleClient>::request(request, RequestId::Number(id));
            program.send(request).await.unwrap();
        }
        let first = program.receive().await.unwrap();
        assert!(matches!(first, JsonRpcMessage::Response(_)), "{first:?}");
    }
}
