//! Runs programs for tests: the crate's own, its examples and others.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

pub(crate) use crate::running::{output, run};

/// The time limit until a program listens, and until it has ended.
const LIMIT: Duration = Duration::from_secs(120);

/// Returns a command that runs `mcp-tools` with arguments.
pub(crate) fn mcp_tools(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-tools"));
    command.args(arguments).env_remove("MCP_TOKEN").stdin(Stdio::null());
    command
}

/// Returns the path of one of the crate's examples, which `cargo test` has built.
pub(crate) fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let built = tests.parent().and_then(Path::parent).unwrap();
    let path = built.join("examples").join(name);
    assert!(path.exists(), "{name} is not built: cargo build --workspace --examples");
    path
}

/// A program that listens; it is killed when this is dropped.
pub(crate) struct Listening {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// The URL, without a slash at the end.
    pub(crate) url: String,
}

impl Listening {
    /// Starts a program, and waits until it prints its address.
    pub(crate) async fn start(command: &mut Command) -> Self {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = timeout(LIMIT, stderr.next_line()).await.expect("it listens in time");
        let line = line.unwrap().unwrap_or_default();
        let url = line.strip_prefix("listening on ").map(str::to_owned);
        // Standard error is read to its end, so that the program never blocks on a full pipe.
        tokio::spawn(async move { while let Ok(Some(_)) = stderr.next_line().await {} });
        Self {
            child,
            stdout,
            url: url.unwrap_or_else(|| panic!("expected an address, not {line:?}")),
        }
    }

    /// Returns the first JSON object that the program prints.
    pub(crate) async fn printed(&mut self) -> Value {
        let mut text = String::new();
        loop {
            let read = timeout(LIMIT, self.stdout.read_line(&mut text)).await;
            assert!(read.expect("it prints in time").unwrap() > 0, "only {text:?}");
            if text.ends_with("}\n")
                && let Ok(value) = serde_json::from_str(&text)
            {
                return value;
            }
        }
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&self) {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok()).unwrap();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), nix::sys::signal::SIGTERM).unwrap();
    }

    /// Waits until the program has ended; returns its exit code and its remaining output.
    pub(crate) async fn ended(mut self) -> (Option<i32>, String) {
        let mut text = String::new();
        let end = async {
            self.stdout.read_to_string(&mut text).await.unwrap();
            self.child.wait().await.unwrap().code()
        };
        let code = timeout(LIMIT, end).await.expect("it ends in time");
        (code, text)
    }
}
