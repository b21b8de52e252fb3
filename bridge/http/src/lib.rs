//! What all HTTP clients of the workspace have in common: [`Connections`] to a server, the certificates that they trust
//! ([`with_shared_tls`], [`tls_config`], [`tls_error`]), the proxy of the environment ([`with_proxy_for`]), [`read_body`],
//! [`redirect_target`], [`describe_redirect`] and [`root_cause`].

mod body;
mod connections;
mod loopback;
mod redirect;
mod root_cause;
mod tls;
mod tls_error;

pub use body::{BodyError, read_body};
pub use connections::{Connections, IDLE_TIMEOUT};
pub use loopback::{is_loopback, with_proxy_for};
pub use redirect::{describe_redirect, redirect_advice, redirect_target};
pub use root_cause::{advice_on_status, advice_on_tls, root_cause, root_cause_with_proxy};
pub use tls::{is_authority, shared_tls_config, tls_config, with_shared_tls};
pub use tls_error::{is_lasting, tls_error};
