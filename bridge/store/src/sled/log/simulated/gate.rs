//! Holding up those who use a disk.

use std::{
    sync::{Condvar, Mutex},
    time::Duration,
};

/// Nobody waits for a test that has forgotten them.
const TOO_LONG: Duration = Duration::from_secs(20);

/// A gate at which threads wait for as long as a test wants.
#[derive(Debug, Default)]
pub struct Gate {
    state: Mutex<(bool, usize)>,
    moved: Condvar,
}

impl Gate {
    /// From now on it is shut, or open.
    pub fn shut(&self, is_shut: bool) {
        self.state.lock().unwrap().0 = is_shut;
        self.moved.notify_all();
    }

    /// How many wait at it.
    pub fn waiting(&self) -> usize {
        self.state.lock().unwrap().1
    }

    pub(super) fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.1 += 1;
        let is_shut = |state: &mut (bool, usize)| state.0;
        let waited = self.moved.wait_timeout_while(state, TOO_LONG, is_shut);
        let (mut state, waited) = waited.unwrap();
        state.1 -= 1;
        assert!(!waited.timed_out(), "nobody opened the gate");
    }
}
