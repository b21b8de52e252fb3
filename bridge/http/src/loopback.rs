//! Tells URLs of this machine, which no proxy must see, from all others.

use reqwest::{ClientBuilder, Url};
use url::Host;

/// Returns whether a URL names this machine: `localhost` or a loopback address. Names are not resolved, because the
/// result may change, and secrets sent over plain HTTP must stay on this machine.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.to_canonical().is_loopback(),
        None => false,
    }
}

/// Lets clients for this URL use the proxy that the environment names, unless the URL is of this machine.
pub fn with_proxy_for(url: &Url, builder: ClientBuilder) -> ClientBuilder {
    if is_loopback(url) { builder.no_proxy() } else { builder }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_this_machine_is_a_name_or_an_address() {
        for (url, expected) in [
            ("http://localhost:3978/a", true),
            ("https://LOCALHOST/", true),
            ("http://127.0.0.1/", true),
            ("http://127.8.9.10/", true),
            ("http://[::1]:1/", true),
            ("http://[::ffff:127.0.0.1]/", true),
            ("http://localhost.example/", false),
            ("http://agents.localhost/", false),
            ("http://10.0.0.1/", false),
            ("http://[fe80::1]/", false),
            ("unix:/run/agent", false),
        ] {
            assert_eq!(is_loopback(&url.parse().unwrap()), expected, "{url}");
        }
    }
}
