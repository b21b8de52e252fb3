//! The code that all programs of the workspace share, so that they behave alike.
//!
//! It contains no protocol: each program supplies what it serves.
//!
//! - [`log`]: sets up a program's log
//! - [`listen`], [`serve()`]: accept and serve connections within [`Limits`]
//! - [`Flight`]: counts a request and its memory while it is answered
//! - [`outgoing()`]: limits the memory of large answers that are being sent
//! - [`stop_signal`], [`serve_until`]: end a program gracefully on Ctrl-C and SIGTERM
//! - [`supervisor`]: ends the processes that a program started, however the program ends
//! - [`secret`]: values that must never be shown
//! - [`path`]: finds programs as the operating system does
//! - [`Exit`]: the exit codes
//! - [`terminal`]: prints text and escapes control characters in it

mod exit;
pub mod log;
pub mod path;
pub mod secret;
mod serve;
mod stop;
pub mod supervisor;
pub mod terminal;

pub use exit::Exit;
pub use serve::{
    App, Door, Flight, LARGE, Limits, ListenError, Outgoing, Plain, Room, Trouble, Unserved,
    listen, network, outgoing, serve, serve_within,
};
pub use stop::{StopFuture, serve_until, stop_signal};
