//! Tells on stderr what a long command does, so that one that waits does not look like one that hangs.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use bridge_program::errln;

/// The time before the first line. It doubles from line to line up to `LONGEST`.
const FIRST: Duration = Duration::from_secs(2);

/// The longest time between two lines, so that a log of a long copy stays short.
const LONGEST: Duration = Duration::from_secs(30);

/// The step that a command is at. A thread prints it now and then, because a step may block all others.
pub(super) struct Progress {
    step: Arc<Mutex<String>>,
    /// Its end ends the thread.
    _running: mpsc::Sender<()>,
}

impl Progress {
    pub(super) fn begin() -> Self {
        let step = Arc::<Mutex<String>>::default();
        let (running, ended) = mpsc::channel();
        let shown = Arc::clone(&step);
        thread::spawn(move || {
            let (mut wait, mut last) = (FIRST, String::new());
            while ended.recv_timeout(wait) == Err(mpsc::RecvTimeoutError::Timeout) {
                let step = shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if step != last {
                    errln!("{step}");
                    (last, wait) = (step, LONGEST.min(wait * 2));
                }
            }
        });
        Self { step, _running: running }
    }

    pub(super) fn say(&self, step: impl fmt::Display) {
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = step.to_string();
    }
}
