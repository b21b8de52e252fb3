//! The digest of a JSON value.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// Returns the SHA-256 digest of a value, `sha256:` and 64 hexadecimal digits. It does not depend on the order
/// of members.
pub fn digest(value: &Value) -> String {
    let text = sorted(value).to_string();
    format!("sha256:{:x}", Sha256::digest(text))
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            let members = members.into_iter().map(|(name, value)| (name.clone(), sorted(value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
