//! Blocks operations of a simulated disk.

use std::{
    sync::{Condvar, Mutex},
    time::Duration,
};

/// The time after which a blocked operation panics.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A gate at which threads wait while it is closed.
#[derive(Debug, Default)]
pub struct Gate {
    state: Mutex<(bool, usize)>,
    changed: Condvar,
}

impl Gate {
    /// Closes or opens the gate.
    pub fn set_closed(&self, is_closed: bool) {
        self.state.lock().unwrap().0 = is_closed;
        self.changed.notify_all();
    }

    /// Returns the number of waiting threads.
    pub fn waiting(&self) -> usize {
        self.state.lock().unwrap().1
    }

    pub(super) fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.1 += 1;
        let is_closed = |state: &mut (bool, usize)| state.0;
        let waited = self.changed.wait_timeout_while(state, TIMEOUT, is_closed);
        let (mut state, waited) = waited.unwrap();
        state.1 -= 1;
        assert!(!waited.timed_out(), "nobody opened the gate");
    }
}
