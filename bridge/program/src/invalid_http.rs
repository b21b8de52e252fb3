//! Distinguishes answers that are not valid HTTP from broken connections.

use std::{error::Error, io};

use crate::causes;

/// Returns whether a request failed because the answer is not valid HTTP: its head cannot be read, or its body has a
/// malformed chunk. A connection that ended too early is another failure.
pub fn is_invalid_http(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(|cause| {
        let is_head = cause.downcast_ref().is_some_and(hyper::Error::is_parse);
        is_head || cause.downcast_ref().is_some_and(is_malformed)
    })
}

/// The kinds of error with which hyper reports a malformed body.
fn is_malformed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData)
}
