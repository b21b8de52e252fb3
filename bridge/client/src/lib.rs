//! An A2A client: finds out from an agent's card how to speak to it, then speaks 1.0 or 0.3 over
//! JSON-RPC and always answers in the types of 1.0.
//!
//! Every wait has a limit, every body a greatest size ([`Limits`]); every error says which agent and
//! operation failed, and which field where it was one ([`ClientError`]).
//!
//! - [`Client`]: the operations
//! - [`EventStream`]: the events of a streaming operation
//! - [`Credentials`]: what lets the client in
//! - [`fetch_card`]: an agent's card, of any generation
//! - [`discovery`]: what is known of a site becomes an agent with skills
//! - [`invocation`]: a skill of such an agent is called, whatever it speaks
//! - `registry`, a feature: agent cards in an OCI registry

mod card;
mod client;
mod credentials;
pub mod discovery;
mod error;
mod guard;
pub mod invocation;
mod options;
#[cfg(feature = "registry")]
pub mod registry;
mod rpc;
mod stream;

pub use card::fetch_card;
pub use client::Client;
pub use credentials::{CredentialError, Credentials};
pub use error::{ClientError, Fault};
pub use options::{Limits, Options};
pub use stream::EventStream;

/// The README's example is compiled with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
