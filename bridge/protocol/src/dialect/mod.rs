//! Older generations of A2A, translated to 1.0 and back.
//!
//! Everything inside this project speaks 1.0; a [`Version`] stands at the edge and translates. Upwards
//! nothing is lost: fields that 1.0 does not know stand in `extra`. Downwards nothing fails: what 0.3 or 0.1
//! has no word for is written under its 1.0 name, which its readers skip, and is reported in [`Losses`].
//!
//! A client has a [`Call`], asks for [`Version::method`] and [`Version::params_from_v1`], and reads what
//! comes back with [`Version::send_result_to_v1`] and its like. A server goes the other way.
//!
//! - [`call`]: an operation with its parameters
//! - [`card`]: agent cards of all generations
//! - [`execute`]: agents that take each skill as a method
//! - [`loss`]: what the older generation cannot say
//! - [`places`]: where cards lie
//! - [`result`]: what operations answer
//! - `settled`: what a request must say, and what an empty string says
//! - [`v0_1`]: the types of 0.1, one by one
//! - [`v0_3`]: the types of 0.3, and 0.2, one by one
//! - [`version`]: which generation is spoken
//!
//! Error codes need no translation: 0.3 has the codes of 1.0 up to -32007 and 0.1 those up to
//! -32004, with the same meanings.

mod alike;
pub mod call;
pub mod card;
pub mod execute;
pub mod lenient;
pub mod loss;
pub(crate) mod object;
pub mod places;
#[cfg(test)]
mod properties;
pub mod result;
mod settled;
pub mod v0_1;
pub mod v0_3;
pub mod version;

pub use call::Call;
pub use card::Generation;
pub use loss::{Loss, Losses};
pub use version::Version;
