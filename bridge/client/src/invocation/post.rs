//! A JSON body posted below an agent's address, for the dialects that have paths.

use bridge_protocol::wire::FieldError;
use serde::Serialize;
use serde_json::Value;
use url::Url;

use crate::{
    ClientError, Fault, Options,
    rpc::{beginning, read_body, within},
};

/// Where such bodies go, and with what.
#[derive(Debug)]
pub(super) struct Poster {
    http: reqwest::Client,
    base: Url,
    options: Options,
}

impl Poster {
    /// Posts below `base` what is meant for the agent whose card was at `home`.
    pub(super) fn new(base: &Url, home: &Url, options: &Options) -> Result<Self, ClientError> {
        let named = |fault: Fault| fault.of(base.as_str(), "card");
        options.credentials.check(home, base).map_err(named)?;
        let http = crate::client::http_client(base, options).map_err(named)?;
        Ok(Self {
            http,
            base: base.clone(),
            options: options.clone(),
        })
    }

    /// The answer's JSON, whatever its HTTP status: errors of the protocol come with statuses of all kinds.
    pub(super) async fn post(
        &self,
        path: &str,
        operation: &'static str,
        body: &impl Serialize,
    ) -> Result<Value, ClientError> {
        let exchange = self.exchange(path, body);
        let answer = within(self.options.limits.reply, exchange).await;
        answer.map_err(|fault| self.named(fault, operation))
    }

    async fn exchange(&self, path: &str, body: &impl Serialize) -> Result<Value, Fault> {
        let limits = &self.options.limits;
        let sent = self.http.post(self.below(path)).json(body).send().await;
        let reply = sent.map_err(|error| Fault::transport(&error, limits.reply))?;
        let status = reply.status();
        let body = read_body(reply, limits).await?;
        match serde_json::from_slice(&body) {
            Ok(answer @ Value::Object(_)) => Ok(answer),
            Ok(_) | Err(_) if !status.is_success() => Err(Fault::Http {
                status: status.as_u16(),
                body: beginning(&body),
            }),
            Ok(other) => Err(Fault::Invalid(FieldError::unexpected("an object", &other))),
            Err(error) => Err(Fault::Invalid(FieldError::new("JSON", error.to_string()))),
        }
    }

    fn below(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!(
            "{}/{path}",
            self.base.path().trim_end_matches('/')
        ));
        url
    }

    /// The fault with the agent's name and without its secrets.
    pub(super) fn named(&self, fault: Fault, operation: &'static str) -> ClientError {
        let fault = self.options.credentials.hide_in(fault);
        fault.of(self.base.as_str(), operation)
    }
}
