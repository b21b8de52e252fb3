//! Reads a bot's HTTP answers in all their forms.
//!
//! | answer | meaning |
//! |-|-|
//! | 202 | the message was accepted; the turn may be over or not |
//! | 200, 201 and other success codes | the turn is over |
//! | with `{activities}`, as for `expectReplies` | the turn is over, with these activities |
//! | with `text/event-stream`, as for `stream` | the turn is over, with these activities as a stream of events |
//! | to an `invoke`, not as a stream: all codes but 401, 403 and 5xx | the result of the invoke; also 501, for an unsupported one |

use std::pin::pin;

use bridge_auth::display_url;
use bridge_http::redirect_target;
use bridge_program::secret::Secret;
use bridge_protocol::{
    activity::{Activity, ActivityType},
    sse::{SseData, SseParser},
    wire::{FieldError, Unparsed, Wire as _, parse},
};
use futures_util::{StreamExt as _, TryStreamExt as _};
use reqwest::{
    Response, StatusCode,
    header::{CONTENT_TYPE, HeaderValue},
};
use serde_json::{Value, json};

use super::{
    RemoteBot,
    call::{self, CallError},
    open_turns::OpenTurn,
    redactor::Redactor,
    turn_progress,
};

/// The length of the excerpt of an error response in the log, in characters.
const EXCERPT: usize = 300;

/// The state of the turn according to an HTTP answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResponseOutcome {
    /// The turn is over.
    TurnOver,
    /// The message was accepted; it is not known whether the turn is over.
    Accepted,
}

/// Reads the HTTP answers of one turn.
pub(super) struct ResponseReader<'a> {
    pub(super) bot: &'a RemoteBot,
    pub(super) open_turn: &'a OpenTurn,
    /// Whether the bot was asked for a list of replies.
    pub(super) expects_replies: bool,
    pub(super) redactor: &'a Redactor,
    /// The credential that the bot was shown.
    pub(super) credential: Option<HeaderValue>,
    /// Whether the request was an invoke.
    pub(super) is_invoke: bool,
}

impl ResponseReader<'_> {
    /// Reads a whole answer and passes its activities to the turn.
    pub(super) async fn read(&self, answer: Response) -> Result<ResponseOutcome, CallError> {
        let status = answer.status();
        if status.is_success() && is_stream(&answer) {
            return self.read_stream(answer).await;
        }
        if self.is_invoke && is_from_handler(status) {
            return self.read_invoke_response(answer).await;
        }
        if !status.is_success() {
            return Err(self.rejection(answer).await);
        }
        let body = call::body(self.bot, answer).await?;
        self.deliver_replies(&body).await?;
        Ok(match status {
            StatusCode::ACCEPTED => ResponseOutcome::Accepted,
            _ => ResponseOutcome::TurnOver,
        })
    }

    /// Delivers the activities of a body that is a list of replies.
    async fn deliver_replies(&self, body: &[u8]) -> Result<(), CallError> {
        if body.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let replies = match parse(body) {
            Ok(mut body) => activities(&mut body),
            Err(Unparsed::TooMuch(error)) => return Err(CallError::TooMuch(error)),
            Err(Unparsed::Syntax(_)) => None,
        };
        let Some(replies) = replies else {
            let error = FieldError::new("an object with activities", "something else");
            return if self.expects_replies { Err(CallError::Unexpected(error)) } else { Ok(()) };
        };
        self.deliver_all(replies).await
    }

    async fn deliver_all(&self, replies: Vec<Value>) -> Result<(), CallError> {
        for (index, reply) in replies.into_iter().enumerate() {
            let placed = |error: FieldError| error.at(index).inside("activities");
            let delivered = self.deliver(reply).await;
            delivered.map_err(|error| CallError::Unexpected(placed(error)))?;
        }
        Ok(())
    }

    async fn read_stream(&self, answer: Response) -> Result<ResponseOutcome, CallError> {
        let (largest, limit) = (self.bot.settings.answer_limit, self.bot.settings.request_timeout);
        let mut room = largest;
        let pieces = answer.bytes_stream().map(move |piece| {
            let piece = piece?;
            room = room.checked_sub(piece.len()).ok_or(CallError::TooLarge(largest))?;
            Ok::<_, CallError>(piece)
        });
        let mut pieces = pin!(pieces);
        let mut parser = SseParser::new(largest);
        loop {
            let (progress, next) = (self.open_turn.progress(), pin!(pieces.try_next()));
            let next = turn_progress::until_silent(progress, limit, next).await;
            let Some(piece) = next.unwrap_or(Err(CallError::Late(limit)))? else {
                return Ok(ResponseOutcome::TurnOver);
            };
            for event in parser.push(&piece) {
                let name = event.event.unwrap_or_default();
                // A larger event cannot arrive: all of the answer is within the limit.
                if let SseData::Whole(data) = event.data {
                    self.event(&name, &data).await?;
                }
            }
        }
    }

    async fn event(&self, name: &str, data: &str) -> Result<(), CallError> {
        let unexpected = |error: FieldError| CallError::Unexpected(error.inside(name));
        let data = || {
            parse(data.as_bytes()).map_err(|error| match error {
                Unparsed::TooMuch(error) => CallError::TooMuch(error),
                Unparsed::Syntax(_) => unexpected(FieldError::new("JSON", "something else")),
            })
        };
        match name {
            "activity" => self.deliver(data()?).await.map_err(unexpected),
            "invokeResponse" => (self.deliver_invoke_response(data()?).await).map_err(unexpected),
            // Other events are not part of the protocol.
            _ => Ok(()),
        }
    }

    /// Delivers the result of an invoke as data with its status. Replies may accompany it.
    async fn read_invoke_response(&self, answer: Response) -> Result<ResponseOutcome, CallError> {
        let status = answer.status().as_u16();
        let body = call::body(self.bot, answer).await?;
        let text = || Value::from(String::from_utf8_lossy(&body).into_owned());
        let mut body = match body.is_empty() {
            true => Value::Null,
            false => parse(&body).unwrap_or_else(|_| text()),
        };
        if let Some(replies) = activities(&mut body) {
            self.deliver_all(replies).await?;
            body = body["body"].take();
        }
        let response = json!({"status": status, "body": body});
        self.deliver_invoke_response(response).await.map_err(CallError::Unexpected)?;
        Ok(ResponseOutcome::TurnOver)
    }

    async fn deliver_invoke_response(&self, response: Value) -> Result<(), FieldError> {
        self.deliver(json!({"type": ActivityType::InvokeResponse.as_str(), "value": response}))
            .await
    }

    async fn deliver(&self, activity: Value) -> Result<(), FieldError> {
        let activity = Activity::read(self.redactor.activity(activity))?;
        // If the log fails, the end of the turn reports it.
        let _ = self.open_turn.enqueue(Box::new(activity), None).await;
        Ok(())
    }

    async fn rejection(&self, answer: Response) -> CallError {
        let status = answer.status();
        if let Some(target) = redirect_target(&answer) {
            return CallError::Redirected { status, target: display_url(&target) };
        }
        let body = call::body(self.bot, answer).await.unwrap_or_default();
        CallError::Status { status, body: excerpt(&body, self.redactor, self.credential.as_ref()) }
    }
}

/// Returns the beginning of an error response for the log, without the credential, which error pages may repeat. A secret that
/// is cut before it is masked would be shown in part.
fn excerpt(body: &[u8], redactor: &Redactor, credential: Option<&HeaderValue>) -> String {
    let text = redactor.text(&String::from_utf8_lossy(body));
    let text = Secret::of_authorization(credential).mask_in(&text);
    text.chars().take(EXCERPT).collect()
}

/// Returns whether a status comes from the handler of an invoke, and not from the server in front of it.
fn is_from_handler(status: StatusCode) -> bool {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => false,
        StatusCode::NOT_IMPLEMENTED => true,
        other => !other.is_server_error() && !other.is_redirection(),
    }
}

fn is_stream(answer: &Response) -> bool {
    let kind = answer.headers().get(CONTENT_TYPE);
    kind.and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.starts_with("text/event-stream"))
}

/// Takes the list of replies out of a body, if it has one.
fn activities(body: &mut Value) -> Option<Vec<Value>> {
    let activities = body.get_mut("activities")?.as_array_mut()?;
    Some(std::mem::take(activities))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_at_the_end_of_an_excerpt_is_masked() {
        let redactor = Redactor::new("s3cret", "http://box:1", "http://box:1", "https://public");
        let body = format!("{}s3cret and more", "x".repeat(EXCERPT - 3));
        let masked = "x".repeat(EXCERPT - 3) + "***";
        assert_eq!(excerpt(body.as_bytes(), &redactor, None), masked);
        let redactor = Redactor::new("other", "http://box:1", "http://box:1", "https://public");
        for credential in ["Bearer s3cret", "s3cret"] {
            let credential = HeaderValue::from_static(credential);
            assert_eq!(excerpt(body.as_bytes(), &redactor, Some(&credential)), masked);
        }
    }
}
