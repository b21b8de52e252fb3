//! Tells an answer that is no HTTP from a connection that broke.

use std::{error::Error, io};

/// Returns whether a call failed because the other side answered, but not in valid HTTP: a head that cannot be read, or a
/// malformed piece of a chunked body. A connection that ended too early is another failure.
pub fn is_invalid_http(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let is_head = error.downcast_ref().is_some_and(hyper::Error::is_parse);
        let is_body = error.downcast_ref().is_some_and(is_malformed);
        if is_head || is_body {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The kinds of error with which hyper reports a malformed body.
fn is_malformed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData)
}
