//! Warns of ports to which web pages and programs on Node refuse to connect.

use url::Url;

use super::Addresses;

/// The ports of the list "port blocking" of the WHATWG's Fetch standard, from 1. They belong to protocols that could take an
/// HTTP request for one of their own.
const BLOCKED: [u16; 82] = [
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
    103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465,
    512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993,
    995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668,
    6669, 6679, 6697, 10080,
];

/// Warns if clients or bots may refuse to connect. Their own error, `fetch failed`, does not say why.
pub(super) fn warn(place: &Addresses) {
    if let Some(port) = blocked([&place.public_url, &place.callback_url]) {
        tracing::warn!(
            port,
            "web pages and programs on Node, such as bots in JavaScript, refuse to connect to this port (\"bad port\" of \
             fetch): choose another with --listen, --public-url or --callback-listen"
        );
    }
}

fn blocked<'a>(urls: impl IntoIterator<Item = &'a Url>) -> Option<u16> {
    let mut ports = urls.into_iter().filter_map(Url::port_or_known_default);
    ports.find(|port| BLOCKED.contains(port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocked_ports_are_found() {
        assert!(BLOCKED.is_sorted());
        for (url, expected) in [
            ("http://127.0.0.1:4190", Some(4190)),
            ("https://agents.example:10080/a2a", Some(10080)),
            ("http://127.0.0.1:3978", None),
            ("https://agents.example", None),
        ] {
            let url = Url::parse(url).unwrap();
            assert_eq!(blocked([&url]), expected, "{url}");
        }
    }
}
