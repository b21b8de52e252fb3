//! Waits until an agent's card can be read, or until a server answers.
//!
//! - `probe`: one request to every place where a card may be
//! - `start_times`: predicts the time at which a program that was started before is ready

mod probe;
mod start_times;
#[cfg(test)]
mod tests;

use std::{fmt, pin::pin, time::Duration};

use bridge_client::{Tls, is_loopback};
use bridge_http::with_proxy_for;
use reqwest::{Client, redirect::Policy};
use serde_json::Value;
use tokio::time::{Instant, sleep};
use url::Url;

use super::{AgentExit, process::AgentProcess};
use probe::{ask_all, card_urls, connects};

pub use probe::CardProbe;
pub use start_times::StartTimes;

/// The longest time that counts at once, see [`running_for`].
const TICK: Duration = Duration::from_secs(1);
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
/// The longest pause after a refused connection while the agent starts. Attempts slow the agent down.
const REFUSED_PAUSE: Duration = Duration::from_millis(25);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// The time during which a refused connection is tried again after a short pause: most agents listen by then.
const STARTING: Duration = Duration::from_secs(10);
/// The times after which a request is repeated. A program that is still starting may forget a request; one that is slow needs longer.
const SHORTEST_REQUEST: Duration = Duration::from_secs(2);
const LONGEST_REQUEST: Duration = Duration::from_secs(30);

/// What shows that an agent or server is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadyCheck {
    /// An agent's card.
    Card,
    /// An agent's card, or that it is shown only to those who say who they are.
    CardOrRefusal,
    /// Any HTTP response.
    Answer,
}

impl fmt::Display for ReadyCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Card | Self::CardOrRefusal => "agent card",
            Self::Answer => "answer over HTTP",
        })
    }
}

/// The reason why an agent or server did not become ready.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum ReadyError {
    /// Its process ended first.
    #[error(
        "{role} {exit} before its {awaited} could be read at {endpoint}{}",
        quoted_output(last_lines)
    )]
    AgentExited {
        role: String,
        awaited: ReadyCheck,
        /// The address at which it should have listened.
        endpoint: Url,
        exit: AgentExit,
        last_lines: Vec<String>,
    },
    /// The time limit was exceeded.
    #[error(
        "{role} showed no {awaited} at {endpoint} within {limit:?}: {seen}; {}{}",
        seen.remedy(),
        quoted_output(last_lines)
    )]
    NeverReady {
        role: String,
        awaited: ReadyCheck,
        /// The address at which it should have listened.
        endpoint: Url,
        limit: Duration,
        seen: CardProbe,
        last_lines: Vec<String>,
    },
    /// Its certificate is not trusted.
    #[error("the certificate of {role} at {endpoint} is not accepted: {why}")]
    Untrusted { role: String, endpoint: Url, why: String },
    /// No HTTP client can be created on this machine.
    #[error("cannot make HTTP requests")]
    Client(#[from] reqwest::Error),
}

fn quoted_output(last_lines: &[String]) -> String {
    if last_lines.is_empty() {
        return String::new();
    }
    format!("; it last printed:\n{}", last_lines.join("\n"))
}

/// Waits until the awaited response comes from `endpoint`. Returns an agent's card, which is a JSON object with a
/// `name`; null for a server, and for an agent that refuses to show its card.
///
/// Returns an error immediately when `process` ends or its certificate is not trusted by `tls`, and after `limit` in any
/// case. The card is searched for below the endpoint and, if the endpoint has a path, also below its origin, where it must
/// name that path if it names any. A program that refuses the first connection gets no further requests until `quiet` is
/// over, see [`StartTimes::quiet`].
///
/// # Errors
/// See [`ReadyError`].
pub async fn wait_ready(
    role: &str,
    endpoint: &Url,
    awaited: ReadyCheck,
    process: Option<&AgentProcess>,
    quiet: Duration,
    limit: Duration,
    tls: &Tls,
) -> Result<Value, ReadyError> {
    let client = tls.add_to(Client::builder()).redirect(Policy::none());
    let client = with_proxy_for(endpoint, client).build()?;
    let last_lines = || process.map(AgentProcess::last_lines).unwrap_or_default();
    tokio::select! {
        // If the agent failed because its port was taken, another server answers there: check the process
        // first.
        biased;
        exit = ended(process) => Err(ReadyError::AgentExited {
            role: role.to_owned(),
            awaited,
            endpoint: endpoint.clone(),
            exit,
            last_lines: last_lines(),
        }),
        found = poll(&client, endpoint, awaited, quiet, limit) => found.map_err(|seen| match seen {
            CardProbe::Untrusted { why } => ReadyError::Untrusted {
                role: role.to_owned(),
                endpoint: endpoint.clone(),
                why,
            },
            seen => ReadyError::NeverReady {
                role: role.to_owned(),
                awaited,
                endpoint: endpoint.clone(),
                limit,
                seen,
                last_lines: last_lines(),
            },
        }),
    }
}

async fn ended(process: Option<&AgentProcess>) -> AgentExit {
    match process {
        Some(process) => process.wait().await,
        None => std::future::pending().await,
    }
}

/// Requests all places again and again until one returns a card or the time is over.
async fn poll(
    client: &Client,
    endpoint: &Url,
    awaited: ReadyCheck,
    quiet: Duration,
    limit: Duration,
) -> Result<Value, CardProbe> {
    let places = match awaited {
        ReadyCheck::Card | ReadyCheck::CardOrRefusal => card_urls(endpoint),
        ReadyCheck::Answer => vec![endpoint.clone()],
    };
    let begun = Instant::now();
    let mut over = pin!(running_for(limit));
    let mut seen = CardProbe::Silence;
    loop {
        let asked = async {
            // A starting program refuses dozens of connections. An attempt to connect costs a tenth of a request.
            // Other machines may be reached through a proxy only.
            if matches!(seen, CardProbe::NoConnection { .. }) && is_loopback(endpoint) {
                connects(endpoint).await?;
            }
            ask_all(client, endpoint, &places, || request_limit(begun.elapsed())).await
        };
        let found = tokio::select! {
            biased;
            found = asked => found,
            () = &mut over => return Err(seen),
        };
        match found {
            Ok(card) => return Ok(card),
            // Any response shows that the server is ready.
            Err(CardProbe::Status { .. } | CardProbe::NotACard { .. })
                if awaited == ReadyCheck::Answer =>
            {
                return Ok(Value::Null);
            }
            Err(CardProbe::Status { status: 401 | 403, .. })
                if awaited == ReadyCheck::CardOrRefusal =>
            {
                return Ok(Value::Null);
            }
            Err(untrusted @ CardProbe::Untrusted { .. }) => return Err(untrusted),
            Err(instead) => seen = instead,
        }
        tokio::select! {
            biased;
            () = sleep(pause(&seen, begun.elapsed(), quiet)) => {}
            () = &mut over => return Err(seen),
        }
    }
}

/// Waits until this process has run for `limit`. The time during which it was stopped, or the machine was suspended, does not
/// count: no agent was asked then.
async fn running_for(limit: Duration) {
    let mut left = limit;
    while !left.is_zero() {
        let step = left.min(TICK);
        sleep(step).await;
        left -= step;
    }
}

/// Returns the time for a request, depending on the time waited so far: an agent that needs longer for its card is asked more
/// and more patiently.
fn request_limit(waited: Duration) -> Duration {
    waited.clamp(SHORTEST_REQUEST, LONGEST_REQUEST)
}

/// Returns the pause before the next attempt, depending on the last result and the time waited so far.
fn pause(seen: &CardProbe, waited: Duration, quiet: Duration) -> Duration {
    match seen {
        CardProbe::NoConnection { .. } if waited < quiet => (quiet - waited).min(LONGEST_PAUSE),
        CardProbe::NoConnection { .. } if waited < STARTING => {
            (waited / 16).clamp(SHORTEST_PAUSE, REFUSED_PAUSE)
        }
        _ => (waited / 4).clamp(SHORTEST_PAUSE, LONGEST_PAUSE),
    }
}
