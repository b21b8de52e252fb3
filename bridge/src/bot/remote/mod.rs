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
//! - `executor`, `request`, `call`, `answer`: to the bot, and what it answers
//! - `lines`, `heard`, `acceptance`: the turns that are open, and when they are over
//! - `visit`, `saying`, `changing`, `anew`: the bot calls
//! - `beginnings`, `replays`: what must happen once
//! - `tokens`: what lets them in, for those that want tokens
//! - `address`, `address_keys`, `files`, `scrub`: service URLs, files, and what clients must not see of either

mod acceptance;
mod access;
mod address;
mod address_keys;
mod anew;
mod answer;
mod beginnings;
mod call;
mod changing;
mod channel;
mod executor;
mod files;
mod heard;
mod lines;
mod replays;
mod request;
mod saying;
mod scrub;
mod settings;
mod tokens;
mod visit;

pub use access::{Admission, Anonymous, BotCall, ConnectorCall, Credential, Refusal};
pub use address_keys::turn_address_keys;
pub use channel::{Channel, ChannelError, ChannelSettings, RemoteBot};
pub(crate) use saying::Begun;
pub(crate) use settings::WEBCHAT;
pub use settings::{Delivery, Ending, RemoteSettings, UserId};
pub(crate) use visit::{Refused, Visit};
