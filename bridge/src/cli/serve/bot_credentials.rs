//! Creates tokens and verifiers for bots from the configuration.

use std::sync::Arc;

use url::Url;

use super::{
    Result,
    caller_access::{metadata, verifier},
};
use crate::{
    auth::{Assertion, Grant, Issuer, KeySource, Secret, Subject, Tokens, TrustedIssuer},
    bot::remote::{Admission, Anonymous, Credential},
    config::{self, Accept, AgentConfig, Auth, HttpUrl, ManagedIdentity},
};

/// Entra's token endpoint of a tenant.
const ENTRA: &str = "https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token";

/// The tenant of bots without another tenant.
const TENANT: &str = "botframework.com";

/// The token endpoint of machines in Azure, and its version.
const IMDS: (&str, &str) = ("http://169.254.169.254/metadata/identity/oauth2/token", "2018-02-01");

/// The audience of assertions that Entra accepts in place of a secret.
const EXCHANGE: &str = "api://AzureADTokenExchange";

/// The data needed to create credentials.
pub(in crate::cli) struct BotCredentials<'a> {
    pub(in crate::cli) issuer: Option<&'a Arc<Issuer>>,
    pub(in crate::cli) plain_http: bool,
}

impl BotCredentials<'_> {
    /// Returns the credential of the bridge for the agent's bot.
    pub(in crate::cli) fn credential(&self, agent: &AgentConfig) -> Result<Arc<dyn Credential>> {
        Ok(match &agent.auth {
            None | Some(Auth::Anonymous) => Arc::new(Anonymous),
            Some(Auth::Issuer(said)) => Arc::new(Tokens::own(self.issuer()?, &said.app_id)),
            Some(Auth::ClientSecret(said)) => self.granted(Grant::ClientSecret {
                endpoint: endpoint(said.token_endpoint.as_deref(), said.tenant.as_deref())?,
                client_id: said.client_id.clone(),
                secret: said.secret.get_ref().secret(),
                scope: scope(said.scope.as_ref(), &said.app_id),
            })?,
            Some(Auth::Federated(said)) => self.granted(Grant::Federated {
                endpoint: endpoint(said.token_endpoint.as_deref(), said.tenant.as_deref())?,
                client_id: said.client_id.clone(),
                assertion: self.assertion(&said.assertion)?,
                scope: scope(said.scope.as_ref(), &said.app_id),
            })?,
            Some(Auth::ManagedIdentity(said)) => self.granted(identity(said)?)?,
        })
    }

    /// Returns the check of calls from the agent's bot.
    pub(in crate::cli) fn admission(&self, agent: &AgentConfig) -> Result<Arc<dyn Admission>> {
        let Some(Accept::Token(token)) = &agent.accept else {
            return Ok(Arc::new(Anonymous));
        };
        let issuer = token.issuer.clone();
        let keys = match (&token.metadata, &token.jwks) {
            (_, Some(HttpUrl(url))) => KeySource::keys(url.clone(), self.plain_http)?,
            (Some(HttpUrl(url)), None) => KeySource::metadata(url.clone(), self.plain_http)?,
            (None, None) => {
                let url = Url::parse(&metadata(&issuer)).map_err(|error| {
                    format!(
                        "accept: expected metadata or jwks beside an issuer that is no URL: {error}"
                    )
                })?;
                KeySource::metadata(url, self.plain_http)?
            }
        };
        let issuer = TrustedIssuer { issuer, keys };
        Ok(Arc::new(verifier(issuer, &token.audience, &token.claims)))
    }

    fn granted(&self, grant: Grant) -> Result<Arc<dyn Credential>> {
        Ok(Arc::new(Tokens::granted(grant, self.plain_http)?))
    }

    fn issuer(&self) -> Result<Arc<Issuer>> {
        let missing = "the bridge was started without its own issuer: restart it";
        Ok(self.issuer.ok_or(missing)?.clone())
    }

    fn assertion(&self, config: &config::Assertion) -> Result<Assertion> {
        Ok(match config {
            config::Assertion::File(path) => Assertion::File(path.clone()),
            config::Assertion::Issuer { subject, audience } => Assertion::Own {
                issuer: self.issuer()?,
                subject: Subject {
                    audience: audience.as_deref().unwrap_or(EXCHANGE).to_owned(),
                    subject: Some(subject.clone()),
                    service_url: None,
                },
            },
        })
    }
}

fn identity(config: &ManagedIdentity) -> Result<Grant, url::ParseError> {
    let (endpoint, version) = IMDS;
    let text = |config: &Option<String>, usual: &str| config.as_deref().unwrap_or(usual).to_owned();
    let value = config.header_value.as_ref().map(|value| value.get_ref().secret());
    Ok(Grant::ManagedIdentity {
        endpoint: match &config.endpoint {
            Some(HttpUrl(url)) => url.clone(),
            None => Url::parse(endpoint)?,
        },
        api_version: text(&config.api_version, version),
        header: (text(&config.header, "Metadata"), value.unwrap_or_else(|| Secret::new("true"))),
        client_id: config.client_id.clone(),
        resource: text(&config.resource, &config.app_id),
    })
}

fn endpoint(said: Option<&str>, tenant: Option<&str>) -> Result<Url, String> {
    let text = said.unwrap_or(ENTRA).replace("{tenant}", tenant.unwrap_or(TENANT));
    let wrong = |error| format!("token_endpoint: expected a URL, found {text:?}: {error}");
    Url::parse(&text).map_err(wrong)
}

fn scope(said: Option<&String>, app_id: &str) -> String {
    said.cloned().unwrap_or_else(|| format!("{app_id}/.default"))
}
