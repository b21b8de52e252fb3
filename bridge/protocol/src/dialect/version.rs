//! The generations of A2A.

use alloc::{borrow::Cow, format, vec::Vec};
use core::fmt;

use crate::{
    a2a::{AgentCard, Error, ErrorKind, Operation},
    dialect::v0_1,
};

/// A version of A2A that this project supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 0.1, the first form of A2A, before it had version numbers.
    V0_1,
    /// 0.3, and 0.2, which differs only in its cards.
    V0_3,
    /// 1.0.
    V1_0,
}

impl Version {
    /// All versions that this build speaks, oldest first. 0.1 needs the feature `legacy`.
    #[cfg(feature = "legacy")]
    pub const ALL: [Self; 3] = [Self::V0_1, Self::V0_3, Self::V1_0];
    /// All versions that this build speaks, oldest first. 0.1 needs the feature `legacy`.
    #[cfg(not(feature = "legacy"))]
    pub const ALL: [Self; 2] = [Self::V0_3, Self::V1_0];

    /// Returns the value of the header `A2A-Version`: major and minor.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V0_1 => "0.1",
            Self::V0_3 => "0.3",
            Self::V1_0 => "1.0",
        }
    }

    /// Returns the version for a `protocolVersion` such as `1.0` or `0.3.0`, if this build speaks it.
    ///
    /// Patch numbers are ignored, as they are no part of a version (specification 3.6).
    pub fn of(protocol_version: &str) -> Option<Self> {
        Self::known(protocol_version).filter(|version| Self::ALL.contains(version))
    }

    /// Returns the version for a `protocolVersion`, whether or not this build speaks it.
    pub(crate) fn known(protocol_version: &str) -> Option<Self> {
        let (numbers, patch) = protocol_version.trim().split_at_checked(3)?;
        let version = match numbers {
            "0.1" => Self::V0_1,
            "0.2" | "0.3" => Self::V0_3,
            "1.0" => Self::V1_0,
            _ => return None,
        };
        (patch.is_empty() || patch.starts_with('.')).then_some(version)
    }

    /// Returns whether each method of an agent of this version, with this card, has its own path, such as
    /// `{url}/tasks/send`. Such agents accept parameters with or without a JSON-RPC envelope, and answer in the same
    /// form.
    pub fn has_paths(self, card: &AgentCard) -> bool {
        match self {
            Self::V0_1 => v0_1::card::has_paths(card),
            Self::V0_3 | Self::V1_0 => false,
        }
    }

    /// Reads the header or query parameter `A2A-Version`. Absent and empty mean 0.3 (3.6.2). Clients of 0.1
    /// do not send it either; they are recognized by [`Version::operation`].
    ///
    /// # Errors
    /// [`ErrorKind::VersionNotSupported`], with a message that names the supported versions.
    pub fn from_header(value: Option<&str>) -> Result<Self, Error> {
        match value.map(str::trim) {
            None | Some("") => Ok(Self::V0_3),
            Some(version) => Self::of(version).ok_or_else(|| not_supported(version)),
        }
    }

    /// Returns the JSON-RPC method of an operation; `None` if the version does not have it, such as ListTasks in 0.3.
    pub fn method(self, operation: Operation) -> Option<&'static str> {
        let [v0_3, v0_1] = operation.older_methods();
        match self {
            Self::V0_1 => v0_1.filter(|_| cfg!(feature = "legacy")),
            Self::V0_3 => v0_3,
            Self::V1_0 => Some(operation.name()),
        }
    }

    /// Returns the operation of a JSON-RPC method. 0.1 and 0.3 share `tasks/get`, `tasks/cancel` and `tasks/resubscribe`.
    pub fn operation(self, method: &str) -> Option<Operation> {
        let mut all = Operation::ALL.into_iter();
        all.find(|operation| self.method(*operation) == Some(method))
    }

    /// Returns the path of an operation below an agent's address, with the names of fields in braces.
    pub fn path(self, operation: Operation) -> Cow<'static, str> {
        match (self, operation) {
            (Self::V1_0, _) => operation.path().into(),
            (Self::V0_1 | Self::V0_3, Operation::GetExtendedAgentCard) => "/v1/card".into(),
            (Self::V0_1 | Self::V0_3, _) => format!("/v1{}", operation.path()).into(),
        }
    }
}

fn not_supported(version: &str) -> Error {
    let [oldest, newer @ ..] = Version::ALL;
    let newer: Vec<_> = newer.iter().rev().map(|one| one.as_str()).collect();
    let newer = newer.join(", ");
    Error::new(
        ErrorKind::VersionNotSupported,
        format!("A2A {version} is not supported; send A2A-Version {newer} or {oldest}"),
    )
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_names_a_version() {
        for (header, version) in [
            (None, Version::V0_3),
            (Some(""), Version::V0_3),
            (Some(" "), Version::V0_3),
            (Some("0.1"), Version::V0_1),
            (Some("0.2"), Version::V0_3),
            (Some("0.3"), Version::V0_3),
            (Some("0.3.0"), Version::V0_3),
            (Some(" 1.0 "), Version::V1_0),
            (Some("1.0.1"), Version::V1_0),
        ] {
            assert_eq!(Version::from_header(header), Ok(version), "{header:?}");
        }
        for header in ["1", "1.1", "1.01", "0.0", "2.0", "01.0", "v1.0", "1.0,0.3"] {
            let error = Version::from_header(Some(header)).unwrap_err();
            assert_eq!(error.kind, ErrorKind::VersionNotSupported, "{header}");
        }
    }

    #[test]
    fn an_unsupported_version_is_answered_with_those_that_are() {
        let error = Version::from_header(Some("2.0")).unwrap_err();
        assert_eq!(error.message, "A2A 2.0 is not supported; send A2A-Version 1.0, 0.3 or 0.1");
    }

    #[test]
    fn methods_are_distinguished_by_version() {
        for version in Version::ALL {
            for operation in Operation::ALL {
                if let Some(method) = version.method(operation) {
                    assert_eq!(version.operation(method), Some(operation));
                }
            }
        }
        let without = |version: Version| {
            let all = Operation::ALL.into_iter();
            all.filter(|operation| version.method(*operation).is_none()).count()
        };
        assert_eq!(without(Version::V0_3), 1);
        assert_eq!(without(Version::V1_0), 0);
        #[cfg(feature = "legacy")]
        assert_eq!(without(Version::V0_1), 4);
        assert_eq!(Version::V0_3.operation("SendMessage"), None);
        assert_eq!(Version::V0_3.operation("tasks/send"), None);
        assert_eq!(Version::V1_0.operation("message/send"), None);
    }
}
