//! The member names under which agents write connection details. Case, underscores and hyphens are ignored.

use serde_json::{Map, Value};

/// Names that are only used for the URL of an MCP server.
const SURE_URL: &str = "serverurl mcpurl mcpserverurl mcpendpoint httpurl sseurl";

/// Names that are used for any URL; `url` takes precedence.
const ANY_URL: [&str; 2] = ["url", "endpoint"];

/// Names of members that contain the details of one server.
const SERVER: &str = "mcp mcpserver mcpconnection mcpdetails connectiondetails";

/// Names of members that contain a bearer token or a whole `Authorization` header.
const TOKEN: &str = "token bearertoken accesstoken authtoken mcptoken authorization";

/// Normalises a name: lowercase, without separators.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

/// Returns whether a name, however it is spelt, is one of these.
fn is_among(names: &str, name: &str) -> bool {
    names.split(' ').any(|one| one == plain(name))
}

/// Splits a name into its words in lowercase: `oldServer`, `old_server` and `old-server` have two.
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

/// Returns whether the member of this name contains a server's details, if it can be read as such.
pub(super) fn is_server(name: &str) -> bool {
    is_among(SERVER, name)
}

/// Returns whether the member of this name contains a token.
pub(super) fn is_token(name: &str) -> bool {
    is_among(TOKEN, name)
}

/// Returns the URL in these members, if there is one.
pub(super) fn url(members: &Map<String, Value>) -> Option<&str> {
    let named = |wanted: &str| {
        let mut there = members.iter().filter(|(_, value)| !value.is_null());
        there.find_map(|(name, _)| (plain(name) == wanted).then_some(name.as_str()))
    };
    let all = ANY_URL.into_iter().take(1).chain(SURE_URL.split(' ')).chain(ANY_URL);
    all.into_iter().find_map(named)
}

/// Returns whether a name is only used for the URL of an MCP server.
pub(super) fn is_sure_url(name: &str) -> bool {
    is_among(SURE_URL, name)
}

/// Returns the name and value of the member that contains a token.
pub(super) fn token(members: &Map<String, Value>) -> Option<(&str, &str)> {
    let texts = members.iter();
    let mut texts = texts.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
    texts.find(|(name, text)| is_token(name) && !text.is_empty())
}
