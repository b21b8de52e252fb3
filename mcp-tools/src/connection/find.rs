//! Finding connection details in a message.

use serde_json::{Map, Value};

use super::{
    ConnectionDetails, DetailsError, merge,
    read::{self, Beside},
    text,
};

/// Deeper than this nothing is looked for, JSON inside of texts counted too.
const DEEPEST: usize = 64;

/// The most details of one message; of more, the last count, since in a task they are the newest.
pub const MOST_DETAILS: usize = 64;

/// What was found at some place, with the way to it in errors.
pub(super) type Found = Vec<Result<ConnectionDetails, DetailsError>>;

/// All connection details in a message, a status, an artifact or a task of A2A 1.0 or 0.3, in the order in
/// which they stand there, at most [`MOST_DETAILS`]. What is meant as details but cannot be read is an
/// error with the way to the field.
///
/// The same server said in several shapes is one result, with all that they say of it.
pub fn find(message: &Value) -> Vec<Result<ConnectionDetails, DetailsError>> {
    let mut found = inside(message, DEEPEST);
    found.drain(..found.len().saturating_sub(MOST_DETAILS));
    merge::merged(found)
}

fn inside(value: &Value, depth: usize) -> Found {
    let Some(depth) = depth.checked_sub(1) else {
        return Found::new();
    };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Found::new(),
        Value::String(text) => in_text(text, depth),
        Value::Array(items) => in_list(items, depth),
        Value::Object(members) => in_object(members, depth),
    }
}

fn in_text(text: &str, depth: usize) -> Found {
    let mut found: Found = text::json_in(text)
        .iter()
        .flat_map(|value| inside(value, depth))
        .collect();
    found.extend(text::details_in(text));
    found
}

fn in_list(items: &[Value], depth: usize) -> Found {
    let items = items.iter().enumerate();
    items
        .flat_map(|(index, item)| at(inside(item, depth), |error| error.at(index)))
        .collect()
}

fn in_object(members: &Map<String, Value>, depth: usize) -> Found {
    if read::is_details(members) {
        return vec![read::details(members, &Beside::default())];
    }
    let beside = Beside::of(members);
    let look = |name: &str, value: &Value| match (name, value) {
        ("mcpServers", Value::Null) | ("mcp_connection_details", Value::Null) => Found::new(),
        ("mcpServers", servers) => read::servers(servers, &beside),
        ("mcp_connection_details", details) => explicit(details, &beside, depth),
        (_, other) => inside(other, depth),
    };
    members
        .iter()
        .flat_map(|(name, value)| at(look(name, value), |error| error.inside(name)))
        .collect()
}

/// What stands under `mcp_connection_details`: details, several of them, or `mcpServers` once more.
fn explicit(value: &Value, beside: &Beside<'_>, depth: usize) -> Found {
    match value {
        Value::Object(members) if members.contains_key("mcpServers") => in_object(members, depth),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items
                .map(|(index, item)| read::explicit(item, beside).map_err(|error| error.at(index)))
                .collect()
        }
        one => vec![read::explicit(one, beside)],
    }
}

/// The same findings, with a further step of the way to the errors among them.
fn at(found: Found, step: impl Fn(DetailsError) -> DetailsError) -> Found {
    let found = found.into_iter();
    found.map(|one| one.map_err(&step)).collect()
}
