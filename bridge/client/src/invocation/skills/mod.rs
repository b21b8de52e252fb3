//! Calls of skills, whose parameters are checked against the card's schemas.

mod error;
mod follow;
mod invoker;
#[cfg(feature = "legacy")]
mod legacy;
#[cfg(not(feature = "legacy"))]
#[path = "no_legacy.rs"]
mod legacy;
mod request;

pub use error::{InvocationError, Result};
pub use invoker::Invoker;
pub use request::Invocation;

use super::{Outcome, State};
use crate::{Options, discovery::Discovered};

/// Calls a skill and waits until its task has ended or asks for input, or until
/// [`Limits::reply`](crate::Limits::reply) is over.
///
/// # Errors
/// [`InvocationError`]. A failed task is not an error but an [`Outcome`].
pub async fn invoke(
    agent: &Discovered,
    invocation: &Invocation,
    options: &Options,
) -> Result<Outcome> {
    Invoker::new(agent, options)?.invoke(invocation).await
}
