//! The requests and responses of JSON-RPC 2.0 (specification, section 9).

mod envelope;
mod response;

use alloc::{
    borrow::Cow,
    format,
    string::{String, ToString as _},
};
use core::fmt;

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Number, Value};

use crate::{
    a2a::{Error, ErrorKind},
    wire::{self, FieldError, FieldName, Fields, Unparsed, Wire, parse, weight},
};
use envelope::{Envelope, text_without_escapes};
pub use response::{Response, RpcError};

/// The id that connects a response with its request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Id {
    /// A string, as most clients use.
    String(String),
    /// A number.
    Number(Number),
    /// Null, also in the response to a request whose id could not be read.
    Null,
    /// No id: the request is a notification, which gets no response. A2A has no notifications, because each operation
    /// has a result, so such a request is refused. The error has null as its id.
    Absent,
}

impl Wire for Id {
    fn read(value: Value) -> Result<Self, FieldError> {
        match value {
            Value::String(text) => Ok(Self::String(text)),
            Value::Number(number) => Ok(Self::Number(number)),
            Value::Null => Ok(Self::Null),
            other => Err(FieldError::unexpected(ID, &other)),
        }
    }
}

const ID: &str = "a string, a number or null";

impl Id {
    /// Reads an id; `None` if the JSON is not valid or no id.
    fn from_slice(json: &[u8]) -> Option<Self> {
        if let Some(text) = text_without_escapes(json) {
            return Some(Self::String(text.into()));
        }
        let number = serde_json::from_slice(json).map(Self::Number);
        number.ok().or_else(|| wire::from_slice(json).ok())
    }

    /// Refuses a request without an id. Call it after all other checks, so that the client first learns of other
    /// mistakes.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidRequest`] for [`Id::Absent`].
    pub fn answerable(&self) -> Result<(), Error> {
        match self {
            Self::String(_) | Self::Number(_) | Self::Null => Ok(()),
            Self::Absent => {
                let error = FieldError::new(ID, "nothing").inside("id");
                Err(Error::new(ErrorKind::InvalidRequest, format!("{error}")))
            }
        }
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::String(text) => serializer.serialize_str(text),
            Self::Number(number) => number.serialize(serializer),
            Self::Null | Self::Absent => serializer.serialize_unit(),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String(text) => write!(f, "{text:?}"),
            Self::Number(number) => number.fmt(f),
            Self::Null => f.write_str("null"),
            Self::Absent => f.write_str("nothing"),
        }
    }
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The id.
    pub id: Id,
    /// The method.
    pub method: String,
    /// The parameters, an empty object if absent or an empty list.
    pub params: Value,
}

/// The error for a request that cannot be read.
#[derive(Clone, Debug, PartialEq)]
pub struct BadRequest {
    /// The request's id; null if it could not be read.
    pub id: Id,
    /// The error.
    pub error: Error,
}

impl From<Unparsed> for BadRequest {
    fn from(unparsed: Unparsed) -> Self {
        Self { id: Id::Null, error: unparsed.into() }
    }
}

impl Request {
    /// Creates a request with an id.
    pub fn new(id: Id, method: impl Into<String>, params: Value) -> Self {
        Self { id, method: method.into(), params }
    }

    /// Reads a request from a body. Batches are refused: A2A has none.
    ///
    /// # Errors
    /// If the body is no JSON, or not a request: with the id of the request if it can be read.
    pub fn from_slice(body: &[u8]) -> Result<Self, BadRequest> {
        Self::from_value(parse(body)?)
    }

    /// Reads a request from JSON.
    ///
    /// # Errors
    /// If it is not a request: with the id of the request if it can be read.
    pub fn from_value(value: Value) -> Result<Self, BadRequest> {
        let mut fields = Fields::of(value).map_err(|error| bad(Id::Null, &error))?;
        let (id, method_and_params) = match fields.take("id").map_or(Ok(Id::Absent), Id::read) {
            Ok(id) => (id, read_method_and_params(fields)),
            Err(error) => {
                let error = read_version(&mut fields).and(Err(error.inside("id")));
                (Id::Null, error)
            }
        };
        match method_and_params {
            Ok((method, params)) => Ok(Self { id, method, params }),
            Err(error) => Err(bad(id, &error)),
        }
    }
}

/// A request whose parameters are not parsed yet. Once the version and the method are known, they are read in one
/// pass by `Version::params_text_to_v1`.
#[derive(Clone, Debug, PartialEq)]
pub struct RawRequest<'b> {
    /// The id.
    pub id: Id,
    /// The method.
    pub method: Cow<'b, str>,
    /// The parameters as JSON, an empty object if absent or an empty list. They may be invalid JSON in a way that only parsing shows;
    /// [`Request::from_slice`] then returns the error of the body.
    pub params: Cow<'b, str>,
}

impl<'b> RawRequest<'b> {
    /// Reads a request from a body.
    ///
    /// # Errors
    /// The errors of [`Request::from_slice`].
    pub fn from_slice(body: &'b [u8]) -> Result<Self, BadRequest> {
        weight::json(body).map_err(Unparsed::TooMuch)?;
        if let Some(request) = Envelope::of(body).and_then(|envelope| Self::of(&envelope)) {
            return Ok(request);
        }
        let Request { id, method, params } = Request::from_slice(body)?;
        Ok(Self { id, method: Cow::Owned(method), params: Cow::Owned(params.to_string()) })
    }

    /// Reads the members of a request of the usual form.
    fn of(envelope: &Envelope<'b>) -> Option<Self> {
        if envelope.jsonrpc != Some(b"\"2.0\"") {
            return None;
        }
        let method = envelope.method?;
        let method = match text_without_escapes(method) {
            Some(method) => Cow::Borrowed(method),
            None => serde_json::from_slice::<FieldName<'_>>(method).ok()?.0,
        };
        let params = match envelope.params {
            None | Some(b"null") => "{}",
            Some([b'[', space @ .., b']']) if space.trim_ascii().is_empty() => "{}",
            Some(params) => str::from_utf8(params).ok()?,
        };
        let id = match envelope.id {
            None => Id::Absent,
            Some(id) => Id::from_slice(id)?,
        };
        let is_structure = params.starts_with(['{', '[']);
        is_structure.then_some(Self { id, method, params: Cow::Borrowed(params) })
    }
}

fn bad(id: Id, error: &FieldError) -> BadRequest {
    let error = Error::new(ErrorKind::InvalidRequest, format!("{error}"));
    BadRequest { id, error }
}

fn read_method_and_params(mut fields: Fields) -> Result<(String, Value), FieldError> {
    read_version(&mut fields)?;
    let method = fields.required("method")?;
    let params = match fields.take("params") {
        None | Some(Value::Null) => Value::Object(Map::new()),
        // By position, no parameters are an empty list, which is also what PHP writes for an empty object.
        Some(Value::Array(list)) if list.is_empty() => Value::Object(Map::new()),
        Some(params @ (Value::Object(_) | Value::Array(_))) => params,
        Some(other) => return Err(FieldError::unexpected("an object", &other).inside("params")),
    };
    Ok((method, params))
}

fn read_version(fields: &mut Fields) -> Result<(), FieldError> {
    match fields.take("jsonrpc") {
        Some(Value::String(version)) if version == "2.0" => Ok(()),
        Some(other) => Err(FieldError::unexpected("\"2.0\"", &other).inside("jsonrpc")),
        None => Err(FieldError::new("\"2.0\"", "nothing").inside("jsonrpc")),
    }
}

impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("jsonrpc", "2.0")?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("method", &self.method)?;
        map.serialize_entry("params", &self.params)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_bad_request_says_what_is_wrong_and_keeps_its_id() {
        for (body, id, code, message) in [
            (
                "{",
                Id::Null,
                -32700,
                "the body is not JSON: EOF while parsing an object at line 1 column 1",
            ),
            ("[]", Id::Null, -32600, "expected an object, found a list"),
            (
                r#"{"jsonrpc":"2.0"}"#,
                Id::Absent,
                -32600,
                "method: expected a string, found nothing",
            ),
            (
                r#"{"id":7}"#,
                Id::Number(7.into()),
                -32600,
                "jsonrpc: expected \"2.0\", found nothing",
            ),
            (
                r#"{"jsonrpc":"2.0","id":"a"}"#,
                Id::String("a".into()),
                -32600,
                "method: expected a string, found nothing",
            ),
            (
                r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#,
                Id::Null,
                -32600,
                "id: expected a string, a number or null, found an object",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":3}"#,
                Id::Number(1.into()),
                -32600,
                "params: expected an object, found the number 3",
            ),
        ] {
            let bad = Request::from_slice(body.as_bytes()).unwrap_err();
            assert_eq!((bad.id, bad.error.kind.code()), (id, code), "{body}");
            assert_eq!(bad.error.message, message);
        }
    }

    #[test]
    fn a_raw_request_equals_the_parsed_one() {
        for body in [
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,"\u00e9"]}}"#,
            r#" {"method":"\u006d", "params": [ ], "jsonrpc":"2.0", "id":"a"} "#,
            r#"{"jsonrpc":"2.0","method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"m","params":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m","params":{},"params":{"b":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","x":{"a":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","x":"\ud800"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":3}"#,
            r#"{"jsonrpc":"2.1","id":1,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m"} x"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m""#,
            "[]",
            "",
        ] {
            let asked = RawRequest::from_slice(body.as_bytes()).map(|asked| Request {
                id: asked.id,
                method: asked.method.into_owned(),
                params: serde_json::from_str(&asked.params).unwrap(),
            });
            assert_eq!(asked, Request::from_slice(body.as_bytes()), "{body}");
        }
    }

    #[test]
    fn an_empty_list_of_parameters_is_none() {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[]}"#;
        assert_eq!(Request::from_slice(body.as_bytes()).unwrap().params, json!({}));
    }

    #[test]
    fn a_request_without_an_id_is_refused() {
        let read = |body| Request::from_value(body).unwrap();
        let absent = read(json!({"jsonrpc": "2.0", "method": "m"}));
        assert_eq!(absent, Request::new(Id::Absent, "m", json!({})));
        let error = absent.id.answerable().unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidRequest);
        assert_eq!(error.message, "id: expected a string, a number or null, found nothing");
        let null = read(json!({"jsonrpc": "2.0", "id": null, "method": "m"}));
        assert_eq!(null.id.answerable(), Ok(()));
    }
}
