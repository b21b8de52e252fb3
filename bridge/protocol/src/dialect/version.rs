//! Which generation of A2A is spoken.

use alloc::format;
use core::fmt;

use crate::{
    a2a::{Error, ErrorKind, Operation},
    dialect::{v0_1, v0_3},
};

/// A generation of A2A that this project speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 0.1, which was called A2A before it had versions.
    V0_1,
    /// 0.3, and 0.2, which differs from it in nothing that is said after the card.
    V0_3,
    /// 1.0.
    V1_0,
}

impl Version {
    /// All of them, the oldest first.
    pub const ALL: [Self; 3] = [Self::V0_1, Self::V0_3, Self::V1_0];

    /// As it stands in the header `A2A-Version`: major and minor.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V0_1 => "0.1",
            Self::V0_3 => "0.3",
            Self::V1_0 => "1.0",
        }
    }

    /// The version that speaks this `protocolVersion`, such as `1.0` or `0.3.0`, if there is one.
    ///
    /// Patch numbers are no part of a version (specification 3.6), so they are not looked at.
    pub fn of(protocol_version: &str) -> Option<Self> {
        let mut numbers = protocol_version.trim().splitn(3, '.');
        match (numbers.next()?, numbers.next()?) {
            ("0", "1") => Some(Self::V0_1),
            ("0", "2" | "3") => Some(Self::V0_3),
            ("1", "0") => Some(Self::V1_0),
            _ => None,
        }
    }

    /// Reads the header, or query parameter, `A2A-Version`. Absent and empty mean 0.3 (3.6.2), although
    /// clients of 0.1 do not send it either: those are told by [`Version::operation`].
    ///
    /// # Errors
    /// [`ErrorKind::VersionNotSupported`], with a message that names the versions that are.
    pub fn from_header(value: Option<&str>) -> Result<Self, Error> {
        match value.map(str::trim) {
            None | Some("") => Ok(Self::V0_3),
            Some(version) => Self::of(version).ok_or_else(|| not_supported(version)),
        }
    }

    /// The JSON-RPC method of an operation that has one: 0.3 has none for ListTasks, 0.1 for what it cannot do.
    pub fn method(self, operation: Operation) -> Option<&'static str> {
        match self {
            Self::V0_1 => v0_1::method::from_operation(operation),
            Self::V0_3 => v0_3::method::from_operation(operation),
            Self::V1_0 => Some(operation.name()),
        }
    }

    /// The operation of a JSON-RPC method. Some methods of 0.1 have their names in 0.3 too; see
    /// [`v0_1::method`].
    pub fn operation(self, method: &str) -> Option<Operation> {
        match self {
            Self::V0_1 => v0_1::method::to_operation(method),
            Self::V0_3 => v0_3::method::to_operation(method),
            Self::V1_0 => Operation::from_name(method),
        }
    }
}

fn not_supported(version: &str) -> Error {
    let [oldest, older, newest] = Version::ALL;
    Error::new(
        ErrorKind::VersionNotSupported,
        format!("A2A {version} is not supported; send A2A-Version {newest}, {older} or {oldest}"),
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
        for header in ["1", "1.1", "0.0", "2.0", "01.0", "v1.0", "1.0,0.3"] {
            let error = Version::from_header(Some(header)).unwrap_err();
            assert_eq!(error.kind, ErrorKind::VersionNotSupported, "{header}");
        }
    }

    #[test]
    fn an_unsupported_version_is_answered_with_those_that_are() {
        let error = Version::from_header(Some("2.0")).unwrap_err();
        assert_eq!(
            error.message,
            "A2A 2.0 is not supported; send A2A-Version 1.0, 0.3 or 0.1"
        );
    }

    #[test]
    fn methods_are_told_apart_by_version() {
        for version in Version::ALL {
            for operation in Operation::ALL {
                if let Some(method) = version.method(operation) {
                    assert_eq!(version.operation(method), Some(operation));
                }
            }
        }
        let without = |version: Version| {
            let all = Operation::ALL.into_iter();
            all.filter(|operation| version.method(*operation).is_none())
                .count()
        };
        assert_eq!(Version::ALL.map(without), [4, 1, 0]);
        assert_eq!(Version::V0_3.operation("SendMessage"), None);
        assert_eq!(Version::V0_3.operation("tasks/send"), None);
        assert_eq!(Version::V1_0.operation("message/send"), None);
    }
}
