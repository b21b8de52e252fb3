//! Where gRPC is spoken.

use crate::server::GrpcInterface;

/// Where gRPC is spoken, which needs HTTP/2: what serves the router has to speak it, as this crate's own
/// `serve` does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Grpc {
    /// Where HTTP is, at the same port; cards do not say so.
    #[cfg_attr(feature = "grpc", default)]
    Here,
    /// There too, and cards name the host and port of HTTP for it.
    Listed,
    /// There too, but cards name this `HOST:PORT` for it.
    At(String),
    /// Nowhere; so it is if this crate was built without the feature `grpc`.
    #[cfg_attr(not(feature = "grpc"), default)]
    Nowhere,
}

impl Grpc {
    /// How the agent is reached which is asked as this tenant.
    pub(super) fn interface(&self, tenant: Option<&str>) -> Option<GrpcInterface> {
        let (is_listed, address) = match self {
            Self::Here => (false, None),
            Self::Listed => (true, None),
            Self::At(address) => (true, Some(address.clone())),
            Self::Nowhere => return None,
        };
        cfg!(feature = "grpc").then(|| GrpcInterface {
            is_listed,
            address,
            tenant: tenant.map(str::to_owned),
        })
    }
}
