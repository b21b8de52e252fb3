//! Shared test helpers: launching shell scripts, and waiting for conditions within a limit.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use green_agent::participant::{Launch, Supervisor};

/// A limit that is longer than anything takes, even on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// Returns a supervisor that is the program under test.
pub(crate) fn supervisor() -> Supervisor {
    Supervisor { program: PathBuf::from(env!("CARGO_BIN_EXE_green-agent")) }
}

/// Returns the launch of an agent that is a shell script.
pub(crate) fn script(dir: &Path, script: &str) -> Launch {
    Launch {
        role: "purple".to_owned(),
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        env: BTreeMap::new(),
        clean: false,
        path_prepend: Vec::new(),
        working_dir: dir.to_owned(),
        log: dir.join("purple.log"),
        mask: Arc::new(str::to_owned),
        on_activity: Arc::new(|_| true),
        sink: None,
        grace: Duration::from_millis(200),
        supervisor: supervisor(),
    }
}

/// Calls `look` until it returns something; fails the test if the limit is exceeded.
pub(crate) fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(LIMIT, what, look)
}

/// Does the same with another limit.
pub(crate) fn within<T>(limit: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the process id that a script writes, as a whole line, into a file of this name.
pub(crate) fn pid_in(dir: &Path, name: &str) -> i32 {
    eventually(name, || {
        let text = std::fs::read_to_string(dir.join(name)).ok()?;
        text.strip_suffix('\n')?.parse().ok()
    })
}

/// Returns whether the process runs; a zombie does not count.
pub(crate) fn is_alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
}

pub(crate) fn wait_until_gone(pid: i32) {
    eventually(&format!("the end of {pid}"), || (!is_alive(pid)).then_some(()));
}

/// Returns the process id that follows `label` in a text, once the line is complete.
pub(crate) fn pid_in_text(text: &str, label: &str) -> Option<i32> {
    let (_, rest) = text.split_once(label)?;
    rest.split_once('\n')?.0.trim().parse().ok()
}
