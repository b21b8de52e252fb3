//! Addresses of agents and of cards: which are which, and what the one suggests of the other.

use bridge_protocol::dialect::places;
use url::Url;

/// Whether an address is a card's own, by its path; what it has as a query belongs to it.
pub(crate) fn is_card(url: &Url) -> bool {
    let path = url.path().trim_end_matches('/');
    path.ends_with(".json") || places::is_one(path)
}

/// An address without what only people read.
pub(crate) fn exact(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_fragment(None);
    url
}

/// This path at the address's host.
pub(crate) fn at(target: &Url, path: &str) -> Url {
    let mut url = exact(target);
    url.set_query(None);
    url.set_path(path);
    url
}

/// The agent's address that a card's place suggests: what is before the path of the card.
pub(crate) fn base_of(place: &Url) -> Url {
    let path = place.path();
    let ending = places::ALL.iter().find_map(|card| path.strip_suffix(card));
    at(place, ending.unwrap_or(path))
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
            assert_eq!(base_of(&place).as_str(), base);
        }
        assert!(!is_card(&Url::parse("http://h/a2a/x?a=1").unwrap()));
    }
}
