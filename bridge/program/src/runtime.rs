//! Creates the runtime of a program.

use std::{io, panic, process};

use tokio::runtime::Runtime;

use crate::{Exit, errln};

/// The advice for operators whose system does not even allow a thread for each processor.
const TOO_FEW_THREADS: &str = "\
the system allows this user or container too few threads: raise the limit (ulimit -u, TasksMax of systemd, \
--pids-limit of Docker), or set TOKIO_WORKER_THREADS to a smaller number than that of the processors";

/// Creates the runtime in which a program does its work. Ends the program with [`Exit::Infrastructure`] if the system allows
/// too few threads: tokio panics then, and waits for its other threads without an end.
///
/// # Errors
/// If the system refuses anything else.
pub fn runtime() -> io::Result<Runtime> {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {
        errln!("error: {TOO_FEW_THREADS}");
        process::exit(u8::from(Exit::Infrastructure).into());
    }));
    let created = Runtime::new();
    panic::set_hook(hook);
    created
}
