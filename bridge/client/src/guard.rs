//! Keeps connections out of private networks when addresses come from untrusted sources.
//!
//! Literal IP addresses in URLs are checked before the request, because reqwest does not resolve them. Names
//! are checked in the resolver, at every connection, so that changing a name's address after a check (DNS
//! rebinding) has no effect.

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use async_trait::async_trait;
use bridge_protocol::address::is_public;
use reqwest::{
    ClientBuilder,
    dns::{Addrs, Name, Resolve, Resolving},
};
use url::{Host, Url};

/// Resolves host names in place of the system's resolver. The results are checked like the system's.
#[async_trait]
pub trait Lookup: fmt::Debug + Send + Sync {
    /// Returns the addresses of a name; empty if there is no such name.
    ///
    /// # Errors
    /// The resolver cannot be asked.
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Checks the addresses that connections are made to.
#[derive(Clone, Debug)]
pub(crate) struct AddressGuard {
    pub(crate) allow_private: bool,
    pub(crate) lookup: Option<Arc<dyn Lookup>>,
}

/// A host whose address is private.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{host} is at {address}, which is not a public address")]
pub(crate) struct PrivateAddress {
    pub(crate) host: String,
    pub(crate) address: IpAddr,
}

impl PrivateAddress {
    /// Returns this error if it is the cause of a failed request.
    pub(crate) fn in_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Self> {
        let mut causes = std::iter::successors(Some(error), |error| error.source());
        causes.find_map(|error| error.downcast_ref())
    }
}

impl AddressGuard {
    /// Installs the check in a client. A proxy would connect on its own, unchecked, so it is disabled if
    /// private addresses are forbidden.
    pub(crate) fn on(&self, builder: ClientBuilder) -> ClientBuilder {
        let builder = match (self.allow_private, &self.lookup) {
            (true, None) => return builder,
            (false, _) | (true, Some(_)) => builder.dns_resolver(Arc::new(self.clone())),
        };
        if self.allow_private { builder } else { builder.no_proxy() }
    }

    /// Refuses a URL whose host is a forbidden literal address.
    pub(crate) fn check_literal(&self, url: &Url) -> Result<(), PrivateAddress> {
        let address = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            Some(Host::Domain(_)) | None => return Ok(()),
        };
        self.judge(url.host_str().unwrap_or_default(), &[address])
    }

    /// Refuses a URL whose host now resolves to a forbidden address. A host that cannot be resolved is not
    /// refused: the connection will fail.
    pub(crate) async fn check(&self, url: &Url) -> Result<(), PrivateAddress> {
        let Some(Host::Domain(name)) = url.host() else {
            return self.check_literal(url);
        };
        if self.allow_private {
            return Ok(());
        }
        match self.addresses(name).await {
            Ok(addresses) => self.judge(name, &addresses),
            Err(_) => Ok(()),
        }
    }

    /// Refuses a host with a private address, even if it has others: a public host has no private one.
    fn judge(&self, host: &str, addresses: &[IpAddr]) -> Result<(), PrivateAddress> {
        let private = |address: &&IpAddr| !self.allow_private && !is_public(**address);
        match addresses.iter().find(private) {
            Some(address) => Err(PrivateAddress { host: host.to_owned(), address: *address }),
            None => Ok(()),
        }
    }

    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        match &self.lookup {
            Some(lookup) => lookup.addresses(name).await,
            None => {
                let found = tokio::net::lookup_host((name, 0)).await?;
                Ok(found.map(|found| found.ip()).collect())
            }
        }
    }
}

impl Resolve for AddressGuard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            let addresses = guard.addresses(name.as_str()).await?;
            guard.judge(name.as_str(), &addresses)?;
            if addresses.is_empty() {
                return Err(io::Error::other("the host has no address").into());
            }
            // The port comes from the URL.
            let addresses = addresses.into_iter().map(|ip| SocketAddr::new(ip, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    const GUARD: AddressGuard = AddressGuard { allow_private: false, lookup: None };

    const SPELLINGS: &str = include_str!("../../protocol/tests/addresses/spellings.txt");

    #[test]
    fn literals_are_seen_in_every_spelling() {
        for host in SPELLINGS.lines() {
            let url = Url::parse(&format!("http://{host}:80/x")).unwrap();
            assert!(GUARD.check_literal(&url).is_err(), "{host}");
            let allowing = AddressGuard { allow_private: true, ..GUARD };
            assert_eq!(allowing.check_literal(&url), Ok(()));
        }
        let public = Url::parse("https://1.1.1.1/").unwrap();
        assert_eq!(GUARD.check_literal(&public), Ok(()));
    }

    #[tokio::test]
    async fn names_are_looked_up() {
        let url = Url::parse("http://localhost/").unwrap();
        let private = GUARD.check(&url).await.unwrap_err();
        assert!(private.address.is_loopback() && private.host == "localhost");
    }

    /// Resolves to another address each time.
    #[derive(Debug)]
    struct ChangingLookup(Mutex<Vec<&'static [&'static str]>>);

    #[async_trait]
    impl Lookup for ChangingLookup {
        async fn addresses(&self, _: &str) -> io::Result<Vec<IpAddr>> {
            let said = self.0.lock().unwrap().pop().unwrap_or_default();
            Ok(said.iter().map(|ip| ip.parse().unwrap()).collect())
        }
    }

    #[tokio::test]
    async fn a_name_is_judged_by_all_of_its_addresses_each_time() {
        let said: [&[&str]; 4] = [
            &["8.8.8.8", "2606:4700::1111"],
            &["8.8.8.8", "::ffff:127.0.0.1"],
            &["168.63.129.16"],
            &[],
        ];
        let fickle = ChangingLookup(Mutex::new(said.into_iter().rev().collect()));
        let guard = AddressGuard { lookup: Some(Arc::new(fickle)), ..GUARD };
        let resolve = async || guard.resolve("agent.test".parse().unwrap()).await;
        assert_eq!(resolve().await.map(Iterator::count).ok(), Some(2));
        for expected in ["127.0.0.1", "168.63.129.16"] {
            let error = resolve().await.err().unwrap();
            let private = PrivateAddress::in_error(&*error).unwrap();
            assert_eq!(private.address.to_canonical().to_string(), expected);
            assert_eq!(private.host, "agent.test");
        }
        let error = resolve().await.err().unwrap();
        assert_eq!(error.to_string(), "the host has no address");
    }
}
