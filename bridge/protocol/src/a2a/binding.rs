//! The ways to carry calls (specification, section 5).

use core::fmt;

/// A way to carry calls, as cards name it (`protocolBinding`, specification 4.4.6). The order is that in
/// which clients here prefer them.
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
    /// All of them, in that order.
    pub const ALL: [Self; 3] = [Self::JsonRpc, Self::HttpJson, Self::Grpc];

    /// Returns the name in cards.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JsonRpc => "JSONRPC",
            Self::HttpJson => "HTTP+JSON",
            Self::Grpc => "GRPC",
        }
    }

    /// Returns the binding with this name in cards; the case is ignored.
    pub fn of(name: &str) -> Option<Self> {
        let is_named = |one: &Self| one.as_str().eq_ignore_ascii_case(name);
        Self::ALL.into_iter().find(is_named)
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
