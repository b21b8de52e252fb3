//! An A2A client. It reads from an agent's card how to call the agent, and speaks 1.0, 0.3 or 0.1 over
//! JSON-RPC, 1.0 or 0.3 over HTTP+JSON, or, with the feature `grpc`, over gRPC. Its API always has the
//! types of 1.0.
//!
//! All waits have time limits and all bodies size limits ([`Limits`]). Errors name the agent, the operation,
//! and the invalid field if there is one ([`ClientError`]).
//!
//! ```no_run
//! use bridge_client::{
//!     BearerToken, Client, ClientError, Credentials, Fault, Options, Tls,
//!     invocation::{Outcome, State},
//!     new_message_id,
//! };
//! use bridge_protocol::a2a::{Message, Part, Role, SendMessageRequest, StreamResponse};
//! use futures_util::StreamExt as _;
//!
//! /// Prints the pieces of an answer, and follows the task over broken connections.
//! async fn ask(client: &Client, text: &str) -> Result<(), ClientError> {
//!     let message = Message::new(new_message_id(), Role::User, vec![Part::text(text)]);
//!     let mut events = client
//!         .send_streaming_message(SendMessageRequest::new(message))
//!         .await?;
//!     while let Some(event) = events.next().await {
//!         match event? {
//!             StreamResponse::ArtifactUpdate(update) => println!("{:?}", update.artifact.parts),
//!             StreamResponse::StatusUpdate(update) => println!("{:?}", update.status.state),
//!             StreamResponse::Task(task) => println!("task {}", task.id),
//!             StreamResponse::Message(message) => println!("{}", message.text()),
//!         }
//!     }
//!     Ok(())
//! }
//!
//! /// Returns the text of an answer, whether it is a message, a status or an artifact. A question gets an answer, too.
//! async fn converse(client: &Client, text: &str, answer: &str) -> Result<String, ClientError> {
//!     let message = Message::new(new_message_id(), Role::User, vec![Part::text(text)]);
//!     let sent = client.send_message(SendMessageRequest::new(message)).await?;
//!     let mut outcome = Outcome::from(sent);
//!     if outcome.state == State::InputRequired {
//!         let message = Message {
//!             task_id: outcome.task_id,
//!             context_id: outcome.context_id,
//!             ..Message::new(new_message_id(), Role::User, vec![Part::text(answer)])
//!         };
//!         let sent = client.send_message(SendMessageRequest::new(message)).await?;
//!         outcome = Outcome::from(sent);
//!     }
//!     Ok(outcome.text)
//! }
//!
//! # async fn connect(ca: &[u8], certificate: &[u8], key: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
//! let token = BearerToken::new("token")?;
//! let options = Options {
//!     credentials: Credentials::default().bearer_token(&token),
//!     // A company's own authority, beside the public ones; and the client's certificate, for mutual TLS.
//!     tls: Tls::trusting(ca)?.showing(certificate, key)?,
//!     ..Options::default()
//! };
//! let client = Client::connect(&"https://agents.example/a2a".parse()?, &options).await?;
//! match ask(&client, "hello").await {
//!     // The client and its streams use the new token from now on.
//!     Err(ClientError { fault: Fault::Unauthenticated { .. }, .. }) => token.replace("another token")?,
//!     answered => answered?,
//! }
//! # Ok(())
//! # }
//! ```
//!
//! - [`Client`]: the operations
//! - [`EventStream`]: the events of a streaming operation
//! - [`Binding`]: the transport protocol of calls
//! - [`Credentials`]: the secrets sent with requests; [`BearerToken`]: one that is replaced when it expires
//! - [`new_message_id`]: the ids of messages
//! - [`Lookup`]: resolves host names in place of the system
//! - [`Tls`]: additional root certificates, and the client's own; [`with_shared_tls`]: clients without them, made cheaply
//! - [`CardCheck`]: decides whether a card is trusted
//! - [`CardCache`]: cards with their `ETag`s
//! - [`Signers`]: verifies card signatures
//! - [`discovery`]: finds agents and their skills
//! - [`invocation`]: calls a skill, whatever protocol the agent speaks; [`invocation::Outcome`]: the state, text, data and
//!   artifacts of any answer
//! - `registry`, a feature: agent cards in an OCI registry

// Output goes through `bridge_program::terminal`, because much of it comes from other parties.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod agent;
mod cache;
mod card;
mod card_url;
mod certificate;
mod check;
mod client;
mod connect;
mod credentials;
pub mod discovery;
mod error;
mod failover;
mod guard;
mod http;
mod interface;
pub mod invocation;
mod lenient_card;
mod message_id;
mod negotiation;
mod options;
#[cfg(feature = "registry")]
pub mod registry;
mod sequence;
mod signature;
mod stream;
mod tls;
mod transport;

pub use async_trait::async_trait;
pub use bridge_http::is_loopback;
pub use bridge_http::with_shared_tls;
pub use bridge_protocol::a2a::Binding;
pub use cache::CardCache;
pub use certificate::rejection as certificate_rejection;
pub use check::CardCheck;
pub use client::Client;
pub use credentials::{BearerToken, CredentialError, Credentials};
pub use error::{ClientError, Fault, Result};
pub use guard::Lookup;
pub use interface::{web_url, without_user};
pub use message_id::new_message_id;
pub use options::{GrpcMeter, Limits, Options, Polls, Retries};
/// The HTTP client in whose types this API takes connections.
pub use reqwest;
pub use signature::{SignatureError, Signed, Signers};
pub use stream::EventStream;
pub use tls::{Tls, TlsError, TlsFileError};

/// The example in the README is compiled as a doctest.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
