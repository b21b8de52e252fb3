//! What all HTTP clients of the workspace have in common: [`Connections`] to a server, the certificates that they trust
//! ([`with_shared_tls`], [`tls_config`]), [`read_body`], [`redirect_target`] and
//! [`describe_redirect`].

mod body;
mod connections;
mod redirect;
mod tls;

pub use body::{BodyError, read_body};
pub use connections::{Connections, IDLE_TIMEOUT};
pub use redirect::{describe_redirect, redirect_advice, redirect_target};
pub use tls::{is_authority, shared_tls_config, tls_config, with_shared_tls};
