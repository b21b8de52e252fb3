//! Who may ask an agent: what its card declares is demanded (specification 4.5, 7).
//!
//! A card says which schemes there are and which of them are needed; [`Check`]s say how what a caller shows
//! is found to be right. Together they are an [`Access`], whose [`layer`](Access::layer) stands before every
//! binding of the agent. Whoever passes is the request's [`Caller`](crate::caller::Caller).
//!
//! - [`Access`]: a card's demands with the means to check them
//! - [`Check`]: tokens, secrets and certificates that are let in
//! - `decision`: the rule, pure: any requirement of the list, all schemes of one, every scope
//! - `skills`, `named`: what skills need beyond the card, and which of them a call names
//! - `shown`: where in a request a scheme's credential stands
//! - [`AccessLayer`]: the rule before a service over HTTP, and the answers of each binding
//! - [`PeerCertificate`]: what a client showed when the connection was made

mod certificate;
mod challenge;
mod check;
mod credentials;
mod decision;
mod declared;
mod demand;
mod layer;
mod named;
mod plan;
mod refusal;
mod secrets;
mod shown;
mod skills;
mod summary;

pub use certificate::{Certificates, PeerCertificate};
pub use check::{Check, TokenCheck};
pub(crate) use credentials::Credentials;
pub use declared::AccessError;
pub use layer::{AccessLayer, Guarded};
pub use plan::Access;
pub(crate) use refusal::Refusal;
pub use secrets::{SecretError, Secrets};
