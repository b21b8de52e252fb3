//! Servers as processes, each on its own core, and their use of the processor and of memory.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::{Outcome, connection::Connection};

/// The time within which a server must listen.
const START: Duration = Duration::from_secs(60);
/// The unit in which the kernel counts the processor time of processes.
const TICKS_A_SECOND: f64 = 100.0;

/// A running server with its own folder. Both end when this is dropped.
pub(crate) struct Server {
    process: Child,
    pub(crate) port: u16,
    _folder: tempfile::TempDir,
}

/// Pins this process and its threads to core 1.
pub(crate) fn pin_load() -> Outcome<()> {
    let own = std::process::id().to_string();
    let pinned = Command::new("taskset").args(["-cp", "1", &own]).stdout(Stdio::null()).status()?;
    match pinned.success() {
        true => Ok(()),
        false => {
            Err("taskset failed: two cores are needed, one for the server and one for the load"
                .into())
        }
    }
}

impl Server {
    /// Starts a command on core 0 and waits until it listens.
    pub(crate) async fn start(command: &str) -> Outcome<Self> {
        Self::start_on("0", command).await
    }

    /// Does the same on this core.
    pub(crate) async fn start_on(core: &str, command: &str) -> Outcome<Self> {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let folder = tempfile::tempdir()?;
        let path = folder.path().display().to_string();
        let words = command.split_whitespace();
        let words =
            words.map(|word| word.replace("{port}", &port.to_string()).replace("{folder}", &path));
        let process =
            Command::new("taskset").args(["-c", core]).args(words).stdout(Stdio::null()).spawn()?;
        let mut server = Self { process, port, _folder: folder };
        let begun = Instant::now();
        while Connection::open(port).await.is_err() {
            if let Some(status) = server.process.try_wait()? {
                return Err(format!("{command}: ended with {status} before it listened").into());
            }
            if begun.elapsed() > START {
                return Err(format!("{command}: does not listen on port {port}").into());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(server)
    }

    /// Starts a command on core 0 that prints its address on standard error.
    pub(crate) fn start_announced(command: &str) -> Outcome<Self> {
        let mut process = Command::new("taskset")
            .args(["-c", "0"])
            .args(command.split_whitespace())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = process.stderr.take().ok_or("it has no standard error")?;
        let mut server = Self { process, port: 0, _folder: tempfile::tempdir()? };
        let mut lines = BufReader::new(stderr).lines();
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, port) = line.strip_prefix("listening on http://")?.rsplit_once(':')?;
            port.parse().ok()
        });
        server.port = port.ok_or(format!("{command}: ended before it printed its address"))?;
        // Later output is read too, so that the process never blocks on it.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(server)
    }

    /// Returns the id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns the processor time that the process has used.
    pub(crate) fn cpu(&self) -> Outcome<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id()))?;
        let (_, fields) = stat.rsplit_once(')').ok_or("/proc/PID/stat has no name")?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let ticks =
            |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
        // These are fields 14 and 15, counted from 1; the first two are before the parenthesis.
        Ok(Duration::from_secs_f64((ticks(11) + ticks(12)) / TICKS_A_SECOND))
    }

    /// Returns the resident memory of the process in KiB.
    pub(crate) fn memory(&self) -> Outcome<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let size = line.and_then(|line| line.split_whitespace().next());
        Ok(size.ok_or("/proc/PID/status has no VmRSS")?.parse()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended already; then a measurement has already failed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
