//! The top level of the configuration file.

use std::{net::SocketAddr, path::PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::{
    AgentConfig, GrpcConfig, HostName, HttpUrl, LimitsConfig, Network, PageOrigin, Period,
    ProviderConfig, PushConfig, StoreConfig,
    store::StoreForm,
    value::{read_listening, read_rotation},
};

/// The configuration of the bridge.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "bridge")]
pub struct Config {
    /// The address to listen on, as IP:PORT; 127.0.0.1:3978 if absent.
    #[serde(default, deserialize_with = "read_listening")]
    #[schemars(with = "Option<String>", skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
    /// The URL of the bridge for clients, if it differs from the listening address; written into agent cards.
    pub public_url: Option<HttpUrl>,
    /// The URL of the bridge for bots, if it differs from the listening address.
    pub callback_url: Option<HttpUrl>,
    /// The address to listen on for plain http from bots on this machine, as IP:PORT; if absent and TLS is
    /// used, the port after that of listen.
    #[serde(default, deserialize_with = "read_listening")]
    #[schemars(with = "Option<String>", skip_serializing_if = "Option::is_none")]
    pub callback_listen: Option<SocketAddr>,
    /// The store of tasks: memory, sled:FOLDER or postgres://USER@HOST/DATABASE; sled:bridge-data if absent. A relative
    /// folder starts at the current folder, not at the configuration. A table also sets its limits.
    #[schemars(with = "Option<StoreForm>")]
    pub store: Option<Spanned<StoreConfig>>,
    /// Whether plain http is allowed beyond this machine.
    #[serde(default)]
    pub allow_plain_http: bool,
    /// The proxies that are trusted to name the address by which clients reach the bridge.
    #[serde(default)]
    pub trusted_proxies: Vec<Network>,
    /// The web pages of other addresses that may call the bridge; none if absent.
    pub cors: Option<CorsConfig>,
    /// The host names by which clients may call, in addition to IP addresses, localhost and the name of
    /// public_url; "*" for all. If absent, all names are accepted unless the bridge listens on loopback.
    pub hosts: Option<Vec<HostName>>,
    /// The certificate for https.
    pub tls: Option<TlsConfig>,
    /// The settings of gRPC.
    #[serde(default)]
    pub grpc: GrpcConfig,
    /// The bridge's own issuer of tokens.
    #[serde(default)]
    pub issuer: IssuerConfig,
    /// The local socket for the operator's commands, such as `bridge tasks`; admin.sock in the store's folder if absent.
    pub admin: Option<PathBuf>,
    /// The times between a request to stop and the end.
    #[serde(default)]
    pub drain: DrainConfig,
    /// The limits of clients.
    #[serde(default)]
    pub limits: LimitsConfig,
    /// Push notifications to webhooks.
    #[serde(default)]
    pub push: PushConfig,
    /// The key that signs agent cards; they are not signed if absent.
    pub card_key: Option<KeyConfig>,
    /// The provider of the agents that name none.
    pub provider: Option<ProviderConfig>,
    /// The agents. The first one is also served at /a2a and /.
    #[serde(default)]
    pub agents: Vec<AgentConfig>,
}

/// The web pages that may call the bridge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CorsConfig {
    /// The origins of the pages, such as `https://app.example`; "*" for all.
    pub origins: Vec<PageOrigin>,
}

/// A certificate and its key, both PEM; relative paths start at the configuration. They are read again with
/// the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// The certificate, followed by its intermediate certificates.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authorities of client certificates. Clients without a certificate can still connect; the security
    /// schemes of each agent decide what they may do.
    pub client_ca: Option<PathBuf>,
}

/// A key for signatures.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyConfig {
    /// A private P-256 or Ed25519 key as PKCS #8 in PEM; a relative path starts at the configuration: openssl
    /// genpkey -algorithm ed25519 -out card-key.pem
    pub file: PathBuf,
    /// The key's id in signatures; its thumbprint if absent.
    pub id: Option<String>,
}

/// The bridge's own issuer of tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IssuerConfig {
    /// The issuer's name and URL, at which others read its keys; if absent, public_url, or else the URL of the bridge for
    /// bots.
    pub url: Option<HttpUrl>,
    /// The file of its private keys; issuer.json in the store's folder if absent.
    pub keys: Option<PathBuf>,
    /// The time for which a key signs, at least two days; 30 days if absent.
    #[serde(default, deserialize_with = "read_rotation")]
    #[schemars(with = "Option<Period>", skip_serializing_if = "Option::is_none")]
    pub rotate_every: Option<Period>,
    /// The lifetime of a token; 10m if absent.
    pub token_lifetime: Option<Period>,
}

/// The times between a request to stop, by Ctrl-C or SIGTERM, and the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DrainConfig {
    /// The time for which everything is served while /readyz says that the bridge stops, so that load balancers notice
    /// it; none if absent.
    pub notice: Option<Period>,
    /// The time that running turns have to end, after the notice; 5s if absent. When it begins, streams are broken off, so
    /// that clients resume them elsewhere, and nothing new is accepted. The next start recovers turns that have not ended.
    pub turns: Option<Period>,
}
