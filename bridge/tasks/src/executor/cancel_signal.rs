//! Signals to a running turn that its task was canceled.

use super::{
    async_sync::Notify,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Signals to a running turn that its task was canceled. Clones share the signal.
#[derive(Clone, Debug, Default)]
pub struct CancelSignal(Arc<Canceled>);

#[derive(Debug, Default)]
struct Canceled {
    is_canceled: AtomicBool,
    changed: Notify,
}

impl CancelSignal {
    /// Returns a signal that never changes.
    pub fn fixed(is_canceled: bool) -> Self {
        let cancel_signal = Self::default();
        cancel_signal.0.is_canceled.store(is_canceled, Ordering::Release);
        cancel_signal
    }

    /// Signals that the task was canceled.
    pub fn cancel(&self) {
        self.0.is_canceled.store(true, Ordering::Release);
        self.0.changed.notify_waiters();
    }

    /// Waits until the task is canceled; never returns otherwise.
    ///
    /// ```
    /// use bridge_protocol::a2a::TaskState;
    /// use bridge_tasks::executor::{Turn, Update};
    /// # async fn ask_a_model(turn: &Turn) -> String { turn.message.text() }
    ///
    /// async fn execute(turn: Turn) -> Vec<Update> {
    ///     tokio::select! {
    ///         answer = ask_a_model(&turn) => vec![Update::said(TaskState::Completed, "", answer)],
    ///         () = turn.cancel_signal.canceled() => Vec::new(), // the request to the model is dropped
    ///     }
    /// }
    /// # let _ = execute;
    /// ```
    pub async fn canceled(&self) {
        let Canceled { is_canceled, changed } = &*self.0;
        loop {
            // The waiter is registered before the check, so that no signal is missed.
            let changed = changed.notified();
            if is_canceled.load(Ordering::Acquire) {
                return;
            }
            changed.await;
        }
    }

    /// Returns whether the task was canceled.
    pub fn is_canceled(&self) -> bool {
        self.0.is_canceled.load(Ordering::Acquire)
    }
}
