//! Runs a program, and measures the cost of its process and of all processes that it starts.

use std::{
    collections::BTreeMap,
    fs,
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

use nix::{
    sys::wait::{Id, WaitPidFlag, WaitStatus, waitid},
    unistd::Pid,
};

use crate::Outcome;

/// The unit in which the kernel counts the processor time of processes.
const TICKS_A_SECOND: f64 = 100.0;

/// The interval at which memory is read.
const PAUSE: Duration = Duration::from_millis(50);

/// The cost of a program.
#[derive(Default)]
pub(crate) struct Cost {
    pub(crate) wall: Duration,
    /// The processor time of the program's own process.
    pub(crate) own_seconds: f64,
    /// The processor time of all processes that it started.
    pub(crate) children_seconds: f64,
    /// The largest memory of the program's own process.
    pub(crate) own_peak_mib: f64,
    /// The largest total memory of all of these processes; shared pages count for each process.
    pub(crate) total_peak_mib: f64,
}

/// Runs a program, which must succeed, and returns its cost.
pub(crate) fn measure(mut command: Command) -> Outcome<Cost> {
    let begun = Instant::now();
    let mut child = command.spawn()?;
    let pid = Pid::from_raw(i32::try_from(child.id())?);
    let mut cost = Cost::default();
    // The ended process is not reaped yet, so that its figures can still be read.
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT | WaitPidFlag::WNOHANG;
    while waitid(Id::Pid(pid), flags)? == WaitStatus::StillAlive {
        if let Some(own) = mib_of(pid.as_raw(), "VmHWM:") {
            cost.own_peak_mib = cost.own_peak_mib.max(own);
        }
        cost.total_peak_mib = cost.total_peak_mib.max(memory_below(pid.as_raw()));
        sleep(PAUSE);
    }
    cost.wall = begun.elapsed();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (own, children) = times(&stat).ok_or("unexpected format of /proc")?;
    (cost.own_seconds, cost.children_seconds) = (own, children);
    if child.wait()?.success() { Ok(cost) } else { Err(format!("{command:?} failed").into()) }
}

/// Returns the processor time of a process and of those that it has waited for, in seconds.
fn times(stat: &str) -> Option<(f64, f64)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    let own = ticks(11)? + ticks(12)?;
    let children = ticks(13)? + ticks(14)?;
    Some((own / TICKS_A_SECOND, children / TICKS_A_SECOND))
}

fn mib_of(pid: i32, key: &str) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with(key))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

/// Returns the memory of a process and of all its descendants.
fn memory_below(root: i32) -> f64 {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(pid) = pid else { continue };
        if let Some(parent) = parent_of(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let (mut found, mut sum) = (vec![root], 0.0);
    while let Some(pid) = found.pop() {
        sum += mib_of(pid, "VmRSS:").unwrap_or_default();
        found.extend(children.remove(&pid).unwrap_or_default());
    }
    sum
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}
