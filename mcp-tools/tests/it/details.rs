//! Finds connection details in recorded messages: each file of `details/` has a snapshot of the result.

use mcp_tools::connection::{find, masked};
use serde_json::{Value, json};

#[test]
fn goldens() {
    insta::glob!("details/*.json", |path| {
        let text = std::fs::read_to_string(path).unwrap();
        let message: Value = serde_json::from_str(&text).unwrap();
        let found = find(&message);
        let found: Vec<Value> = found
            .iter()
            .map(|found| match found {
                Ok(details) => details.to_mcp_connection_details(),
                Err(error) => json!({ "error": error.to_string() }),
            })
            .collect();
        insta::assert_json_snapshot!(json!({"found": found, "masked": masked(&message)}));
    });
}
