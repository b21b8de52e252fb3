//! Which version a request speaks: by its header or query parameter, else by its method.

use axum::http::{HeaderMap, Uri};
use bridge_protocol::{
    a2a::{Error, ErrorKind, Operation},
    dialect::Version,
};

use super::preamble;

/// The version that the request names, by header or by query parameter (specification 3.6.1).
///
/// # Errors
/// [`ErrorKind::VersionNotSupported`].
pub(super) fn named(headers: &HeaderMap, uri: &Uri) -> Result<Option<Version>, Error> {
    let values = preamble::values(headers, uri, &preamble::VERSION);
    match values.first().map(|value| value.trim()) {
        None | Some("") => Ok(None),
        named => Version::from_header(named).map(Some),
    }
}

/// The operation of a method, and the version to speak.
///
/// Without a named version the method's name decides, since no method but `tasks/get` and its like has
/// the same name twice. A named version that does not have the method is an error, never run as another.
pub(super) fn operation(
    named: Option<Version>,
    method: &str,
) -> Result<(Version, Operation), Error> {
    let of = |version: Version| {
        version
            .operation(method)
            .map(|operation| (version, operation))
    };
    match named {
        Some(version) => of(version),
        None => [Version::V0_3, Version::V1_0, Version::V0_1]
            .into_iter()
            .find_map(of),
    }
    .ok_or_else(|| not_found(named, method))
}

fn not_found(named: Option<Version>, method: &str) -> Error {
    let elsewhere = Version::ALL
        .into_iter()
        .find(|version| version.operation(method).is_some());
    let message = match (named, elsewhere) {
        (Some(named), Some(other)) => format!(
            "A2A {named} has no method {method:?}, which is of A2A {other}: send A2A-Version {other}"
        ),
        _ => format!("there is no method {method:?}"),
    };
    Error::new(ErrorKind::MethodNotFound, message)
}
