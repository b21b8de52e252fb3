//! tokio's channels, with a step of shuttle before each operation.

use std::cell::Cell;

use shuttle::thread::sleep;

thread_local! {
    /// A mistake: a receiver without senders drops the queued values.
    pub(super) static DROPS_QUEUED: Cell<bool> = const { Cell::new(false) };
}

/// Lets shuttle continue with another thread.
pub(super) fn step() {
    sleep(std::time::Duration::ZERO);
}

pub(super) mod mpsc {
    use shuttle::future::block_on;
    use tokio::sync::mpsc;

    use super::{DROPS_QUEUED, step};

    pub(in super::super) struct Sender<T>(mpsc::Sender<T>);
    pub(in super::super) struct Receiver<T>(mpsc::Receiver<T>);

    pub(in super::super) fn channel<T>(room: usize) -> (Sender<T>, Receiver<T>) {
        let (sender, receiver) = mpsc::channel(room);
        (Sender(sender), Receiver(receiver))
    }

    impl<T> Sender<T> {
        pub(in super::super) async fn send(
            &self,
            value: T,
        ) -> Result<(), mpsc::error::SendError<T>> {
            step();
            self.0.send(value).await
        }
    }

    impl<T> Receiver<T> {
        pub(in super::super) fn blocking_recv(&mut self) -> Option<T> {
            step();
            let drops_queued = DROPS_QUEUED.get() && self.0.is_closed();
            block_on(self.0.recv()).filter(|_| !drops_queued)
        }

        pub(in super::super) fn try_recv(&mut self) -> Result<T, mpsc::error::TryRecvError> {
            step();
            self.0.try_recv()
        }
    }
}

pub(super) mod oneshot {
    use tokio::sync::oneshot;

    use super::step;

    pub(in super::super) struct Sender<T>(oneshot::Sender<T>);

    pub(in super::super) fn channel<T>() -> (Sender<T>, oneshot::Receiver<T>) {
        let (sender, receiver) = oneshot::channel();
        (Sender(sender), receiver)
    }

    impl<T> Sender<T> {
        pub(in super::super) fn send(self, value: T) -> Result<(), T> {
            step();
            self.0.send(value)
        }
    }
}
