//! Limits of the number of requests at once, and of the bytes of their heads and bodies: in all, and for one address.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use crate::lock;

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::Limits;

/// The time that a body waits until others have released enough bytes.
const PATIENCE: Duration = Duration::from_secs(5);

/// The number of expensive bodies, which take much memory and time, that are read at once: in all, and for one address.
/// Other bodies are read between two of them.
const HEAVY: usize = 4;
const HEAVY_EACH: usize = 2;

/// The unit in which bytes are counted.
const UNIT: usize = 1 << 10;

/// The counts of all requests together.
#[derive(Debug)]
pub(super) struct Gate {
    requests: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    heavy: Arc<Semaphore>,
    requests_each: usize,
    bytes_each: usize,
    shares: Mutex<Shares>,
}

#[derive(Debug, Default)]
struct Shares {
    by: BTreeMap<IpAddr, Weak<Share>>,
    /// The number of addresses from which unused ones are removed.
    look_at: usize,
}

/// The counts of the requests of one address, at most half of all.
#[derive(Debug)]
pub(super) struct Share {
    requests: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    heavy: Arc<Semaphore>,
    all_requests: Arc<Semaphore>,
    all_bytes: Arc<Semaphore>,
    all_heavy: Arc<Semaphore>,
    /// The most bytes that one body can ask for, in units.
    most: usize,
}

/// A part of the counts of an address, and of those of all.
pub(super) type Held = [OwnedSemaphorePermit; 2];

/// The network that counts as one address. A host of IPv6 may use all addresses of its network.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let network = u128::from(address) >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from(network))
        }
    }
}

impl Gate {
    pub(super) fn new(limits: &Limits) -> Self {
        let bytes = (limits.bytes / UNIT).max(2);
        Self {
            requests: Arc::new(Semaphore::new(limits.requests)),
            bytes: Arc::new(Semaphore::new(bytes)),
            heavy: Arc::new(Semaphore::new(HEAVY)),
            requests_each: limits.requests.div_ceil(2),
            bytes_each: bytes.div_ceil(2),
            shares: Mutex::default(),
        }
    }

    /// The share of an address, see [`network`].
    pub(super) fn share(&self, address: IpAddr) -> Arc<Share> {
        let key = network(address);
        let mut shares = lock(&self.shares);
        if let Some(share) = shares.by.get(&key).and_then(Weak::upgrade) {
            return share;
        }
        if shares.by.len() >= shares.look_at {
            shares.by.retain(|_, share| share.strong_count() > 0);
            shares.look_at = 2 * shares.by.len() + 16;
        }
        let share = Arc::new(Share {
            requests: Arc::new(Semaphore::new(self.requests_each)),
            bytes: Arc::new(Semaphore::new(self.bytes_each)),
            heavy: Arc::new(Semaphore::new(HEAVY_EACH)),
            all_requests: self.requests.clone(),
            all_bytes: self.bytes.clone(),
            all_heavy: self.heavy.clone(),
            most: self.bytes_each,
        });
        shares.by.insert(key, Arc::downgrade(&share));
        share
    }
}

impl Share {
    /// A place for a request, if there is one.
    pub(super) fn request(&self) -> Option<Held> {
        both_now([&self.requests, &self.all_requests], 1)
    }

    /// Room for so many bytes, if there is some soon. A body that is larger than the address's share gets the whole share,
    /// so that it is read alone.
    pub(super) async fn bytes(&self, bytes: u64) -> Option<Held> {
        let units = usize::try_from(bytes).unwrap_or(usize::MAX).div_ceil(UNIT);
        let units = u32::try_from(units.min(self.most)).unwrap_or(u32::MAX);
        both([&self.bytes, &self.all_bytes], units).await
    }

    /// Room for so many bytes, if there is some now.
    pub(super) fn bytes_now(&self, bytes: usize) -> Option<Held> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        both_now([&self.bytes, &self.all_bytes], units)
    }

    /// A place for an expensive body, if there is one soon.
    pub(super) async fn heavy(&self) -> Option<Held> {
        both([&self.heavy, &self.all_heavy], 1).await
    }
}

/// Takes so many permits of both semaphores, if they are free now.
fn both_now([own, all]: [&Arc<Semaphore>; 2], count: u32) -> Option<Held> {
    let own = own.clone().try_acquire_many_owned(count).ok()?;
    let of_all = all.clone().try_acquire_many_owned(count).ok()?;
    Some([own, of_all])
}

/// Takes so many permits of both semaphores, those of the address first, so that a request that waits for them holds nothing
/// that other addresses need.
async fn both([own, all]: [&Arc<Semaphore>; 2], count: u32) -> Option<Held> {
    let taking = async {
        let own = own.clone().acquire_many_owned(count).await.ok()?;
        let of_all = all.clone().acquire_many_owned(count).await.ok()?;
        Some([own, of_all])
    };
    timeout(PATIENCE, taking).await.ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> Gate {
        Gate::new(&Limits {
            requests: 4,
            bytes: 8 * UNIT,
            ..Limits::default()
        })
    }

    #[test]
    fn an_address_has_half_of_the_requests() {
        let gate = gate();
        let (one, other) = (
            gate.share([10, 0, 0, 1].into()),
            gate.share([10, 0, 0, 2].into()),
        );
        let held = [one.request().unwrap(), one.request().unwrap()];
        assert!(gate.share([10, 0, 0, 1].into()).request().is_none());
        let others = [other.request().unwrap(), other.request().unwrap()];
        drop((held, others));
        assert!(one.request().is_some());
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        let gate = gate();
        let share = |text: &str| gate.share(text.parse().unwrap());
        let one = share("2001:db8::1");
        assert!(Arc::ptr_eq(&one, &share("2001:db8::2")));
        assert!(!Arc::ptr_eq(&one, &share("2001:db8:0:1::1")));
    }

    #[tokio::test(start_paused = true)]
    async fn few_heavy_bodies_of_an_address_are_worked_on_at_once() {
        let gate = gate();
        let share = gate.share([10, 0, 0, 1].into());
        let held = [share.heavy().await.unwrap(), share.heavy().await.unwrap()];
        assert!(share.heavy().await.is_none());
        assert!(gate.share([10, 0, 0, 2].into()).heavy().await.is_some());
        drop(held);
        assert!(share.heavy().await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_are_waited_for_and_then_refused() {
        let gate = gate();
        let share = gate.share([10, 0, 0, 1].into());
        // It is more than the limit, so that the body is read alone.
        let held = share.bytes(100 * UNIT as u64).await.unwrap();
        assert!(share.bytes(1).await.is_none());
        assert!(gate.share([10, 0, 0, 2].into()).bytes(1).await.is_some());
        drop(held);
        assert!(share.bytes(1).await.is_some());
    }
}
