//! Reads connection details from JSON.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value};
use url::Url;

use super::{ConnectionDetails, DEFAULT_NAME, DetailsError, Transport, findings::Found, names};
use crate::secret::Secret;

/// The fields next to details, or among them, that apply to each of them.
#[derive(Clone, Copy, Default)]
pub(super) struct SurroundingFields<'a> {
    episode: Option<(&'static str, &'a Value)>,
    expiry: Option<(&'static str, &'a Value)>,
}

/// The members that name an episode, the most specific first.
const EPISODE: [&str; 4] = ["episodeId", "episode_id", "sessionId", "session_id"];

/// The members that have the expiry time.
const EXPIRY: [&str; 2] = ["expiresAt", "expires_at"];

/// The transports as details name them.
enum TransportName {
    Http,
    Stdio,
}

impl TransportName {
    /// Parses a transport's name in any spelling: `streamable-http`, `streamableHttp`. The names of other protocols, such as
    /// `JSONRPC`, are none.
    fn of(name: &str) -> Option<Self> {
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        match name.to_ascii_lowercase().as_str() {
            // The client detects HTTP+SSE of 2024-11-05 itself, under any of these names.
            "http" | "https" | "streamablehttp" | "sse" | "httpsse" => Some(Self::Http),
            "stdio" => Some(Self::Stdio),
            _other_protocol => None,
        }
    }
}

/// Returns whether an unmarked object is connection details: it has a URL or `command` with an MCP transport, a
/// URL with headers or a token, or a URL under a name that is only used for MCP servers. The description of an
/// HTTP request, which has a `method`, is not.
pub(super) fn is_details(members: &Map<String, Value>) -> bool {
    let is_named = ["transport", "type"].into_iter().any(|name| {
        members.get(name).and_then(Value::as_str).and_then(TransportName::of).is_some()
    });
    let Some(url) = names::url(members) else {
        return is_named && is_there(members, "command");
    };
    let text = members.get(url).and_then(Value::as_str).unwrap_or_default();
    let is_http = ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme));
    let has_key = is_there(members, "headers") || names::token(members).is_some();
    is_named || is_http && !is_there(members, "method") && (has_key || names::is_sure_url(url))
}

/// Returns whether an object has a server's address.
pub(super) fn has_address(members: &Map<String, Value>) -> bool {
    names::url(members).is_some() || is_there(members, "command")
}

impl<'a> SurroundingFields<'a> {
    pub(super) fn of(members: &'a Map<String, Value>) -> Self {
        Self { episode: first(members, EPISODE), expiry: first(members, EXPIRY) }
    }

    fn or(self, outer: &Self) -> Self {
        Self { episode: self.episode.or(outer.episode), expiry: self.expiry.or(outer.expiry) }
    }
}

/// Reads the object `mcpServers`, which has one member per server.
pub(super) fn servers(value: &Value, beside: &SurroundingFields<'_>) -> Found {
    let Value::Object(servers) = value else {
        let expected = "an object with a server under each name";
        return vec![Err(unexpected(expected, value))];
    };
    let read = |(name, server): (&String, &Value)| {
        let mut details = explicit(server, beside).map_err(|error| error.inside(name))?;
        details.name.clone_from(name);
        Ok(details)
    };
    servers.iter().map(read).collect()
}

/// Reads a value that is marked as details.
pub(super) fn explicit(
    value: &Value,
    beside: &SurroundingFields<'_>,
) -> Result<ConnectionDetails, DetailsError> {
    match value {
        Value::Object(members) => details(members, beside),
        other => Err(unexpected("an object with url or command", other)),
    }
}

/// Reads details from the members of an object.
pub(super) fn details(
    members: &Map<String, Value>,
    beside: &SurroundingFields<'_>,
) -> Result<ConnectionDetails, DetailsError> {
    let beside = SurroundingFields::of(members).or(beside);
    Ok(ConnectionDetails {
        name: string(members, "name")?.unwrap_or_else(|| DEFAULT_NAME.to_owned()),
        transport: transport(members)?,
        episode_id: beside.episode.map(id).transpose()?,
        expires_at: beside.expiry.map(time).transpose()?,
    })
}

fn transport(members: &Map<String, Value>) -> Result<Transport, DetailsError> {
    let (url, command) = (names::url(members).is_some(), is_there(members, "command"));
    match (named(members)?, url, command) {
        (Some(TransportName::Http), _, _) | (None, true, false) => http(members),
        (Some(TransportName::Stdio), _, _) | (None, false, true) => stdio(members),
        (None, true, true) => {
            Err(DetailsError::new("url or command, or a type that says which one counts", "both"))
        }
        (None, false, false) => Err(DetailsError::new("url or command", "neither")),
    }
}

fn named(members: &Map<String, Value>) -> Result<Option<TransportName>, DetailsError> {
    // Clients write `type`.
    let member = if is_there(members, "type") { "type" } else { "transport" };
    let Some(name) = string(members, member)? else {
        return Ok(None);
    };
    let unknown = || DetailsError::new("http or stdio", format!("{name:?}")).inside(member);
    TransportName::of(&name).map(Some).ok_or_else(unknown)
}

fn http(members: &Map<String, Value>) -> Result<Transport, DetailsError> {
    let (name, url) = url(members)?;
    let mut headers = at("headers", members, named_secrets)?;
    if let Some((_, token)) = names::token(members).filter(|(token, _)| *token != name) {
        add_token(&mut headers, token);
    }
    Ok(Transport::Http { url, headers })
}

/// Adds a token as `Authorization`, unless that header is present. The token may begin with its scheme.
pub(super) fn add_token(headers: &mut BTreeMap<String, Secret>, token: &str) {
    const NAME: &str = "Authorization";
    if !headers.keys().any(|name| name.eq_ignore_ascii_case(NAME)) {
        let value = if token.contains(' ') { token.to_owned() } else { format!("Bearer {token}") };
        headers.insert(NAME.to_owned(), Secret::new(value));
    }
}

/// Returns the member that has the URL, and the URL. Errors do not repeat the value, because it could contain a
/// password.
fn url(members: &Map<String, Value>) -> Result<(&str, Url), DetailsError> {
    let name = names::url(members).unwrap_or("url");
    let text = required(members, name, "an http or https URL")?;
    parsed(&text).map(|url| (name, url)).map_err(|error| error.inside(name))
}

fn parsed(text: &str) -> Result<Url, DetailsError> {
    const EXPECTED: &str = "an http or https URL";
    let url = Url::parse(text).map_err(|reason| DetailsError::new(EXPECTED, reason.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        let found = format!("scheme {:?}", url.scheme());
        return Err(DetailsError::new(EXPECTED, found));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let found = "a user or a password in the URL";
        return Err(DetailsError::new("credentials among the headers", found));
    }
    Ok(url)
}

fn stdio(members: &Map<String, Value>) -> Result<Transport, DetailsError> {
    let (command, args) = command_line(members)?;
    Ok(Transport::Stdio {
        command,
        args,
        env: at("env", members, named_secrets)?,
        cwd: string(members, "cwd")?.map(Into::into),
    })
}

/// Returns the program and its arguments. Some agents write both into `command`, as a list or as a shell command
/// line; a line is split only if there are no `args`.
fn command_line(members: &Map<String, Value>) -> Result<(String, Vec<String>), DetailsError> {
    let error = || DetailsError::new("a program", "an empty command").inside("command");
    let mut words = match members.get("command") {
        Some(list @ Value::Array(_)) => strings(list).map_err(|error| error.inside("command"))?,
        _ => {
            let line = required(members, "command", "a program")?;
            match is_there(members, "args") {
                true => vec![line],
                false => shlex::split(&line).unwrap_or(vec![line]),
            }
        }
    };
    words.extend(at("args", members, strings)?);
    let mut words = words.into_iter();
    let command = words.next().filter(|command| !command.is_empty());
    Ok((command.ok_or_else(error)?, words.collect()))
}

/// Reads headers or environment variables: an object of strings, or a list of `{name, value}` as in the registry's
/// `server.json`.
pub(super) fn named_secrets(value: &Value) -> Result<BTreeMap<String, Secret>, DetailsError> {
    let expected = "an object of strings, or a list of objects with name and value";
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| Ok((name.clone(), secret(value).map_err(|e| e.inside(name))?)))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| name_and_value(item).map_err(|error| error.at(index)))
            .collect(),
        other => Err(unexpected(expected, other)),
    }
}

fn name_and_value(item: &Value) -> Result<(String, Secret), DetailsError> {
    let Value::Object(members) = item else {
        return Err(unexpected("an object with name and value", item));
    };
    let name = required(members, "name", "a string")?;
    let value = secret(members.get("value").unwrap_or(&Value::Null))
        .map_err(|error| error.inside("value"))?;
    Ok((name, value))
}

fn secret(value: &Value) -> Result<Secret, DetailsError> {
    let text = value.as_str();
    text.map(Secret::new).ok_or_else(|| unexpected("a string", value))
}

fn id((member, value): (&str, &Value)) -> Result<String, DetailsError> {
    let text = value.as_str().map(str::to_owned);
    text.ok_or_else(|| unexpected("a string", value).inside(member))
}

/// Reads a time as text, or as seconds or milliseconds since 1970, which are distinguished by their magnitude.
fn time((member, value): (&str, &Value)) -> Result<Timestamp, DetailsError> {
    let expected = "a time with its zone, such as 2026-01-31T12:00:00Z, or seconds since 1970";
    let time = match value {
        Value::Number(number) => number.as_f64().and_then(since_1970),
        Value::String(text) => text.parse().ok().or_else(|| since_1970(text.parse().ok()?)),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    time.ok_or_else(|| DetailsError::unexpected(expected, value).inside(member))
}

fn since_1970(number: f64) -> Option<Timestamp> {
    /// The smallest number that is read as milliseconds: the year 5138 in seconds, 1973 in milliseconds.
    const MILLISECONDS_FROM: f64 = 1e11;
    let seconds = if number.abs() >= MILLISECONDS_FROM { number / 1000.0 } else { number };
    let duration = jiff::SignedDuration::try_from_secs_f64(seconds).ok()?;
    Timestamp::from_duration(duration).ok()
}

fn strings(value: &Value) -> Result<Vec<String>, DetailsError> {
    let Value::Array(items) = value else {
        return Err(unexpected("a list of strings", value));
    };
    let read = |(index, item): (usize, &Value)| {
        let text = item.as_str().map(str::to_owned);
        text.ok_or_else(|| unexpected("a string", item).at(index))
    };
    items.iter().enumerate().map(read).collect()
}

/// Reads an optional member; null counts as absent.
fn at<T: Default>(
    member: &str,
    members: &Map<String, Value>,
    read: impl Fn(&Value) -> Result<T, DetailsError>,
) -> Result<T, DetailsError> {
    match members.get(member) {
        None | Some(Value::Null) => Ok(T::default()),
        Some(value) => read(value).map_err(|error| error.inside(member)),
    }
}

fn string(members: &Map<String, Value>, member: &str) -> Result<Option<String>, DetailsError> {
    at(member, members, |value| {
        let text = value.as_str().map(|text| Some(text.to_owned()));
        text.ok_or_else(|| unexpected("a string", value))
    })
}

fn required(
    members: &Map<String, Value>,
    member: &str,
    expected: &str,
) -> Result<String, DetailsError> {
    let missing = || DetailsError::new(expected, "nothing").inside(member);
    string(members, member)?.ok_or_else(missing)
}

fn is_there(members: &Map<String, Value>, member: &str) -> bool {
    members.get(member).is_some_and(|value| !value.is_null())
}

fn first(
    members: &Map<String, Value>,
    names: impl IntoIterator<Item = &'static str>,
) -> Option<(&'static str, &Value)> {
    let mut present = names.into_iter().filter_map(|name| Some((name, members.get(name)?)));
    present.find(|(_, value)| !value.is_null())
}

/// Returns an error that names the type of a value but not the value, which may be secret.
fn unexpected(expected: &str, value: &Value) -> DetailsError {
    let found = match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    DetailsError::new(expected, found)
}
