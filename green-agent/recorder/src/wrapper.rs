//! The recording wrapper: a process between a participant and the MCP server that it starts over stdio.

use std::{
    ffi::OsString,
    io::ErrorKind,
    pin::pin,
    process::{ExitCode, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    process::{Child, Command},
    time::timeout,
};
use url::Url;

use super::stdio::{BACK, FORWARD, LINE_LIMIT};

/// The first argument that makes the program a recording wrapper.
pub const RECORD_STDIO: &str = "__record-stdio";

/// The time limit for recording a line; the recorder is on this machine.
const RECORDED_WITHIN: Duration = Duration::from_secs(10);

/// The time limit for the server's answers after the participant has closed its side.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);

/// The time limit for the server to end after its last answer.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// Starts the server and passes lines on in both directions until the server's output ends, or has not ended a minute after its
/// input. `args` are the arguments after [`RECORD_STDIO`]: `--to URL -- CMD ARGS...`.
///
/// The exit code is the server's own; 126 if it cannot be started, 2 if the arguments are wrong. A line that
/// cannot be recorded is not passed on, because a transcript with gaps would be wrong.
pub fn record(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let Some(order) = WrapperArgs::parse(args) else {
        bridge_program::errln!("usage: {RECORD_STDIO} --to URL -- CMD ARGS...");
        return ExitCode::from(2);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime.and_then(|runtime| {
        let done = runtime.block_on(order.carry_out());
        // Otherwise, shutting down would wait for the thread that reads standard input.
        runtime.shutdown_background();
        done
    });
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            bridge_program::errln!("green-agent: {}: {error}", order.command.display());
            ExitCode::from(126)
        }
    }
}

/// The wrapper's arguments.
#[derive(Debug, PartialEq, Eq)]
struct WrapperArgs {
    to: Url,
    command: OsString,
    args: Vec<OsString>,
}

impl WrapperArgs {
    fn parse(args: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut args = args.into_iter();
        (args.next()? == "--to").then_some(())?;
        let to = Url::parse(args.next()?.to_str()?).ok()?;
        (args.next()? == "--").then_some(())?;
        Some(Self { to, command: args.next()?, args: args.collect() })
    }

    async fn carry_out(&self) -> std::io::Result<u8> {
        let mut server = Command::new(&self.command)
            .args(&self.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (Some(to_server), Some(from_server)) = (server.stdin.take(), server.stdout.take())
        else {
            return Err(std::io::Error::other("the server has no standard streams"));
        };
        let recorder = Recorder::new(&self.to)?;
        let forth = pass(tokio::io::stdin(), to_server, &recorder, FORWARD);
        let back = pass(from_server, tokio::io::stdout(), &recorder, BACK);
        let mut back = pin!(back);
        tokio::select! {
            // The server may still answer what the participant has sent.
            passed = forth => {
                // A server that reads no more may still answer, and has an exit code.
                passed.or_else(|error| match error.kind() {
                    ErrorKind::BrokenPipe => Ok(()),
                    _ => Err(error),
                })?;
                timeout(ANSWERS_WITHIN, back).await.unwrap_or(Ok(()))?;
            }
            passed = &mut back => passed?,
        }
        Ok(end(&mut server).await)
    }
}

/// Waits for the server to end by itself, as it should when its input has ended; it is killed otherwise.
async fn end(server: &mut Child) -> u8 {
    let ended = timeout(ENDS_WITHIN, server.wait()).await;
    let code = ended.ok().and_then(Result::ok).and_then(|exit| exit.code());
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Passes lines on after recording each, and closes the other side when this one has ended.
async fn pass(
    from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    recorder: &Recorder,
    direction: &str,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(from);
    let mut line = Vec::new();
    // The limit is one byte more than accepted: the recorder refuses a line that is cut there.
    let limit = LINE_LIMIT as u64 + 1;
    while (&mut lines).take(limit).read_until(b'\n', &mut line).await? > 0 {
        recorder.record(direction, &line).await?;
        to.write_all(&line).await?;
        to.flush().await?;
        line.clear();
    }
    to.shutdown().await
}

/// The client for the recorder.
struct Recorder {
    http: reqwest::Client,
    to: Url,
}

impl Recorder {
    fn new(to: &Url) -> std::io::Result<Self> {
        let http = reqwest::Client::builder()
            .no_proxy()
            .tcp_nodelay(true)
            .timeout(RECORDED_WITHIN)
            .build()
            .map_err(std::io::Error::other)?;
        Ok(Self { http, to: to.clone() })
    }

    async fn record(&self, direction: &str, line: &[u8]) -> std::io::Result<()> {
        let url = self.to.join(direction).map_err(std::io::Error::other)?;
        let sent = self.http.post(url).body(line.to_vec()).send().await;
        let taken = sent.and_then(reqwest::Response::error_for_status);
        taken.map_err(std::io::Error::other)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_names_the_recorder_and_the_server() {
        let parse = |text: &str| WrapperArgs::parse(text.split(' ').map(OsString::from));
        let order = parse("--to http://127.0.0.1:1/ -- mcp-tools relay --url x").unwrap();
        assert_eq!(order.command, "mcp-tools");
        assert_eq!(order.args, ["relay", "--url", "x"]);
        for wrong in ["", "--to x -- y", "--to http://h/ --", "-- y"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
