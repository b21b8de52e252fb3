//! Reads a response body chunk by chunk, so that a body above the limit is never held in memory whole.

use reqwest::Response;

/// The reason why a body was not read.
#[derive(Debug)]
pub(crate) enum BodyError {
    /// The body is larger than the limit.
    TooLarge,
    /// The connection broke.
    Broken(reqwest::Error),
}

/// Reads a body of at most `limit` bytes. The caller limits the time.
pub(crate) async fn read(mut reply: Response, limit: usize) -> Result<Vec<u8>, BodyError> {
    let mut body = Vec::new();
    while let Some(chunk) = reply.chunk().await.map_err(BodyError::Broken)? {
        if body.len() + chunk.len() > limit {
            return Err(BodyError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
