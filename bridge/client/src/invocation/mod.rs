//! Invocation: a skill of a discovered agent is called, whatever the agent speaks.
//!
//! Parameters are checked against the card's schema before anything is sent. What is sent is a data part
//! `{"skill_id", "parameters"}` beside what is said in words: by SendMessage or `message/send`, to
//! `{base}/tasks/send`, or as a method to `{base}/execute`, as the card says. What comes of it is one
//! [`Outcome`].
//!
//! - [`invoke`]: a call from beginning to end
//! - [`Invoker`]: the same in steps, for those who watch it or cancel it
//! - [`Invocation`]: what is asked
//! - [`Outcome`]: what came of it
//! - [`InvocationError`]: why nothing came of it

mod error;
mod execute;
mod follow;
mod invoker;
mod outcome;
mod post;
mod request;
mod tasks_send;

pub use error::InvocationError;
pub use invoker::Invoker;
pub use outcome::{Outcome, State};
pub use request::Invocation;

use crate::{Options, discovery::Discovered};

/// Calls a skill and waits for what comes of it, until the task has ended or asks for something, or the
/// limit for replies is over.
///
/// # Errors
/// [`InvocationError`]. A task that failed is an [`Outcome`].
pub async fn invoke(
    agent: &Discovered,
    invocation: &Invocation,
    options: &Options,
) -> Result<Outcome, InvocationError> {
    Invoker::new(agent, options)?.invoke(invocation).await
}
