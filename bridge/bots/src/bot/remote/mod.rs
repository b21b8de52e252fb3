//! Connects bots behind a URL: unmodified bots on the Bot Framework or the Microsoft 365 Agents SDK.
//!
//! The bridge acts as the bot's channel. It posts activities to the bot. The bot answers in the HTTP response, or
//! by its own calls to the routes of `connector`. Its activities pass through the same
//! translation as those of a bot in this process.
//!
//! - [`Channel`], [`RemoteBot`]: a bot as an agent
//! - [`RemoteSettings`]: the settings of a bot
//! - [`Credential`], [`Admission`]: authentication of calls to the bot, and of calls from it
//!
//! Private modules:
//! - `executor`, `request`, `call`, `response`, `call_log`: calls to the bot, its HTTP answers, the log of calls
//! - `open_turns`, `turn_progress`, `acceptance_timing`: open turns, and their ends
//! - `connector_session`, `incoming_activities`, `edits`, `follow_up_task`: calls from the bot
//! - `turn_placement`: delivers activities to their turns, in this bridge or another
//! - `recent_activities`: protection against duplicate activities
//! - `teams`: what only Teams tells bots
//! - `service_url`, `service_url_keys`, `files`, `redactor`: service URLs, files, and the removal of their secrets

mod acceptance_timing;
mod access;
mod call;
mod call_log;
mod channel;
mod connector_session;
mod edits;
mod executor;
mod files;
mod follow_up_task;
mod incoming_activities;
mod open_turns;
mod recent_activities;
mod redactor;
mod remote_bot;
mod request;
mod response;
mod service_url;
mod service_url_keys;
mod settings;
mod teams;
mod turn_placement;
mod turn_progress;

pub use access::{Admission, AdmissionError, Anonymous, BotCall, ConnectorCall, Credential};
pub use channel::{Channel, ChannelError, ChannelSettings};
pub use connector_session::{ConnectorError, ConnectorSession};
pub use files::{File, forget_files, have_files};
pub use remote_bot::RemoteBot;
pub use service_url_keys::rotate_service_url_keys;
pub use settings::{Delivery, RemoteSettings, TurnEndRules, UserId, WEBCHAT};
