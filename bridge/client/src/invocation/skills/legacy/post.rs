//! Posts JSON bodies to paths below an agent's address, for the dialects that have paths.

use bridge_protocol::{
    dialect::Version,
    wire::{self, FieldError},
};
use reqwest::Method;
use serde::Serialize;
use serde_json::Value;
use url::Url;

use crate::{
    ClientError, Fault, Options, Result,
    connect::connections,
    discovery::Discovered,
    http::{Endpoint, HttpResponse, beginning},
    sequence::Sequence,
};

/// An agent's base address with what every request to it needs.
#[derive(Debug)]
pub(in crate::invocation) struct JsonPoster(Endpoint);

impl JsonPoster {
    /// Prepares requests below the agent's address.
    pub(super) fn new(agent: &Discovered, options: &Options) -> Result<Self> {
        let base = agent.endpoint.url();
        let named = |fault: Fault| fault.of(base, "card");
        let literal = options.guard().check_literal(base);
        literal.map_err(|private| named(private.into()))?;
        options.credentials.check(&agent.home(), base).map_err(named)?;
        Ok(Self(Endpoint {
            http: connections(base, options).map_err(named)?,
            url: base.clone(),
            // Version names were introduced after these dialects.
            version: Version::V0_1,
            limits: options.limits,
            credentials: options.credentials.chosen(&agent.card).map_err(named)?,
            extensions: Vec::new(),
            sequence: Sequence::Absent,
        }))
    }

    /// Posts a body and returns the answer's JSON, whatever its HTTP status, because protocol errors come
    /// with any status. Only 401 and 403 are reported as such first.
    pub(super) async fn post(
        &self,
        path: &str,
        operation: &'static str,
        body: &impl Serialize,
    ) -> Result<Value> {
        let request = self.0.http.request(Method::POST, self.below(path)).json(body);
        let answer = self.0.exchange(request).await;
        let read = answer.and_then(|answer| object(&answer));
        read.map_err(|fault| self.named(fault, operation))
    }

    fn below(&self, path: &str) -> Url {
        let mut url = self.0.url.clone();
        let base = self.0.url.path().trim_end_matches('/');
        url.set_path(&format!("{base}/{path}"));
        url
    }

    /// Adds the agent's name to a fault and masks the secrets in it.
    pub(super) fn named(&self, fault: Fault, operation: &'static str) -> ClientError {
        self.0.named(fault, operation)
    }
}

/// Returns the JSON object of an answer. 401 and 403 are faults even if the body is a protocol error. Any other error
/// status is a fault unless the body is an answer of the protocol.
fn object(answer: &HttpResponse) -> Result<Value, Fault> {
    match wire::from_slice(&answer.body) {
        Ok(object @ Value::Object(_)) => {
            let text = error_text(&object).unwrap_or_else(|| beginning(&answer.body));
            let denied = answer.denied(&text);
            let failed = (!answer.is_success() && !is_of_protocol(&object))
                .then(|| Fault::Http { status: answer.status, body: beginning(text.as_bytes()) });
            denied.or(failed).map_or(Ok(object), Err)
        }
        Ok(_) | Err(_) if !answer.is_success() => Err(answer.refused()),
        Ok(other) => Err(Fault::Invalid(FieldError::unexpected("an object", &other))),
        Err(error) => Err(Fault::Invalid(error)),
    }
}

/// Returns whether the object is a JSON-RPC response, a JSON-RPC error, or a task.
fn is_of_protocol(object: &Value) -> bool {
    let code = object.pointer("/error/code");
    object.get("jsonrpc").is_some()
        || code.is_some_and(Value::is_i64)
        || object.get("status").is_some_and(Value::is_object)
}

/// Returns the message of an error, in the fields in which common web frameworks put it.
pub(super) fn error_text(object: &Value) -> Option<String> {
    let places = ["/error/message", "/error", "/message", "/detail", "/title"];
    let mut texts = places.iter().filter_map(|place| object.pointer(place)?.as_str());
    texts.next().map(str::to_owned)
}
