//! Finding connection details in a message.

use serde_json::Value;

use super::{ConnectionDetails, DetailsError};

/// All connection details in a message, a status, an artifact or a task of A2A 1.0 or 0.3, in the order in
/// which they stand there; where it is details but cannot be read, an error with the way to the field.
///
/// The same server said in several shapes is one result, with all that they say of it.
pub fn find(message: &Value) -> Vec<Result<ConnectionDetails, DetailsError>> {
    let _ = message;
    Vec::new()
}
