//! The settings of gRPC, in the configuration file.

use std::net::SocketAddr;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Deserialize;

use super::value::read_listening;

/// The settings of gRPC, which is served at the port of HTTP by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrpcConfig {
    /// Whether gRPC is served; true if absent.
    pub enabled: Option<bool>,
    /// Whether agent cards list gRPC; if absent, only with `address`. As `HOST:PORT` the address is not an absolute
    /// URL, and some clients of other bindings refuse the whole card because of it.
    pub card: Option<bool>,
    /// The form of the address in agent cards; `host-port` if absent.
    pub form: Option<GrpcForm>,
    /// An additional port for gRPC, as IP:PORT.
    #[serde(default, deserialize_with = "read_listening")]
    #[schemars(with = "Option<String>", skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
    /// The address of gRPC for clients, if it differs from the listening address; written into agent cards.
    pub address: Option<HostPort>,
}

/// The form of gRPC's address in agent cards.
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
        for wrong in ["grpc.example.com", ":443", "h:port", "http://h:1", "h:70000", "h/p:1"] {
            let error = HostPort::try_from(wrong.to_owned()).unwrap_err();
            assert!(error.contains("expected a host and a port"), "{wrong}");
        }
    }
}
