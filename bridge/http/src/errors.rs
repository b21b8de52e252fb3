//! Says why a request failed.

use std::{error::Error, io, iter, sync::LazyLock};

use hyper_util::client::proxy::matcher::Matcher;

use crate::is_loopback;

/// The proxies that the environment names, as reqwest reads it.
static PROXIES: LazyLock<Matcher> = LazyLock::new(Matcher::from_env);

/// Returns the message of the innermost error, such as "connection refused". The outer ones repeat the address of a
/// request, which may have a secret in it.
pub fn root_cause(error: &dyn Error) -> String {
    let causes = iter::successors(Some(error), |&error| error.source());
    let cause = causes.last().unwrap_or(error).to_string();
    match advice_on_tls(&cause) {
        Some(advice) => format!("{cause}: {advice}"),
        None => cause,
    }
}

/// Says what to change if this text of an error is one of rustls, whose texts do not tell.
pub fn advice_on_tls(cause: &str) -> Option<&'static str> {
    if cause.contains("InvalidContentType") {
        Some("it does not answer with TLS, so its address begins with http:")
    } else if cause.contains("UnknownIssuer") || cause.contains("CaUsedAsEndEntity") {
        Some("SSL_CERT_FILE in the environment names a file with further authorities")
    } else {
        None
    }
}

/// Returns the same for a request of a client that uses the environment's proxy. If it was the proxy that could not be
/// reached, or did not connect, the text names the proxy, without its user.
pub fn root_cause_with_proxy(error: &reqwest::Error) -> String {
    let cause = root_cause(error);
    let is_of_connection = error.is_connect() && tls_error(error).is_none();
    let url = error.url().filter(|url| is_of_connection && !is_loopback(url));
    let uri = url.and_then(|url| url.as_str().parse().ok());
    match uri.and_then(|uri| PROXIES.intercept(&uri)) {
        Some(proxy) => format!(
            "{cause}: requests to it go through the proxy {}, which the environment names",
            proxy.uri()
        ),
        None => cause,
    }
}

/// Says what to do about an HTTP status that is not the server's own.
pub fn advice_on_status(status: u16) -> &'static str {
    match status {
        407 => {
            ", which is the answer of a proxy: the variable that names it needs a user, as in http://USER:PASSWORD@HOST:PORT"
        }
        _ => "",
    }
}

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
