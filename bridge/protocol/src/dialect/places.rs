//! The paths of agent cards below an agent's address in each generation.

use alloc::{format, string::String};

/// The path in 1.0 and 0.3 (specification 8.2).
pub const CURRENT: &str = ".well-known/agent-card.json";

/// The path in 0.2 and before.
pub const BEFORE: &str = ".well-known/agent.json";

/// The path in 0.1 as served by python-a2a.
pub const PYTHON: &str = "agent.json";

/// The path of the card of an agent that calls each skill as a method.
pub const EXECUTE: &str = "agent-card";

/// The paths in the specifications, newest first.
pub const SPECIFIED: [&str; 2] = [CURRENT, BEFORE];

/// All paths in use, in the order in which to search.
pub const ALL: [&str; 4] = [CURRENT, BEFORE, PYTHON, EXECUTE];

/// Returns whether a path, without query, ends like the path of a card.
pub fn is_one(path: &str) -> bool {
    ALL.iter().any(|place| {
        let before = path.strip_suffix(place);
        before.is_some_and(|before| before.ends_with('/'))
    })
}

/// Appends `place` to an agent's address or path, whether or not that ends with a slash.
pub fn below(address: &str, place: &str) -> String {
    format!("{}/{place}", address.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_path_is_recognised_by_its_end() {
        for place in ALL {
            assert!(is_one(&below("/a2a/echo/", place)), "{place}");
            assert!(is_one(&below("", place)), "{place}");
            assert!(!is_one(&below("", place).replace("agent", "my-agent")));
        }
        assert!(!is_one("/my-agent-card") && !is_one("/agent-card/"));
    }
}
