//! The ways to carry calls (specification, section 5).

mod address;

use std::fmt;

use bridge_protocol::{dialect::Version, wire::FieldError};
use url::Url;

/// A way to carry calls, as cards name it (`protocolBinding`, specification 4.4.6). The order is that of
/// preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Binding {
    /// JSON-RPC 2.0 (section 9).
    JsonRpc,
    /// HTTP+JSON, also called REST (section 11).
    HttpJson,
    /// gRPC (section 10).
    Grpc,
}

impl Binding {
    /// All of them, the preferred first.
    pub const ALL: [Self; 3] = [Self::JsonRpc, Self::HttpJson, Self::Grpc];

    /// The name in cards.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JsonRpc => "JSONRPC",
            Self::HttpJson => "HTTP+JSON",
            Self::Grpc => "GRPC",
        }
    }

    /// The binding that a card names so, in letters of either case.
    pub fn of(name: &str) -> Option<Self> {
        let is_named = |one: &Self| one.as_str().eq_ignore_ascii_case(name);
        Self::ALL.into_iter().find(is_named)
    }

    /// Where an interface of the card of the agent at `base` is; cards may have it relative to their own place.
    ///
    /// # Errors
    /// If it is no address of this binding.
    pub(crate) fn address(self, base: &Url, said: &str) -> Result<Url, FieldError> {
        match self {
            Self::Grpc => address::of_grpc(base, said),
            Self::JsonRpc | Self::HttpJson => address::below(base, said),
        }
    }

    /// Whether this client carries calls of a version so.
    pub(crate) fn carries(self, version: Version) -> bool {
        match (self, version) {
            (Self::JsonRpc, Version::V0_1 | Version::V0_3 | Version::V1_0) => true,
            (Self::HttpJson, Version::V0_3 | Version::V1_0) => true,
            (Self::HttpJson, Version::V0_1) => false,
            (Self::Grpc, Version::V1_0) => cfg!(feature = "grpc"),
            (Self::Grpc, Version::V0_1 | Version::V0_3) => false,
        }
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
