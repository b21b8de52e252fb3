//! A program that ignores the end of its input and SIGTERM, for testing that nothing is left running when its
//! parent ends.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Child,
    thread,
    time::{Duration, Instant},
};

/// Longer than anything takes on a machine that does other things too.
const LIMIT: Duration = Duration::from_secs(300);

/// Writes the program into the folder. It starts another one like it, in a separate session.
pub(crate) fn program(dir: &Path) -> PathBuf {
    let forever = |file: &str| {
        let file = dir.join(file);
        format!("trap '' TERM; echo $$ > '{}'; while :; do sleep 1; done", file.display())
    };
    let text = format!(
        "#!/bin/sh\n(setsid sh -c \"{}\" &)\n{}\n",
        forever("orphan").replace('$', "\\$"),
        forever("leader"),
    );
    let path = dir.join("deaf");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Kills the starter of the program in this folder with SIGKILL, once the program runs, and waits until all of its
/// processes have ended.
pub(crate) fn ends_with(mut starter: Child, dir: &Path) {
    let pids = ["leader", "orphan"].map(|name| eventually(name, || pid(&dir.join(name))));
    assert!(pids.into_iter().all(is_alive));
    starter.kill().unwrap();
    starter.wait().unwrap();
    for pid in pids {
        eventually("the program's end", || (!is_alive(pid)).then_some(()));
    }
}

/// Returns the number in a file, once its line is whole.
fn pid(file: &Path) -> Option<u32> {
    let text = fs::read_to_string(file).ok()?;
    text.strip_suffix('\n')?.parse().ok()
}

/// Returns whether the process runs; a zombie does not.
fn is_alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
}

fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not come about");
        thread::sleep(Duration::from_millis(10));
    }
}
