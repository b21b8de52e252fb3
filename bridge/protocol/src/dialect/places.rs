//! Where agent cards lie below an agent's address, generation by generation.

use alloc::{format, string::String};

use super::execute;

/// 1.0 and 0.3 (specification 8.2).
pub const CURRENT: &str = ".well-known/agent-card.json";

/// 0.2 and before.
pub const BEFORE: &str = ".well-known/agent.json";

/// 0.1 as python-a2a serves it.
pub const PYTHON: &str = "agent.json";

/// The places that the specifications name, the newest first.
pub const SPECIFIED: [&str; 2] = [CURRENT, BEFORE];

/// All places where cards have been, in the order in which to look.
pub const ALL: [&str; 4] = [CURRENT, BEFORE, PYTHON, execute::CARD_PATH];

/// Whether a card may lie at a path, which has no query: it ends as one of the places does.
pub fn is_one(path: &str) -> bool {
    ALL.iter().any(|place| {
        let before = path.strip_suffix(place);
        before.is_some_and(|before| before.ends_with('/'))
    })
}

/// `place` below an agent's address or path, whether or not that ends with a slash.
pub fn below(address: &str, place: &str) -> String {
    format!("{}/{place}", address.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_by_its_end() {
        for place in ALL {
            assert!(is_one(&below("/a2a/echo/", place)), "{place}");
            assert!(is_one(&below("", place)), "{place}");
            assert!(!is_one(&below("", place).replace("agent", "my-agent")));
        }
        assert!(!is_one("/my-agent-card") && !is_one("/agent-card/"));
    }
}
