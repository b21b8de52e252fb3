//! Finds the error of TLS in the causes of another one.

use std::{error::Error, io};

/// Returns the error of TLS that caused this one, if there is one.
pub fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref() {
            return Some(error);
        }
        next = within(error).or_else(|| error.source());
    }
    None
}

/// Returns whether the server will fail in the same way when it is asked again: its certificate is rejected, or it does
/// not speak TLS.
pub fn is_lasting(error: &(dyn Error + 'static)) -> bool {
    tls_error(error).is_some_and(|error| {
        matches!(error, rustls::Error::InvalidCertificate(_) | rustls::Error::InvalidMessage(_))
    })
}

/// Returns the error that an `io::Error` wraps. `io::Error::source` skips it and returns the source of the wrapped
/// error.
fn within<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let made_of = error.downcast_ref::<io::Error>()?.get_ref()?;
    Some(made_of)
}
