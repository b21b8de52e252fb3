//! In the place of the oldest dialects, in builds without the feature `legacy`.
//!
//! None of them can be read. Output for 0.1 is written as in 1.0 and reported as a loss.
//! [`Version::of`](super::Version::of) does not know 0.1 in such a build, so this is only reached by a version that a
//! caller names in code.

use serde::Serialize;
use serde_json::Value;

use super::Losses;
use crate::wire::{FieldError, to_value};

/// Refuses what is of a dialect that this build cannot read.
pub(crate) fn read<T>(_: Value) -> Result<T, FieldError> {
    const BUILT_IN: &str = "A2A 0.2, 0.3 or 1.0, as this build has no older dialects";
    Err(FieldError::new(BUILT_IN, "an older dialect"))
}

pub(crate) fn write<T: Serialize + ?Sized>(object: &T, losses: &mut Losses) -> Value {
    losses.add("", "this build has no A2A 0.1; written as 1.0");
    to_value(object)
}

/// In the place of the `/execute` protocol.
pub(crate) mod execute {
    pub(crate) mod card {
        pub(crate) use super::super::read as to_v1;
    }
}

/// In the place of 0.1.
pub(crate) mod v0_1 {
    pub(crate) use super::{read, write};

    pub(crate) mod call {
        use crate::{
            a2a::Operation,
            dialect::{Call, Losses, call::write_v1_0},
            wire::FieldError,
        };
        use serde_json::Value;

        pub(crate) fn to_v1(_: Operation, params: Value, _: &str) -> Result<Call, FieldError> {
            super::read(params)
        }

        pub(crate) fn from_v1(call: &Call, losses: &mut Losses) -> Value {
            super::write(&write_v1_0(call), losses)
        }
    }

    pub(crate) mod card {
        pub(crate) use super::{read as to_v1, write as from_v1};

        pub(crate) fn has_paths(_: &crate::a2a::AgentCard) -> bool {
            false
        }
    }

    pub(crate) mod event {
        pub(crate) use super::{
            read as send_result_to_v1, read as stream_item_to_v1, write as send_result_from_v1,
            write as stream_item_from_v1,
        };
    }

    pub(crate) mod push {
        pub(crate) use super::{read as to_v1, write as from_v1};
    }

    pub(crate) mod task {
        pub(crate) use super::{read as to_v1, write as from_v1};
    }
}
