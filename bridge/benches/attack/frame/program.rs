//! The program as a process of its own, with a store in a folder of its own.

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

use super::Failed;

/// How long the program may take until it listens.
const START: Duration = Duration::from_secs(60);

/// A program that is attacked; it is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    url: String,
    folder: TempDir,
    lines: Arc<AtomicUsize>,
}

impl Program {
    /// `bridge serve --listen 127.0.0.1:0 --builtin echo` with further arguments and a store in a new folder.
    pub(crate) fn start(arguments: &[&str]) -> Result<Self, Failed> {
        Self::within(tempfile::tempdir()?, None, arguments)
    }

    /// With a configuration that says this of all, and hosts the agent `echo`.
    pub(crate) fn configured(folder: &Path, text: &str) -> Result<Self, Failed> {
        let path = folder.join("bridge.toml");
        let agent = "[[agents]]\nname = \"echo\"\nbuiltin = \"echo\"\n";
        std::fs::write(&path, format!("{text}{agent}"))?;
        Self::start(&["--config", &path.display().to_string()])
    }

    /// With at most so many open files.
    pub(crate) fn with_descriptors(limit: u64, arguments: &[&str]) -> Result<Self, Failed> {
        let before = format!("ulimit -n {limit}");
        Self::within(tempfile::tempdir()?, Some(&before), arguments)
    }

    /// The same with files of at most so many MiB, for as long as [`Program::lift`] is not called.
    pub(crate) fn with_small_files(limit: u64, arguments: &[&str]) -> Result<Self, Failed> {
        // In blocks of 512 bytes. The signal that tells of it would end the program.
        let before = format!("trap '' XFSZ && ulimit -S -f {}", limit * 2048);
        Self::within(tempfile::tempdir()?, Some(&before), arguments)
    }

    /// From now on files may be of any size.
    pub(crate) fn lift(&self) -> Result<(), Failed> {
        let mut lifting = Command::new("prlimit");
        lifting.args(["--pid", &self.child.id().to_string(), "--fsize=unlimited"]);
        match lifting.status()?.success() {
            true => Ok(()),
            false => Err("prlimit failed".into()),
        }
    }

    /// With secrets in its environment.
    pub(crate) fn with_secrets(
        arguments: &[&str],
        secrets: &[(&str, &str)],
    ) -> Result<Self, Failed> {
        let assign = |(name, value): &(&str, &str)| format!("export {name}=\"{value}\"");
        let before: Vec<String> = secrets.iter().map(assign).collect();
        Self::within(tempfile::tempdir()?, Some(&before.join(" && ")), arguments)
    }

    fn within(folder: TempDir, before: Option<&str>, arguments: &[&str]) -> Result<Self, Failed> {
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
        // Made first, so that a program that does not listen is killed too.
        let mut program = Self {
            child,
            url: String::new(),
            folder,
            lines: Arc::default(),
        };
        program.url = address(stderr, program.lines.clone()).recv_timeout(START)?;
        Ok(program)
    }

    /// Ends it as kill -9 does and gives the folder, whose `data` is the store.
    pub(crate) fn kill(mut self) -> Result<TempDir, Failed> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(std::mem::replace(&mut self.folder, tempfile::tempdir()?))
    }

    /// Starts it again on such a folder.
    pub(crate) fn again(folder: TempDir, arguments: &[&str]) -> Result<Self, Failed> {
        Self::within(folder, None, arguments)
    }

    /// What `bridge store check` says of the store in such a folder.
    pub(crate) fn check(folder: &Path) -> Result<String, Failed> {
        let store = format!("sled:{}", folder.join("data").display());
        let mut command = Command::new(env!("CARGO_BIN_EXE_bridge"));
        let found = command
            .args(["store", "check", "--store", &store])
            .output()?;
        Ok(String::from_utf8_lossy(&[found.stdout, found.stderr].concat()).into_owned())
    }

    /// Has it read its configuration again.
    pub(crate) fn hang_up(&self) -> Result<(), Failed> {
        Ok(kill(
            Pid::from_raw(self.child.id().cast_signed()),
            Signal::SIGHUP,
        )?)
    }

    /// Where it is reached, such as `http://127.0.0.1:4242`.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The same as an address.
    pub(crate) fn address(&self) -> SocketAddr {
        let (_, address) = self.url.split_once("://").unwrap_or_default();
        address.parse().expect("the program says where it listens")
    }

    /// The folder in which its store is.
    #[expect(dead_code, reason = "attacks on the store need it")]
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// How many lines it has logged.
    pub(crate) fn lines(&self) -> usize {
        self.lines.load(Ordering::Relaxed)
    }

    /// How much memory it has, in MiB.
    pub(crate) fn memory(&self) -> u64 {
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

/// Reads standard error to its end, so that the program never waits for a reader; what is no address is
/// shown.
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

/// Lets this program open as many connections as it may.
pub(crate) fn raise_descriptors() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(_, hard)| setrlimit(Resource::RLIMIT_NOFILE, hard, hard));
    if let Err(error) = raised {
        eprintln!("the limit of open files stays as it is: {error}");
    }
}
