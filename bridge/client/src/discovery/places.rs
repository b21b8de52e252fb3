//! Where to look for the cards of an address.

use bridge_protocol::dialect::places;
use url::Url;

/// The places to look at, in order, each once. An address that is itself one of a card comes first.
pub(super) fn of(target: &Url) -> Vec<Url> {
    let path = target.path().trim_end_matches('/').to_owned();
    let is_document = path.ends_with(".json") || places::is_one(&path);
    let mut all = Vec::new();
    if is_document {
        all.push(at(target, &path));
    } else {
        all.extend(places::ALL.map(|card| at(target, &places::below(&path, card))));
    }
    for card in places::ALL {
        let place = at(target, &places::below("", card));
        if !all.contains(&place) {
            all.push(place);
        }
    }
    all
}

fn at(target: &Url, path: &str) -> Url {
    let mut url = target.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.set_path(path);
    url
}

/// The agent's address that a card's place suggests: what is before the path of the card.
pub(super) fn base_of(place: &Url) -> Url {
    let path = place.path();
    let ending = places::ALL.iter().find_map(|card| path.strip_suffix(card));
    at(place, ending.unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_the_path_and_then_at_the_origin() {
        let paths = |target: &str| -> Vec<String> {
            let places = of(&Url::parse(target).unwrap());
            places
                .iter()
                .map(|url| url[url::Position::BeforePath..].to_owned())
                .collect()
        };
        let origin = [
            "/.well-known/agent-card.json",
            "/.well-known/agent.json",
            "/agent.json",
            "/agent-card",
        ];
        assert_eq!(paths("http://h"), origin);
        assert_eq!(paths("http://h/?a=1#b"), origin);
        let below: Vec<String> = origin.iter().map(|path| format!("/a2a/x{path}")).collect();
        assert_eq!(paths("http://h/a2a/x/")[..4], below);
        assert_eq!(paths("http://h/a2a/x")[4..], origin);
        assert_eq!(paths("http://h/plan/agent-card")[0], "/plan/agent-card");
        assert_eq!(paths("http://h/agent-card").len(), 4);
        assert_eq!(paths("http://h/my/card.json")[0], "/my/card.json");
    }

    #[test]
    fn the_place_of_a_card_suggests_the_address() {
        for (place, base) in [
            ("http://h/.well-known/agent-card.json", "http://h/"),
            ("http://h/a/agent-card", "http://h/a/"),
            ("http://h/my/card.json", "http://h/my/card.json"),
        ] {
            assert_eq!(base_of(&Url::parse(place).unwrap()).as_str(), base);
        }
    }
}
