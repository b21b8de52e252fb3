//! Limits the number of open connections, and closes an idle one to make room for another.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, atomic::AtomicUsize},
};

use crate::lock;

use super::connection_monitor::ConnectionMonitor;

/// All connections of a listener.
#[derive(Debug)]
pub(super) struct Connections {
    limit: usize,
    /// The number of connections with an open request.
    busy: Arc<AtomicUsize>,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    open: BTreeMap<u64, Arc<ConnectionMonitor>>,
}

/// The slot of one connection, which is free again when this is dropped.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    pub(super) monitor: Arc<ConnectionMonitor>,
    number: u64,
    connections: Arc<Connections>,
}

impl Connections {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, busy: Arc::default(), table: Mutex::default() }
    }

    /// Returns a slot for a new connection. If all are taken, an idle connection is closed for it; `None` if none is idle.
    pub(super) fn open(self: &Arc<Self>) -> Option<ConnectionSlot> {
        let mut table = lock(&self.table);
        if table.open.len() >= self.limit && !table.evict() {
            return None;
        }
        let (number, monitor) =
            (table.next, Arc::new(ConnectionMonitor::counted_in(self.busy.clone())));
        table.next += 1;
        table.open.insert(number, monitor.clone());
        Some(ConnectionSlot { monitor, number, connections: self.clone() })
    }

    /// Closes an idle connection, if there is one.
    pub(super) fn evict(&self) {
        lock(&self.table).evict();
    }
}

impl Table {
    /// Closes an idle connection: one that never had a request, else the one that is idle for longest. Those with a reserved
    /// request come last. Returns `false` if none is idle.
    fn evict(&mut self) -> bool {
        let idle = |(number, monitor): (&u64, &Arc<ConnectionMonitor>)| {
            monitor.idle().map(|idle| (idle, *number))
        };
        let Some((_, number)) = self.open.iter().filter_map(idle).min() else {
            return false;
        };
        if let Some(monitor) = self.open.remove(&number) {
            monitor.evict();
        }
        true
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        lock(&self.connections.table).open.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_idle_connection_makes_room() {
        let connections = Arc::new(Connections::new(2));
        let (busy, silent) = (connections.open().unwrap(), connections.open().unwrap());
        busy.monitor.request_began();
        let third = connections.open().unwrap();
        silent.monitor.evicted().await;
        drop(silent);
        assert!(!third.monitor.is_excess(2) && third.monitor.is_excess(1));
        assert!(!busy.monitor.is_excess(1), "it is busy already");
        third.monitor.request_began();
        assert!(connections.open().is_none());
        third.monitor.request_ended();
        let fourth = connections.open().unwrap();
        third.monitor.evicted().await;
        drop((busy, third, fourth));
        assert!(lock(&connections.table).open.is_empty());
    }

    #[tokio::test]
    async fn a_connection_with_a_reserved_request_is_closed_last() {
        let connections = Arc::new(Connections::new(2));
        let (reserved, other) = (connections.open().unwrap(), connections.open().unwrap());
        reserved.monitor.set_reserved();
        for connection in [&reserved, &other] {
            connection.monitor.request_began();
            connection.monitor.request_ended();
        }
        let _third = connections.open().unwrap();
        other.monitor.evicted().await;
    }
}
