//! `bridge.toml`: the configuration of the program.
//!
//! - [`Config`], [`AgentConfig`]: the content of the file
//! - [`read()`], [`parse`]: read the file, with errors that have key, line and column
//! - [`schema()`]: the file's JSON Schema, for editors
//! - [`TEMPLATE`]: a file to start with
//!
//! This module opens no sockets; secrets are looked up in environment variables and files.

mod agent;
mod bot_auth;
mod caller_access;
mod card;
mod check;
mod error;
mod grpc;
mod limits;
mod locate;
mod push;
mod read;
mod schema;
mod secret;
mod store;
mod top;
mod unknown_keys;
mod value;

pub(crate) use agent::value_name;
pub use agent::{
    AgentConfig, ConversationScopeConfig, DeliveryMode, EndingConfig, QuestionState,
    RepeatedMessages, SilentTurn, TurnPreset,
};
pub use bot_auth::{
    Accept, Assertion, Auth, Federated, FromIssuer, ManagedIdentity, RequiredToken, WithSecret,
};
pub use caller_access::{CertificateConfig, CheckConfig, TokenConfig};
pub use card::{CardConfig, ProviderConfig, SkillConfig};
pub use error::{ConfigError, ConfigErrors, Problem};
pub use grpc::{GrpcConfig, GrpcForm, HostPort};
pub use limits::LimitsConfig;
pub use push::{PushConfig, PushPlace};
pub(crate) use read::read_changed;
pub use read::{parse, read};
pub use schema::schema;
pub use secret::SecretText;
pub use store::{RetentionConfig, StoreConfig, StorePlace, StoreTable};
pub use top::{Config, CorsConfig, DrainConfig, IssuerConfig, KeyConfig, TlsConfig};
pub use value::{Age, AgentName, AgentPath, HostName, HttpUrl, Network, PageOrigin, Period, Size};
pub(crate) use value::{listening, parsed};

/// A file to start with: one bot with its most common settings.
pub const TEMPLATE: &str = include_str!("template.toml");
