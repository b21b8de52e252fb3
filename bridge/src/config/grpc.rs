//! Where gRPC is spoken, as the file says it.

use std::net::SocketAddr;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Deserialize;

/// Where gRPC is spoken: at the port of everything else, if nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrpcConfig {
    /// Whether it is spoken at all; it is if absent.
    pub enabled: Option<bool>,
    /// Whether agent cards list it; they do if `address` is set, else not. As `HOST:PORT` it is no absolute URL, and
    /// some clients of other bindings refuse a whole card for it.
    pub card: Option<bool>,
    /// How agent cards write where it is; `host-port` if absent.
    pub form: Option<GrpcForm>,
    /// A port of its own, as HOST:PORT, beside the one of everything else.
    #[schemars(with = "Option<String>")]
    pub listen: Option<SocketAddr>,
    /// Where clients reach it, if not where it listens: agent cards say so.
    pub address: Option<HostPort>,
}

/// How agent cards write where gRPC is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum GrpcForm {
    /// HOST:PORT, which the gRPC channels of most SDKs are given as it is
    HostPort,
    /// http://HOST:PORT or https://HOST:PORT, for clients that check every address of a card
    Url,
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
