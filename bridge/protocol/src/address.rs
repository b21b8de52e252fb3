//! Decides whether an IP address belongs to the public internet.
//!
//! Code that connects to addresses from untrusted sources checks them here on every connection: webhooks
//! named by callers, agents named by cards. The tables in `tests/addresses/` have the expected results; the
//! crates that connect are tested with the same tables.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

const fn v4(a: u8, b: u8, c: u8, d: u8, length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn v6(first: u16, second: u16, length: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0), length)
}

/// Networks for special purposes (IANA's registry after RFC 6890), and addresses of cloud-internal services.
const SPECIAL_V4: [Ipv4Net; 16] = [
    v4(0, 0, 0, 0, 8),
    v4(10, 0, 0, 0, 8),
    // Carrier-grade NAT (RFC 6598), with a cloud's metadata service at 100.100.100.200.
    v4(100, 64, 0, 0, 10),
    v4(127, 0, 0, 0, 8),
    // Link-local addresses, with the metadata services of most clouds.
    v4(169, 254, 0, 0, 16),
    v4(172, 16, 0, 0, 12),
    v4(192, 0, 0, 0, 24),
    v4(192, 0, 2, 0, 24),
    // 6to4 relays.
    v4(192, 88, 99, 0, 24),
    v4(192, 168, 0, 0, 16),
    v4(198, 18, 0, 0, 15),
    v4(198, 51, 100, 0, 24),
    v4(203, 0, 113, 0, 24),
    // A cloud's internal services, at an address that looks public.
    v4(168, 63, 129, 16, 32),
    // Multicast and reserved addresses.
    v4(224, 0, 0, 0, 4),
    v4(240, 0, 0, 0, 4),
];

/// The global unicast addresses.
const GLOBAL_V6: Ipv6Net = v6(0x2000, 0, 3);

/// Exceptions among them: protocol assignments including Teredo; documentation, the last one with the
/// unassigned network around it; and 6to4, which contains IPv4 addresses.
const SPECIAL_V6: [Ipv6Net; 4] =
    [v6(0x2001, 0, 23), v6(0x2001, 0x0db8, 32), v6(0x2002, 0, 16), v6(0x3fff, 0, 16)];

/// IPv4 addresses as seen in IPv6-only networks (NAT64, RFC 6052).
const NAT64: Ipv6Net = v6(0x0064, 0xff9b, 96);

/// Returns whether an address belongs to the public internet. IPv4 addresses inside IPv6 ones are checked as IPv4 if
/// mapped or NAT64, and refused in any other encoding.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) if NAT64.contains(&address) => is_public_v4(inside(address)),
        IpAddr::V6(address) => {
            let special = SPECIAL_V6.iter().any(|net| net.contains(&address));
            GLOBAL_V6.contains(&address) && !special
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !SPECIAL_V4.iter().any(|net| net.contains(&address))
}

/// Returns the IPv4 address in the last four bytes.
fn inside(address: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = address.octets();
    Ipv4Addr::new(a, b, c, d)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PUBLIC: &str = include_str!("../tests/addresses/public.txt");
    const SPECIAL: &str = include_str!("../tests/addresses/special.txt");

    #[test]
    fn only_public_addresses_are_public() {
        for (addresses, expected) in [(PUBLIC, true), (SPECIAL, false)] {
            for address in addresses.lines() {
                assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
            }
        }
    }

    proptest! {
        /// The standard library knows fewer special addresses, none of which may count as public.
        #[test]
        fn special_addresses_of_the_standard_library_are_not_public(bits: u32) {
            let address = Ipv4Addr::from_bits(bits);
            let special = address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_multicast()
                || address.is_broadcast()
                || address.is_documentation()
                || address.is_unspecified();
            prop_assert!(!(special && is_public(IpAddr::V4(address))));
        }

        #[test]
        fn embedded_ipv4_addresses_are_checked(bits: u32) {
            let address = Ipv4Addr::from_bits(bits);
            let plain = is_public(IpAddr::V4(address));
            prop_assert_eq!(is_public(IpAddr::V6(address.to_ipv6_mapped())), plain);
            let [a, b, c, d] = address.octets();
            let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            let nat64 = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low);
            prop_assert_eq!(is_public(IpAddr::V6(nat64)), plain);
            let six_to_four = Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1);
            prop_assert!(!is_public(IpAddr::V6(six_to_four)));
            prop_assert!(!is_public(IpAddr::V6(Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low))));
        }

        #[test]
        fn addresses_outside_global_unicast_are_not_public(bits: u128) {
            let address = Ipv6Addr::from_bits(bits);
            let special = address.is_loopback()
                || address.is_multicast()
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local();
            prop_assert!(!(special && is_public(IpAddr::V6(address))));
        }
    }
}
