//! Converts between the addresses of agents and of their cards.

use bridge_protocol::dialect::places;
use url::Url;

/// Returns whether an address is that of a card, by its path. The query is part of the address.
pub(crate) fn is_card(url: &Url) -> bool {
    let path = path(url);
    path.ends_with(".json") || places::is_one(path)
}

/// Returns the path of an address, without a slash at its end.
pub(crate) fn path(url: &Url) -> &str {
    url.path().trim_end_matches('/')
}

/// Returns the address without fragment.
pub(crate) fn without_fragment(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_fragment(None);
    url
}

/// Returns the address of this path at the same host.
pub(crate) fn with_path(target: &Url, path: &str) -> Url {
    let mut url = without_fragment(target);
    url.set_query(None);
    url.set_path(path);
    url
}

/// Returns the agent's base address by the address of its card: the part before the card's path.
pub(crate) fn agent_base(place: &Url) -> Url {
    let path = place.path();
    let ending = places::ALL.iter().find_map(|card| path.strip_suffix(card));
    with_path(place, ending.unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_card_suggests_the_address() {
        for (place, base) in [
            ("http://h/.well-known/agent-card.json", "http://h/"),
            ("http://h/.well-known/agent-card.json?a=1", "http://h/"),
            ("http://h/a/agent-card", "http://h/a/"),
            ("http://h/my/card.json", "http://h/my/card.json"),
        ] {
            let place = Url::parse(place).unwrap();
            assert!(is_card(&place), "{place}");
            assert_eq!(agent_base(&place).as_str(), base);
        }
        assert!(!is_card(&Url::parse("http://h/a2a/x?a=1").unwrap()));
    }
}
