//! The settings of gRPC.

use crate::server::{GrpcAddress, GrpcInterface};

/// The place where gRPC is served. It needs HTTP/2, which the server of the router must support, as this crate's own
/// `serve` does. Its clients call the root of a port, never a path: an app that nests the router under a prefix also adds
/// it at the root, such as with [`Router::fallback_service`](axum::Router::fallback_service).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Grpc {
    /// At the port of HTTP, without an entry in cards.
    #[cfg_attr(feature = "grpc", default)]
    Here,
    /// At the port of HTTP, with an entry in cards.
    Listed {
        /// The `HOST:PORT` in cards; the one of HTTP if absent.
        address: Option<String>,
        /// The form of the address in cards.
        form: GrpcAddress,
    },
    /// Not at all; the only choice without the feature `grpc`.
    #[cfg_attr(not(feature = "grpc"), default)]
    Nowhere,
}

impl Grpc {
    /// Returns the gRPC interface of the agent with this tenant.
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
