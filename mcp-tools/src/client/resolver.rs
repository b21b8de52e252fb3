//! Resolves host names to allowed addresses.

use std::{io, net::SocketAddr, sync::Arc};

use reqwest_0_13::dns::{Addrs, Name, Resolve, Resolving};

use crate::allow_list::AllowList;

/// Resolves names with the system's resolver and drops addresses that are not allowed: a hosts file may point
/// `localhost` at another machine. The HTTP client does not call the resolver for IP addresses in URLs, so those
/// are checked beforehand.
pub(super) struct Resolver(pub(super) Arc<AllowList>);

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allowed = self.0.clone();
        Box::pin(async move {
            let name = name.as_str();
            let found = tokio::net::lookup_host((name, 0)).await?;
            let addresses = allowed_among(&allowed, name, found)?;
            let addresses: Addrs = Box::new(addresses.into_iter());
            Ok(addresses)
        })
    }
}

fn allowed_among(
    allowed: &AllowList,
    name: &str,
    found: impl Iterator<Item = SocketAddr>,
) -> io::Result<Vec<SocketAddr>> {
    let may = |address: &SocketAddr| allowed.may_resolve(name, address.ip());
    let addresses: Vec<SocketAddr> = found.filter(may).collect();
    if addresses.is_empty() {
        let message = format!("host {name:?} resolves to no address that is allowed");
        return Err(io::Error::other(message));
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(allowed: &AllowList, name: &str, found: &[&str]) -> Option<Vec<String>> {
        let found = found.iter().map(|ip| SocketAddr::new(ip.parse().unwrap(), 0));
        let addresses = allowed_among(allowed, name, found).ok()?;
        Some(addresses.iter().map(|a| a.ip().to_string()).collect())
    }

    #[test]
    fn localhost_must_be_this_machine() {
        let allowed = AllowList::default();
        for (found, expected) in [
            (&["127.0.0.1", "::1"][..], Some(&["127.0.0.1", "::1"][..])),
            (&["192.0.2.1", "127.0.0.2"], Some(&["127.0.0.2"])),
            (&["::ffff:127.0.0.1"], Some(&["::ffff:127.0.0.1"])),
            (&["192.0.2.1"], None),
            (&["0.0.0.0"], None),
            (&[], None),
        ] {
            let expected = expected.map(|ips| ips.iter().map(ToString::to_string).collect());
            assert_eq!(check(&allowed, "localhost", found), expected, "{found:?}");
        }
    }

    #[test]
    fn a_host_that_was_named_may_be_anywhere() {
        let mut allowed = AllowList::default();
        allowed.hosts.insert("green.example".to_owned());
        let found = ["192.0.2.1"];
        assert!(check(&allowed, "green.example", &found).is_some());
        assert!(check(&allowed, "other.example", &found).is_none());
    }
}
