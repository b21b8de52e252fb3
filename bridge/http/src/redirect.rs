//! Reads where an answer redirects to.

use reqwest::{Response, Url, header::LOCATION};

/// Says to where an answer redirects; `None` if it does not.
pub fn describe_redirect(answer: &Response) -> Option<String> {
    redirect_target(answer).map(redirect_advice)
}

/// Says that an answer redirects to `target`, without its query, which may have a secret.
pub fn redirect_advice(mut target: Url) -> String {
    target.set_query(None);
    format!("it redirects to {target}; use the address that answers")
}

/// Returns the address to which an answer redirects, or `None` if it does not.
pub fn redirect_target(answer: &Response) -> Option<Url> {
    let location = answer.headers().get(LOCATION).filter(|_| answer.status().is_redirection())?;
    answer.url().join(location.to_str().ok()?).ok()
}
