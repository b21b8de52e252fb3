//! The program as its own process, with its own store.

use std::{
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, ChildStderr, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver},
    },
    thread,
    time::Duration,
};

use nix::{
    sys::{
        resource::{Resource, getrlimit, setrlimit},
        signal::{Signal, kill},
    },
    unistd::Pid,
};
use tempfile::TempDir;

use super::Error;

/// The time within which the program must listen.
const START: Duration = Duration::from_secs(60);

/// An attacked program; the process is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    url: String,
    folder: TempDir,
    lines: Arc<AtomicUsize>,
}

impl Program {
    /// Starts `bridge serve --listen 127.0.0.1:0 --builtin echo` with further arguments and a store in a new folder.
    pub(crate) fn start(arguments: &[&str]) -> Result<Self, Error> {
        Self::start_in(tempfile::tempdir()?, None, arguments)
    }

    /// Starts it with this configuration, to which the agent `echo` is added.
    pub(crate) fn with_config(folder: &Path, text: &str) -> Result<Self, Error> {
        let path = folder.join("bridge.toml");
        let agent = "[[agents]]\nname = \"echo\"\nbuiltin = \"echo\"\n";
        std::fs::write(&path, format!("{text}{agent}"))?;
        Self::start(&["--config", &path.display().to_string()])
    }

    /// Starts it with a limit of open files.
    pub(crate) fn with_descriptors(limit: u64, arguments: &[&str]) -> Result<Self, Error> {
        let before = format!("ulimit -n {limit}");
        Self::start_in(tempfile::tempdir()?, Some(&before), arguments)
    }

    /// Starts it with a limit of file sizes in MiB, until [`Program::lift_file_size_limit`] is called.
    pub(crate) fn with_file_size_limit(limit: u64, arguments: &[&str]) -> Result<Self, Error> {
        // The unit is 512 bytes. Without the trap, the signal SIGXFSZ would end the program.
        let before = format!("trap '' XFSZ && ulimit -S -f {}", limit * 2048);
        Self::start_in(tempfile::tempdir()?, Some(&before), arguments)
    }

    /// Removes the limit of file sizes.
    pub(crate) fn lift_file_size_limit(&self) -> Result<(), Error> {
        let mut lifting = Command::new("prlimit");
        lifting.args(["--pid", &self.child.id().to_string(), "--fsize=unlimited"]);
        if lifting.status()?.success() { Ok(()) } else { Err("prlimit failed".into()) }
    }

    /// Starts it with secrets in its environment.
    pub(crate) fn with_secrets(
        arguments: &[&str],
        secrets: &[(&str, &str)],
    ) -> Result<Self, Error> {
        let assign = |(name, value): &(&str, &str)| format!("export {name}=\"{value}\"");
        let before: Vec<String> = secrets.iter().map(assign).collect();
        Self::start_in(tempfile::tempdir()?, Some(&before.join(" && ")), arguments)
    }

    fn start_in(folder: TempDir, before: Option<&str>, arguments: &[&str]) -> Result<Self, Error> {
        let mut command = match before {
            None => Command::new(env!("CARGO_BIN_EXE_bridge")),
            Some(before) => {
                let mut shell = Command::new("sh");
                let script = format!("{before} && exec \"$0\" \"$@\"");
                shell.args(["-c", &script, env!("CARGO_BIN_EXE_bridge")]);
                shell
            }
        };
        command.args(["serve", "--listen", "127.0.0.1:0", "--store"]);
        command.arg(format!("sled:{}", folder.path().join("data").display()));
        if !arguments.contains(&"--config") {
            command.args(["--builtin", "echo"]);
        }
        let mut child = command
            .args(arguments)
            .env("RUST_LOG", "error")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = child.stderr.take().ok_or("no standard error")?;
        // This is created first, so that a program that does not listen is killed too.
        let mut program = Self { child, url: String::new(), folder, lines: Arc::default() };
        program.url = address(stderr, program.lines.clone()).recv_timeout(START)?;
        Ok(program)
    }

    /// Kills the process, and returns the folder, which has the store in `data`.
    pub(crate) fn kill(mut self) -> Result<TempDir, Error> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(std::mem::replace(&mut self.folder, tempfile::tempdir()?))
    }

    /// Starts the program on the store in an existing folder.
    pub(crate) fn restart(folder: TempDir, arguments: &[&str]) -> Result<Self, Error> {
        Self::start_in(folder, None, arguments)
    }

    /// Returns the output of `bridge store check` for the store in this folder.
    pub(crate) fn check_store(folder: &Path) -> Result<String, Error> {
        let store = format!("sled:{}", folder.join("data").display());
        let mut command = Command::new(env!("CARGO_BIN_EXE_bridge"));
        let found = command.args(["store", "check", "--store", &store]).output()?;
        Ok(String::from_utf8_lossy(&[found.stdout, found.stderr].concat()).into_owned())
    }

    /// Makes the program reload its configuration.
    pub(crate) fn reload(&self) -> Result<(), Error> {
        Ok(kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGHUP)?)
    }

    /// Returns the URL of the program, such as `http://127.0.0.1:4242`.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the address in its URL.
    pub(crate) fn address(&self) -> SocketAddr {
        let (_, address) = self.url.split_once("://").unwrap_or_default();
        address.parse().expect("the program says where it listens")
    }

    /// Returns the number of lines that it has logged.
    pub(crate) fn log_lines(&self) -> usize {
        self.lines.load(Ordering::Relaxed)
    }

    /// Returns its resident memory in MiB.
    pub(crate) fn memory_mib(&self) -> u64 {
        let status = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(status).unwrap_or_default();
        let held = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let held = held.and_then(|held| held.trim().strip_suffix(" kB"));
        held.and_then(|held| held.parse().ok()).unwrap_or(0) / 1024
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads standard error to its end, so that the program never blocks on it. Sends the URL, and prints all other lines.
fn address(stderr: ChildStderr, lines: Arc<AtomicUsize>) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            match line.strip_prefix("listening on ") {
                Some(url) => drop(sender.send(url.to_owned())),
                None => {
                    lines.fetch_add(1, Ordering::Relaxed);
                    eprintln!("   bridge: {line}");
                }
            }
        }
    });
    receiver
}

/// Raises the limit of open files to the hard limit.
pub(crate) fn raise_descriptors() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(_, hard)| setrlimit(Resource::RLIMIT_NOFILE, hard, hard));
    if let Err(error) = raised {
        eprintln!("the limit of open files stays as it is: {error}");
    }
}
