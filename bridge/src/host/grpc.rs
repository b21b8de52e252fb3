//! Where gRPC is spoken.

use crate::server::GrpcInterface;

/// Where gRPC is spoken, which needs HTTP/2: what serves the router has to speak it, as this crate's own
/// `serve` does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Grpc {
    /// Where HTTP is, at the same port.
    #[cfg_attr(feature = "grpc", default)]
    Here,
    /// There too, but cards name this `HOST:PORT` for it.
    At(String),
    /// Nowhere; so it is if this crate was built without the feature `grpc`.
    #[cfg_attr(not(feature = "grpc"), default)]
    Nowhere,
}

impl Grpc {
    /// How the agent is reached which is asked as this tenant.
    pub(super) fn interface(&self, tenant: Option<&str>) -> Option<GrpcInterface> {
        let address = match self {
            Self::Here => None,
            Self::At(address) => Some(address.clone()),
            Self::Nowhere => return None,
        };
        let tenant = tenant.map(str::to_owned);
        cfg!(feature = "grpc").then_some(GrpcInterface { address, tenant })
    }
}
