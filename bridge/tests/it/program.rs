//! Runs the program, and external programs, as child processes.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, ChildStderr, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use tokio::time::{Instant, sleep};

pub(crate) use crate::running::{output, run, target};

/// The time limit for the program's start, and for its end. Programs in Python read thousands of files first, and on a
/// busy machine that takes more than a minute.
const START: Duration = Duration::from_secs(300);

/// `bridge serve` on a new port, or a bot that listens; it is killed when this is dropped.
pub(crate) struct Bridge {
    child: Child,
    url: String,
}

impl Bridge {
    /// Starts it with these arguments, and waits until it listens.
    pub(crate) fn serve(arguments: &[&str]) -> Self {
        let mut bridge = Command::new(env!("CARGO_BIN_EXE_bridge"));
        bridge.args(["serve", "--listen", "127.0.0.1:0"]);
        Self::listening(bridge.args(arguments))
    }

    /// Starts any program that says in the same way where it listens, and waits until it does.
    pub(crate) fn listening(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let address = address(child.stderr.take().unwrap()).recv_timeout(START);
        let mut bridge = Self { child, url: String::new() };
        bridge.url = address.expect("the program says where it listens");
        bridge
    }

    /// Returns the URL of the program, without a slash at the end.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns its resident memory, in KiB.
    pub(crate) fn resident(&self) -> u64 {
        let status = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(status).unwrap();
        let held = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let held = held.and_then(|held| held.trim().strip_suffix(" kB"));
        held.unwrap().parse().unwrap()
    }

    /// Makes it reload its configuration.
    pub(crate) fn hang_up(&self) {
        let pid = Pid::from_raw(self.child.id().cast_signed());
        kill(pid, Signal::SIGHUP).unwrap();
    }

    /// Asks it to stop in good order.
    pub(crate) fn terminate(&self) {
        let pid = Pid::from_raw(self.child.id().cast_signed());
        kill(pid, Signal::SIGTERM).unwrap();
    }

    /// Sends Ctrl-C.
    pub(crate) fn interrupt(&self) {
        let pid = Pid::from_raw(self.child.id().cast_signed());
        kill(pid, Signal::SIGINT).unwrap();
    }

    /// Pauses the process.
    pub(crate) fn pause(&self) {
        let pid = Pid::from_raw(self.child.id().cast_signed());
        kill(pid, Signal::SIGSTOP).unwrap();
    }

    /// Continues the process after a pause.
    pub(crate) fn go_on(&self) {
        let pid = Pid::from_raw(self.child.id().cast_signed());
        kill(pid, Signal::SIGCONT).unwrap();
    }

    /// Waits until it has ended by itself, and returns its exit code.
    pub(crate) async fn ended(&mut self) -> Option<i32> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(begun.elapsed() < START, "the program does not end");
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Kills the process, and waits for its end.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads standard error to its end, so that the program never waits for a reader; what is no address is
/// shown.
fn address(stderr: ChildStderr) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            match line.split_once("listening on ").and_then(|(_, url)| url.split(',').next()) {
                // After a failed start the process is not needed any more.
                Some(url) => drop(sender.send(url.to_owned())),
                None => eprintln!("bridge: {line}"),
            }
        }
    });
    receiver
}
