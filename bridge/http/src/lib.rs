//! What all HTTP clients of the workspace have in common: [`Connections`] to a server, the certificates that they trust
//! ([`with_shared_tls`], [`tls_config`], [`tls_error`]), the proxy of the environment ([`with_proxy_for`]), [`read_body`],
//! [`redirect_target`], [`describe_redirect`], [`retry_after`] and [`root_cause`].

mod answer;
mod connections;
mod errors;
mod loopback;
mod tls;

pub use answer::{
    BodyError, describe_redirect, read_body, redirect_advice, redirect_target, retry_after,
};
pub use connections::{Connections, IDLE_TIMEOUT};
pub use errors::{
    advice_on_status, advice_on_tls, is_lasting, root_cause, root_cause_with_proxy, tls_error,
};
pub use loopback::{is_loopback, with_proxy_for};
pub use tls::{is_authority, shared_tls_config, tls_config, with_shared_tls};
