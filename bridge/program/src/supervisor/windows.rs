//! Supervises with a job object: the system ends all processes in it when its last handle is closed, however the process that
//! has the handle ends.

use std::{
    io::{self, PipeWriter},
    os::windows::process::CommandExt as _,
    process::{Command, ExitStatus, Stdio},
    time::Duration,
};

use tokio::{process::Child, sync::mpsc};
use win32job::{ExtendedLimitInfo, Job};

use super::{Order, ProcessExit, parse_stop};

/// The flag with which Windows creates a process in a new process group.
const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;

/// The number of the signal by which an end by force is reported, as on Unix.
const KILLED: i32 = 9;

/// Makes the child of this command lead a process group of its own, so that Ctrl-C in a console does not reach it.
pub fn own_group(command: &mut Command) {
    command.creation_flags(CREATE_NEW_PROCESS_GROUP);
}

/// The processes of a child. They are killed when this is dropped, or this process ends.
#[derive(Debug)]
pub struct ProcessGroup(Option<Job>);

impl ProcessGroup {
    /// Returns the group of a child. What the child started before this call is not in it.
    ///
    /// # Errors
    /// If the system does not allow it.
    pub fn of(child: &Child) -> io::Result<Self> {
        let job = job()?;
        if let Some(handle) = child.raw_handle() {
            job.assign_process(handle as isize).map_err(io::Error::other)?;
        }
        Ok(Self(Some(job)))
    }

    /// Does nothing: a program cannot be asked to end.
    pub fn terminate(&self) {}

    /// Kills the processes.
    pub fn kill(&mut self) {
        self.0 = None;
    }
}

/// Kills a supervisor, and with it all processes below it.
pub fn end_supervised(supervisor: &mut Child) {
    // It may have ended already.
    let _ = supervisor.start_kill();
}

/// Kills a supervisor, and with it all processes below it.
pub fn kill_supervised(supervisor: &mut Child) {
    end_supervised(supervisor);
}

/// Returns `None`: there are no signals.
pub(super) fn signal_of(_: ExitStatus) -> Option<i32> {
    None
}

/// Returns the name of the only signal that supervisors report.
pub(super) fn signal_name(number: i32) -> Option<&'static str> {
    (number == KILLED).then_some("SIGKILL")
}

/// Runs the child to its end; returns the exit code.
pub(super) async fn supervise(order: &Order) -> io::Result<u8> {
    // The child and its descendants are born into the job of this process.
    let job = job()?;
    job.assign_current_process().map_err(io::Error::other)?;
    // The system closes the handle at the end of this process. Earlier, this process would end with the others.
    std::mem::forget(job);
    let (stdin, input) = match order.streams {
        true => io::pipe().map(|(stdin, input)| (Stdio::from(stdin), Some(input)))?,
        false => (Stdio::null(), None),
    };
    let mut command = Command::new(&order.command);
    command.args(&order.args).stdin(stdin);
    own_group(&mut command);
    let mut child = tokio::process::Command::from(command).spawn()?;
    let mut orders = listen_to_caller(order.grace, input);
    let exit = tokio::select! {
        ended = child.wait() => ended.map_or(ProcessExit::Unknown, ProcessExit::from),
        _ = orders.recv() => {
            child.kill().await?;
            ProcessExit::Signal(KILLED)
        }
    };
    Ok(exit.code())
}

fn job() -> io::Result<Job> {
    let mut limits = ExtendedLimitInfo::new();
    limits.limit_kill_on_job_close();
    Job::create_with_limit_info(&limits).map_err(io::Error::other)
}

/// Waits for an order on a separate thread, because the wait cannot be interrupted. The grace period of an order does not matter,
/// since the child cannot be asked to end. `input` is the child's, if it has the streams: the end of its input asks it.
fn listen_to_caller(grace: Duration, input: Option<PipeWriter>) -> mpsc::Receiver<()> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        if let Some(mut input) = input {
            // The child may have closed its input.
            let _ = io::copy(&mut io::stdin().lock(), &mut input);
            drop(input);
            std::thread::sleep(grace);
        } else {
            let mut lines = io::stdin().lines().map_while(Result::ok);
            lines.find(|line| parse_stop(line).is_some());
        }
        // The program gave the order, closed the pipe, or has ended.
        let _ = sender.blocking_send(());
    });
    receiver
}
