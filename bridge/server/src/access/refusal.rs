//! Answers refused requests with an HTTP status, challenges, and a body in the form of the binding
//! (specification 7.3, 9.5, 10.6, 11.6; RFC 9110, section 11.6): a JSON-RPC error, problem details with an
//! `error` in the form of `google.rpc.Status`, or `grpc-status` in the headers and no body.

use std::{collections::BTreeMap, iter};

use axum::{
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
    },
    response::{IntoResponse as _, Response},
};
use bridge_protocol::{
    a2a::{Binding, retry_info},
    jsonrpc::Id,
};
use serde_json::{Value, json};

use super::{
    challenge::{insufficient, missing},
    decision::{Decision, MissingPermission},
    plan::Demand,
};
use crate::quota::Exceeded;

/// The time after which credentials may be sent again that cannot be checked now: an issuer whose keys cannot be read
/// is asked again then.
const RETRY_AFTER_SECONDS: u32 = 5;

/// A refusal of a request.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    kind: Kind,
    message: String,
    challenges: Vec<String>,
    /// The missing permission for programs: the `metadata` of `google.rpc.ErrorInfo`.
    info: BTreeMap<&'static str, String>,
    /// The number of seconds after which the request can be sent again.
    retry_after: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Unauthenticated,
    Forbidden,
    Unavailable,
    Exhausted,
}

impl Kind {
    /// Returns the status of HTTP, the name of the `google.rpc.Code`, and its number, which is also gRPC's.
    fn codes(self) -> (StatusCode, &'static str, i32) {
        match self {
            Self::Unauthenticated => (StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", 16),
            Self::Forbidden => (StatusCode::FORBIDDEN, "PERMISSION_DENIED", 7),
            Self::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", 14),
            Self::Exhausted => (StatusCode::TOO_MANY_REQUESTS, "RESOURCE_EXHAUSTED", 8),
        }
    }

    /// Returns the code in JSON-RPC. Agents up to 0.3 use -32001 for unauthenticated callers; in 1.0 that code always
    /// means TaskNotFound, and there is no code for this.
    fn rpc_code(self, is_1_0: bool) -> i32 {
        match (self, is_1_0) {
            (Self::Unauthenticated, false) => -32001,
            (Self::Unauthenticated, true) | (Self::Forbidden | Self::Unavailable, _) => -32000,
            (Self::Exhausted, _) => -32603,
        }
    }
}

impl Refusal {
    /// Returns the refusal for a decision; `None` if the request is allowed.
    pub(super) fn of(demand: &Demand<'_>, decision: &Decision) -> Option<Self> {
        let refusal = match decision {
            Decision::Granted(_) => return None,
            Decision::Unauthenticated(wrong) => Self::unauthenticated(demand, wrong.as_ref()),
            Decision::Forbidden(lack) => Self::forbidden(demand, lack),
            Decision::Unavailable(scheme) => {
                let message = "the credentials cannot be checked now: try again later";
                Self {
                    retry_after: Some(RETRY_AFTER_SECONDS),
                    ..Self::new(Kind::Unavailable, message, Vec::new()).with("scheme", scheme)
                }
            }
        };
        Some(match demand.skill {
            None => refusal,
            Some(skill) => Self {
                message: format!("the skill {skill}: {}", refusal.message),
                ..refusal.with("skill", skill)
            },
        })
    }

    fn unauthenticated(demand: &Demand<'_>, wrong: Option<&(String, String)>) -> Self {
        let challenges = missing(demand, wrong);
        let Some((scheme, why)) = wrong else {
            return Self::new(Kind::Unauthenticated, expected(demand), challenges);
        };
        let message = format!("the credentials for {scheme} are not accepted: {why}");
        Self::new(Kind::Unauthenticated, message, challenges).with("scheme", scheme)
    }

    fn forbidden(demand: &Demand<'_>, lack: &MissingPermission) -> Self {
        match lack {
            MissingPermission::Credentials => {
                Self::new(Kind::Forbidden, expected(demand), missing(demand, None))
            }
            MissingPermission::Scopes { scheme, required, missing } => {
                let missing = missing.join(" ");
                let message = format!("the token for {scheme} lacks the scopes {missing}");
                let challenges = insufficient(demand, scheme, required);
                Self::new(Kind::Forbidden, message, challenges)
                    .with("scheme", scheme)
                    .with("missingScopes", &missing)
            }
        }
    }

    /// Returns the refusal of a request that may come from another site's web page.
    pub(crate) fn foreign(message: impl Into<String>) -> Self {
        Self::new(Kind::Forbidden, message, Vec::new())
    }

    /// Returns the refusal of a request whose caller has reached a limit.
    pub(super) fn exceeded(exceeded: Exceeded) -> Self {
        let limit = exceeded.limit.name();
        Self {
            retry_after: Some(exceeded.retry_after),
            ..Self::new(Kind::Exhausted, exceeded.to_string(), Vec::new()).with("limit", limit)
        }
    }

    fn new(kind: Kind, message: impl Into<String>, challenges: Vec<String>) -> Self {
        Self { kind, message: message.into(), challenges, info: BTreeMap::new(), retry_after: None }
    }

    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.info.insert(name, value.to_owned());
        self
    }

    /// Returns the name in metrics.
    pub(crate) fn name(&self) -> &'static str {
        match self.kind {
            Kind::Unauthenticated => "unauthenticated",
            Kind::Forbidden => "forbidden",
            Kind::Unavailable => "unavailable",
            Kind::Exhausted => "resource_exhausted",
        }
    }

    /// Returns the scheme with an insufficient credential, if one was presented.
    pub(crate) fn scheme(&self) -> Option<&str> {
        self.info.get("scheme").map(String::as_str)
    }

    /// Returns the answer in the form of this binding, with the id of the JSON-RPC request if it was read. For
    /// unauthenticated callers the body is not read.
    pub(crate) fn response(
        &self,
        binding: Binding,
        request: &HeaderMap,
        id: Option<&Id>,
    ) -> Response {
        let response = match binding {
            #[cfg(feature = "grpc")]
            Binding::Grpc => self.grpc_status().into_http(),
            Binding::JsonRpc => {
                let body = self.rpc(is_1_0(request), id.unwrap_or(&Id::Null));
                self.with_body("application/json", &body)
            }
            _ => self.with_body("application/problem+json", &self.status()),
        };
        (self.retry_after.map(|seconds| [(RETRY_AFTER, seconds)]), response).into_response()
    }

    fn with_body(&self, media_type: &'static str, body: &Value) -> Response {
        let headers = (self.challenges(), [(CONTENT_TYPE, media_type)]);
        (self.kind.codes().0, headers, body.to_string()).into_response()
    }

    fn challenges(&self) -> HeaderMap {
        let all = self.challenges.iter();
        let all = all.filter_map(|one| HeaderValue::from_str(one).ok());
        all.map(|one| (WWW_AUTHENTICATE, one)).collect()
    }

    /// Returns the refusal for gRPC, with a `google.rpc.Status` (specification 10.6).
    #[cfg(feature = "grpc")]
    pub(crate) fn grpc_status(&self) -> tonic::Status {
        use bridge_protocol::protobuf::status::status;
        let ((_, _, code), details) = (self.kind.codes(), self.details_as_json());
        let details = status(code, &self.message, &details).into();
        let challenges = tonic::metadata::MetadataMap::from_headers(self.challenges());
        tonic::Status::with_details_and_metadata(code.into(), &self.message, details, challenges)
    }

    fn rpc(&self, is_1_0: bool, id: &Id) -> Value {
        json!({
            "jsonrpc": "2.0",
            "id": id,
            "error": {
                "code": self.kind.rpc_code(is_1_0),
                "message": self.message,
                "data": self.details_as_json(),
            },
        })
    }

    /// Returns the error for HTTP+JSON. The specification has two forms: `google.rpc.Status` in 11.6, and problem
    /// details (RFC 9457) in 6.4 and 6.5. The answer has both, because the client may not speak A2A at all.
    fn status(&self) -> Value {
        let (status, code, _) = self.kind.codes();
        json!({
            "type": "about:blank",
            "title": status.canonical_reason(),
            "status": status.as_u16(),
            "detail": self.message,
            "error": {
                "code": status.as_u16(),
                "status": code,
                "message": self.message,
                "details": self.details_as_json(),
            },
        })
    }

    fn details_as_json(&self) -> Vec<Value> {
        let retry = self.retry_after.map(retry_info);
        iter::once(self.info()).chain(retry).collect()
    }

    fn info(&self) -> Value {
        let mut info = json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": self.kind.codes().1,
            "domain": "a2a-protocol.org",
        });
        if !self.info.is_empty() {
            info["metadata"] = json!(self.info);
        }
        info
    }
}

fn expected(demand: &Demand<'_>) -> String {
    format!("expected credentials: {}", demand.describe())
}

fn is_1_0(headers: &HeaderMap) -> bool {
    let version = headers.get("a2a-version");
    version.is_some_and(|value| value.as_bytes().trim_ascii().starts_with(b"1."))
}
