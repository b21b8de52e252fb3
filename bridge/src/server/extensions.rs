//! The header in which an answer names the extensions that are in use (specification 4.6, 14.2.2).

use std::collections::BTreeSet;

use axum::{
    http::{HeaderName, HeaderValue},
    response::Response,
};
use bridge_protocol::dialect::Version;

/// The response, naming what is in use; as it is if that is nothing.
pub(super) fn naming(
    mut response: Response,
    version: Version,
    active: BTreeSet<String>,
) -> Response {
    if active.is_empty() {
        return response;
    }
    let active: Vec<String> = active.into_iter().collect();
    // A URI that an operator wrote into a card need not be fit for a header.
    let Ok(value) = HeaderValue::from_str(&active.join(", ")) else {
        return response;
    };
    let name = match version {
        Version::V1_0 => "a2a-extensions",
        Version::V0_1 | Version::V0_3 => "x-a2a-extensions",
    };
    let name = HeaderName::from_static(name);
    response.headers_mut().insert(name, value);
    response
}
