//! What the programs have in common, so that each of them behaves as the others do.
//!
//! It knows no protocol: what is served, and what a program is for, is the programs' own.
//!
//! - [`log`]: where a program writes its own log
//! - [`listen`], [`serve()`]: connections are taken and kept in one way, within [`Limits`]
//! - [`Flight`]: a request that is being answered, and what it takes
//! - [`outgoing()`]: large answers that are being sent, of which there are not too many at once
//! - [`stop_signal`], [`serve_until`]: Ctrl-C and SIGTERM end it in good order
//! - [`keeper`]: what it starts does not outlive it, however it ends
//! - [`path`]: programs are found as the system finds them
//! - [`Exit`]: what it tells its caller
//! - [`terminal`]: what it prints, which no text of others may turn into commands

mod exit;
pub mod keeper;
pub mod log;
pub mod path;
mod serve;
mod stop;
pub mod terminal;

pub use exit::Exit;
pub use serve::{
    App, Door, Flight, LARGE, Limits, ListenError, Outgoing, Plain, Room, Trouble, Unserved,
    listen, outgoing, serve, serve_within,
};
pub use stop::{StopFuture, serve_until, stop_signal};
