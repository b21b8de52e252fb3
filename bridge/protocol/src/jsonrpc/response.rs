//! Responses and their errors.

use alloc::{format, string::String, vec::Vec};

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use super::{Id, read_version};
use crate::{
    a2a::{Error, ErrorKind},
    wire::{FieldError, Fields, Wire},
};

/// A response, with a result of any type that can be serialized.
#[derive(Clone, Debug, PartialEq)]
pub struct Response<T = Value> {
    /// The request's id.
    pub id: Id,
    /// The result or the error.
    pub outcome: Result<T, RpcError>,
}

/// An error in the form of JSON-RPC. Codes that A2A does not define are preserved.
#[derive(Clone, Debug, PartialEq, Serialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// The code.
    pub code: i64,
    /// The message for people.
    pub message: String,
    /// Additional data; in A2A 1.0 a list of details.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// Returns the kind of the error, if A2A defines its code. Of several kinds with this code it is the one that
    /// `google.rpc.ErrorInfo` names, if the error has such a detail.
    pub fn kind(&self) -> Option<ErrorKind> {
        let mut reasons = self.details().filter_map(|detail| detail.get("reason")?.as_str());
        let of_reason = |reason: &str| {
            let is_named = |kind: &&ErrorKind| (kind.code(), kind.reason()) == (self.code, reason);
            ErrorKind::ALL.iter().find(is_named).copied()
        };
        reasons.find_map(of_reason).or_else(|| ErrorKind::from_code(self.code))
    }

    fn details(&self) -> impl Iterator<Item = &Value> {
        self.data.iter().flat_map(Value::as_array).flatten()
    }

    /// Returns the fields that `google.rpc.BadRequest` names, if the error has such a detail.
    pub fn fields(&self) -> Vec<&str> {
        let mut fields = Vec::new();
        for detail in self.details() {
            let violations = detail.get("fieldViolations").and_then(Value::as_array);
            for violation in violations.into_iter().flatten() {
                fields.extend(violation.get("field").and_then(Value::as_str));
            }
        }
        fields
    }
}

impl From<Error> for RpcError {
    fn from(error: Error) -> Self {
        Self {
            code: error.kind.code(),
            data: Some(Value::Array(error.all_details())),
            message: error.message,
        }
    }
}

impl Wire for RpcError {
    fn read(value: Value) -> Result<Self, FieldError> {
        let mut fields = Fields::of(value)?;
        let code = fields.take("code").unwrap_or(Value::Null);
        Ok(Self {
            code: code
                .as_i64()
                .ok_or_else(|| FieldError::unexpected("an integer", &code).inside("code"))?,
            message: fields.optional("message")?,
            data: fields.optional("data")?,
        })
    }
}

impl<T> Response<T> {
    /// Returns the outcome, if this is the response to the request with this id. An error may have null or no id, if
    /// the server could not read the request's. A number may be returned as a text, and the reverse.
    ///
    /// # Errors
    /// If this is the response to another request.
    pub fn answering(self, asked: &Id) -> Result<Result<T, RpcError>, FieldError> {
        let is_answer = match (&self.id, asked) {
            (Id::Null | Id::Absent, _) => self.outcome.is_err(),
            (Id::Number(id), Id::String(asked)) | (Id::String(asked), Id::Number(id)) => {
                format!("{id}") == *asked
            }
            (id, asked) => id == asked,
        };
        match is_answer {
            true => Ok(self.outcome),
            false => {
                let expected = format!("{asked}, the id of the request");
                Err(FieldError::new(expected, format!("{}", self.id)).inside("id"))
            }
        }
    }
}

impl Response<Value> {
    /// Reads a response from a body.
    ///
    /// # Errors
    /// If the body is no JSON, or not a response: the path of the invalid field, and what was expected there.
    pub fn from_slice(body: &[u8]) -> Result<Self, FieldError> {
        crate::wire::from_slice(body)
    }
}

impl Wire for Response<Value> {
    fn read(value: Value) -> Result<Self, FieldError> {
        let mut fields = Fields::of(value)?;
        read_version(&mut fields)?;
        let id = match fields.take("id") {
            Some(id) => Id::read(id).map_err(|error| error.inside("id"))?,
            None => Id::Null,
        };
        // Some servers write `"error": null` beside a result.
        let error: Option<RpcError> = fields.optional("error")?;
        let outcome = match (fields.take("result"), error) {
            (_, Some(error)) => Err(error),
            (Some(result), None) => Ok(result),
            (None, None) => return Err(FieldError::new("a result or an error", "neither")),
        };
        Ok(Self { id, outcome })
    }
}

impl<T: Serialize> Serialize for Response<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("jsonrpc", "2.0")?;
        map.serialize_entry("id", &self.id)?;
        match &self.outcome {
            Ok(result) => map.serialize_entry("result", result)?,
            Err(error) => map.serialize_entry("error", error)?,
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use serde_json::json;

    use super::*;

    #[test]
    fn errors_with_one_code_are_told_apart_by_their_reason() {
        for kind in ErrorKind::ALL {
            assert_eq!(RpcError::from(Error::from(*kind)).kind(), Some(*kind));
        }
        let mut error = RpcError::from(Error::from(ErrorKind::Unavailable));
        error.code = ErrorKind::TaskNotFound.code();
        assert_eq!(error.kind(), Some(ErrorKind::TaskNotFound), "the code is of another kind");
        error.code = 7;
        assert_eq!(error.kind(), None);
    }

    #[test]
    fn a_response_must_have_the_id_of_the_request() {
        let number = |value: u64| Id::Number(value.into());
        let text = |value: &str| Id::String(value.into());
        for (id, asked, is_answer) in [
            (text("a"), text("a"), true),
            (Id::Null, text("a"), false),
            (Id::Absent, text("a"), false),
            (number(1), text("1"), true),
            (text("1"), number(1), true),
            (text("b"), text("a"), false),
            (number(2), number(1), false),
            (number(1), text("a"), false),
        ] {
            let outcome = Response { id, outcome: Ok(7) }.answering(&asked);
            assert_eq!(outcome.is_ok(), is_answer, "{asked}");
        }
        let refused = |id| Response::<u8> {
            id,
            outcome: Err(Error::new(ErrorKind::InvalidRequest, "no").into()),
        };
        assert!(refused(Id::Null).answering(&text("a")).is_ok());
        assert!(refused(text("b")).answering(&text("a")).is_err());
        let error = Response { id: text("b"), outcome: Ok(7) }.answering(&text("a"));
        let error = error.unwrap_err().to_string();
        assert_eq!(error, r#"id: expected "a", the id of the request, found "b""#);
    }

    #[test]
    fn an_error_carries_its_details() {
        let field = FieldError::new("a string", "nothing").inside("messageId").inside("message");
        let response =
            Response::<Value> { id: Id::Number(1.into()), outcome: Err(Error::from(field).into()) };
        let written = serde_json::to_value(&response).unwrap();
        assert_eq!(written["error"]["code"], -32602);
        assert_eq!(written["error"]["data"][0]["reason"], "INVALID_PARAMS");
        let read = Response::read(written).unwrap();
        assert_eq!(read, response);
        assert_eq!(read.outcome.unwrap_err().fields(), ["message.messageId"]);
    }

    #[test]
    fn a_response_is_a_result_or_an_error() {
        let both = json!({"jsonrpc": "2.0", "id": 1, "result": {"a": 1}, "error": null});
        assert_eq!(Response::read(both).unwrap().outcome, Ok(json!({"a": 1})));
        let neither = Response::read(json!({"jsonrpc": "2.0", "id": 1})).unwrap_err();
        assert_eq!(neither.to_string(), "expected a result or an error, found neither");
    }
}
