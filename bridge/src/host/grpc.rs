//! Where gRPC is spoken.

use crate::server::{GrpcAddress, GrpcInterface};

/// Where gRPC is spoken, which needs HTTP/2: what serves the router has to speak it, as this crate's own
/// `serve` does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Grpc {
    /// Where HTTP is, at the same port; cards do not say so.
    #[cfg_attr(feature = "grpc", default)]
    Here,
    /// There too, and cards say so.
    Listed {
        /// `HOST:PORT`; those of HTTP if absent.
        address: Option<String>,
        /// How cards write it.
        form: GrpcAddress,
    },
    /// Nowhere; so it is if this crate was built without the feature `grpc`.
    #[cfg_attr(not(feature = "grpc"), default)]
    Nowhere,
}

impl Grpc {
    /// How the agent is reached which is asked as this tenant.
    pub(super) fn interface(&self, tenant: Option<&str>) -> Option<GrpcInterface> {
        let (is_listed, address, form) = match self {
            Self::Here => (false, None, GrpcAddress::default()),
            Self::Listed { address, form } => (true, address.clone(), *form),
            Self::Nowhere => return None,
        };
        cfg!(feature = "grpc").then(|| GrpcInterface {
            is_listed,
            address,
            form,
            tenant: tenant.map(str::to_owned),
        })
    }
}
