//! Ports for programs that cannot choose one themselves.

use std::{
    net::TcpListener,
    sync::atomic::{AtomicU16, Ordering},
};

/// Returns a port at which nobody listens, another one each time. It is below those that systems choose for connections: one of
/// these would take it before the program does.
pub(crate) fn unused() -> u16 {
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    // Several test programs run at the same time.
    let first = std::process::id() % 8_000;
    loop {
        let next = u32::from(TAKEN.fetch_add(1, Ordering::Relaxed));
        let port = 12_000 + (first + next) % 8_000;
        let port = u16::try_from(port).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
