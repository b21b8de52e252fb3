//! Reads what clients need of an answer: its body, within a limit, and where it redirects to.

use reqwest::{Response, Url, header::LOCATION};

/// The reason why a body was not read.
#[derive(Debug)]
pub enum BodyError {
    /// The body is larger than the limit.
    TooLarge,
    /// The connection broke.
    Broken(reqwest::Error),
}

/// Reads a body of at most `limit` bytes. The caller limits the time.
///
/// # Errors
/// If the body is larger, or the connection breaks.
pub async fn read_body(mut answer: Response, limit: usize) -> Result<Vec<u8>, BodyError> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(BodyError::Broken)? {
        if body.len() + chunk.len() > limit {
            return Err(BodyError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

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
