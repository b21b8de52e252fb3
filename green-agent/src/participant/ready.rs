//! Waiting until an agent can be spoken to: until its card can be read; or a server, until it answers.

use std::{fmt, time::Duration};

use reqwest::{Client, StatusCode, redirect::Policy};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout_at};
use url::Url;

use super::{exit::AgentExit, process::AgentProcess};

/// Where cards are, in the order of trying: since A2A 0.3, before, and where skills are executed plainly.
const CARD_PATHS: [&str; 3] = [
    ".well-known/agent-card.json",
    ".well-known/agent.json",
    "agent-card",
];

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
const REQUEST_LIMIT: Duration = Duration::from_secs(2);
const CARD_LIMIT: usize = 1024 * 1024;

/// What shows that somebody is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// An agent's card.
    Card,
    /// Any answer over HTTP.
    Answer,
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Card => "agent card",
            Self::Answer => "answer over HTTP",
        })
    }
}

/// Why nobody was ready.
#[derive(Debug, thiserror::Error)]
pub enum ReadyError {
    /// Its process ended first.
    #[error(
        "{role} {exit} before its {awaited} could be read at {endpoint}{}",
        said(last_lines)
    )]
    AgentExited {
        /// The agent's role.
        role: String,
        /// What was waited for.
        awaited: Awaited,
        /// Where it should have listened.
        endpoint: Url,
        /// How it ended.
        exit: AgentExit,
        /// What it printed last.
        last_lines: Vec<String>,
    },
    /// The time was over first.
    #[error(
        "{role} showed no {awaited} at {endpoint} within {limit:?}: {seen}; it must listen there, \
         or `timeout.ready` be longer{}",
        said(last_lines)
    )]
    NeverReady {
        /// The agent's role.
        role: String,
        /// What was waited for.
        awaited: Awaited,
        /// Where it should have listened.
        endpoint: Url,
        /// How long was waited.
        limit: Duration,
        /// What was found there instead.
        seen: Seen,
        /// What it printed last.
        last_lines: Vec<String>,
    },
    /// No HTTP request can be made on this machine.
    #[error("cannot make HTTP requests")]
    Client(#[from] reqwest::Error),
}

/// What was found in the place of a card; the later in this list, the closer to one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seen {
    /// No answer came in time to any request.
    Silence,
    /// There was no connection.
    NoConnection {
        /// Why, such as `connection refused`.
        why: String,
    },
    /// Another HTTP status than 200.
    Status {
        /// That status.
        status: u16,
        /// Where.
        url: Url,
    },
    /// Something that is not a card.
    NotACard {
        /// What it was.
        what: String,
        /// Where.
        url: Url,
    },
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silence => f.write_str("no answer came"),
            Self::NoConnection { why } => f.write_str(why),
            Self::Status { status, url } => write!(f, "{url} answered HTTP {status}"),
            Self::NotACard { what, url } => write!(f, "{url} answered with {what}"),
        }
    }
}

fn said(last_lines: &[String]) -> String {
    if last_lines.is_empty() {
        return String::new();
    }
    format!("; it last printed:\n{}", last_lines.join("\n"))
}

/// Waits until what is awaited comes from `endpoint`, and returns it: of an agent its card, a JSON object
/// with a `name`; of a server null.
///
/// Ends at once when `process` ends, and always when `limit` is over. The card is looked for below
/// the endpoint and, if the endpoint has a path, also below its origin.
pub async fn wait_ready(
    role: &str,
    endpoint: &Url,
    awaited: Awaited,
    process: Option<&AgentProcess>,
    limit: Duration,
) -> Result<Value, ReadyError> {
    let client = Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .timeout(REQUEST_LIMIT)
        .build()?;
    let last_lines = || process.map(AgentProcess::last_lines).unwrap_or_default();
    tokio::select! {
        // A foreign server may hold the port of an agent that failed because of just that.
        biased;
        exit = ended(process) => Err(ReadyError::AgentExited {
            role: role.to_owned(),
            awaited,
            endpoint: endpoint.clone(),
            exit,
            last_lines: last_lines(),
        }),
        found = poll(&client, endpoint, awaited, limit) => found.map_err(|seen| ReadyError::NeverReady {
            role: role.to_owned(),
            awaited,
            endpoint: endpoint.clone(),
            limit,
            seen,
            last_lines: last_lines(),
        }),
    }
}

async fn ended(process: Option<&AgentProcess>) -> AgentExit {
    match process {
        Some(process) => process.wait().await,
        None => std::future::pending().await,
    }
}

/// Asks every place, again and again, until one shows a card or the time is over.
async fn poll(
    client: &Client,
    endpoint: &Url,
    awaited: Awaited,
    limit: Duration,
) -> Result<Value, Seen> {
    let places = match awaited {
        Awaited::Card => card_urls(endpoint),
        Awaited::Answer => vec![endpoint.clone()],
    };
    let deadline = Instant::now() + limit;
    let mut pause = FIRST_PAUSE;
    let mut seen = Seen::Silence;
    loop {
        match timeout_at(deadline, ask_all(client, &places)).await {
            Ok(Ok(card)) => return Ok(card),
            // Whatever it was, it was an answer.
            Ok(Err(Seen::Status { .. } | Seen::NotACard { .. })) if awaited == Awaited::Answer => {
                return Ok(Value::Null);
            }
            Ok(Err(instead)) => seen = instead,
            Err(_) => return Err(seen),
        }
        if timeout_at(deadline, sleep(pause)).await.is_err() {
            return Err(seen);
        }
        pause = LONGEST_PAUSE.min(pause * 3 / 2);
    }
}

/// The first card of a round, or what came closest to one.
async fn ask_all(client: &Client, places: &[Url]) -> Result<Value, Seen> {
    let mut closest = Seen::Silence;
    for url in places {
        match ask(client, url).await {
            Ok(card) => return Ok(card),
            // All places are on one host and port, so the others would say the same.
            Err(seen @ Seen::NoConnection { .. }) => return Err(seen.max(closest)),
            Err(seen) => closest = closest.max(seen),
        }
    }
    Err(closest)
}

async fn ask(client: &Client, url: &Url) -> Result<Value, Seen> {
    let response = client
        .get(url.clone())
        .send()
        .await
        .map_err(|error| no_answer(&error))?;
    if response.status() != StatusCode::OK {
        let status = response.status().as_u16();
        return Err(Seen::Status {
            status,
            url: url.clone(),
        });
    }
    let not_a_card = |what: &str| Seen::NotACard {
        what: what.to_owned(),
        url: url.clone(),
    };
    let body = read(response)
        .await?
        .ok_or_else(|| not_a_card("more than 1 MiB"))?;
    match serde_json::from_slice::<Value>(&body) {
        Ok(card) if card.get("name").is_some_and(Value::is_string) => Ok(card),
        Ok(_) => Err(not_a_card(
            "JSON that is not an agent card: it has no `name`",
        )),
        Err(_) => Err(not_a_card("something that is not JSON")),
    }
}

/// The body, or `None` if it is too large.
async fn read(mut response: reqwest::Response) -> Result<Option<Vec<u8>>, Seen> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| no_answer(&error))? {
        body.extend_from_slice(&chunk);
        if body.len() > CARD_LIMIT {
            return Ok(None);
        }
    }
    Ok(Some(body))
}

fn no_answer(error: &reqwest::Error) -> Seen {
    if error.is_timeout() {
        return Seen::Silence;
    }
    // The innermost cause is the one that says something, such as a refused connection.
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let refused = cause
        .downcast_ref::<std::io::Error>()
        .is_some_and(|io| io.kind() == std::io::ErrorKind::ConnectionRefused);
    let why = if refused {
        "connection refused".to_owned()
    } else {
        cause.to_string()
    };
    Seen::NoConnection { why }
}

/// Every place where the card may be.
fn card_urls(endpoint: &Url) -> Vec<Url> {
    let mut base = endpoint.clone();
    base.set_query(None);
    base.set_fragment(None);
    base.set_path(&format!("{}/", endpoint.path().trim_end_matches('/')));
    let mut origin = base.clone();
    origin.set_path("/");
    let mut bases = vec![base, origin];
    bases.dedup();
    let urls = bases
        .iter()
        .flat_map(|base| CARD_PATHS.map(|path| base.join(path)));
    urls.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{Router, http, routing::get};
    use tokio::net::TcpListener;

    async fn served(app: Router) -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await });
        format!("http://{address}/").parse().unwrap()
    }

    async fn never_ready(endpoint: &Url) -> Seen {
        let limit = Duration::from_millis(400);
        match wait_ready("purple", endpoint, Awaited::Card, None, limit).await {
            Err(ReadyError::NeverReady { seen, .. }) => seen,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn cards_are_looked_for_below_the_endpoint_and_the_origin() {
        let cases: [(&str, &[&str]); 3] = [
            ("http://h:9009", &["/"]),
            ("http://h:9009/a2a/bot?x=1#y", &["/a2a/bot/", "/"]),
            ("http://h:9009/a2a/", &["/a2a/", "/"]),
        ];
        for (endpoint, bases) in cases {
            let urls = card_urls(&endpoint.parse().unwrap());
            let expected: Vec<_> = bases
                .iter()
                .flat_map(|base| CARD_PATHS.map(|path| format!("http://h:9009{base}{path}")))
                .collect();
            assert_eq!(urls.iter().map(Url::as_str).collect::<Vec<_>>(), expected);
        }
    }

    #[tokio::test]
    async fn a_card_is_found_in_each_place() {
        let card = || async { r#"{"name": "Debater"}"# };
        let places = [
            "/.well-known/agent-card.json",
            "/.well-known/agent.json",
            "/a/.well-known/agent.json",
            "/agent-card",
        ];
        for place in places {
            let endpoint = served(Router::new().route(place, get(card))).await;
            let endpoint = endpoint.join("a").unwrap();
            let limit = Duration::from_secs(20);
            let found = wait_ready("purple", &endpoint, Awaited::Card, None, limit).await;
            assert_eq!(found.unwrap()["name"], "Debater", "{place}");
        }
    }

    #[tokio::test]
    async fn what_was_found_instead_is_said() {
        let wrong = |body: &'static str| {
            Router::new().route(
                "/.well-known/agent-card.json",
                get(move || async move { body }),
            )
        };
        let redirect = (http::StatusCode::FOUND, [("location", "/elsewhere")]);
        let moved = Router::new().fallback(move || async move { redirect });
        let cases = [
            (Router::new(), "answered HTTP 404"),
            (moved, "answered HTTP 302"),
            (wrong("<html>"), "not JSON"),
            (wrong("{}"), "no `name`"),
            (wrong("[1]"), "no `name`"),
        ];
        for (app, expected) in cases {
            let seen = never_ready(&served(app).await).await.to_string();
            assert!(seen.contains(expected), "{seen}");
        }
    }

    #[tokio::test]
    async fn a_server_is_ready_when_it_answers_anything() {
        let endpoint = served(Router::new()).await;
        let limit = Duration::from_secs(20);
        let answered = wait_ready("bot", &endpoint, Awaited::Answer, None, limit).await;
        assert_eq!(answered.unwrap(), Value::Null);
    }

    #[tokio::test]
    async fn a_refused_connection_is_called_so() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let seen = never_ready(&format!("http://{address}").parse().unwrap()).await;
        assert_eq!(seen.to_string(), "connection refused");
    }
}
