//! Where gRPC is spoken, as the file says it.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::Deserialize;

/// Where gRPC is spoken: at the port of everything else, if nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrpcConfig {
    /// Whether it is spoken at all; it is if absent.
    pub enabled: Option<bool>,
    /// Whether agent cards list it; they do if `address` is set, else not. Its `HOST:PORT` is no absolute URL, and some
    /// clients of other bindings refuse a whole card for it.
    pub card: Option<bool>,
    /// A port of its own, as HOST:PORT, beside the one of everything else.
    #[schemars(with = "Option<String>")]
    pub listen: Option<SocketAddr>,
    /// Where clients reach it, if not where it listens: agent cards say so.
    pub address: Option<HostPort>,
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend("examples" = ["grpc.example.com:443"]))]
pub struct HostPort(pub String);

impl TryFrom<String> for HostPort {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
        let parts = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        let port = parts.and_then(|(_, port)| port.parse::<u16>().ok());
        match text.chars().all(is_plain) && port.is_some() {
            true => Ok(Self(text)),
            false => Err(format!(
                "expected a host and a port such as grpc.example.com:443, found {text:?}"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_a_port_are_needed() {
        for right in ["grpc.example.com:443", "127.0.0.1:1", "[::1]:50051"] {
            assert!(HostPort::try_from(right.to_owned()).is_ok(), "{right}");
        }
        for wrong in [
            "grpc.example.com",
            ":443",
            "h:port",
            "http://h:1",
            "h:70000",
            "h/p:1",
        ] {
            let error = HostPort::try_from(wrong.to_owned()).unwrap_err();
            assert!(error.contains("expected a host and a port"), "{wrong}");
        }
    }
}
