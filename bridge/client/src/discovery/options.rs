//! The options of discovery.

use std::{sync::Arc, time::Duration};

use crate::{Credentials, Lookup, Tls, guard::AddressGuard};

/// Limits and permissions of discovery. The default is for addresses from untrusted sources: private
/// addresses are not reached and no redirect leads to another host.
#[derive(Clone, Debug)]
pub struct DiscoveryOptions {
    /// The credentials for the target; never sent to another host.
    pub credentials: Credentials,
    /// Root certificates that are trusted beside those of public authorities, and the client's own certificate.
    pub tls: Tls,
    /// The limit for connecting.
    pub connect: Duration,
    /// The limit for one location, with its redirects.
    pub place: Duration,
    /// The limit for all locations together, and for all agents of a catalogue.
    pub total: Duration,
    /// The largest card, in bytes.
    pub size: usize,
    /// The number of redirects followed for one location.
    pub redirects: usize,
    /// Whether redirects may lead to another host. A redirect to https on the same host is always allowed.
    pub allow_elsewhere: bool,
    /// Whether private addresses may be reached: loopback, private networks, and link-local addresses such as
    /// the metadata services of clouds. A card that names such an address is refused as well.
    pub allow_private: bool,
    /// Resolves host names; the system's resolver if absent.
    pub lookup: Option<Arc<dyn Lookup>>,
}

impl Default for DiscoveryOptions {
    fn default() -> Self {
        Self {
            credentials: Credentials::default(),
            tls: Tls::default(),
            connect: Duration::from_secs(5),
            place: Duration::from_secs(10),
            total: Duration::from_secs(30),
            size: 1 << 20,
            redirects: 5,
            allow_elsewhere: false,
            allow_private: false,
            lookup: None,
        }
    }
}

impl DiscoveryOptions {
    /// Returns the guard for connections.
    pub(super) fn guard(&self) -> AddressGuard {
        AddressGuard { allow_private: self.allow_private, lookup: self.lookup.clone() }
    }
}
