//! Locks a mutex, even if its last holder panicked.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks the mutex, also after a panic of a thread that held it: a panic costs only its own request.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
