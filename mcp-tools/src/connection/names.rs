//! The names under which agents write connection details. Case, underscores and hyphens do not tell them
//! apart.

use serde_json::{Map, Value};

/// Names that only the URL of an MCP server has.
const SURE_URL: [&str; 6] = [
    "serverurl",
    "mcpurl",
    "mcpserverurl",
    "mcpendpoint",
    "httpurl",
    "sseurl",
];

/// Names that a URL of anything has; `url` counts first.
const ANY_URL: [&str; 2] = ["url", "endpoint"];

/// Names under which the details of one server stand.
const SERVER: [&str; 5] = [
    "mcp",
    "mcpserver",
    "mcpconnection",
    "mcpdetails",
    "connectiondetails",
];

/// Names of a bearer token, or of the whole `Authorization`.
const TOKEN: [&str; 6] = [
    "token",
    "bearertoken",
    "accesstoken",
    "authtoken",
    "mcptoken",
    "authorization",
];

/// A name in small letters without what separates its words.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

/// The words of a name, in small letters: `oldServer`, `old_server` and `old-server` have two.
pub(super) fn words(name: &str) -> impl Iterator<Item = String> {
    let mut spaced = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            spaced.push(' ');
        }
        spaced.push(if c.is_alphanumeric() { c } else { ' ' });
    }
    let words: Vec<_> = spaced.split_whitespace().map(str::to_lowercase).collect();
    words.into_iter()
}

/// Whether what stands under a name is the details of a server, if it can be read so.
pub(super) fn is_server(name: &str) -> bool {
    SERVER.contains(&plain(name).as_str())
}

/// Whether a token stands under a name.
pub(super) fn is_token(name: &str) -> bool {
    TOKEN.contains(&plain(name).as_str())
}

/// The member that has the URL, if one has.
pub(super) fn url(members: &Map<String, Value>) -> Option<&str> {
    let named = |wanted: &str| {
        let mut there = members.iter().filter(|(_, value)| !value.is_null());
        there.find_map(|(name, _)| (plain(name) == wanted).then_some(name.as_str()))
    };
    let all = ANY_URL.iter().take(1).chain(&SURE_URL).chain(&ANY_URL);
    all.copied().find_map(named)
}

/// Whether a name is one that only the URL of an MCP server has.
pub(super) fn is_sure_url(name: &str) -> bool {
    SURE_URL.contains(&plain(name).as_str())
}

/// The member that has a token, with it.
pub(super) fn token(members: &Map<String, Value>) -> Option<(&str, &str)> {
    let texts = members.iter();
    let mut texts = texts.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
    texts.find(|(name, text)| is_token(name) && !text.is_empty())
}
