//! The addresses that webhooks may have beside the public internet.

use std::{collections::BTreeSet, net::IpAddr};

use bridge_protocol::address::is_public;
use ipnet::IpNet;
use url::Host;

/// The addresses that webhooks may have: any on the public internet over https, and those that the operator names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedTargets {
    targets: BTreeSet<AllowedTarget>,
    /// Whether only the named targets are allowed.
    pub nowhere_else: bool,
    /// Whether plain http is allowed everywhere. Named targets may always use it.
    pub plain_http: bool,
}

/// A target that the operator names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum AllowedTarget {
    Loopback,
    Network(IpNet),
    /// A host name in lower case, without a final dot.
    Host(String),
}

/// A text that names no target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected loopback, a network such as 10.0.0.0/8, or a host such as hooks.example, found {found:?}"
)]
pub struct TargetError {
    /// The text.
    pub found: String,
}

impl AllowedTarget {
    fn read(text: &str) -> Option<Self> {
        if text == "loopback" {
            return Some(Self::Loopback);
        }
        if let Ok(net) = text.parse::<IpNet>() {
            return Some(Self::Network(net.trunc()));
        }
        match host(text)? {
            Host::Domain(name) => is_plain(&name).then_some(Self::Host(name)),
            Host::Ipv4(address) => Some(Self::Network(IpAddr::V4(address).into())),
            Host::Ipv6(address) => Some(Self::Network(IpAddr::V6(address).into())),
        }
    }
}

/// Parses a host as in a URL, so that every spelling of it is treated the same.
fn host(text: &str) -> Option<Host> {
    let address = text.parse().map(Host::Ipv6);
    let host = address.or_else(|_| Host::parse(text)).ok()?;
    Some(match host {
        Host::Domain(name) => Host::Domain(plain(&name)),
        Host::Ipv4(_) | Host::Ipv6(_) => host,
    })
}

/// Returns whether a name has only letters, digits, hyphens, underscores and dots. A pattern such as `*.example` is
/// refused, because it would match nothing.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.chars().all(plain)
}

/// Returns whether a name always means this machine.
pub(super) fn is_local(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name == "localhost" || name.ends_with(".localhost")
}

fn plain(name: &str) -> String {
    let name = name.trim_end_matches('.');
    name.to_ascii_lowercase()
}

impl AllowedTargets {
    /// Adds a target: `loopback`, a network such as `10.0.0.0/8`, an address, or a host such as
    /// `hooks.example`, which may then resolve to any address.
    ///
    /// # Errors
    /// If the text is none of these.
    pub fn allow(&mut self, target: &str) -> Result<(), TargetError> {
        let read = AllowedTarget::read(target);
        self.targets.insert(read.ok_or_else(|| TargetError { found: target.to_owned() })?);
        Ok(())
    }

    /// Returns whether the operator named this host name.
    pub(super) fn names(&self, name: &str) -> bool {
        let name = plain(name);
        self.targets.iter().any(|target| match target {
            AllowedTarget::Loopback => is_local(&name),
            AllowedTarget::Host(host) => *host == name,
            AllowedTarget::Network(_) => false,
        })
    }

    /// Returns whether the operator named this address or its network.
    pub(super) fn names_address(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.targets.iter().any(|target| match target {
            AllowedTarget::Loopback => address.is_loopback(),
            AllowedTarget::Network(net) => net.contains(&address),
            AllowedTarget::Host(_) => false,
        })
    }

    /// Returns whether a host name that the operator did not name can resolve to an allowed address.
    pub(super) fn may_have_other_names(&self) -> bool {
        let is_network = |target: &AllowedTarget| matches!(target, AllowedTarget::Network(_));
        !self.nowhere_else || self.targets.iter().any(is_network)
    }

    /// Returns whether a webhook may have this address.
    pub(super) fn may_reach(&self, address: IpAddr) -> bool {
        self.names_address(address) || (!self.nowhere_else && is_public(address))
    }

    /// Returns whether this name may resolve to this address. `localhost` always means this machine.
    pub(super) fn may_resolve(&self, name: &str, address: IpAddr) -> bool {
        let named = self.targets.contains(&AllowedTarget::Host(plain(name)));
        named || self.may_reach(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(targets: &[&str]) -> AllowedTargets {
        let mut allowed = AllowedTargets::default();
        targets.iter().for_each(|target| allowed.allow(target).unwrap());
        allowed
    }

    #[test]
    fn targets_have_one_of_three_forms() {
        for right in [
            "loopback",
            "10.0.0.0/8",
            "10.1.2.3/8",
            "10.0.0.1",
            "::1",
            "fd00::/8",
            "Hooks.Example.",
        ] {
            assert!(AllowedTargets::default().allow(right).is_ok(), "{right}");
        }
        for wrong in ["", "10.0.0.0/33", "http://h", "a b", "h:80", "*"] {
            assert!(AllowedTargets::default().allow(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_name_may_resolve_to_allowed_addresses() {
        let targets = allowed(&["loopback", "10.0.0.0/8", "hooks.example"]);
        for (name, address, expected) in [
            ("a.test", "8.8.8.8", true),
            ("a.test", "10.9.9.9", true),
            ("a.test", "::ffff:10.9.9.9", true),
            ("a.test", "127.0.0.1", true),
            ("a.test", "192.168.0.1", false),
            ("HOOKS.example.", "192.168.0.1", true),
            ("not-hooks.example", "192.168.0.1", false),
            ("localhost", "192.168.0.1", false),
        ] {
            let address = address.parse().unwrap();
            assert_eq!(targets.may_resolve(name, address), expected, "{name} {address}");
        }
        let none = AllowedTargets::default();
        assert!(none.may_resolve("a.test", "8.8.8.8".parse().unwrap()));
        assert!(!none.may_resolve("localhost", "127.0.0.1".parse().unwrap()));
    }

    #[test]
    fn only_named_targets_can_be_allowed() {
        let mut targets = allowed(&["hooks.example"]);
        targets.nowhere_else = true;
        let public = "8.8.8.8".parse().unwrap();
        assert!(targets.may_resolve("hooks.example", public));
        assert!(!targets.may_resolve("a.test", public));
        assert!(!targets.may_have_other_names());
        targets.allow("10.0.0.0/8").unwrap();
        assert!(targets.may_have_other_names());
    }
}
