//! Supervises with signals.

mod tree;

use std::{
    io,
    os::{fd::AsFd, unix::process::CommandExt},
    process::{Command, ExitStatus, Stdio},
    time::Duration,
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::signal::{Signal as Number, kill, killpg},
    unistd::Pid,
};
use tokio::{
    process::Child,
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
    time::{Instant, sleep_until},
};

use super::{KILL_LIMIT, Order, ProcessExit, parse_stop};
use tree::{Tree, kill_descendants};

/// The interval at which the process tree is read again while it is being ended, in addition to each end of a
/// child.
const RESCAN_INTERVAL: Duration = Duration::from_millis(50);

/// Makes the child of this command lead a process group of its own, so that Ctrl-C in a terminal does not reach it.
pub fn own_group(command: &mut Command) {
    command.process_group(0);
}

/// The processes of a child with a group of its own. They are killed when this is dropped.
#[derive(Debug)]
pub struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    /// Returns the group of a child that was started with [`own_group`].
    ///
    /// # Errors
    /// On Windows, if the system does not allow it.
    pub fn of(child: &Child) -> io::Result<Self> {
        Ok(Self(pid(child)))
    }

    /// Sends SIGTERM to the processes. On Windows, where programs cannot be asked to end, this does nothing.
    pub fn terminate(&self) {
        self.send(Number::SIGTERM);
    }

    /// Kills the processes, only once: later another group may have the number.
    pub fn kill(&mut self) {
        self.send(Number::SIGKILL);
        self.0 = None;
    }

    fn send(&self, signal: Number) {
        if let Some(group) = self.0 {
            // The group may have ended already.
            let _ = killpg(group, signal);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns the id of a child that has not been waited for.
fn pid(child: &Child) -> Option<Pid> {
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    id.map(Pid::from_raw)
}

/// Makes a supervisor end its child now, without waiting for an order.
pub fn end_supervised(supervisor: &mut Child) {
    if let Some(supervisor) = pid(supervisor) {
        let _ = kill(supervisor, Number::SIGTERM);
    }
}

/// Kills a supervisor and all processes below it. Only for one that does not react, because orphaned child processes cannot be
/// found without it.
pub fn kill_supervised(supervisor: &mut Child) {
    if let Some(root) = pid(supervisor) {
        kill_descendants(root);
        // It may have ended meanwhile.
        let _ = supervisor.start_kill();
    }
}

/// Returns the number of the signal that ended a process.
pub(super) fn signal_of(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

/// Returns the name of a signal, or `None` if there is no signal of this number.
pub(super) fn signal_name(number: i32) -> Option<&'static str> {
    Number::try_from(number).ok().map(Number::as_str)
}

/// Runs the child to its end; returns the exit code.
pub(super) async fn supervise(order: &Order) -> io::Result<u8> {
    adopt_orphans()?;
    // The handlers are installed before the child starts, so that no end of a child and no order is missed.
    let mut orders = WakeEvents::listen(order)?;
    let mut tree = Tree::new(start(order)?);
    let grace = loop {
        if tree.reap() || tree.leader_exit().is_some() {
            break order.grace;
        }
        if let Some(grace) = orders.next().await {
            break grace;
        }
    };
    end(&mut tree, grace, &mut orders).await;
    Ok(tree.leader_exit().unwrap_or(ProcessExit::Unknown).code())
}

/// Makes this process the parent of orphaned descendants (`PR_SET_CHILD_SUBREAPER`), so that they can be found.
fn adopt_orphans() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_child_subreaper(true)?;
    Ok(())
}

/// Starts the program and returns its id; the process tree reaps it.
fn start(order: &Order) -> io::Result<Pid> {
    let stdin = if order.streams { Stdio::inherit() } else { Stdio::null() };
    let child =
        Command::new(&order.command).args(&order.args).stdin(stdin).process_group(0).spawn()?;
    i32::try_from(child.id()).map(Pid::from_raw).map_err(io::Error::other)
}

/// Sends SIGTERM to all processes, and SIGKILL to the remaining ones after the grace period, repeatedly until none
/// is left.
async fn end(tree: &mut Tree, grace: Duration, orders: &mut WakeEvents) {
    let mut deadline = Instant::now() + grace;
    while !tree.reap() && Instant::now() < deadline {
        tree.terminate();
        let look_again = deadline.min(Instant::now() + RESCAN_INTERVAL);
        if let Some(shorter) = orders.next_before(look_again).await {
            deadline = deadline.min(Instant::now() + shorter);
        }
    }
    let deadline = Instant::now() + KILL_LIMIT;
    while !tree.reap() && Instant::now() < deadline {
        tree.kill();
        orders.next_before(Instant::now() + RESCAN_INTERVAL).await;
    }
}

/// The events that wake the supervisor: orders to stop, and ends of children.
struct WakeEvents {
    grace: Duration,
    from_caller: mpsc::Receiver<Duration>,
    child: Signal,
    stop: [Signal; 4],
}

impl WakeEvents {
    /// Installs the handlers. From here on, the signals of a terminal or a shutdown no longer end this process.
    fn listen(order: &Order) -> io::Result<Self> {
        let grace = order.grace;
        Ok(Self {
            grace,
            from_caller: listen_to_caller(grace, order.streams),
            child: signal(SignalKind::child())?,
            stop: [
                signal(SignalKind::terminate())?,
                signal(SignalKind::interrupt())?,
                signal(SignalKind::hangup())?,
                signal(SignalKind::quit())?,
            ],
        })
    }

    /// Returns the grace period of the next order to stop, or `None` when a child ended.
    async fn next(&mut self) -> Option<Duration> {
        let [terminate, interrupt, hangup, quit] = &mut self.stop;
        tokio::select! {
            _ = self.child.recv() => None,
            Some(grace) = self.from_caller.recv() => Some(grace),
            _ = terminate.recv() => Some(self.grace),
            _ = interrupt.recv() => Some(self.grace),
            _ = hangup.recv() => Some(self.grace),
            _ = quit.recv() => Some(self.grace),
        }
    }

    async fn next_before(&mut self, deadline: Instant) -> Option<Duration> {
        tokio::select! {
            grace = self.next() => grace,
            () = sleep_until(deadline) => None,
        }
    }
}

/// Waits for orders on a separate thread, because the wait cannot be interrupted.
fn listen_to_caller(grace: Duration, streams: bool) -> mpsc::Receiver<Duration> {
    let (sender, receiver) = mpsc::channel(4);
    std::thread::spawn(move || {
        if streams {
            wait_for_hangup();
            // The end of the input told the child to end, and it may do so by itself.
            std::thread::sleep(grace);
        } else {
            let lines = io::stdin().lines().map_while(Result::ok);
            for ordered in lines.filter_map(|line| parse_stop(&line)) {
                if sender.blocking_send(ordered).is_err() {
                    return;
                }
            }
        }
        // The program closed the pipe or has ended: either way the child is no longer needed.
        let _ = sender.blocking_send(grace);
    });
    receiver
}

/// Waits until no process can write to standard input. It reads nothing, because the input is for the child.
fn wait_for_hangup() {
    let stdin = io::stdin();
    let mut watched = [PollFd::new(stdin.as_fd(), PollFlags::empty())];
    while let Ok(0) | Err(Errno::EINTR | Errno::EAGAIN) = poll(&mut watched, PollTimeout::NONE) {}
}
