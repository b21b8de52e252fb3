//! An A2A client: finds out from an agent's card how to speak to it, then speaks 1.0, 0.3 or 0.1 over
//! JSON-RPC, 1.0 or 0.3 over HTTP+JSON, or, with the feature `grpc`, 1.0 over gRPC, and always answers in
//! the types of 1.0.
//!
//! Every wait has a limit, every body a greatest size ([`Limits`]); every error says which agent and
//! operation failed, and which field where it was one ([`ClientError`]).
//!
//! - [`Client`]: the operations
//! - [`EventStream`]: the events of a streaming operation
//! - [`Binding`]: how calls are carried
//! - [`Credentials`]: what lets the client in
//! - [`fetch_card`]: an agent's card, of any generation
//! - [`Lookup`]: who says where a name is, if not the system
//! - [`Roots`]: whose certificates are believed
//! - [`CardCheck`]: whether a card is trusted
//! - [`CardCache`]: cards that need not be sent again
//! - [`Signers`]: who may have signed it
//! - [`discovery`]: what is known of a site becomes an agent with skills
//! - [`invocation`]: a skill of such an agent is called, whatever it speaks
//! - `registry`, a feature: agent cards in an OCI registry

// What is printed passes `bridge_program::terminal`: much of it was written by others.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod agent;
mod body;
mod cache;
mod card;
mod certificate;
mod check;
mod client;
mod connect;
mod credentials;
pub mod discovery;
mod error;
mod guard;
mod http;
mod interface;
pub mod invocation;
mod legible;
mod negotiation;
mod options;
mod place;
#[cfg(feature = "registry")]
pub mod registry;
mod roots;
mod signature;
mod stream;
mod tenant;
mod transport;
mod ways;

pub use bridge_protocol::a2a::Binding;
pub use cache::CardCache;
pub use card::fetch_card;
pub use check::CardCheck;
pub use client::Client;
pub use credentials::{CredentialError, Credentials, is_loopback};
pub use error::{ClientError, Fault};
pub use guard::Lookup;
pub use interface::without_user;
pub use options::{Limits, Options, Polls, Retries};
pub use roots::{Roots, RootsError};
pub use signature::{SignatureError, Signed, Signers};
pub use stream::EventStream;

/// The README's example is compiled with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
