//! Enforces the authentication that an agent's card declares (specification 4.5, 7).
//!
//! A card declares schemes and requirements; [`Check`]s verify the credentials for each scheme. Together they
//! are an [`Access`], whose [`layer`](Access::layer) is in front of every binding of the agent. It adds the
//! [`Caller`](crate::caller::Caller) to admitted requests.
//!
//! - [`Access`]: the requirements of a card with their checks
//! - [`Check`]: the accepted tokens, secrets and certificates
//! - `decision`: the rule without HTTP: any requirement of the list, all its schemes, every scope
//! - `skills`, `named_skills`: further requirements of skills, and the skills that a call names
//! - `credential_location`: the location of credentials in a request
//! - [`AccessLayer`]: enforces the rule for HTTP, with answers in the form of each binding
//! - [`PeerCertificate`]: the certificate that a client presented

mod challenge;
mod check;
mod credential_location;
mod credentials;
mod decision;
mod declared;
mod layer;
mod named_skills;
mod plan;
mod refusal;
mod secrets;
mod skills;

pub use check::{Certificates, Check, PeerCertificate, TokenCheck};
pub(crate) use credentials::Credentials;
pub use declared::AccessError;
pub use layer::{AccessLayer, Guarded};
pub use plan::Access;
pub(crate) use refusal::Refusal;
pub use secrets::{SecretError, Secrets};
