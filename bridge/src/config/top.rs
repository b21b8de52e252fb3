//! The whole file.

use std::{net::SocketAddr, path::PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::{
    AgentConfig, AgentName, GrpcConfig, HttpUrl, LimitsConfig, Network, Period, ProviderConfig,
    PushConfig, StoreConfig, store::StoreForm,
};

/// What the bridge hosts, and how.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "bridge")]
pub struct Config {
    /// Where to listen, as HOST:PORT; 127.0.0.1:3978 if absent.
    #[schemars(with = "Option<String>")]
    pub listen: Option<SocketAddr>,
    /// Where clients reach the bridge, if not where it listens: agent cards say so.
    pub public_url: Option<HttpUrl>,
    /// Where bots reach the bridge, if not where it listens.
    pub callback_url: Option<HttpUrl>,
    /// Where to listen for bots of this machine alone, over plain http, as HOST:PORT; beside TLS, the port after
    /// that of listen if absent.
    #[schemars(with = "Option<String>")]
    pub callback_listen: Option<SocketAddr>,
    /// Where tasks are kept: memory, or sled:FOLDER; sled:bridge-data if absent. A table says what that may take too.
    #[schemars(with = "Option<StoreForm>")]
    pub store: Option<Spanned<StoreConfig>>,
    /// Whether plain http is spoken beyond this machine.
    #[serde(default)]
    pub allow_plain_http: bool,
    /// Proxies whose word counts for the address by which clients reach the bridge.
    #[serde(default)]
    pub trusted_proxies: Vec<Network>,
    /// Which web pages of other addresses may call the bridge; none if absent.
    pub cors: Option<CorsConfig>,
    /// Names by which clients may call, beside IP addresses, localhost and the name of public_url; "*" for all.
    /// If absent, only these are taken where the bridge listens on loopback, and all elsewhere.
    pub hosts: Option<Vec<String>>,
    /// A certificate, to speak https.
    pub tls: Option<TlsConfig>,
    /// Where gRPC is spoken.
    #[serde(default)]
    pub grpc: GrpcConfig,
    /// The bridge's own issuer of tokens.
    #[serde(default)]
    pub issuer: IssuerConfig,
    /// What those who connect may take.
    #[serde(default)]
    pub limits: LimitsConfig,
    /// Push notifications to webhooks.
    #[serde(default)]
    pub push: PushConfig,
    /// The key that agent cards are signed with; they are not signed if absent.
    pub card_key: Option<KeyConfig>,
    /// Who runs the agents that say nothing else.
    pub provider: Option<ProviderConfig>,
    /// The agents. The first is also found at /a2a and /.
    #[serde(default)]
    pub agents: Vec<AgentConfig>,
}

/// Which web pages may call the bridge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CorsConfig {
    /// Their origins, such as `https://app.example`; "*" for all.
    pub origins: Vec<String>,
}

/// A certificate and its key, both PEM; beside the configuration, if a path is relative. They are read
/// again with the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// The certificate, followed by those that vouch for it.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Those who vouch for certificates of clients. Clients without one still connect: what they may do
    /// without is said by the security schemes of each agent.
    pub client_ca: Option<PathBuf>,
}

/// A key to sign with.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyConfig {
    /// A private P-256 or Ed25519 key as PKCS #8 in PEM, beside the configuration if the path is relative:
    /// openssl genpkey -algorithm ed25519 -out card-key.pem
    pub file: PathBuf,
    /// What signatures call it; its thumbprint if absent.
    pub id: Option<String>,
}

/// The bridge's own issuer of tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IssuerConfig {
    /// Its name and address; where bots reach the bridge if absent.
    pub url: Option<HttpUrl>,
    /// The file of its private keys; issuer.json in the store's folder if absent.
    pub keys: Option<PathBuf>,
    /// How long a key signs; 30 days if absent, two at least.
    pub rotate_every: Option<Period>,
    /// How long a token is valid; 10m if absent.
    pub token_lifetime: Option<Period>,
}

impl AgentConfig {
    /// An agent of which nothing is said but its name.
    pub fn named(name: AgentName) -> Self {
        Self {
            name: Spanned::new(0..0, name),
            bot: None,
            builtin: None,
            path: None,
            card: super::CardConfig::default(),
            card_file: None,
            extended_card: None,
            access: std::collections::BTreeMap::new(),
            auth: None,
            accept: None,
            delivery: None,
            channel_id: None,
            locale: None,
            user_id: None,
            bot_id: None,
            bot_name: None,
            turns: None,
            conversation: None,
            silent_end: None,
            first_contact: false,
            message_only: false,
            flat_results: false,
            ending: super::EndingConfig::default(),
            request_timeout: None,
            turn_limit: None,
            queue: None,
            answer_limit: None,
            callback_url: None,
            repeats: None,
            expire_after: None,
        }
    }
}
