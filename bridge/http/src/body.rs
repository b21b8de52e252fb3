//! Reads a response body chunk by chunk, so that a body above the limit is never held in memory whole.

use reqwest::Response;

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
