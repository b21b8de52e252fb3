//! A JSON body posted below an agent's address, for the dialects that have paths.

use bridge_protocol::{a2a::AgentCard, dialect::Version, wire::FieldError};
use serde::Serialize;
use serde_json::Value;
use url::Url;

use crate::{
    ClientError, Fault, Options,
    connect::http_client,
    http::{Answer, Endpoint, beginning},
};

/// Where such bodies go, and with what.
#[derive(Debug)]
pub(super) struct Poster(Endpoint);

impl Poster {
    /// Posts below `base` what is meant for the agent whose card was at `home`.
    pub(super) fn new(
        base: &Url,
        card: &AgentCard,
        home: &Url,
        options: &Options,
    ) -> Result<Self, ClientError> {
        let named = |fault: Fault| fault.of(base, "card");
        let literal = options.guard().check_literal(base);
        literal.map_err(|private| named(private.into()))?;
        options.credentials.check(home, base).map_err(named)?;
        Ok(Self(Endpoint {
            http: http_client(base, options).map_err(named)?,
            url: base.clone(),
            // These dialects came before versions had names.
            version: Version::V0_1,
            limits: options.limits,
            credentials: options.credentials.chosen(card).map_err(named)?,
            extensions: Vec::new(),
        }))
    }

    /// The answer's JSON, whatever its HTTP status: errors of the protocol come with statuses of all kinds. Only
    /// who is not let in is told so first.
    pub(super) async fn post(
        &self,
        path: &str,
        operation: &'static str,
        body: &impl Serialize,
    ) -> Result<Value, ClientError> {
        let request = self.0.http.post(self.below(path)).json(body);
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

    /// The fault with the agent's name and without its secrets.
    pub(super) fn named(&self, fault: Fault, operation: &'static str) -> ClientError {
        let fault = self.0.credentials.hide_in(fault);
        fault.of(&self.0.url, operation)
    }
}

/// The object of an answer. Who is not let in did not call anything, whatever the error in the body says.
fn object(answer: &Answer) -> Result<Value, Fault> {
    match serde_json::from_slice(&answer.body) {
        Ok(object @ Value::Object(_)) => {
            let said = object.pointer("/error/message").and_then(Value::as_str);
            let said = said.map_or_else(|| beginning(&answer.body), str::to_owned);
            answer.denied(&said).map_or(Ok(object), Err)
        }
        Ok(_) | Err(_) if !answer.is_success() => Err(answer.refused()),
        Ok(other) => Err(Fault::Invalid(FieldError::unexpected("an object", &other))),
        Err(error) => Err(Fault::Invalid(FieldError::new("JSON", error.to_string()))),
    }
}
