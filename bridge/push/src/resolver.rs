//! Resolves host names when a connection is made, and checks the addresses. The client connects only to addresses that
//! were checked here, so a name that resolves differently a moment later (DNS rebinding) gains nothing.

use std::{io, net::SocketAddr, sync::Arc};

use bridge_program::causes;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::AllowedTargets;

/// Resolves names with the system's resolver, and refuses a name if any of its addresses is not allowed: a webhook on
/// the public internet has only public ones. A URL with an IP address needs no resolver, so
/// [`target`](super::target) checks URLs before.
#[derive(Debug)]
pub(super) struct Resolver(pub(super) Arc<AllowedTargets>);

/// The error for a name that resolves to an address that is not allowed.
#[derive(Debug, thiserror::Error)]
#[error("the host resolves to an address that is not allowed")]
pub(super) struct NotAllowed;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allowed = self.0.clone();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let addresses = judged(&allowed, name.as_str(), found.collect())?;
            let addresses: Addrs = Box::new(addresses.into_iter());
            Ok(addresses)
        })
    }
}

fn judged(
    allowed: &AllowedTargets,
    name: &str,
    addresses: Vec<SocketAddr>,
) -> Result<Vec<SocketAddr>, Box<dyn std::error::Error + Send + Sync>> {
    let may = |address: &SocketAddr| allowed.may_resolve(name, address.ip());
    match addresses.iter().all(may) {
        true if addresses.is_empty() => Err(io::Error::other("the host has no address").into()),
        true => Ok(addresses),
        false => Err(NotAllowed.into()),
    }
}

/// Returns whether a request failed because of [`NotAllowed`].
pub(super) fn is_refusal(error: &reqwest::Error) -> bool {
    causes(error).any(|error| error.is::<NotAllowed>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_one_forbidden_address_is_refused() {
        let mut named = AllowedTargets::default();
        named.allow("hooks.example").unwrap();
        for (name, addresses, expected) in [
            ("a.test", &["8.8.8.8", "2606:4700::1111"][..], true),
            ("a.test", &["8.8.8.8", "127.0.0.1"], false),
            ("a.test", &["::ffff:10.0.0.1"], false),
            ("a.test", &["0.0.0.0"], false),
            ("a.test", &[], false),
            ("hooks.example", &["10.0.0.1"], true),
        ] {
            let found = addresses.iter().map(|ip| SocketAddr::new(ip.parse().unwrap(), 0));
            let judged = judged(&named, name, found.collect());
            assert_eq!(judged.is_ok(), expected, "{name} {addresses:?}");
        }
    }

    /// `localhost` is the one name that means this machine everywhere.
    #[tokio::test]
    async fn addresses_are_checked_when_the_connection_is_made() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let client = reqwest::Client::builder()
            .no_proxy()
            .dns_resolver(Arc::new(Resolver(Arc::default())))
            .build()
            .unwrap();
        let error = client.get(format!("http://localhost:{port}/")).send().await.unwrap_err();
        assert!(is_refusal(&error), "{error:?}");
        assert!(!format!("{error:?}").contains("127.0.0.1"), "{error:?}");
    }
}
