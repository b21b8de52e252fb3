//! The code that all programs of the workspace share, so that they behave alike.
//!
//! It contains no protocol: each program supplies its own service.
//!
//! - [`clock`]: time, ids and random numbers
//! - `log`, with the feature of that name: sets up a program's log; [`LogInterval`] keeps lines that are alike from coming in a flood
//! - [`listen`], [`serve()`]: accept and serve connections within [`Limits`]
//! - [`InFlight`]: the request that is being answered, with its memory
//! - [`large_responses()`]: limits the memory of large responses that are being sent
//! - [`stop_signal`], [`stop_or_end`], [`serve_until`]: end a program gracefully on Ctrl-C and SIGTERM
//! - [`supervisor`]: ends the processes that a program started, however the program ends
//! - [`secret`]: values that must never be shown
//! - [`header_and_variable`]: reads a header and the environment variable that has its value
//! - [`runtime()`]: creates the runtime in which a program works
//! - [`path`]: finds programs as the operating system does
//! - [`system`]: what differs between operating systems
//! - [`Json`]: an answer in JSON
//! - [`is_invalid_http`]: tells an answer that is no HTTP from a connection that broke
//! - [`lock()`]: locks a mutex after a panic too
//! - [`SplitMix64`]: random numbers that follow from a seed
//! - [`Exit`], [`Failure`]: the exit codes, and an error that has one
//! - [`causes()`], [`chain`]: the causes of an error
//! - [`shell_word`]: writes a path as shells read it
//! - [`terminal`]: prints text and escapes control characters in it

mod causes;
pub mod clock;
mod exit;
mod header_flag;
mod invalid_http;
mod json;
mod lock;
#[cfg(feature = "log")]
pub mod log;
mod log_interval;
pub mod path;
mod runtime;
pub mod secret;
mod serve;
mod shell;
mod split_mix;
mod stop;
pub mod supervisor;
pub mod system;
pub mod terminal;

pub use causes::{causes, chain};
pub use exit::{Exit, Failure, OrExit, failure};
pub use header_flag::header_and_variable;
pub use invalid_http::is_invalid_http;
pub use json::Json;
pub use lock::lock;
pub use log_interval::LogInterval;
pub use runtime::runtime;
pub use serve::{
    Acceptor, App, BodyError, COUNTED_RESPONSE, InFlight, Io, LARGE_RESPONSE, LargeResponses,
    Limits, ListenError, MIN_OWN_FILES, PlainTcp, Rejection, ResponseMemory, ResponsePermit,
    large_responses, listen, network, read_response, serve, serve_within,
};
pub use shell::shell_word;
pub use split_mix::SplitMix64;
pub use stop::{StopFuture, serve_until, stop_or_end, stop_signal};
