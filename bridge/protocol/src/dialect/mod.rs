//! Translates older generations of A2A to 1.0 and back.
//!
//! All other modules use 1.0; a [`Version`] translates at the edge. Upwards nothing is lost: fields unknown
//! to 1.0 go into `extra`. Downwards nothing fails: what 0.3 or 0.1 cannot express is written under its 1.0
//! name, which its readers skip, and is reported in [`Losses`].
//!
//! A client starts with a [`Call`], uses [`Version::method`] and [`Version::params_from_v1`], and reads the
//! answer with [`Version::send_result_to_v1`] and similar functions. A server uses the opposite directions.
//!
//! - [`call`]: an operation with its parameters
//! - [`card`]: agent cards of all generations
//! - `execute`: agents that call each skill as a method, with the feature `legacy`
//! - [`loss`]: reports what the older generation cannot express
//! - [`places`]: the locations of cards
//! - [`result`]: the answers of operations
//! - `settled`: required fields and empty strings in requests
//! - [`skill`]: calls of skills with parameters
//! - `v0_1`: the types of 0.1, with the feature `legacy`
//! - [`v0_3`]: the types of 0.3 and 0.2
//! - [`version`]: the generations
//!
//! Error codes are not translated: 0.3 has the codes of 1.0 up to -32007 and 0.1 those up to -32004, with the
//! same meanings.

#[cfg(not(feature = "legacy"))]
mod absent;
mod alike;
mod answer;
pub mod call;
pub mod card;
#[cfg(feature = "legacy")]
pub mod execute;
pub mod lenient;
pub mod loss;
pub(crate) mod object;
mod params;
pub mod places;
#[cfg(test)]
mod properties;
pub mod result;
mod settled;
pub mod skill;
#[cfg(feature = "legacy")]
pub mod v0_1;
pub mod v0_3;
pub mod version;

#[cfg(not(feature = "legacy"))]
use absent::{execute, v0_1};
pub use answer::with_answer_as_artifact;
pub use call::Call;
pub use card::Generation;
pub use loss::{Loss, Losses};
pub use version::Version;
