//! The slots for deliveries, which all workers share. `fair_queue` decides who gets the next one.

use std::time::Duration;

use tokio::{sync::oneshot, time::sleep};

use super::{
    fair_queue::{DeliveryLimits, FairQueue, SlotRequest},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The time after which a first attempt may have to yield its slot to waiting ones.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// Grants slots to deliveries.
#[derive(Debug)]
pub(super) struct DeliverySlots(Mutex<FairQueue<oneshot::Sender<DeliverySlot>>>);

/// A slot, which is freed when this is dropped.
#[derive(Debug)]
pub(super) struct DeliverySlot {
    slots: Arc<DeliverySlots>,
    number: u64,
}

/// A waiting request, which leaves the queue when this is dropped.
struct QueueGuard<'a> {
    slots: &'a DeliverySlots,
    request: &'a SlotRequest,
    number: u64,
}

impl DeliverySlots {
    pub(super) fn new(limits: DeliveryLimits) -> Self {
        Self(Mutex::new(FairQueue::new(limits)))
    }

    /// Returns a slot if one is free now.
    pub(super) fn try_take(self: &Arc<Self>, request: &SlotRequest) -> Option<DeliverySlot> {
        let number = self.lock().take(request)?;
        Some(self.slot(number))
    }

    /// Waits for a slot.
    pub(super) async fn take(self: &Arc<Self>, request: &SlotRequest) -> DeliverySlot {
        let (grant, granted) = oneshot::channel();
        let number = {
            let mut queue = self.lock();
            match queue.take(request) {
                Some(number) => return self.slot(number),
                None => queue.wait(request, grant),
            }
        };
        let _waiter = QueueGuard { slots: self, request, number };
        match granted.await {
            Ok(slot) => slot,
            // A request is only taken out of the queue to be granted, so this never happens.
            Err(_) => std::future::pending().await,
        }
    }

    fn release(self: &Arc<Self>, number: u64) {
        let mut granted = Vec::new();
        {
            let mut queue = self.lock();
            queue.release(number);
            while let Some((number, grant)) = queue.next() {
                granted.push((grant, self.slot(number)));
            }
        }
        for (grant, slot) in granted {
            // If the receiver is gone, the slot is dropped here, which takes the lock again: it must be free.
            let _ = grant.send(slot);
        }
    }

    fn slot(self: &Arc<Self>, number: u64) -> DeliverySlot {
        DeliverySlot { slots: self.clone(), number }
    }

    fn lock(&self) -> MutexGuard<'_, FairQueue<oneshot::Sender<DeliverySlot>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DeliverySlot {
    /// Waits until the slot must be yielded because the delivery takes long and others wait for it.
    pub(super) async fn preempted(&self) {
        sleep(PATIENCE).await;
        while !self.slots.lock().must_yield(self.number) {
            sleep(PATIENCE / 4).await;
        }
    }
}

impl Drop for DeliverySlot {
    fn drop(&mut self) {
        self.slots.release(self.number);
    }
}

impl Drop for QueueGuard<'_> {
    fn drop(&mut self) {
        self.slots.lock().cancel(self.request, self.number);
    }
}
