//! Finds connection details in a message.

use serde_json::{Map, Value};

use super::{
    ConnectionDetails, DetailsError, example,
    findings::Findings,
    merge, names,
    read::{self, SurroundingFields},
    text,
};

/// The nesting depth below which nothing is searched; JSON inside strings counts too.
const MAX_DEPTH: usize = 64;

/// The largest number of details from one message. If there are more, the last ones are kept, because in a task
/// those are the newest.
pub const MAX_DETAILS: usize = 64;

/// Returns all connection details in a message, a status, an artifact or a task of A2A 1.0 or 0.3, at most
/// [`MAX_DETAILS`]. Details that are marked as examples come first, then the others, each in document order; so
/// the last entry is the one to follow. Details that are meant as such but cannot be read are errors with the path
/// of the field.
///
/// Details count as examples if they are in a member with such a name (`example`, `old_server`), are next to
/// `"example": true`, follow words such as "for example" or "the old server", or contain a placeholder or a
/// documentation host (RFC 2606).
///
/// The same server in several shapes is one result that combines all fields.
pub fn find(message: &Value) -> Vec<Result<ConnectionDetails, DetailsError>> {
    let mut found = inside(message, MAX_DEPTH).in_order();
    found.drain(..found.len().saturating_sub(MAX_DETAILS));
    merge::merged(found)
}

fn inside(value: &Value, depth: usize) -> Findings {
    let Some(depth) = depth.checked_sub(1) else {
        return Findings::default();
    };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Findings::default(),
        Value::String(words) => text::findings(words, |json| inside(json, depth)),
        Value::Array(items) => in_list(items, depth),
        Value::Object(members) => in_object(members, depth),
    }
}

fn in_list(items: &[Value], depth: usize) -> Findings {
    let items = items.iter().enumerate();
    items.map(|(index, item)| inside(item, depth).at(|error| error.at(index))).collect()
}

fn in_object(members: &Map<String, Value>, depth: usize) -> Findings {
    let findings = match read::is_details(members) {
        true => one(members, &SurroundingFields::default()),
        false => {
            let beside = SurroundingFields::of(members);
            let look = |(name, value): (&String, &Value)| member(name, value, &beside, depth);
            members.iter().map(look).collect()
        }
    };
    match members.get("example") {
        Some(Value::Bool(true)) => findings.into_examples(),
        _ => findings,
    }
}

fn member(name: &str, value: &Value, beside: &SurroundingFields<'_>, depth: usize) -> Findings {
    let findings = match (name, value) {
        ("mcpServers", Value::Null) | ("mcp_connection_details", Value::Null) => {
            Findings::default()
        }
        ("mcpServers", servers) => read::servers(servers, beside).into(),
        ("mcp_connection_details", details) => explicit(details, beside, depth),
        (name, Value::Object(members)) if names::is_server(name) && read::has_address(members) => {
            one(members, beside)
        }
        (_, other) => inside(other, depth),
    };
    let findings = findings.at(|error| error.inside(name));
    if example::is_name(name) { findings.into_examples() } else { findings }
}

/// Reads an object that is the details of one server.
fn one(members: &Map<String, Value>, beside: &SurroundingFields<'_>) -> Findings {
    let details = read::details(members, beside);
    let is_example = details.as_ref().is_ok_and(example::is_placeholder);
    let findings = Findings::from(details);
    if is_example { findings.into_examples() } else { findings }
}

/// Reads the value of `mcp_connection_details`: details, a list of details, or a nested `mcpServers`.
fn explicit(value: &Value, beside: &SurroundingFields<'_>, depth: usize) -> Findings {
    match value {
        Value::Object(members) if members.contains_key("mcpServers") => in_object(members, depth),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items
                .map(|(index, item)| {
                    Findings::from(read::explicit(item, beside)).at(|error| error.at(index))
                })
                .collect()
        }
        value => read::explicit(value, beside).into(),
    }
}
