//! Bots behind a URL: any bot on the Bot Framework or the Microsoft 365 Agents SDK, as it is.
//!
//! The bridge is the bot's channel. It posts activities to the bot; what the bot says comes back in the
//! HTTP answer, or by calls of its own to the routes of the connector. Either way it passes through the
//! same translation as what a bot in this process says.
//!
//! - [`Channel`], [`RemoteBot`]: a bot as an agent
//! - [`RemoteSettings`]: how it is hosted
//! - [`Credential`], [`Admission`]: what lets the bridge into the bot, and the bot into the bridge
//!
//! Within:
//! - `executor`, `request`, `call`, `response`: to the bot, and what it answers
//! - `open_turns`, `turn_progress`, `acceptance_timing`: the turns that are open, and when they are over
//! - `connector_session`, `incoming_activities`, `edits`, `follow_up_task`: the bot calls
//! - `creation_locks`, `recent_activities`: what must happen once
//! - `tokens`: what lets them in, for those that want tokens
//! - `service_url`, `service_url_keys`, `files`, `redactor`: service URLs, files, and what clients must not see of either

mod acceptance_timing;
mod access;
mod call;
mod channel;
mod connector_session;
mod creation_locks;
mod edits;
mod executor;
mod files;
mod follow_up_task;
mod incoming_activities;
mod open_turns;
mod recent_activities;
mod redactor;
mod request;
mod response;
mod service_url;
mod service_url_keys;
mod settings;
mod tokens;
mod turn_progress;

pub use access::{Admission, AdmissionError, Anonymous, BotCall, ConnectorCall, Credential};
pub use channel::{Channel, ChannelError, ChannelSettings, RemoteBot};
pub(crate) use connector_session::{ConnectorError, ConnectorSession};
pub(crate) use incoming_activities::CreatedConversation;
pub use service_url_keys::rotate_service_url_keys;
pub(crate) use settings::WEBCHAT;
pub use settings::{Delivery, RemoteSettings, TurnEndRules, UserId};
