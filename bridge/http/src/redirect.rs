//! Reads where an answer redirects to.

use reqwest::{Response, Url, header::LOCATION};

/// Returns the address to which an answer redirects, or `None` if it does not.
pub fn redirect_target(answer: &Response) -> Option<Url> {
    let location = answer.headers().get(LOCATION).filter(|_| answer.status().is_redirection())?;
    answer.url().join(location.to_str().ok()?).ok()
}
