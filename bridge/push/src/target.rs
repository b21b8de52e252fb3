//! Checks whether a webhook's URL is allowed (specification 13.2). The addresses that its host name resolves to are
//! checked when the connection is made, see [`resolver`](super::resolver).

use std::net::IpAddr;

use bridge_protocol::wire::FieldError;
use url::{Host, Url};

use super::{
    allowed_targets::{AllowedTargets, is_local},
    headers::check_size,
};

/// The longest URL, in bytes.
const LIMIT: usize = 2_048;

/// The hosts that are allowed, for error messages.
const HOST: &str = "a host on the public internet, or one that the bridge's operator allows";

/// Parses a URL and checks whether it is allowed.
///
/// # Errors
/// If it is not a valid or allowed URL. The error repeats no more of the URL than its scheme and host.
pub(super) fn check(text: &str, allowed: &AllowedTargets) -> Result<Url, FieldError> {
    check_size(text.len(), LIMIT)?;
    // The parser would omit these characters, but the setting is shown as it was sent.
    if text.contains(char::is_control) {
        let expected = "a URL without control characters";
        return Err(FieldError::new(expected, "one with them"));
    }
    let url = Url::parse(text).map_err(|error| {
        let expected = "an absolute URL such as https://client.example/hook";
        FieldError::new(expected, error.to_string())
    })?;
    let of_address = |address: IpAddr| (allowed.names_address(address), allowed.may_reach(address));
    let (is_named, is_allowed) = match url.host() {
        // A name is refused here if it always means this machine, or if no address that it could resolve to is allowed.
        Some(Host::Domain(name)) => {
            (allowed.names(name), allowed.may_have_other_names() && !is_local(name))
        }
        Some(Host::Ipv4(address)) => of_address(address.into()),
        Some(Host::Ipv6(address)) => of_address(address.into()),
        None => return Err(another_scheme(&url, allowed.plain_http)),
    };
    let plain_http = allowed.plain_http || is_named;
    if !is_named && !is_allowed {
        return Err(FieldError::new(HOST, url.host_str().unwrap_or_default()));
    }
    match url.scheme() {
        "https" => {}
        "http" if plain_http => {}
        _ => return Err(another_scheme(&url, plain_http)),
    }
    match url.username().is_empty() && url.password().is_none() {
        true => Ok(url),
        false => {
            let expected = "a URL without user and password; these belong in authentication";
            Err(FieldError::new(expected, "one with them"))
        }
    }
}

fn another_scheme(url: &Url, plain_http: bool) -> FieldError {
    let expected = if plain_http { "https or http" } else { "https" };
    FieldError::new(expected, url.scheme())
}

/// Returns the host and port of a URL, as `HOST:PORT`: deliveries are counted by it, and logs contain no more of the
/// URL.
pub(super) fn origin(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or_default();
    format!("{host}:{port}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridge_protocol::address::is_public;
    use proptest::prelude::*;

    /// Addresses that are not public, in all spellings that URLs allow.
    const SPELLINGS: &str = include_str!("../../protocol/tests/addresses/spellings.txt");

    /// Names of this machine.
    const NAMES: [&str; 6] =
        ["localhost", "LOCALHOST", "localhost.", "a.localhost", "loc%61lhost", "ｌocalhost"];

    #[test]
    fn every_spelling_of_a_private_address_is_refused() {
        for host in SPELLINGS.lines().chain(NAMES) {
            let url = format!("https://{host}/hook");
            let found = check(&url, &AllowedTargets::default());
            assert_eq!(found.unwrap_err().expected, HOST, "{url}");
        }
    }

    #[test]
    fn invalid_urls_are_refused() {
        for (url, expected) in [
            ("", "expected an absolute URL such as https://client.example/hook, found "),
            ("/hook", "expected an absolute URL such as https://client.example/hook, found "),
            ("client.example/hook", "expected an absolute URL such as"),
            (
                "https://client.example/ho\r\nok",
                "expected a URL without control characters, found one with them",
            ),
            ("https://[fe80::1%25eth0]/", "expected an absolute URL such as"),
            ("https://[::1", "expected an absolute URL such as"),
            ("https://1.2.3.4.5/", "expected an absolute URL such as"),
            ("https://256.1.1.1/", "expected an absolute URL such as"),
            ("https:///", "expected an absolute URL such as"),
            ("http://client.example/", "expected https, found http"),
            ("ftp://client.example/", "expected https, found ftp"),
            ("file:///etc/passwd", "expected https, found file"),
            ("javascript:alert(1)", "expected https, found javascript"),
            ("gopher://client.example/", "expected https, found gopher"),
            ("https://me:hunter2@client.example/", "expected a URL without user and password"),
            ("https://me@client.example/", "expected a URL without user and password"),
            ("https://8.8.8.8@127.0.0.1/", "expected a host on the public internet"),
        ] {
            let error = check(url, &AllowedTargets::default()).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{url}: {error}");
            assert!(!error.contains("hunter2"), "{url}: {error}");
        }
        let long = format!("https://client.example/{}", "a".repeat(LIMIT));
        let error = check(&long, &AllowedTargets::default()).unwrap_err();
        assert_eq!(error.to_string(), "expected at most 2048 bytes, found 2071 bytes");
    }

    #[test]
    fn the_public_internet_and_named_targets_are_allowed() {
        let mut named = AllowedTargets::default();
        for place in ["loopback", "10.0.0.0/8", "hooks.example"] {
            named.allow(place).unwrap();
        }
        for (url, without, with) in [
            ("https://client.example/hook?key=1", true, true),
            ("https://8.8.8.8:8443/hook", true, true),
            ("https://[2606:4700::1111]/", true, true),
            ("http://client.example/", false, false),
            ("http://hooks.example/", false, true),
            ("http://HOOKS.example.:8080/", false, true),
            ("http://127.0.0.1:1234/", false, true),
            ("http://2130706433:1234/", false, true),
            ("http://[::1]:1234/", false, true),
            ("http://localhost:1234/", false, true),
            ("http://10.1.2.3/", false, true),
            ("https://10.1.2.3/", false, true),
            ("https://192.168.0.1/", false, false),
        ] {
            assert_eq!(check(url, &AllowedTargets::default()).is_ok(), without, "{url}");
            assert_eq!(check(url, &named).is_ok(), with, "{url}");
        }
        named.plain_http = true;
        assert!(check("http://client.example/", &named).is_ok());
        assert!(check("http://192.168.0.1/", &named).is_err());
    }

    #[test]
    fn a_name_is_refused_if_only_other_names_are_allowed() {
        let mut named = AllowedTargets::default();
        named.nowhere_else = true;
        named.allow("hooks.example").unwrap();
        check("https://hooks.example/", &named).unwrap();
        assert_eq!(check("https://client.example/", &named).unwrap_err().expected, HOST);
    }

    /// Writes an IPv4 address in one of the eight spellings that URLs allow.
    fn spelled(bits: u32, way: u8) -> String {
        let [a, b, c, d] = bits.to_be_bytes();
        match way % 8 {
            0 => format!("{a}.{b}.{c}.{d}"),
            1 => bits.to_string(),
            2 => format!("{bits:#x}"),
            3 => format!("0{bits:o}"),
            4 => format!("{a:#x}.{b:#o}.{c}.{d}").replace("0o", "0"),
            5 => format!("{a}.{}", bits & 0x00ff_ffff),
            6 => format!("{a}.{b}.{}", bits & 0xffff),
            _ => format!("[::ffff:{a}.{b}.{c}.{d}]"),
        }
    }

    proptest! {
        #[test]
        fn every_spelling_of_an_address_is_treated_the_same(bits: u32, way: u8) {
            let address = IpAddr::V4(bits.into());
            let url = format!("https://{}/", spelled(bits, way));
            let allowed = AllowedTargets::default();
            prop_assert_eq!(check(&url, &allowed).is_ok(), allowed.may_reach(address), "{}", url);
        }

        /// Every URL that is accepted has a name as its host, or an address that is allowed.
        #[test]
        fn every_accepted_url_is_allowed(text in "\\PC{0,40}", scheme in "https://|http://|") {
            if let Ok(url) = check(&format!("{scheme}{text}"), &AllowedTargets::default()) {
                prop_assert_eq!(url.scheme(), "https");
                let may = match url.host() {
                    Some(Host::Domain(name)) => name.parse::<IpAddr>().is_err(),
                    Some(Host::Ipv4(ip)) => is_public(ip.into()),
                    Some(Host::Ipv6(ip)) => is_public(ip.into()),
                    None => false,
                };
                prop_assert!(may, "{}", url);
            }
        }
    }
}
