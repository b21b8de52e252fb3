//! Requests an agent's card once from all places where it may be, and reports the response found instead.

use std::{error::Error, fmt, io, iter, time::Duration};

use bridge_client::certificate_rejection;
use bridge_http::{BodyError, describe_redirect, read_body, root_cause_with_proxy};
use bridge_program::causes;
use bridge_protocol::dialect::places;
use bridge_telemetry::TraceContext;
use reqwest::{Client, Response, StatusCode, header::CONTENT_TYPE};
use serde_json::Value;
use tokio::{net::TcpStream, time::timeout};
use url::{Host, Url};

use super::SHORTEST_REQUEST;

/// The paths at which clients look for cards, in order: those of the specification, then that of agents with
/// plain skills.
pub(super) const PLACES: [&str; 3] = [places::CURRENT, places::BEFORE, places::EXECUTE];

/// The largest accepted card, in bytes.
const CARD_LIMIT: usize = 1024 * 1024;

/// The most characters of a refusal that are shown.
const SAID: usize = 200;

/// The result of a request for a card; those later in this list are closer to one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say what the fields are")]
pub enum CardProbe {
    /// No request was answered in time.
    Silence,
    /// No connection could be made.
    NoConnection {
        /// The cause, such as `connection refused`.
        why: String,
    },
    /// The certificate is not trusted. Waiting does not help.
    Untrusted { why: String },
    /// An HTTP status other than 200.
    Status {
        /// Whether the URL exists, because the status is not 404. A refusal has more information than an address that
        /// does not exist.
        is_there: bool,
        status: u16,
        /// The beginning of what it says.
        said: String,
        url: Url,
    },
    /// A response that is not a card.
    NotACard {
        /// A description of the response.
        what: String,
        url: Url,
    },
}

impl CardProbe {
    /// Returns what the agent must do to be ready.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Silence | Self::NoConnection { .. } => {
                "make it listen there, or set a longer limit: [harness] timeout = { ready = \"10m\" }"
            }
            Self::Untrusted { .. } => {
                "give it another certificate, or trust its authority with --ca"
            }
            Self::Status { status: 401 | 403, .. } => {
                "make its card readable without credentials, or give a [[config.credential]] for its role"
            }
            Self::Status { .. } | Self::NotACard { .. } => {
                "name the address of its A2A server, or that of its card; a program without an A2A server can be a bot: \
                 see docs/frameworks.md"
            }
        }
    }

    /// Returns the result that is closer to a card; of two that are as close, this one.
    fn or_closer(self, other: Self) -> Self {
        let rank = |probe: &Self| match probe {
            Self::Silence => 0,
            Self::NoConnection { .. } => 1,
            Self::Untrusted { .. } => 2,
            Self::Status { is_there: false, .. } => 3,
            Self::Status { is_there: true, .. } => 4,
            Self::NotACard { .. } => 5,
        };
        if rank(&other) > rank(&self) { other } else { self }
    }
}

impl fmt::Display for CardProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silence => f.write_str("no answer came"),
            Self::NoConnection { why } => f.write_str(why),
            Self::Untrusted { why } => write!(f, "its certificate is rejected: {why}"),
            Self::Status { status, said, url, .. } if said.is_empty() => {
                write!(f, "{url} answered HTTP {status}")
            }
            Self::Status { status, said, url, .. } => {
                write!(f, "{url} answered HTTP {status}: {said}")
            }
            Self::NotACard { what, url } => write!(f, "{url} answered with {what}"),
        }
    }
}

/// Returns whether a connection can be made at all, and closes it.
pub(super) async fn connects(endpoint: &Url) -> Result<(), CardProbe> {
    let no_connection = |error: &io::Error| CardProbe::NoConnection { why: cause_of(error) };
    let host = match endpoint.host() {
        Some(Host::Domain(name)) => name.to_owned(),
        Some(Host::Ipv4(address)) => address.to_string(),
        Some(Host::Ipv6(address)) => address.to_string(),
        None => return Ok(()),
    };
    let port = endpoint.port_or_known_default().unwrap_or_default();
    match timeout(SHORTEST_REQUEST, TcpStream::connect((host, port))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(no_connection(&error)),
        Err(_) => Err(CardProbe::Silence),
    }
}

/// Returns the first card found of the agent at `endpoint`, or the result that came closest to one; `limit` returns the
/// time for the next request.
pub(super) async fn ask_all(
    client: &Client,
    endpoint: &Url,
    places: &[Url],
    limit: impl Fn() -> Duration,
) -> Result<Value, CardProbe> {
    let mut closest = CardProbe::Silence;
    for url in places {
        match ask(client, url, limit()).await {
            Ok(card) => match other_path(&card, url, endpoint) {
                None => return Ok(card),
                Some(path) => {
                    let what = format!("the card of the agent at {path}, which is not this one");
                    let seen = CardProbe::NotACard { what, url: url.clone() };
                    closest = closest.or_closer(seen);
                }
            },
            // All places have the same host and port, so the others would fail in the same way.
            Err(seen @ (CardProbe::NoConnection { .. } | CardProbe::Untrusted { .. })) => {
                return Err(closest.or_closer(seen));
            }
            Err(seen) => closest = closest.or_closer(seen),
        }
    }
    Err(closest)
}

/// Returns the path that a card at the origin names instead of that of `endpoint`: it is the card of another agent. A card
/// without addresses may be that of any agent.
fn other_path(card: &Value, place: &Url, endpoint: &Url) -> Option<String> {
    let bare = |url: &Url| url.path().trim_end_matches('/').to_owned();
    if place == endpoint || place.path().starts_with(endpoint.path()) {
        return None;
    }
    let lists = ["supportedInterfaces", "additionalInterfaces"];
    let interfaces = lists.iter().filter_map(|list| card.get(list)?.as_array()).flatten();
    let urls = iter::once(card).chain(interfaces).filter_map(|one| one.get("url")?.as_str());
    let mut paths = urls.filter_map(|url| Some(bare(&Url::parse(url).ok()?))).peekable();
    let named = paths.peek().cloned()?;
    let is_named = paths.any(|path| path == bare(endpoint));
    (!is_named).then_some(if named.is_empty() { "/".to_owned() } else { named })
}

async fn ask(client: &Client, url: &Url, limit: Duration) -> Result<Value, CardProbe> {
    let response = client
        .get(url.clone())
        .timeout(limit)
        .headers(TraceContext::current().headers())
        .send()
        .await
        .map_err(|error| no_answer(&error))?;
    if response.status() != StatusCode::OK {
        return Err(refused(response, url).await);
    }
    let not_a_card = |what: &str| CardProbe::NotACard { what: what.to_owned(), url: url.clone() };
    // It would be read until the time limit: MCP servers may open a stream of their own messages.
    if is_event_stream(&response) {
        return Err(not_a_card("a stream of events"));
    }
    let body = read(response).await?.ok_or_else(|| not_a_card("more than 1 MiB"))?;
    match serde_json::from_slice::<Value>(&body) {
        Ok(card) if card.get("name").is_some_and(Value::is_string) => Ok(card),
        Ok(_) => Err(not_a_card("JSON that is not an agent card: it has no `name`")),
        Err(_) => Err(not_a_card("something that is not JSON")),
    }
}

async fn refused(response: Response, url: &Url) -> CardProbe {
    let status = response.status();
    let is_there = status != StatusCode::NOT_FOUND;
    let said = match describe_redirect(&response) {
        Some(redirect) => redirect,
        None if is_there && !is_event_stream(&response) => {
            let said = read(response).await.ok().flatten().unwrap_or_default();
            let said = String::from_utf8_lossy(&said);
            let words: Vec<&str> = said.split_whitespace().collect();
            words.join(" ").chars().take(SAID).collect()
        }
        None => String::new(),
    };
    CardProbe::Status { is_there, status: status.as_u16(), said, url: url.clone() }
}

fn is_event_stream(response: &Response) -> bool {
    let media_type = response.headers().get(CONTENT_TYPE);
    media_type.is_some_and(|media_type| media_type.as_bytes().starts_with(b"text/event-stream"))
}

/// Returns the body, or `None` if it is too large.
async fn read(response: Response) -> Result<Option<Vec<u8>>, CardProbe> {
    match read_body(response, CARD_LIMIT).await {
        Ok(body) => Ok(Some(body)),
        Err(BodyError::TooLarge) => Ok(None),
        Err(BodyError::Broken(error)) => Err(no_answer(&error)),
    }
}

fn no_answer(error: &reqwest::Error) -> CardProbe {
    if error.is_timeout() {
        return CardProbe::Silence;
    }
    if let Some(why) = certificate_rejection(error) {
        return CardProbe::Untrusted { why };
    }
    let why = causes(error).last().and_then(<dyn Error>::downcast_ref).map(cause_of);
    CardProbe::NoConnection { why: why.unwrap_or_else(|| root_cause_with_proxy(error)) }
}

fn cause_of(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        _ => error.to_string(),
    }
}

/// Returns every URL at which the card may be. An endpoint that is the URL of a card is the only one.
pub(super) fn card_urls(endpoint: &Url) -> Vec<Url> {
    let mut base = endpoint.clone();
    if endpoint.path().ends_with(".json") {
        base.set_fragment(None);
        return vec![base];
    }
    base.set_query(None);
    base.set_fragment(None);
    base.set_path(&format!("{}/", endpoint.path().trim_end_matches('/')));
    let mut origin = base.clone();
    origin.set_path("/");
    let mut bases = vec![base, origin];
    bases.dedup();
    let urls = bases.iter().flat_map(|base| PLACES.map(|path| base.join(path)));
    urls.flatten().collect()
}
