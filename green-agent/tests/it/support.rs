//! What the tests share: launching shell scripts, and waiting for conditions within a limit.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use green_agent::participant::{Keeper, Launch};

/// Longer than anything takes on a machine that does other things too.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// The program under test, which knows how to keep agents.
pub(crate) fn keeper() -> Keeper {
    Keeper {
        program: PathBuf::from(env!("CARGO_BIN_EXE_green-agent")),
    }
}

/// An agent that is a shell script.
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
        on_activity: Arc::new(|| ()),
        sink: None,
        grace: Duration::from_millis(200),
        keeper: keeper(),
    }
}

/// Looks until something is there; fails the test if the limit passes first.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The number that a script writes, as a whole line, into a file of this name.
pub(crate) fn pid_in(dir: &Path, name: &str) -> i32 {
    eventually(name, || {
        let text = std::fs::read_to_string(dir.join(name)).ok()?;
        text.strip_suffix('\n')?.parse().ok()
    })
}

/// Whether the process runs; a zombie does not.
pub(crate) fn is_alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
}

pub(crate) fn wait_until_gone(pid: i32) {
    eventually(&format!("the end of {pid}"), || {
        (!is_alive(pid)).then_some(())
    });
}

/// The number that follows `label` in a text, once the line is whole.
pub(crate) fn pid_in_text(text: &str, label: &str) -> Option<i32> {
    let (_, rest) = text.split_once(label)?;
    rest.split_once('\n')?.0.trim().parse().ok()
}
