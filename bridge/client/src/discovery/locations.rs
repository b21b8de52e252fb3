//! The locations at which the card of an agent is searched.

use bridge_protocol::dialect::places;
use url::Url;

use crate::card_url::{is_card, with_path, without_fragment};

/// Returns the locations to search, in order and without repetition. If the target is itself the address of a card, it
/// is the first.
pub(super) fn of(target: &Url) -> Vec<Url> {
    let path = target.path().trim_end_matches('/').to_owned();
    let mut all = Vec::new();
    if is_card(target) {
        all.push(without_fragment(target));
    } else {
        all.extend(places::ALL.map(|card| with_path(target, &places::below(&path, card))));
    }
    for card in places::ALL {
        let place = with_path(target, &places::below("", card));
        if !all.contains(&place) {
            all.push(place);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_the_path_and_then_at_the_origin() {
        let paths = |target: &str| -> Vec<String> {
            let places = of(&Url::parse(target).unwrap());
            places.iter().map(|url| url[url::Position::BeforePath..].to_owned()).collect()
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
        let asked = "/.well-known/agent-card.json?assistant_id=a";
        assert_eq!(paths(&format!("http://h{asked}"))[0], asked);
    }
}
