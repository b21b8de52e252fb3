//! The processes below the supervisor: its child, the child's descendants, and adopted orphans.

use std::collections::BTreeSet;

use nix::{
    errno::Errno,
    sys::{
        signal::{Signal, kill, killpg},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{Pid, getpgid},
};

use super::ProcessExit;

/// All processes below the current process, whose only direct child at first is the leader.
///
/// It reaps every child of this process, so no other code in it may wait for children.
#[derive(Debug)]
pub(super) struct Tree {
    leader: Pid,
    exit: Option<ProcessExit>,
    /// The processes that were sent SIGTERM. A second SIGTERM makes some programs skip their cleanup.
    terminated: BTreeSet<i32>,
}

impl Tree {
    /// Creates the tree of the child `leader`, which leads its own process group.
    pub(super) fn new(leader: Pid) -> Self {
        Self { leader, exit: None, terminated: BTreeSet::new() }
    }

    /// Returns how the leader ended, once it has ended.
    pub(super) fn leader_exit(&self) -> Option<ProcessExit> {
        self.exit
    }

    /// Reaps all ended processes, and returns whether none is left.
    pub(super) fn reap(&mut self) -> bool {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => return false,
                Ok(status) => self.note(status),
                Err(Errno::ECHILD) => return !self.group_lives_unseen(),
                // A real-time signal killed a child: the child is reaped, but nix cannot represent the signal.
                Err(Errno::EINVAL | Errno::EINTR) => {}
                Err(_) => return false,
            }
        }
    }

    fn note(&mut self, status: WaitStatus) {
        if status.pid() != Some(self.leader) {
            return;
        }
        if let WaitStatus::Exited(_, code) = status {
            self.exit = Some(ProcessExit::Code(code));
        } else if let WaitStatus::Signaled(_, signal, _) = status {
            self.exit = Some(ProcessExit::Signal(signal as i32));
        }
    }

    /// Sends SIGTERM, once to each process. Call it again to reach new processes.
    pub(super) fn terminate(&mut self) {
        let by_group = self.terminated.insert(self.leader.as_raw())
            && self.group_is_ours()
            && killpg(self.leader, Signal::SIGTERM).is_ok();
        for pid in descendants(Pid::this()) {
            let in_group = by_group && getpgid(Some(pid)) == Ok(self.leader);
            if self.terminated.insert(pid.as_raw()) && !in_group {
                send(pid, Signal::SIGTERM);
            }
        }
    }

    /// Sends SIGKILL to all current processes. Call it again until [`Tree::reap`] finds none left, because a
    /// killed process may have started another one before.
    pub(super) fn kill(&self) {
        if self.group_is_ours() {
            // The group may have no members left.
            let _ = killpg(self.leader, Signal::SIGKILL);
        }
        kill_descendants(Pid::this());
    }

    /// Returns whether the leader's process group still belongs to this tree. Once the leader is reaped, another
    /// process may get its number. Linux finds the rest without the group; on other systems only the group can be
    /// used.
    fn group_is_ours(&self) -> bool {
        self.exit.is_none() || cfg!(not(target_os = "linux"))
    }

    /// Returns whether the process group has members that are not children of this process, which is possible
    /// where orphans are not adopted.
    fn group_lives_unseen(&self) -> bool {
        cfg!(not(target_os = "linux")) && killpg(self.leader, None).is_ok()
    }
}

/// Sends SIGKILL to all processes below `root`, but not to `root`.
pub(super) fn kill_descendants(root: Pid) {
    for pid in descendants(root) {
        send(pid, Signal::SIGKILL);
    }
}

/// Sends a signal; a process that cannot be reached has already ended.
fn send(pid: Pid, signal: Signal) {
    let _ = kill(pid, signal);
}

/// Returns all living processes below `root`, whatever their group and session.
#[cfg(target_os = "linux")]
fn descendants(root: Pid) -> Vec<Pid> {
    let stats = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let parents: Vec<(i32, i32)> = stats.filter_map(|stat| living_pid_and_parent(&stat)).collect();
    below(root.as_raw(), &parents).into_iter().map(Pid::from_raw).collect()
}

/// Returns nothing, because there is no `/proc` on other systems: only the process group is ended.
#[cfg(not(target_os = "linux"))]
fn descendants(_root: Pid) -> Vec<Pid> {
    Vec::new()
}

/// Reads `/proc/PID/stat`; returns `None` for a zombie, which has already ended.
#[cfg(any(target_os = "linux", test))]
fn living_pid_and_parent(stat: &str) -> Option<(i32, i32)> {
    // The name in brackets may itself contain spaces and brackets, so the last bracket ends it.
    let (head, tail) = stat.rsplit_once(')')?;
    let pid = head.split_once(' ')?.0.parse().ok()?;
    let mut fields = tail.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some((pid, parent))
}

#[cfg(any(target_os = "linux", test))]
fn below(root: i32, parents: &[(i32, i32)]) -> BTreeSet<i32> {
    let mut found = BTreeSet::new();
    let mut open = vec![root];
    while let Some(above) = open.pop() {
        let children = parents.iter().filter(|(_, parent)| *parent == above);
        open.extend(children.map(|(pid, _)| *pid).filter(|pid| found.insert(*pid)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_read_whatever_the_name() {
        let cases = [
            ("12 (sh) S 7 12 12 0", Some((12, 7))),
            ("12 (a) b) (c) R 7 12", Some((12, 7))),
            ("12 (gone) Z 7 12", None),
            ("", None),
            ("12 (cut", None),
        ];
        for (stat, expected) in cases {
            assert_eq!(living_pid_and_parent(stat), expected, "{stat}");
        }
    }

    #[test]
    fn descendants_are_found_at_any_depth_and_nothing_else() {
        let parents = [(2, 1), (3, 2), (4, 3), (5, 1), (6, 5), (7, 99)];
        assert_eq!(below(2, &parents), BTreeSet::from([3, 4]));
        assert_eq!(below(1, &parents), BTreeSet::from([2, 3, 4, 5, 6]));
        assert_eq!(below(7, &parents), BTreeSet::new());
    }

    #[test]
    fn a_circle_of_parents_ends() {
        assert_eq!(below(1, &[(1, 2), (2, 1)]), BTreeSet::from([1, 2]));
    }
}
