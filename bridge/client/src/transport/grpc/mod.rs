//! gRPC (specification, section 10): the service `lf.a2a.v1.A2AService`, and in 0.3 `a2a.v1.A2AService`. It uses the
//! same HTTP client as the other bindings, with the same settings.
//!
//! - [`messages`]: sends a request and reads its messages

mod messages;

use std::{sync::LazyLock, time::Duration};

use bridge_protocol::{
    a2a::{Operation, StreamResponse},
    dialect::{Call, Losses, Version},
    protobuf::{self, ReadError, path, read, v1, write_call},
    wire::{FieldError, weight::TooMuch},
};
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::{FutureExt as _, StreamExt as _, future::ready, stream};
use reqwest::{
    Method, RequestBuilder,
    header::{CONTENT_TYPE, TE},
};

use self::messages::Messages;
use super::{Answer, Item, Items, report, version_json};
use crate::{
    Fault, GrpcMeter,
    http::{Endpoint, HEAVIEST, LIGHT, too_heavy, within},
};

static MESSAGES: LazyLock<protobuf::Messages> = LazyLock::new(protobuf::Messages::new);

/// The time for which a subscription's beginning is waited for, so that a refusal is told at once. Most servers send nothing
/// before the first event, and those of 0.3 need not begin with the task.
const BEGIN: Duration = Duration::from_secs(2);

/// Makes calls to the service at one address.
#[derive(Debug)]
pub(crate) struct Grpc {
    pub(crate) meter: Option<GrpcMeter>,
}

impl Grpc {
    pub(crate) async fn call<T: Answer>(&self, to: &Endpoint, call: &Call) -> Result<T, Fault> {
        let limit = to.limits.reply;
        let request = request(to, call)?.header("grpc-timeout", timeout(limit));
        let exchange = async {
            let mut messages = Messages::of(to, self.meter.clone(), request).await?;
            let Some(message) = messages.next().await? else {
                let error = FieldError::new("one message", "nothing");
                return Err(Fault::Invalid(error));
            };
            // The trailers after the message say whether the call succeeded.
            match messages.next().await? {
                None => answer(to.version, call.operation(), &message),
                Some(_) => Err(Fault::Invalid(FieldError::new("one message", "several"))),
            }
        };
        within(limit, exchange).await
    }

    pub(crate) async fn open(
        &self,
        to: &Endpoint,
        call: &Call,
        after: Option<&str>,
    ) -> Result<Items, Fault> {
        let limits = to.limits;
        let request = match after {
            Some(id) => request(to, call)?.header("last-event-id", id),
            None => request(to, call)?,
        };
        // The events of the other bindings have ids.
        let request = match to.sequence.request() {
            Some(extension) => request.header("a2a-extensions", extension),
            None => request,
        };
        let (endpoint, meter) = (to.clone(), self.meter.clone());
        let mut opening = async move { Messages::of(&endpoint, meter, request).await }.boxed();
        let begun = match call {
            Call::SubscribeToTask(_) => tokio::time::timeout(BEGIN, &mut opening).await.ok(),
            _ => Some(within(limits.reply, &mut opening).await),
        };
        let messages = match begun {
            Some(messages) => ready(Ok(messages?)).boxed(),
            None => opening,
        };
        let (version, operation) = (to.version, call.operation());
        let items = stream::try_unfold(messages, move |messages| async move {
            let next = async {
                let mut messages = messages.await?;
                let Some(message) = messages.next().await? else {
                    return Ok(None);
                };
                let item = item(version, operation, &message)?;
                Ok(Some((item, ready(Ok(messages)).boxed())))
            };
            within(limits.idle, next).await
        });
        Ok(items.boxed())
    }
}

fn request(to: &Endpoint, call: &Call) -> Result<RequestBuilder, Fault> {
    let version = to.version;
    let path = path(version, call.operation());
    let mut url = to.url.clone();
    url.set_path(&path.ok_or(Fault::NotInVersion(version.as_str()))?);
    let message = match version {
        Version::V1_0 => write_call(call),
        Version::V0_1 | Version::V0_3 => {
            let mut losses = Losses::default();
            let message = MESSAGES.write_call(call, &mut losses);
            report(to, call, &losses);
            message
        }
    };
    let request = to.http.request(Method::POST, url);
    let request = request.header(CONTENT_TYPE, "application/grpc");
    Ok(request.header(TE, "trailers").body(frame(&message)))
}

fn answer<T: Answer>(version: Version, operation: Operation, message: &[u8]) -> Result<T, Fault> {
    check_weight(version, operation, message)?;
    match version {
        Version::V1_0 => T::read_message(message).map_err(invalid),
        Version::V0_1 | Version::V0_3 => {
            let value = MESSAGES.read_answer(operation, message).map_err(invalid)?;
            version_json::reply(version, value).map_err(Fault::Invalid)
        }
    }
}

/// Returns the message in its frame: a byte for no compression, and the length.
fn frame(message: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(message.len() + 5);
    frame.put_u8(0);
    // A message too long for the length field is too long for any server.
    frame.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    frame.put_slice(message);
    frame.freeze()
}

/// Returns a duration as a `grpc-timeout` header, which has at most eight digits.
fn timeout(limit: Duration) -> String {
    match limit.as_millis() {
        millis @ ..=99_999_999 => format!("{millis}m"),
        _ => format!("{}S", limit.as_secs().min(99_999_999)),
    }
}

/// Refuses a message whose values would take too much memory, as [`crate::http::check_weight`] does.
fn check_weight(version: Version, operation: Operation, message: &[u8]) -> Result<(), Fault> {
    if message.len() <= LIGHT {
        return Ok(());
    }
    match MESSAGES.weigh_answer(version, operation, message, HEAVIEST) {
        Err(TooMuch::Values) => Err(too_heavy()),
        // The reader limits the depth, too.
        Ok(_) | Err(TooMuch::Depth | TooMuch::MessageDepth) => Ok(()),
    }
}

fn item(version: Version, operation: Operation, message: &[u8]) -> Result<Item, Fault> {
    check_weight(version, operation, message)?;
    let event = match version {
        Version::V1_0 => read::<v1::StreamResponse, StreamResponse>(message).map_err(invalid)?,
        Version::V0_1 | Version::V0_3 => {
            let value = MESSAGES.read_answer(operation, message).map_err(invalid)?;
            version_json::item(version, value).map_err(Fault::Invalid)?
        }
    };
    // gRPC messages have no ids.
    Ok(Item::new(None, event))
}

fn invalid(error: ReadError) -> Fault {
    Fault::Invalid(match error {
        ReadError::Bytes(error) => FieldError::new("protocol buffers", error.to_string()),
        ReadError::TooMuch(error) => FieldError::new("less", error.to_string()),
        ReadError::Field(error) => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_fits_into_eight_digits() {
        for (limit, expected) in [
            (Duration::from_secs(300), "300000m"),
            (Duration::from_millis(99_999_999), "99999999m"),
            (Duration::from_secs(100_000), "100000S"),
            (Duration::MAX, "99999999S"),
        ] {
            assert_eq!(timeout(limit), expected);
        }
    }

    #[test]
    fn an_answer_of_little_but_structure_is_refused() {
        // `StreamResponse.message`, field 2, with that many bytes of `Message.parts`, field 5.
        let parts = [0x2a, 0x00].repeat(1 << 20);
        let message = [&[0x12, 0x80, 0x80, 0x80, 0x01][..], &parts].concat();
        for version in [Version::V0_3, Version::V1_0] {
            let fault = item(version, Operation::SendStreamingMessage, &message).unwrap_err();
            let expected = "expected values that take at most 256 MiB of memory, found more";
            assert!(fault.to_string().ends_with(expected), "{fault}");
        }
    }

    #[test]
    fn a_frame_says_how_long_its_message_is() {
        assert_eq!(frame(b"abc").as_ref(), b"\0\0\0\0\x03abc");
    }
}
