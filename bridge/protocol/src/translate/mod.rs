//! The pure translation between A2A 1.0 and the Activity protocol.
//!
//! A turn goes in as one activity and comes out as many. [`to_activity`] makes the activity that a bot
//! gets; [`Turn`] takes the activities that the bot sends, with what else ends a turn, and gives the task
//! events that they mean. Nothing here reads a clock or makes up an id: both come in.
//!
//! What one side cannot carry is reported as data under the names in [`keys`]. The rule behind it: a part
//! or a message is made, read back in the plainest way, and only what that reading does not give stands in
//! the metadata. So an ordinary message has none, and nothing is lost of an extraordinary one.
//!
//! - [`to_activity`]: messages, cancels and first contacts to activities
//! - [`turn`]: the machine
//! - [`answer`]: where clients find the answer of a task that completes
//! - [`from_activity`]: activities to messages
//! - [`context`]: what a turn's activities have in common
//! - [`keys`]: names in metadata and in `channelData`
//! - [`sign_in`]: what asks a user to sign in
//! - [`whole`]: the extension that carries activities whole

pub mod answer;
pub mod context;
mod data_uri;
mod end;
pub mod from_activity;
mod ids;
pub mod keys;
mod media;
mod patch;
mod schema;
pub mod sign_in;
mod skeleton;
mod stream;
mod structured;
pub mod to_activity;
pub mod turn;
pub mod whole;

pub use context::TurnContext;
pub use turn::{Dropped, Input, Output, SilentEnd, Turn};
