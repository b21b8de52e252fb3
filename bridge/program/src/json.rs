//! Answers in JSON.

use axum::{
    http::{HeaderValue, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use serde::Serialize;

/// An answer in JSON. It replaces axum's own type, whose feature `json` would enable serde_json's `raw_value` in the
/// whole program: input of strangers would then be read differently.
#[derive(Clone, Copy, Debug)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        let content_type = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        match serde_json::to_vec(&self.0) {
            Ok(json) => (content_type, json).into_response(),
            // Only maps whose keys are no texts cannot be written.
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
        }
    }
}
