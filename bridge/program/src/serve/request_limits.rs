//! Limits the number of open requests and the bytes of their heads and bodies, in total and for one client address.

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

use super::{Limits, large_responses::Pools};

/// The time that a request waits for permits.
const PATIENCE: Duration = Duration::from_secs(5);

/// The number of expensive bodies that are parsed at the same time, in total and for one address. Others are parsed meanwhile.
const EXPENSIVE: usize = 4;
const EXPENSIVE_EACH: usize = 2;

/// The unit in which bytes are counted.
const UNIT: usize = 1 << 10;

/// The limits of all requests together.
#[derive(Debug)]
pub(super) struct RequestLimits {
    requests: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    expensive: Arc<Semaphore>,
    requests_each: usize,
    bytes_each: usize,
    addresses: Mutex<AddressTable>,
}

#[derive(Debug, Default)]
struct AddressTable {
    limits: BTreeMap<IpAddr, Weak<AddressLimits>>,
    /// The number of addresses at which the unused ones are removed.
    clean_at: usize,
}

/// The limits of the requests of one address: half of the limits of all.
#[derive(Debug)]
pub(super) struct AddressLimits {
    requests: OwnAndAll,
    bytes: OwnAndAll,
    expensive: OwnAndAll,
    /// The share of the memory for responses.
    pub(super) responses: Arc<Pools>,
    /// The most permits for bytes that one body can get, in units.
    max_units: usize,
}

/// The semaphore of an address, and that of all.
type OwnAndAll = [Arc<Semaphore>; 2];

/// The permits of an address, and those of all.
pub(super) type Permits = [OwnedSemaphorePermit; 2];

/// Returns the network that counts as one address. An IPv6 host can use all addresses of its /64 network.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let network = u128::from(address) >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from(network))
        }
    }
}

impl RequestLimits {
    pub(super) fn new(limits: &Limits) -> Self {
        let bytes = (limits.bytes / UNIT).max(2);
        Self {
            requests: Arc::new(Semaphore::new(limits.requests)),
            bytes: Arc::new(Semaphore::new(bytes)),
            expensive: Arc::new(Semaphore::new(EXPENSIVE)),
            requests_each: limits.requests.div_ceil(2),
            bytes_each: bytes.div_ceil(2),
            addresses: Mutex::default(),
        }
    }

    /// Returns the limits of an address, see [`network`].
    pub(super) fn of_address(&self, address: IpAddr) -> Arc<AddressLimits> {
        let key = network(address);
        let mut table = lock(&self.addresses);
        if let Some(limits) = table.limits.get(&key).and_then(Weak::upgrade) {
            return limits;
        }
        if table.limits.len() >= table.clean_at {
            table.limits.retain(|_, limits| limits.strong_count() > 0);
            table.clean_at = 2 * table.limits.len() + 16;
        }
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        let limits = Arc::new(AddressLimits {
            requests: [semaphore(self.requests_each), self.requests.clone()],
            bytes: [semaphore(self.bytes_each), self.bytes.clone()],
            expensive: [semaphore(EXPENSIVE_EACH), self.expensive.clone()],
            responses: Pools::share(),
            max_units: self.bytes_each,
        });
        table.limits.insert(key, Arc::downgrade(&limits));
        limits
    }
}

impl AddressLimits {
    /// Takes the permits for a request, if they are free now.
    pub(super) fn try_request(&self) -> Option<Permits> {
        try_acquire(&self.requests, 1)
    }

    /// Waits for the permits for `bytes` bytes. `None` if they are not free in time. A body that is larger than the limit of its
    /// address takes all permits, so that it is read alone.
    pub(super) async fn bytes(&self, bytes: u64) -> Option<Permits> {
        let units = usize::try_from(bytes).unwrap_or(usize::MAX).div_ceil(UNIT);
        let units = u32::try_from(units.min(self.max_units)).unwrap_or(u32::MAX);
        acquire(&self.bytes, units).await
    }

    /// Takes the permits for `bytes` bytes, if they are free now.
    pub(super) fn try_bytes(&self, bytes: usize) -> Option<Permits> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        try_acquire(&self.bytes, units)
    }

    /// Waits for the permits to parse an expensive body. `None` if they are not free in time.
    pub(super) async fn expensive_body(&self) -> Option<Permits> {
        acquire(&self.expensive, 1).await
    }
}

/// Takes `count` permits of both semaphores, if they are free now.
fn try_acquire([own, all]: &OwnAndAll, count: u32) -> Option<Permits> {
    let own = own.clone().try_acquire_many_owned(count).ok()?;
    let of_all = all.clone().try_acquire_many_owned(count).ok()?;
    Some([own, of_all])
}

/// Waits for `count` permits of both semaphores. Those of the address come first, so that a waiting request holds nothing that
/// other addresses need.
async fn acquire([own, all]: &OwnAndAll, count: u32) -> Option<Permits> {
    let both = async {
        let own = own.clone().acquire_many_owned(count).await.ok()?;
        let of_all = all.clone().acquire_many_owned(count).await.ok()?;
        Some([own, of_all])
    };
    timeout(PATIENCE, both).await.ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> RequestLimits {
        RequestLimits::new(&Limits { requests: 4, bytes: 8 * UNIT, ..Limits::default() })
    }

    #[test]
    fn an_address_has_half_of_the_requests() {
        let limits = limits();
        let (one, other) =
            (limits.of_address([10, 0, 0, 1].into()), limits.of_address([10, 0, 0, 2].into()));
        let permits = [one.try_request().unwrap(), one.try_request().unwrap()];
        assert!(limits.of_address([10, 0, 0, 1].into()).try_request().is_none());
        let others = [other.try_request().unwrap(), other.try_request().unwrap()];
        drop((permits, others));
        assert!(one.try_request().is_some());
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        let limits = limits();
        let of = |text: &str| limits.of_address(text.parse().unwrap());
        let one = of("2001:db8::1");
        assert!(Arc::ptr_eq(&one, &of("2001:db8::2")));
        assert!(!Arc::ptr_eq(&one, &of("2001:db8:0:1::1")));
    }

    #[tokio::test(start_paused = true)]
    async fn few_expensive_bodies_of_an_address_are_parsed_at_once() {
        let limits = limits();
        let address = limits.of_address([10, 0, 0, 1].into());
        let permits =
            [address.expensive_body().await.unwrap(), address.expensive_body().await.unwrap()];
        assert!(address.expensive_body().await.is_none());
        assert!(limits.of_address([10, 0, 0, 2].into()).expensive_body().await.is_some());
        drop(permits);
        assert!(address.expensive_body().await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_waits_for_bytes_and_is_then_refused() {
        let limits = limits();
        let address = limits.of_address([10, 0, 0, 1].into());
        // This body is larger than the limit, so that it is read alone.
        let permits = address.bytes(100 * UNIT as u64).await.unwrap();
        assert!(address.bytes(1).await.is_none());
        assert!(limits.of_address([10, 0, 0, 2].into()).bytes(1).await.is_some());
        drop(permits);
        assert!(address.bytes(1).await.is_some());
    }
}
