//! Which addresses are of the public internet: what others name must not lead into one's own network.
//!
//! Addresses are checked twice: as they are written, because reqwest resolves no literals, and as they
//! resolve, by a resolver that gives the connection nothing but checked addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// The address in a URL that is written as one and is not public.
pub(crate) fn private_literal(url: &Url) -> Option<IpAddr> {
    let address = match url.host()? {
        Host::Domain(_) => return None,
        Host::Ipv4(address) => IpAddr::V4(address),
        Host::Ipv6(address) => IpAddr::V6(address),
    };
    (!is_public(address)).then_some(address)
}

/// The first address of a URL that is not public, by what its host resolves to now. A host that does not
/// resolve has none: whoever connects will be told.
pub(crate) async fn private_address(url: &Url) -> Option<IpAddr> {
    if let Some(Host::Domain(name)) = url.host() {
        let port = url.port_or_known_default().unwrap_or(80);
        let found = tokio::net::lookup_host((name, port)).await.ok()?;
        let mut addresses = found.map(|found| found.ip());
        return addresses.find(|address| !is_public(*address));
    }
    private_literal(url)
}

/// Resolves names to public addresses only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PublicOnly;

/// A name that leads to an address that is not public.
#[derive(Debug, thiserror::Error)]
#[error("{name} is at {address}, which is not of the public internet")]
pub(crate) struct NotPublic {
    name: String,
    pub(crate) address: IpAddr,
}

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let found: Vec<SocketAddr> = found.collect();
            if let Some(private) = found.iter().find(|found| !is_public(found.ip())) {
                let (name, address) = (name.as_str().to_owned(), private.ip());
                return Err(NotPublic { name, address }.into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Whether an address is of the public internet.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Not those of the registry of special purposes (RFC 6890 and its successors).
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_shared = a == 100 && (64..128).contains(&b);
    let is_protocol = (a, b, c) == (192, 0, 0);
    let is_relay = (a, b, c) == (192, 88, 99);
    let is_benchmark = a == 198 && (b == 18 || b == 19);
    !(a == 0
        || a >= 224
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_documentation()
        || is_shared
        || is_protocol
        || is_relay
        || is_benchmark)
}

/// Global unicast is 2000::/3; what embeds an address of version 4 is as public as that is.
fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(embedded) = embedded(address) {
        return is_public_v4(embedded);
    }
    let [first, second, ..] = address.segments();
    let is_unicast = first & 0xe000 == 0x2000;
    let is_documentation = (first, second) == (0x2001, 0x0db8) || first == 0x3fff;
    // Teredo, ORCHID and the other special ones of 2001::/23.
    let is_protocol = first == 0x2001 && second < 0x0200;
    is_unicast && !is_documentation && !is_protocol
}

/// The address of version 4 inside one that is mapped, translated (NAT64) or tunnelled (6to4).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let from = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match segments {
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some(from(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(from(high, low)),
        [0x2002, high, low, ..] => Some(from(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_public_internet_are_told_from_the_others() {
        for (address, public) in [
            ("1.1.1.1", true),
            ("100.63.255.255", true),
            ("198.20.0.1", true),
            ("2606:4700::1111", true),
            ("64:ff9b::1.1.1.1", true),
            ("::ffff:1.1.1.1", true),
            ("0.0.0.0", false),
            ("10.1.2.3", false),
            ("100.64.0.1", false),
            ("127.0.0.1", false),
            ("169.254.169.254", false),
            ("172.31.0.1", false),
            ("192.0.0.8", false),
            ("192.168.0.1", false),
            ("198.18.0.1", false),
            ("203.0.113.1", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("64:ff9b::7f00:1", false),
            ("2002:7f00:1::", false),
            ("2001::1", false),
            ("2001:db8::1", false),
            ("fc00::1", false),
            ("fe80::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(is_public(address.parse().unwrap()), public, "{address}");
        }
    }

    #[test]
    fn literals_are_seen_in_every_spelling() {
        for host in [
            "127.0.0.1",
            "2130706433",
            "0x7f.1",
            "0177.0.0.1",
            "127.1",
            "127.0.0.1.",
            "[::ffff:127.0.0.1]",
            "[::1]",
        ] {
            let url = Url::parse(&format!("http://{host}:80/x")).unwrap();
            assert!(private_literal(&url).is_some(), "{host}");
        }
        assert_eq!(
            private_literal(&Url::parse("https://1.1.1.1/").unwrap()),
            None
        );
    }

    #[tokio::test]
    async fn names_are_looked_up() {
        let url = Url::parse("http://localhost/").unwrap();
        assert!(
            private_address(&url)
                .await
                .is_some_and(|found| found.is_loopback())
        );
    }
}
