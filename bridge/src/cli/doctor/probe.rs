//! Says something to a bot in one delivery mode, and sees how it answers.

use std::{error::Error, fmt, time::Duration};

use bridge_protocol::{
    activity::{
        Activity, ActivityType, ChannelAccount, ConversationAccount, DeliveryMode, StreamType,
    },
    wire::{Wire as _, from_slice},
};
use reqwest::{
    Client,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
    redirect,
};
use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::{case::Case, ear::Ear};
use crate::clock;

/// The channel that some bots want to be on to speak with other agents.
pub(super) const AGENTS: &str = "a2a";

/// How long a bot may take for its HTTP answer.
const ANSWER: Duration = Duration::from_secs(30);

/// How long a bot may take to call back after it, and between two calls.
const QUIET: Duration = Duration::from_secs(2);

/// The largest HTTP answer, in bytes.
const BODY: usize = 4 << 20;

/// How much is shown of what is said, in characters.
const SHOWN: usize = 80;

/// How a bot answered in one delivery mode.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) mode: DeliveryMode,
    /// The channel that the bot was told to be on.
    pub(super) channel: String,
    /// Whether it was not the channel that bots are told to be on if nothing else is said.
    pub(super) is_other: bool,
    pub(super) outcome: Outcome,
}

#[derive(Debug)]
pub(super) enum Outcome {
    /// Nobody answered.
    Unreachable(String),
    /// With this status, and what it said about it.
    Refused(u16, String),
    /// It took what was said.
    Taken(Taken),
}

#[derive(Debug)]
pub(super) struct Taken {
    pub(super) status: u16,
    pub(super) took: Duration,
    /// What it said in the HTTP answer.
    pub(super) answered: Vec<String>,
    /// Whether that was a stream of events.
    pub(super) streamed: bool,
    /// What it said in calls of its own.
    pub(super) called: Vec<String>,
    /// How many of those calls were pieces of a stream.
    pub(super) pieces: usize,
    /// Why the bridge would not have let in one of those calls.
    pub(super) refused: Option<String>,
    /// Whether it asked its user to sign in.
    pub(super) signs_in: bool,
}

/// Who asks the bot.
pub(super) struct Prober<'a> {
    http: Client,
    case: &'a Case,
    authorization: Option<HeaderValue>,
    say: &'a str,
    ear: Ear,
}

impl<'a> Prober<'a> {
    /// Gets what the bot wants to be shown.
    pub(super) async fn new(
        case: &'a Case,
        say: &'a str,
        ear: Ear,
    ) -> Result<Self, Box<dyn Error>> {
        let http = Client::builder()
            .redirect(redirect::Policy::none())
            .timeout(ANSWER)
            .build()?;
        Ok(Self {
            http,
            case,
            authorization: case.authorization(&ear.service_url).await?,
            say,
            ear,
        })
    }

    pub(super) async fn probe(
        &mut self,
        mode: DeliveryMode,
        channel: &str,
    ) -> Result<Probe, Box<dyn Error>> {
        let begun = Instant::now();
        let activity = self.activity(&mode, channel);
        let request = self.http.post(self.case.url.clone()).json(&activity);
        let request = match &self.authorization {
            Some(shown) => request.header(AUTHORIZATION, shown),
            None => request,
        };
        let outcome = match request.send().await {
            Err(error) => Outcome::Unreachable(root(&error)),
            Ok(reply) => {
                let status = reply.status();
                let kind = reply.headers().get(CONTENT_TYPE).cloned();
                let streamed =
                    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
                let body = body(reply).await;
                match status.is_success() {
                    false => {
                        Outcome::Refused(status.as_u16(), short(&String::from_utf8_lossy(&body)))
                    }
                    true => {
                        let took = begun.elapsed();
                        let answer = activities(&body, streamed);
                        let called = self.called().await;
                        Outcome::Taken(Taken {
                            status: status.as_u16(),
                            took,
                            answered: answer.iter().filter_map(said).collect(),
                            streamed,
                            called: called.said,
                            pieces: called.pieces,
                            refused: called.refused,
                            signs_in: called.signs_in || answer.iter().any(Activity::is_sign_in),
                        })
                    }
                }
            }
        };
        Ok(Probe {
            mode,
            channel: channel.to_owned(),
            is_other: channel != self.case.channel(),
            outcome,
        })
    }

    /// A message with every field that some SDK insists on.
    fn activity(&self, mode: &DeliveryMode, channel: &str) -> Activity {
        let conversation = clock::new_id();
        Activity {
            id: Some(clock::new_id()),
            timestamp: Some(format!("{:.3}", clock::now())),
            service_url: Some(self.ear.service_url.clone()),
            channel_id: Some(channel.into()),
            from: Some(ChannelAccount::new("doctor", "doctor", "user")),
            recipient: Some(ChannelAccount::new("bot", "bot", "bot")),
            conversation: Some(ConversationAccount::new(conversation)),
            locale: Some("en-US".into()),
            delivery_mode: (*mode != DeliveryMode::Normal).then(|| mode.clone()),
            ..Activity::message(self.say)
        }
    }

    /// What the bot says until it is quiet.
    async fn called(&mut self) -> Called {
        let mut called = Called::default();
        while let Ok(Some(heard)) = timeout(QUIET, self.ear.next()).await {
            let info = heard.activity.stream_info();
            let is_piece = info.is_some_and(|one| one.stream_type == StreamType::Streaming);
            called.pieces += usize::from(is_piece);
            called.said.extend(said(&heard.activity));
            called.signs_in |= heard.activity.is_sign_in();
            if called.refused.is_none() {
                let shown = heard.authorization.as_ref();
                called.refused = self.case.refused(&self.ear.service_url, shown).await;
            }
        }
        called
    }
}

/// What a bot said in calls of its own.
#[derive(Default)]
struct Called {
    said: Vec<String>,
    /// How many were pieces of a stream.
    pieces: usize,
    /// Why the bridge would not have let in the first that it would not.
    refused: Option<String>,
    signs_in: bool,
}

/// What is there of a body, up to the limit: enough to see how the bot answers.
async fn body(mut reply: reqwest::Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(piece)) = reply.chunk().await {
        body.extend_from_slice(&piece);
        if body.len() > BODY {
            break;
        }
    }
    body
}

/// The activities of an answer: a list, or a stream of events.
fn activities(body: &[u8], streamed: bool) -> Vec<Activity> {
    let activities: Vec<Value> = match streamed {
        true => {
            let text = String::from_utf8_lossy(body);
            let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
            data.filter_map(|data| serde_json::from_str(data).ok())
                .collect()
        }
        false => match from_slice::<Value>(body) {
            Ok(mut answer) => match answer["activities"].take() {
                Value::Array(activities) => activities,
                _ => Vec::new(),
            },
            Err(_) => Vec::new(),
        },
    };
    let activities = activities.into_iter();
    activities
        .filter_map(|value| Activity::read(value).ok())
        .collect()
}

fn said(activity: &Activity) -> Option<String> {
    match (&activity.kind, &activity.text) {
        (ActivityType::Message, Some(text)) => Some(short(text)),
        (ActivityType::Message, None) => Some("something without text".to_owned()),
        // Signs of life, and the pieces of a stream.
        (_, _) => None,
    }
}

fn short(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(SHOWN).collect()
}

fn root(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.is_other {
            false => self.mode.as_str(),
            true => &self.channel,
        };
        write!(f, "{name:14} ")?;
        match &self.outcome {
            Outcome::Unreachable(reason) => write!(f, "cannot be reached: {reason}"),
            // SDKs have no better answer to a mode that they do not know.
            Outcome::Refused(status @ 500.., _) if self.mode != DeliveryMode::Normal => {
                write!(f, "not offered by this bot ({status}), which need not be")
            }
            Outcome::Refused(status, said) => write!(f, "refused with {status}: {said}"),
            Outcome::Taken(taken) => taken.fmt(f),
        }
    }
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {} ms, ", self.status, self.took.as_millis())?;
        let how = if self.streamed {
            "streamed"
        } else {
            "answered"
        };
        if self.pieces > 0 {
            write!(f, "streamed in {} pieces, ", self.pieces)?;
        }
        match (&self.answered[..], &self.called[..]) {
            ([], []) => f.write_str("and said nothing"),
            ([], called) => write!(f, "called back: {}", called.join(" | ")),
            (answered, []) => write!(f, "{how}: {}", answered.join(" | ")),
            (answered, called) => {
                write!(
                    f,
                    "{how}: {}; called back: {}",
                    answered.join(" | "),
                    called.join(" | ")
                )
            }
        }
    }
}
