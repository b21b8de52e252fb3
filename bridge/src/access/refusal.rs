//! Answers to those who are not let in: the HTTP status and what to show come first, and the body has the
//! form of the binding (specification 7.3, 9.5, 10.6, 11.6; RFC 9110, section 11.6; RFC 6750, section 3).

use axum::{
    body::Body,
    http::{
        HeaderMap, HeaderValue, Response, StatusCode,
        header::{CONTENT_TYPE, WWW_AUTHENTICATE},
    },
};
use serde_json::{Value, json};

use super::{Access, decision::Decision, shown::Place};

/// The form of the answers of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// A JSON-RPC response with an error.
    JsonRpc,
    /// An object `error` in the form of `google.rpc.Status`.
    HttpJson,
    /// `grpc-status` in the header of an answer without a body.
    Grpc,
}

/// What those are told who are not let in.
pub(super) struct Refusal {
    kind: Kind,
    message: String,
    challenges: Vec<String>,
}

#[derive(Clone, Copy)]
enum Kind {
    Unauthenticated,
    Forbidden,
    Unavailable,
}

impl Kind {
    fn status(self) -> StatusCode {
        match self {
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The name of `google.rpc.Code`, and its number, which is gRPC's.
    fn code(self) -> (&'static str, u8) {
        match self {
            Self::Unauthenticated => ("UNAUTHENTICATED", 16),
            Self::Forbidden => ("PERMISSION_DENIED", 7),
            Self::Unavailable => ("UNAVAILABLE", 14),
        }
    }

    /// The code in JSON-RPC. Up to 0.3 agents say -32001 to those whom nobody knows; in 1.0 that is
    /// TaskNotFound always, and the protocol has no code of its own for this.
    fn rpc_code(self, is_1_0: bool) -> i32 {
        match (self, is_1_0) {
            (Self::Unauthenticated, false) => -32001,
            (Self::Unauthenticated, true) | (Self::Forbidden | Self::Unavailable, _) => -32000,
        }
    }
}

impl Refusal {
    /// What a decision means to its caller; nothing, if it is let in.
    pub(super) fn of(access: &Access, decision: &Decision) -> Option<Self> {
        let (kind, message, challenges) = match decision {
            Decision::Granted(_) => return None,
            Decision::Unauthenticated(wrong) => (
                Kind::Unauthenticated,
                unknown(access, wrong.as_ref()),
                challenges(access, wrong.as_ref()),
            ),
            Decision::Forbidden { scheme, missing } => (
                Kind::Forbidden,
                format!(
                    "the token for {scheme} lacks the scopes {}",
                    missing.join(" ")
                ),
                insufficient(access, scheme, missing),
            ),
            Decision::Unavailable => (
                Kind::Unavailable,
                "the credentials cannot be checked now: try again later".to_owned(),
                Vec::new(),
            ),
        };
        Some(Self {
            kind,
            message,
            challenges,
        })
    }

    /// The answer in the form of this binding.
    pub(super) fn response(&self, binding: Binding, request: &HeaderMap) -> Response<Body> {
        let (status, body) = match binding {
            Binding::JsonRpc => (self.kind.status(), self.rpc(is_1_0(request)).to_string()),
            Binding::HttpJson => (self.kind.status(), self.status().to_string()),
            Binding::Grpc => (StatusCode::OK, String::new()),
        };
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        for challenge in &self.challenges {
            if let Ok(value) = HeaderValue::from_str(challenge) {
                headers.append(WWW_AUTHENTICATE, value);
            }
        }
        match binding {
            Binding::JsonRpc | Binding::HttpJson => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            }
            Binding::Grpc => self.trailers(headers),
        }
        response
    }

    /// An answer that is nothing but its trailers, which then stand in the header.
    fn trailers(&self, headers: &mut HeaderMap) {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert(
            "grpc-status",
            HeaderValue::from(u16::from(self.kind.code().1)),
        );
        if let Ok(message) = HeaderValue::from_str(&quoted(&self.message).replace('%', "%25")) {
            headers.insert("grpc-message", message);
        }
    }

    /// Whoever is not known gets no more work than this: the body with the id is not read.
    fn rpc(&self, is_1_0: bool) -> Value {
        json!({
            "jsonrpc": "2.0",
            "id": null,
            "error": {
                "code": self.kind.rpc_code(is_1_0),
                "message": self.message,
                "data": [self.info()],
            },
        })
    }

    fn status(&self) -> Value {
        json!({"error": {
            "code": self.kind.status().as_u16(),
            "status": self.kind.code().0,
            "message": self.message,
            "details": [self.info()],
        }})
    }

    fn info(&self) -> Value {
        json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": self.kind.code().0,
            "domain": "a2a-protocol.org",
        })
    }
}

fn is_1_0(headers: &HeaderMap) -> bool {
    let version = headers.get("a2a-version");
    version.is_some_and(|value| value.as_bytes().trim_ascii().starts_with(b"1."))
}

fn unknown(access: &Access, wrong: Option<&(String, String)>) -> String {
    match wrong {
        Some((scheme, why)) => format!("the credentials for {scheme} are not accepted: {why}"),
        None => {
            format!("expected credentials: {}", access.demands(Place::told))
        }
    }
}

/// How a client can show who it is: one challenge for each scheme.
fn challenges(access: &Access, wrong: Option<&(String, String)>) -> Vec<String> {
    let broken = wrong.and_then(|(name, why)| Some((&access.scheme(name)?.place, why)));
    let mut all: Vec<String> = Vec::new();
    for scheme in access.wanted() {
        let mut challenge = scheme.place.challenge(access.realm());
        if let (Place::Bearer, Some((Place::Bearer, why))) = (&scheme.place, broken) {
            let why = quoted(why);
            challenge += &format!(", error=\"invalid_token\", error_description=\"{why}\"");
        }
        if !all.contains(&challenge) {
            all.push(challenge);
        }
    }
    all
}

fn insufficient(access: &Access, scheme: &str, missing: &[String]) -> Vec<String> {
    let Some(scheme) = access.scheme(scheme) else {
        return Vec::new();
    };
    let challenge = scheme.place.challenge(access.realm());
    let scopes = quoted(&missing.join(" "));
    vec![format!(
        "{challenge}, error=\"insufficient_scope\", scope=\"{scopes}\""
    )]
}

impl Place {
    fn challenge(&self, realm: &str) -> String {
        let realm = quoted(realm);
        let key = |at: &str, name: &str| {
            format!(
                "ApiKey realm=\"{realm}\", in=\"{at}\", name=\"{}\"",
                quoted(name)
            )
        };
        match self {
            Self::Bearer => format!("Bearer realm=\"{realm}\""),
            Self::Basic => format!("Basic realm=\"{realm}\", charset=\"UTF-8\""),
            Self::Header(name) => key("header", name.as_str()),
            Self::Query(name) => key("query", name),
            Self::Cookie(name) => key("cookie", name),
            Self::Connection => format!("Certificate realm=\"{realm}\""),
        }
    }

    fn told(&self) -> String {
        match self {
            Self::Bearer => "one header Authorization: Bearer TOKEN".to_owned(),
            Self::Basic => "one header Authorization: Basic with name and password".to_owned(),
            Self::Header(name) => format!("a key in the header {name}"),
            Self::Query(name) => format!("a key in the query parameter {name}"),
            Self::Cookie(name) => format!("a key in the cookie {name}"),
            Self::Connection => "a client certificate".to_owned(),
        }
    }
}

/// A text that can stand between quotes in a header: what may not is left out or becomes `'`.
fn quoted(text: &str) -> String {
    let allowed = |c: &char| matches!(c, ' '..='~') && *c != '\\';
    text.replace('"', "'").chars().filter(allowed).collect()
}
