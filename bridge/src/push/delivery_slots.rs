//! The slots for deliveries, which all workers share. `fair_queue` decides who gets the next one.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::oneshot, time::sleep};

use super::fair_queue::{DeliveryLimits, FairQueue, SlotRequest};

/// The time after which a first attempt may have to yield its slot to waiting ones.
const PATIENCE: Duration = Duration::from_secs(1);

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
        let _waiter = QueueGuard {
            slots: self,
            request,
            number,
        };
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
        DeliverySlot {
            slots: self.clone(),
            number,
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    fn slots() -> Arc<DeliverySlots> {
        Arc::new(DeliverySlots::new(DeliveryLimits {
            at_once: 3,
            per_host: 2,
            per_caller: 3,
        }))
    }

    fn to(host: &str) -> SlotRequest {
        SlotRequest {
            caller: "me".into(),
            host: host.into(),
            is_again: false,
        }
    }

    #[tokio::test]
    async fn a_freed_slot_goes_to_a_waiting_request_and_not_to_a_canceled_one() {
        let slots = slots();
        let held = [slots.take(&to("slow")).await, slots.take(&to("slow")).await];
        let (one, other) = (to("slow"), to("slow"));
        let mut left = Box::pin(slots.take(&one));
        let mut stays = Box::pin(slots.take(&other));
        assert!(left.as_mut().now_or_never().is_none());
        assert!(stays.as_mut().now_or_never().is_none());
        drop(left);
        let [first, second] = held;
        drop(first);
        let got = stays.now_or_never().expect("a place");
        drop((second, got));
        assert!(slots.try_take(&to("slow")).is_some());
    }

    #[tokio::test]
    async fn a_slot_granted_to_a_request_that_is_dropped_is_granted_to_the_next() {
        let slots = slots();
        let held = [slots.take(&to("slow")).await, slots.take(&to("slow")).await];
        let request = to("slow");
        let mut leaves = Box::pin(slots.take(&request));
        assert!(leaves.as_mut().now_or_never().is_none());
        drop(held);
        drop(leaves);
        let all = [slots.try_take(&to("slow")), slots.try_take(&to("slow"))];
        assert!(all.iter().all(Option::is_some));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slot_is_preempted_after_a_while() {
        let slots = slots();
        let held = [slots.take(&to("slow")).await, slots.take(&to("slow")).await];
        let begun = tokio::time::Instant::now();
        let waiting = tokio::spawn({
            let slots = slots.clone();
            async move { slots.take(&to("slow")).await }
        });
        let [first, _second] = held;
        first.preempted().await;
        assert_eq!(begun.elapsed(), PATIENCE);
        drop(first);
        waiting.await.unwrap();
    }
}
