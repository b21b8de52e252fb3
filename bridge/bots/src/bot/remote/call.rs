//! Posts activities to a bot.

use std::{pin::pin, time::Duration};

use bridge_auth::display_url;
use bridge_http::{BodyError, Connections, is_lasting, read_body, retry_after, root_cause};
use bridge_program::{
    is_invalid_http,
    system::{FILE_LIMIT_ADVICE, is_from_lack_of_files},
};
use bridge_protocol::{
    activity::Activity,
    wire::{FieldError, weight::TooMuch},
};
use bridge_telemetry::{Instrument as _, Kind, TraceContext, fail, set, span};
use reqwest::{
    Method, RequestBuilder, Response, StatusCode,
    header::{ACCEPT, AUTHORIZATION, HeaderValue},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use super::{
    BotCall, RemoteBot,
    turn_progress::{self, ProgressState},
};
use crate::{bot::BotError, clock};

/// The delays before retries if no connection to the bot can be made, or the bot answers 429. It has not acted on the message
/// in these cases. Together they last as long as most bots need to start again. Other failures are not retried.
const RETRIES: [Duration; 5] = [
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];

/// The time after which no connection is tried again. It matters for hosts that do not answer at all, each try to connect to which
/// takes seconds.
const RETRIED_FOR: Duration = Duration::from_secs(10);

/// The time to see whether a silent bot is still there.
const LOOK: Duration = Duration::from_secs(2);

/// The longest delay that a bot may ask for in `Retry-After`. A message that would wait longer fails at once.
const LONGEST_DELAY: Duration = Duration::from_secs(15);

/// The reason why a call to a bot failed, for the log. Users see [`CallError::told`].
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error("no credential for the bot is available")]
    Credential(#[source] BotError),
    #[error("cannot connect{}: {reason}", after_tries(*.tries))]
    Unreachable { tries: usize, reason: String },
    #[error(
        "the bridge cannot open a connection{}: {reason}: {}",
        after_tries(*.tries), FILE_LIMIT_ADVICE
    )]
    TooManyFiles { tries: usize, reason: String },
    #[error(
        "neither an answer nor an activity came for {0:?}, which `request_timeout` of the agent in bridge.toml sets"
    )]
    Late(Duration),
    #[error("expected a success status, found {status}{}{}", after_colon(.body), hint(*.status))]
    Status {
        status: StatusCode,
        /// The beginning of the answer's body.
        body: String,
    },
    #[error(
        "found {status} to {target}, which is not followed: set `bot` in bridge.toml to the address that answers; \
         a page for signing in shows that a proxy in front of the bot requires a credential"
    )]
    Redirected { status: StatusCode, target: String },
    #[error(
        "expected an answer of at most {0} bytes, which `answer_limit` of the agent in bridge.toml sets"
    )]
    TooLarge(usize),
    #[error("the answer is not valid HTTP: {0}")]
    InvalidHttp(String),
    #[error("the connection broke: {0}")]
    Broken(String),
    #[error("the answer is not valid: {0}")]
    Unexpected(FieldError),
    #[error("the answer has too much structure: {0}")]
    TooMuch(TooMuch),
    #[error(
        "the bot went silent in the middle of a streamed answer: it was stopped, or did not send the final piece"
    )]
    BrokenOff,
    #[error("the bot accepted the message and said nothing, and its server is gone since: {0}")]
    Gone(String),
    #[error("the bot posted nothing that could be accepted: {0}")]
    Refused(String),
}

impl CallError {
    /// Returns the name in traces.
    fn name(&self) -> &'static str {
        match self {
            Self::Credential(_) => "credential",
            Self::Unreachable { .. } => "unreachable",
            Self::TooManyFiles { .. } => "too_many_files",
            Self::Late(_) => "timeout",
            Self::Status { .. } => "status",
            Self::Redirected { .. } => "redirect",
            Self::TooLarge(_) => "too_large",
            Self::InvalidHttp(_) => "invalid_http",
            Self::Broken(_) => "broken",
            Self::Unexpected(_) => "unexpected",
            Self::TooMuch(_) => "too_much",
            Self::BrokenOff => "broken_off",
            Self::Gone(_) => "gone",
            Self::Refused(_) => "refused",
        }
    }

    /// Returns the text for users: without the bot's address and without causes, which may contain host names. Both
    /// are in the log.
    pub(super) fn told(&self) -> String {
        match self {
            Self::Credential(_) => "the bridge has no credential for it".into(),
            Self::Unreachable { tries, .. } => {
                format!("it cannot be reached{}", after_tries(*tries))
            }
            Self::TooManyFiles { .. } => {
                "the bridge has too many open connections and files".into()
            }
            Self::Late(limit) => format!("it was silent for {limit:?}"),
            Self::Status { status, .. } if status.is_server_error() => {
                format!("it failed with status {status}")
            }
            Self::Status { status, .. } => format!("it refused the message with status {status}"),
            Self::Redirected { status, .. } => {
                format!("it redirected the message with status {status}")
            }
            Self::TooLarge(limit) => format!("its answer is larger than {limit} bytes"),
            Self::InvalidHttp(_) => "its answer is not valid HTTP".into(),
            Self::Broken(_) => "the connection to it broke".into(),
            Self::Unexpected(error) => format!("its answer is not valid: {error}"),
            Self::TooMuch(error) => format!("its answer has too much structure: {error}"),
            Self::BrokenOff => "it did not end its streamed answer".into(),
            Self::Gone(_) => "it accepted the message and cannot be reached any more".into(),
            Self::Refused(reason) => format!("its message was refused: {reason}"),
        }
    }

    /// Returns the text for the log, with the bot's address.
    pub(super) fn logged(&self, bot: &RemoteBot) -> String {
        format!("POST {}: {self}", display_url(&bot.url))
    }
}

/// An answer that did not arrive whole.
impl From<reqwest::Error> for CallError {
    fn from(error: reqwest::Error) -> Self {
        let reason = root_cause(&error);
        if is_invalid_http(&error) { Self::InvalidHttp(reason) } else { Self::Broken(reason) }
    }
}

/// Says how often a connection was tried, if more than once.
fn after_tries(tries: usize) -> String {
    if tries == 1 { String::new() } else { format!(", tried {tries} times") }
}

fn after_colon(text: &str) -> String {
    match text.trim() {
        "" => String::new(),
        text => format!(": {text:?}"),
    }
}

/// What the operator may do about a status.
fn hint(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            "; the bot requires a credential: set `auth` in bridge.toml, `bridge doctor` says how"
        }
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
            "; most bots accept messages at the path /api/messages"
        }
        StatusCode::TOO_MANY_REQUESTS => {
            "; the bot limits how many messages it gets: `agent_turns` below [limits] in bridge.toml sends fewer at the same time"
        }
        StatusCode::GATEWAY_TIMEOUT => {
            "; a proxy in front of the bot waits less long than the bot needs: raise its limit, such as `proxy_read_timeout` of nginx"
        }
        _ => "",
    }
}

/// Posts an activity and returns the answer with any status, before its body is read, and the credential that the bot was shown.
/// The activity is dropped as soon as it is serialized, because a bot may take minutes to answer. Each change of `progress` shows
/// that the bot is at work.
pub(super) async fn post(
    http: &Connections,
    bot: &RemoteBot,
    service_url: &str,
    activity: Activity,
    progress: Option<watch::Receiver<ProgressState>>,
) -> Result<(Response, Option<HeaderValue>), CallError> {
    let call = BotCall { bot: &bot.url, service_url };
    let credential = bot.credential.authorization(&call).await.map_err(CallError::Credential)?;
    let mut request = http
        .request(Method::POST, bot.url.clone())
        .header(ACCEPT, "application/json, text/event-stream")
        .json(&activity);
    drop(activity);
    if let Some(credential) = &credential {
        request = request.header(AUTHORIZATION, credential);
    }
    let span = span(Kind::Client, || "POST bot".into());
    set(&span, "server.address", bot.url.host_str().unwrap_or_default());
    let request = request.headers(TraceContext::of(&span).headers());
    let limit = bot.settings.request_timeout;
    let sending = pin!(send(http, request).instrument(span.clone()));
    let sent = match progress {
        Some(progress) => turn_progress::until_silent(progress, limit, sending).await,
        None => timeout(limit, sending).await.ok(),
    };
    let sent = sent.unwrap_or(Err(CallError::Late(limit)));
    match &sent {
        Ok(answer) => set(&span, "http.response.status_code", answer.status().as_u16()),
        Err(error) => fail(&span, error.name()),
    }
    sent.map(|answer| (answer, credential))
}

async fn send(http: &Connections, request: RequestBuilder) -> Result<Response, CallError> {
    let begun = Instant::now();
    for (tries, wait) in (1..).zip(RETRIES) {
        // A body in memory can always be cloned.
        let Some(again) = request.try_clone() else {
            break;
        };
        let wait = match http.send(again).await {
            Err(error) if !error.is_connect() => return Err(error.into()),
            Err(error) if is_lasting(&error) || begun.elapsed() + wait > RETRIED_FOR => {
                return Err(unconnected(tries, &error));
            }
            Err(_) => wait,
            Ok(answer) => match requested_delay(&answer, wait) {
                Some(delay) => delay,
                None => return Ok(answer),
            },
        };
        sleep(wait).await;
    }
    http.send(request).await.map_err(|error| match error.is_connect() {
        true => unconnected(RETRIES.len() + 1, &error),
        false => error.into(),
    })
}

/// Returns the delay after which a bot that was sent too many messages is to be asked again. A 503 may come from a proxy that
/// has lost the bot's answer, so it is final.
fn requested_delay(answer: &Response, default: Duration) -> Option<Duration> {
    if answer.status() != StatusCode::TOO_MANY_REQUESTS {
        return None;
    }
    let delay = retry_after(answer, clock::now()).unwrap_or(default).max(default);
    (delay <= LONGEST_DELAY).then_some(delay)
}

/// Returns the error for a bot to which no connection was made in any of the tries.
fn unconnected(tries: usize, error: &reqwest::Error) -> CallError {
    let reason = root_cause(error);
    match is_from_lack_of_files(error) {
        true => CallError::TooManyFiles { tries, reason },
        false => CallError::Unreachable { tries, reason },
    }
}

/// Returns the whole body of an answer.
pub(super) async fn body(bot: &RemoteBot, answer: Response) -> Result<Vec<u8>, CallError> {
    let (limit, time) = (bot.settings.answer_limit, bot.settings.request_timeout);
    let read = timeout(time, read_body(answer, limit)).await.map_err(|_| CallError::Late(time))?;
    read.map_err(|error| match error {
        BodyError::TooLarge => CallError::TooLarge(limit),
        BodyError::Broken(error) => error.into(),
    })
}

/// Returns the error of a bot that has accepted a message and cannot be connected to any more: it has probably ended with the
/// message. A failure of any other kind says nothing about that.
pub(super) async fn gone(http: &Connections, bot: &RemoteBot) -> Option<CallError> {
    let request = http.request(Method::HEAD, bot.url.clone());
    match timeout(LOOK, http.send(request)).await {
        Ok(Err(error)) if error.is_connect() && !is_from_lack_of_files(&error) => {
            Some(CallError::Gone(root_cause(&error)))
        }
        Ok(_) | Err(_) => None,
    }
}
