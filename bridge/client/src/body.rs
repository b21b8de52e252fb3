//! A body, read piece by piece, so that a large one is given up before it is in memory.

use reqwest::Response;

/// Why there is no body.
#[derive(Debug)]
pub(crate) enum Unread {
    /// It is larger than the limit.
    TooLarge,
    /// The connection broke.
    Broken(reqwest::Error),
}

/// Reads a body of at most `limit` bytes. The limit of time is the caller's.
pub(crate) async fn read(mut reply: Response, limit: usize) -> Result<Vec<u8>, Unread> {
    let mut body = Vec::new();
    while let Some(chunk) = reply.chunk().await.map_err(Unread::Broken)? {
        if body.len() + chunk.len() > limit {
            return Err(Unread::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
