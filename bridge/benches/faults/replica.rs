//! A bridge as a process that is started again whenever it ends.

use std::{
    fs::{File, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, ChildStderr, Command},
    task::JoinHandle,
    time::sleep,
};

use super::{
    Error,
    link::{Link, Target},
};

/// The pause before a bridge that has ended is started again.
const PAUSE: Duration = Duration::from_millis(100);

/// The path of faketime's library in Debian's package, below the folder of the architecture.
const FAKETIME: &str = "faketime/libfaketimeMT.so.1";

/// A bridge whose process is replaced whenever it ends.
#[derive(Debug)]
pub(crate) struct Replica {
    shared: Arc<Shared>,
    supervisor: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    config: PathBuf,
    link: Link,
    /// The library of `faketime` and the file from which it reads the clock's error, if it is installed.
    clock: Option<(PathBuf, PathBuf)>,
    pid: Mutex<Option<u32>>,
    log: Mutex<File>,
    is_ended: AtomicBool,
    panics: AtomicU64,
    restarts: AtomicU64,
}

impl Replica {
    /// Starts a bridge with this configuration, and connects `link` to it.
    pub(crate) fn start(
        folder: &Path,
        number: usize,
        config: PathBuf,
        link: Link,
    ) -> Result<Self, Error> {
        let log = folder.join(format!("bridge-{number}.log"));
        let clock = faketime().map(|library| (library, folder.join(format!("clock-{number}"))));
        if let Some((_, file)) = &clock {
            std::fs::write(file, "+0")?;
        }
        let shared = Arc::new(Shared {
            config,
            link,
            clock,
            pid: Mutex::default(),
            log: Mutex::new(OpenOptions::new().create(true).append(true).open(log)?),
            is_ended: AtomicBool::new(false),
            panics: AtomicU64::new(0),
            restarts: AtomicU64::new(0),
        });
        let supervisor = tokio::spawn(supervise(Arc::clone(&shared)));
        Ok(Self { shared, supervisor })
    }

    /// Sends a signal to the process, if there is one.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = *self.shared.pid.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pid) = pid.and_then(|pid| i32::try_from(pid).ok()) {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    /// Sets its clock wrong by this number of seconds. Returns false if that is not possible.
    pub(crate) fn set_clock(&self, seconds: i64) -> bool {
        let file = self.shared.clock.as_ref().map(|(_, file)| file);
        file.is_some_and(|file| {
            // The file is replaced at once, so that no half of it is read.
            let new = file.with_extension("new");
            let written = std::fs::write(&new, format!("{seconds:+}"));
            written.and_then(|()| std::fs::rename(new, file)).is_ok()
        })
    }

    /// Returns the number of panics since the last call.
    pub(crate) fn take_panics(&self) -> u64 {
        self.shared.panics.swap(0, Ordering::Relaxed)
    }

    /// Returns the number of restarts since the last call.
    pub(crate) fn take_restarts(&self) -> u64 {
        self.shared.restarts.swap(0, Ordering::Relaxed)
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.shared.is_ended.store(true, Ordering::Relaxed);
        self.supervisor.abort();
        self.signal(Signal::SIGKILL);
    }
}

/// Returns the path of the library that makes clocks jump.
fn faketime() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?;
    let mut libraries = folders.filter_map(Result::ok).map(|folder| folder.path().join(FAKETIME));
    libraries.find(|library| library.exists())
}

/// Starts the process again whenever it ends.
async fn supervise(shared: Arc<Shared>) {
    while !shared.is_ended.load(Ordering::Relaxed) {
        match shared.spawn() {
            Ok(child) => shared.watch(child).await,
            Err(error) => eprintln!("the bridge does not start: {error}"),
        }
        shared.link.set_target(Target::Nowhere);
        shared.restarts.fetch_add(1, Ordering::Relaxed);
        sleep(PAUSE).await;
    }
}

impl Shared {
    fn spawn(&self) -> std::io::Result<Child> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bridge"));
        if let Some((library, file)) = &self.clock {
            command
                .env("LD_PRELOAD", library)
                .env("FAKETIME_TIMESTAMP_FILE", file)
                .env("FAKETIME_CACHE_DURATION", "1")
                .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        let child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(&self.config)
            .env("RUST_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        *self.pid.lock().unwrap_or_else(PoisonError::into_inner) = child.id();
        Ok(child)
    }

    /// Reads the output of a process until it ends.
    async fn watch(&self, mut child: Child) {
        if let Some(stderr) = child.stderr.take() {
            self.read(stderr).await;
        }
        let ended = child.wait().await;
        *self.pid.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.log(&format!("-- ended: {ended:?}"));
    }

    async fn read(&self, stderr: ChildStderr) {
        let mut lines = BufReader::new(stderr).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if let Some(address) =
                line.strip_prefix("listening on http://").and_then(|address| address.parse().ok())
            {
                self.link.set_target(Target::Tcp(address));
            }
            if line.contains("panicked") {
                self.panics.fetch_add(1, Ordering::Relaxed);
            }
            self.log(&line);
        }
    }

    fn log(&self, line: &str) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = writeln!(log, "{line}");
    }
}
