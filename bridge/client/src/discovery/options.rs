//! What a user of discovery can set.

use std::{sync::Arc, time::Duration};

use crate::{Credentials, Lookup, Roots, guard::Guard};

/// How discovery behaves. The default is for addresses that somebody else named: nothing private is
/// reached, and no redirect leads elsewhere.
#[derive(Clone, Debug)]
pub struct DiscoveryOptions {
    /// What the target is shown; never sent to another host.
    pub credentials: Credentials,
    /// Whose certificates are believed beside those of public authorities.
    pub roots: Roots,
    /// Until a connection stands.
    pub connect: Duration,
    /// Until one place has answered whole, its redirects among it.
    pub place: Duration,
    /// For all places together.
    pub total: Duration,
    /// The largest card, in bytes.
    pub size: usize,
    /// How many redirects of one place are followed.
    pub redirects: usize,
    /// Whether redirects may lead to another host. The same host with https in place of http always may be
    /// led to.
    pub allow_elsewhere: bool,
    /// Whether addresses that are not of the public internet may be reached: loopback, private networks,
    /// link-local ones with the metadata services of clouds. A card that leads there is refused as well.
    pub allow_private: bool,
    /// Who says at which addresses names are; the system if absent.
    pub lookup: Option<Arc<dyn Lookup>>,
}

impl Default for DiscoveryOptions {
    fn default() -> Self {
        Self {
            credentials: Credentials::default(),
            roots: Roots::default(),
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
    /// What connections are made by.
    pub(super) fn guard(&self) -> Guard {
        Guard {
            allow_private: self.allow_private,
            lookup: self.lookup.clone(),
        }
    }
}
