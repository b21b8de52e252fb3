//! Sends a message to a bot in one delivery mode and evaluates the answer.

use std::{fmt, time::Duration};

use bridge_auth::display_url;
use bridge_http::{redirect_target, root_cause, with_shared_tls};
use bridge_program::secret::Secret;
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
use tokio::time::{Instant, timeout_at};

use super::{Result, callback_listener::CallbackListener, examined_bot::ExaminedBot};
use crate::clock;

/// The channel on which some bots talk to other agents.
pub(super) const AGENTS: &str = "a2a";

/// The time limit of a bot's HTTP answer, and of its calls after it.
const ANSWER: Duration = Duration::from_secs(30);

/// The time limit for the first word of a bot that has said nothing in its HTTP answer: some ask a model then. A bot that
/// has been silent for so long once is not waited for again.
const FIRST: Duration = Duration::from_secs(10);

/// The time limit for a bot's calls after its answer, and between two calls.
const QUIET: Duration = Duration::from_secs(2);

/// The size of the largest HTTP answer, in bytes.
const BODY: usize = 4 << 20;

/// The number of characters of a message that are shown.
const SHOWN: usize = 80;

/// A bot's answer in one delivery mode.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) mode: DeliveryMode,
    /// The channel reported to the bot.
    pub(super) channel: String,
    /// Whether it is not the default channel.
    pub(super) is_other: bool,
    pub(super) outcome: Outcome,
}

#[derive(Debug)]
pub(super) enum Outcome {
    /// The bot cannot be reached.
    Unreachable(String),
    /// The bot answered with this status and explanation.
    Refused(u16, String),
    /// The bot accepted the message.
    Accepted(ProbeAnswer),
}

impl Outcome {
    /// Returns the answer of a bot that accepted the message.
    pub(super) fn accepted(&self) -> Option<&ProbeAnswer> {
        match self {
            Self::Accepted(taken) => Some(taken),
            Self::Refused(..) | Self::Unreachable(_) => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct ProbeAnswer {
    pub(super) status: u16,
    pub(super) took: Duration,
    /// The texts in the HTTP answer.
    pub(super) answered: Vec<String>,
    /// Whether the answer was a stream of events.
    pub(super) streamed: bool,
    /// The texts in the bot's calls.
    pub(super) called: Vec<String>,
    /// The number of calls with pieces of a stream.
    pub(super) pieces: usize,
    /// The reason why the bridge would have refused a call.
    pub(super) refused: Option<String>,
    /// Whether the bot asked its user to sign in.
    pub(super) signs_in: bool,
}

/// Sends messages to a bot.
pub(super) struct Prober<'a> {
    http: Client,
    case: &'a ExaminedBot,
    authorization: Option<HeaderValue>,
    say: &'a str,
    ear: CallbackListener,
    /// The conversations of earlier probes, in which a slow bot may still speak.
    earlier: Vec<String>,
    /// The time limit for the first word.
    first: Duration,
}

impl<'a> Prober<'a> {
    /// Creates a prober with the credential for the bot.
    pub(super) async fn new(
        case: &'a ExaminedBot,
        say: &'a str,
        ear: CallbackListener,
    ) -> Result<Self> {
        let http = with_shared_tls(Client::builder()).redirect(redirect::Policy::none());
        // The bridge calls bots without a proxy, too.
        let http = http.no_proxy().timeout(ANSWER).build()?;
        Ok(Self {
            http,
            case,
            authorization: case.authorization(&ear.service_url).await?,
            say,
            ear,
            earlier: Vec::new(),
            first: FIRST,
        })
    }

    /// Returns the beginning of a refusal, without the credential, which error pages may repeat.
    fn refusal(&self, body: &[u8]) -> String {
        let credential = Secret::of_authorization(self.authorization.as_ref());
        short(&credential.mask_in(&String::from_utf8_lossy(body)))
    }

    pub(super) async fn probe(&mut self, mode: DeliveryMode, channel: &str) -> Result<Probe> {
        let begun = Instant::now();
        let activity = self.activity(&mode, channel);
        let request = self.http.post(self.case.url.clone()).json(&activity);
        let request = match &self.authorization {
            Some(shown) => request.header(AUTHORIZATION, shown),
            None => request,
        };
        let outcome = match request.send().await {
            Err(error) => Outcome::Unreachable(root_cause(&error)),
            Ok(reply) => {
                let status = reply.status();
                let kind = reply.headers().get(CONTENT_TYPE).cloned();
                let streamed =
                    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
                let target = redirect_target(&reply).map(|url| format!("to {}", display_url(&url)));
                let body = body(reply).await;
                match status.is_success() {
                    false => {
                        let said = || self.refusal(&body);
                        Outcome::Refused(status.as_u16(), target.unwrap_or_else(said))
                    }
                    true => {
                        let took = begun.elapsed();
                        let answer = activities(&body, streamed);
                        let called = self.called(!answer.is_empty()).await;
                        Outcome::Accepted(ProbeAnswer {
                            status: status.as_u16(),
                            took,
                            answered: answer.iter().filter_map(text_of).collect(),
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
        let conversation = activity.conversation.and_then(|conversation| conversation.id);
        self.earlier.extend(conversation);
        Ok(Probe {
            mode,
            channel: channel.to_owned(),
            is_other: channel != self.case.channel(),
            outcome,
        })
    }

    /// Returns a message with every field that any SDK requires.
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

    /// Collects the bot's calls until it is silent, or has talked for as long as an answer may take.
    async fn called(&mut self, mut has_spoken: bool) -> BotCalls {
        let mut called = BotCalls::default();
        let end = Instant::now() + ANSWER;
        let mut until = Instant::now() + if has_spoken { QUIET } else { self.first };
        while Instant::now() < until
            && let Ok(Some(heard)) = timeout_at(until, self.ear.heard.recv()).await
        {
            if heard.is_in_any(&self.earlier) {
                continue;
            }
            (has_spoken, until) = (true, end.min(Instant::now() + QUIET));
            let info = heard.activity.stream_info();
            let is_piece = info.is_some_and(|one| one.stream_type == StreamType::Streaming);
            called.pieces += usize::from(is_piece);
            called.said.extend(text_of(&heard.activity));
            called.signs_in |= heard.activity.is_sign_in();
            if called.refused.is_none() {
                let shown = heard.authorization.as_ref();
                called.refused = self.case.refused(&self.ear.service_url, shown).await;
            }
        }
        if !has_spoken {
            self.first = QUIET;
        }
        called
    }
}

/// The content of a bot's calls.
#[derive(Default)]
struct BotCalls {
    said: Vec<String>,
    /// The number of pieces of a stream.
    pieces: usize,
    /// The reason why the bridge would have refused a call, for the first such call.
    refused: Option<String>,
    signs_in: bool,
}

/// Returns the beginning of a body up to the limit, which is enough to evaluate the answer.
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

/// Returns the activities in an answer: a list, or a stream of events.
fn activities(body: &[u8], streamed: bool) -> Vec<Activity> {
    let activities: Vec<Value> = match streamed {
        true => {
            let text = String::from_utf8_lossy(body);
            let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
            data.filter_map(|data| serde_json::from_str(data).ok()).collect()
        }
        false => {
            let mut answer: Value = from_slice(body).unwrap_or_default();
            match answer.get_mut("activities").map(Value::take) {
                Some(Value::Array(activities)) => activities,
                _ => Vec::new(),
            }
        }
    };
    let activities = activities.into_iter();
    activities.filter_map(|value| Activity::read(value).ok()).collect()
}

fn text_of(activity: &Activity) -> Option<String> {
    match (&activity.kind, &activity.text) {
        (ActivityType::Message, Some(text)) => Some(short(text)),
        (ActivityType::Message, None) => Some("something without text".to_owned()),
        // Keep-alives, and pieces of a stream.
        (_, _) => None,
    }
}

fn short(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(SHOWN).collect()
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.is_other { &self.channel } else { self.mode.as_str() };
        write!(f, "{name:14} ")?;
        match &self.outcome {
            Outcome::Unreachable(reason) => write!(f, "cannot be reached: {reason}"),
            // SDKs answer an unknown mode with such a status.
            Outcome::Refused(status @ 500.., _) if self.mode != DeliveryMode::Normal => {
                write!(f, "not supported by this bot ({status}); this is optional")
            }
            Outcome::Refused(status, said) if said.is_empty() => write!(f, "refused with {status}"),
            Outcome::Refused(status, said) => write!(f, "refused with {status}: {said}"),
            Outcome::Accepted(taken) => taken.fmt(f),
        }
    }
}

impl fmt::Display for ProbeAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {} ms, ", self.status, self.took.as_millis())?;
        let how = if self.streamed { "streamed" } else { "answered" };
        if self.pieces > 0 {
            write!(f, "streamed in {} pieces, ", self.pieces)?;
        }
        match (&self.answered[..], &self.called[..]) {
            ([], []) => f.write_str("no answer"),
            ([], called) => write!(f, "called back: {}", called.join(" | ")),
            (answered, []) => write!(f, "{how}: {}", answered.join(" | ")),
            (answered, called) => {
                write!(f, "{how}: {}; called back: {}", answered.join(" | "), called.join(" | "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        sync::mpsc,
        time::{sleep, timeout},
    };

    use super::*;
    use crate::cli::doctor::callback_listener::ReceivedActivity;

    #[test]
    fn an_answer_without_activities_has_none() {
        for body in ["", "[]", "\"OK\"", "1", "null", "{}", r#"{"activities": {}}"#] {
            assert!(activities(body.as_bytes(), false).is_empty(), "{body}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_bot_that_never_stops_talking_is_left() {
        let (sender, heard) = mpsc::channel(1);
        let ear = CallbackListener { base: String::new(), service_url: "http://h/".into(), heard };
        tokio::spawn(async move {
            let said = || ReceivedActivity {
                activity: Activity::message("tick"),
                path: "x".to_owned(),
                authorization: None,
            };
            while sender.send(said()).await.is_ok() {
                sleep(QUIET / 2).await;
            }
        });
        let case = ExaminedBot::at("http://h/api/messages".parse().unwrap());
        let mut prober = Prober::new(&case, "hello", ear).await.unwrap();
        let called = timeout(2 * ANSWER, prober.called(false)).await.unwrap();
        assert!(called.said.len() > 10, "{:?}", called.said);
        // What belongs to an earlier conversation does not count as an answer.
        prober.earlier.push("x".to_owned());
        let called = timeout(2 * ANSWER, prober.called(false)).await.unwrap();
        assert!(called.said.is_empty(), "{:?}", called.said);
    }
}
