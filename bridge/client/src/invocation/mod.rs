//! Invocation calls a skill of a discovered agent, whatever protocol the agent speaks.
//!
//! Parameters are checked against the card's schema before anything is sent. The message has a data part
//! `{"skill_id", "parameters"}` and the text. It is sent by SendMessage or `message/send`, to
//! `{base}/tasks/send`, or as a method to `{base}/execute`, as the card says. The result is always an
//! [`Outcome`].
//!
//! - [`Outcome`]: the result, which is made of any other answer, too
//! - with the feature `skills`:
//!   - `invoke`: a call from beginning to end
//!   - `Invoker`: the same in steps, to watch or cancel the call
//!   - `Invocation`: the request
//!   - `InvocationError`: why the call failed

mod outcome;
#[cfg(feature = "skills")]
mod skills;

#[cfg(feature = "skills")]
pub use bridge_verify::schema::SchemaError;
pub use outcome::{Outcome, State, answer_in_history};
#[cfg(feature = "skills")]
pub use skills::{Invocation, InvocationError, Invoker, Result, invoke};
