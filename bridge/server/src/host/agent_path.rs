//! The paths at which agents can be served.

/// The first segments of paths that the bridge uses itself.
const RESERVED: [&str; 8] =
    ["v3", "bots", "healthz", "readyz", "metrics", ".well-known", "openapi.json", "docs"];

/// The first segments of the paths below each agent's address that have routes of their own. The first agent has them at `/`
/// and `/a2a`, too.
const OPERATIONS: [&str; 5] = ["v1", "tasks", "extendedAgentCard", "agent.json", "execute"];

/// The path of the catalogue with the cards of all agents, below `/a2a`.
const CATALOGUE: &str = "catalog";

/// Returns whether `/a2a/NAME` is something else than an agent with this name.
pub fn is_own_name(name: &str) -> bool {
    OPERATIONS.contains(&name) || name == CATALOGUE
}

/// Checks that an agent can be served at this path.
///
/// # Errors
/// Returns a description of valid paths if it is not a path of plain words, or is one of the bridge's own.
pub fn check_path(path: &str) -> Result<(), String> {
    let expected = "expected a path such as /agents/one: words of letters, digits, - . _ and ~";
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
    let is_word =
        |word: &str| !word.is_empty() && word.chars().all(plain) && !word.chars().all(|c| c == '.');
    let words: Vec<&str> = path.split('/').skip(1).collect();
    if !path.starts_with('/') || !words.iter().all(|word| is_word(word)) {
        return Err(format!("{expected}; found {path:?}"));
    }
    let is_asked = |words: &[&str]| words.first().is_some_and(|word| OPERATIONS.contains(word));
    let below = words.strip_prefix(&["a2a"]).unwrap_or(&words);
    // Many clients of 0.3 expect an agent at this path. The first agent may have it, where it replaces its operations
    // of 0.3.
    let is_usual = path == "/a2a/v1";
    let is_own = words.starts_with(&["a2a", CATALOGUE]) || is_asked(below) && !is_usual;
    match RESERVED.contains(&words[0]) || is_own {
        true => Err(format!("{path:?} is the bridge's own; expected another path")),
        false => Ok(()),
    }
}

/// Returns whether `path` is one of the operations of an agent at `agent`.
pub(super) fn is_operation_of(path: &str, agent: &str) -> bool {
    let below = path.strip_prefix(agent).and_then(|rest| rest.strip_prefix('/'));
    let first = below.and_then(|below| below.split('/').next());
    first.is_some_and(|first| OPERATIONS.contains(&first))
}
