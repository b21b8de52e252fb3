//! The bot under examination: a bare address, or an agent of a configuration with its credentials.

use std::{net::SocketAddr, path::Path, sync::Arc};

use bridge_client::is_loopback;
use reqwest::header::HeaderValue;
use url::{Host, Url};

use super::{
    Result,
    callback_listener::{CallbackHost, CallbackRoute},
};
use crate::{
    auth::Issuer,
    bot::remote::{Admission, Anonymous, BotCall, ConnectorCall, Credential, WEBCHAT},
    builtin,
    cli::{
        exit_code::{self, failure},
        serve::{Addresses, BotCredentials, encryption, issuer_settings, listen},
        store::StoreChoice,
    },
    clock,
    config::{self, Accept, AgentConfig, Auth, Config},
};

/// The bot under examination.
pub(super) struct ExaminedBot {
    /// The URL for activities.
    pub(super) url: Url,
    /// The settings being tried, if there are any.
    pub(super) tried: Option<TriedSettings>,
    /// The route by which it calls back.
    pub(super) way: CallbackRoute,
    credential: Arc<dyn Credential>,
    admission: Arc<dyn Admission>,
}

/// The settings of an agent.
pub(super) struct TriedSettings {
    /// The agent's configuration.
    pub(super) agent: AgentConfig,
    /// The credential for the bot, unless there is none.
    pub(super) proof: Option<CredentialSource>,
}

impl TriedSettings {
    /// Describes the settings and the credential.
    pub(super) fn described(&self, url: &Url) -> String {
        let name = &self.agent.name.text;
        let shown = self.proof.as_ref().map_or("nothing", |proof| &proof.what);
        let wanted = match &self.agent.accept {
            Some(Accept::Token(token)) => format!("a token of {}", token.issuer),
            None | Some(Accept::Anyone) => "nothing".to_owned(),
        };
        let turns = self.agent.turns_in_words();
        format!("agent {name} at {url}\nthe bot gets {shown}\nthe bot must send {wanted}\n{turns}")
    }
}

/// The description of a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CredentialSource {
    pub(super) what: String,
    /// The setting to check if there is no credential.
    pub(super) source: String,
    /// The setting to check if the bot refuses the credential.
    pub(super) next: String,
}

impl ExaminedBot {
    /// Creates the examination of a bot without settings.
    pub(super) fn at(url: Url) -> Self {
        Self {
            url,
            tried: None,
            way: CallbackRoute::default(),
            credential: Arc::new(Anonymous),
            admission: Arc::new(Anonymous),
        }
    }

    /// Creates the examination of a configured agent's bot: the agent with this name, or the only one.
    pub(super) async fn configured(file: &Path, name: Option<&str>) -> Result<Self> {
        let config = config::read(file, &builtin::names())?;
        let agent = agent(&config, name).map_err(|why| format!("{}: {why}", file.display()))?;
        let url = agent.bot.as_ref().ok_or_else(|| is_built_in(agent))?.0.clone();
        let place = Addresses::configured(&config)?;
        let issuer = issuer(&config, agent, &place).await?;
        let access = BotCredentials {
            issuer: issuer.as_ref().map(|(_, issuer)| issuer),
            plain_http: config.allow_plain_http,
        };
        Ok(Self {
            url,
            way: way(&config, agent, &place)?,
            credential: access.credential(agent)?,
            admission: access.admission(agent)?,
            tried: Some(TriedSettings {
                proof: proof(agent, issuer.as_ref().map_or("", |(url, _)| url)),
                agent: agent.clone(),
            }),
        })
    }

    /// Returns the channel reported to the bot.
    pub(super) fn channel(&self) -> &str {
        let channel = self.tried.as_ref().and_then(|tried| tried.agent.channel_id.as_deref());
        channel.unwrap_or(WEBCHAT)
    }

    /// Returns the `Authorization` header of requests whose answers go to `service_url`, if any.
    pub(super) async fn authorization(&self, service_url: &str) -> Result<Option<HeaderValue>> {
        let call = BotCall { bot: &self.url, service_url };
        let shown = self.credential.authorization(&call).await;
        let source = self.tried.as_ref().and_then(|tried| tried.proof.as_ref());
        let source = source.map_or("", |proof| proof.source.as_str());
        Ok(shown.map_err(|error| failure(exit_code::of(&*error))(format!("{error}\n{source}")))?)
    }

    /// Returns the reason why the bridge would refuse a call of the bot.
    pub(super) async fn refused(
        &self,
        service_url: &str,
        authorization: Option<&HeaderValue>,
    ) -> Option<String> {
        let agent = &self.tried.as_ref()?.agent.name.text;
        let call = ConnectorCall { agent, service_url, authorization };
        let admitted = self.admission.admit(&call).await;
        admitted.err().map(|refusal| refusal.to_string())
    }
}

fn agent<'a>(config: &'a Config, name: Option<&str>) -> Result<&'a AgentConfig, String> {
    let named = |agent: &&AgentConfig| name.is_none_or(|name| agent.name.text == name);
    let mut bots = config.agents.iter().filter(named);
    let bot = bots.next();
    let names: Vec<&str> = config.agents.iter().map(|one| one.name.text.as_str()).collect();
    let all = names.join(", ");
    match (bot, bots.next()) {
        (Some(agent), None) => Ok(agent),
        (None, _) => {
            Err(format!("there is no agent {:?}: expected one of {all}", name.unwrap_or_default()))
        }
        (Some(_), Some(_)) => Err(format!("--agent NAME says which one is meant: {all}")),
    }
}

/// Returns the route by which an agent's bot calls back, at a port of this program, because the running bridge uses its
/// own.
fn way(config: &Config, agent: &AgentConfig, place: &Addresses) -> Result<CallbackRoute> {
    let url = place.callback(config, agent);
    let url = url.unwrap_or_else(|| place.callback_url.clone());
    let here = CallbackRoute::default();
    let ip = match url.host() {
        Some(Host::Ipv4(ip)) if is_loopback(&url) => ip.into(),
        Some(Host::Ipv6(ip)) if is_loopback(&url) => ip.into(),
        Some(Host::Domain(_)) if is_loopback(&url) => here.listen.ip(),
        Some(_) | None => listen(config).ip(),
    };
    let encryption = match url.scheme() {
        "https" => encryption(config)?,
        _ => None,
    };
    // An https address that is not the bridge's own belongs to a proxy, which forwards to the bridge only.
    let is_behind = url.scheme() == "https" && encryption.is_none();
    Ok(match url.host() {
        Some(host) if !is_behind => CallbackRoute {
            listen: SocketAddr::new(ip, 0),
            known_as: CallbackHost::ByName(host.to_string()),
            encryption,
        },
        Some(_) | None => here,
    })
}

fn is_built_in(agent: &AgentConfig) -> String {
    let name = &agent.name.text;
    format!("agent {name} is built in, so there is no bot to examine: talk to it with bridge chat")
}

/// Returns the bridge's own issuer, if the agent's credentials need it. No key is created, because only the key of the
/// running bridge is of use.
async fn issuer(
    config: &Config,
    agent: &AgentConfig,
    place: &Addresses,
) -> Result<Option<(String, Arc<Issuer>)>> {
    if !agent.auth.as_ref().is_some_and(Auth::needs_issuer) {
        return Ok(None);
    }
    let settings = issuer_settings(config, &place.callback_url, &StoreChoice::of(config)?);
    let url = settings.url.clone();
    match &settings.keys {
        Some(keys) if keys.exists() => {}
        Some(keys) => {
            let keys = keys.display();
            return Err(format!(
                "the bridge's own issuer has no keys in {keys} yet: start the bridge with this configuration once, \
                 from this folder, then run this command again"
            )
            .into());
        }
        None => {
            return Err(
                "the bridge's own issuer keeps its keys in the memory of the running bridge: set issuer.keys to a \
                 file, restart the bridge, then run this command again"
                    .into(),
            );
        }
    }
    let issuer = Issuer::open(settings, clock::now()).await?;
    Ok(Some((url, Arc::new(issuer))))
}

fn proof(agent: &AgentConfig, issuer: &str) -> Option<CredentialSource> {
    let takes = |app_id: &str| {
        format!(
            "the bot must accept tokens for {app_id}: compare its own app id, its tenant and the issuers that it \
             trusts with app_id, tenant and scope of agents.auth"
        )
    };
    let bought = |what: &str, client_id: &str, app_id: &str, source: &str| CredentialSource {
        what: format!("a token for {app_id} that client {client_id} gets for {what}"),
        source: format!(
            "check token_endpoint, tenant, client_id, scope and {source} of agents.auth"
        ),
        next: takes(app_id),
    };
    match agent.auth.as_ref()? {
        Auth::Anonymous => None,
        Auth::Issuer(said) => Some(CredentialSource {
            what: format!("a token of the bridge's own issuer {issuer} for {}", said.app_id),
            source: "check the keys of the table issuer".to_owned(),
            next: format!(
                "the bot must trust the issuer {issuer} for the audience {}; it reads the keys at \
                 {issuer}/.well-known/openid-configuration, where the bridge must be running",
                said.app_id
            ),
        }),
        Auth::ClientSecret(said) => {
            Some(bought("the secret", &said.client_id, &said.app_id, "secret"))
        }
        Auth::Federated(said) => {
            Some(bought("the assertion", &said.client_id, &said.app_id, "assertion"))
        }
        Auth::ManagedIdentity(said) => Some(CredentialSource {
            what: format!("a token of this machine's identity for {}", said.app_id),
            source: "only the machine that has the identity gets such tokens: check endpoint, header and client_id \
                     of agents.auth"
                .to_owned(),
            next: takes(&said.app_id),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bot_is_listened_to_where_it_calls_back() {
        for (top, expected) in [
            ("", "127.0.0.1"),
            ("listen = '[::1]:3978'", "::1"),
            ("listen = '127.0.0.2:3978'", "127.0.0.2"),
            ("callback_url = 'http://localhost:3978'", "127.0.0.1"),
            ("callback_url = 'http://bridge.test:3978'\nlisten = '0.0.0.0:3978'", "0.0.0.0"),
        ] {
            let text = format!("{top}\n[[agents]]\nname = 'a'\nbot = 'http://localhost:1/'\n");
            let config = config::parse("a.toml".as_ref(), &text, &[]).unwrap();
            let place = Addresses::configured(&config).unwrap();
            let way = way(&config, &config.agents[0], &place).unwrap();
            assert_eq!(way.listen.ip().to_string(), expected, "{top}");
        }
    }
}
