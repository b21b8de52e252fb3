//! A bearer token that is replaced while clients use it.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use reqwest::header::{AUTHORIZATION, HeaderValue};

use super::{CredentialError, secret_value};

/// A bearer token that can be replaced, because access tokens expire. Clones share it. After
/// [`replace`](Self::replace), each request of all clients that have it sends the new token, and so do the requests that
/// resume a broken stream.
///
/// A program that knows when its token expires replaces it before that. Another one replaces it after
/// [`Fault::Unauthenticated`](crate::Fault::Unauthenticated) and calls again; a message that is sent again with the same id
/// is the same message for the agent.
#[derive(Clone)]
pub struct BearerToken(Arc<Mutex<HeaderValue>>);

impl BearerToken {
    /// Creates a token with this value.
    ///
    /// # Errors
    /// [`CredentialError::Value`]
    pub fn new(token: &str) -> Result<Self, CredentialError> {
        Ok(Self(Arc::new(Mutex::new(bearer(token)?))))
    }

    /// Replaces the value.
    ///
    /// # Errors
    /// [`CredentialError::Value`]; then the value is unchanged.
    pub fn replace(&self, token: &str) -> Result<(), CredentialError> {
        let value = bearer(token)?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = value;
        Ok(())
    }

    /// Returns the value of the header `Authorization`.
    pub(super) fn value(&self) -> HeaderValue {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BearerToken")
    }
}

fn bearer(token: &str) -> Result<HeaderValue, CredentialError> {
    if token.trim().is_empty() {
        return Err(CredentialError::Value(AUTHORIZATION));
    }
    secret_value(&AUTHORIZATION, &format!("Bearer {token}"))
}
