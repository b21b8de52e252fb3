//! The two JSON forms of 0.3, whose objects have almost the same fields.

use alloc::vec::Vec;

use serde_json::Value;

use super::{part, proto};
use crate::{
    a2a::Part,
    dialect::{
        Losses,
        object::{self, Object, ObjectDialect},
    },
    wire::{FieldError, Fields, list},
};

/// A JSON form of 0.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// That of JSON-RPC: objects have a `kind`.
    JsonRpc,
    /// [ProtoJSON](super::proto): a message's parts are its `content`, and empty lists may be missing.
    Proto,
}

impl Form {
    pub(super) fn dialect(self) -> &'static ObjectDialect {
        match self {
            Self::JsonRpc => &object::V0_3,
            Self::Proto => &object::V0_3_PROTO,
        }
    }

    /// Starts an object, with its `kind` if the form has kinds.
    pub(super) fn object(self, kind: &str) -> Object {
        let mut object = self.dialect().object();
        if self == Self::JsonRpc {
            object.put("kind", kind);
        }
        object
    }

    /// Returns the name of a message's parts.
    pub(super) fn content(self) -> &'static str {
        match self {
            Self::JsonRpc => "parts",
            Self::Proto => "content",
        }
    }

    /// Reads the parts of a message or an artifact.
    pub(super) fn parts_to_v1(
        self,
        fields: &mut Fields,
        key: &str,
    ) -> Result<Vec<Part>, FieldError> {
        match self {
            Self::JsonRpc => fields.required_by(key, |parts| list(parts, part::to_v1)),
            Self::Proto => fields.list_by(key, proto::part::to_v1),
        }
    }

    /// Writes the parts of a message or an artifact.
    pub(super) fn parts_from_v1(self, parts: &[Part], losses: &mut Losses) -> Vec<Value> {
        match self {
            Self::JsonRpc => losses.each("parts", parts, part::from_v1),
            Self::Proto => losses.each("parts", parts, proto::part::from_v1),
        }
    }
}
