//! Invocation calls a skill of a discovered agent, whatever protocol the agent speaks.
//!
//! Parameters are checked against the card's schema before anything is sent. The message has a data part
//! `{"skill_id", "parameters"}` and the text. It is sent by SendMessage or `message/send`, to
//! `{base}/tasks/send`, or as a method to `{base}/execute`, as the card says. The result is always an
//! [`Outcome`].
//!
//! - [`invoke`]: a call from beginning to end
//! - [`Invoker`]: the same in steps, to watch or cancel the call
//! - [`Invocation`]: the request
//! - [`Outcome`]: the result
//! - [`InvocationError`]: why the call failed

mod error;
mod follow;
mod invoker;
#[cfg(feature = "legacy")]
mod legacy;
#[cfg(not(feature = "legacy"))]
#[path = "no_legacy.rs"]
mod legacy;
mod outcome;
mod request;

pub use error::InvocationError;
pub use invoker::Invoker;
pub use outcome::{Outcome, State, answer_in_history};
pub use request::Invocation;

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
) -> Result<Outcome, InvocationError> {
    Invoker::new(agent, options)?.invoke(invocation).await
}
