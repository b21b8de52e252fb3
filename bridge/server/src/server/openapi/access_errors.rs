//! The error responses of agents that demand credentials (specification 7.3, 7.4).

use serde_json::{Map, Value, json};

use super::components;

/// The HTTP statuses with which callers are refused, each with its `google.rpc.Code` and a description.
const REFUSALS: [(&str, &str, &str); 2] = [
    ("401", "UNAUTHENTICATED", "The credentials are missing or not valid"),
    (
        "403",
        "PERMISSION_DENIED",
        "The credentials do not suffice for the agent or for the named skill",
    ),
];

/// Adds the refusals to the operations of agents. Cards are public and have none.
pub(super) fn refusals(paths: &mut Map<String, Value>) {
    for operation in operations(paths.values_mut()).filter(|one| is_of_agents(one)) {
        let (media_type, schema) = match operation["operationId"] == "JSONRPC" {
            true => ("application/json", "JsonRpcResponse"),
            false => ("application/problem+json", "Status"),
        };
        for (status, _, description) in REFUSALS {
            operation["responses"][status] = json!({
                "description": description,
                "content": {media_type: {"schema": components::common(schema)}},
                "headers": {"WWW-Authenticate": {
                    "description": "The credentials that are needed", "schema": {"type": "string"},
                }},
            });
        }
    }
}

/// Says of the other operations that they need no credentials.
pub(super) fn leave_public(paths: &mut Value) {
    let items = paths.as_object_mut().into_iter().flat_map(Map::values_mut);
    for operation in operations(items).filter(|one| one.is_object() && !is_of_agents(one)) {
        operation["security"] = json!([]);
    }
}

fn operations<'a>(
    items: impl Iterator<Item = &'a mut Value>,
) -> impl Iterator<Item = &'a mut Value> {
    items.filter_map(Value::as_object_mut).flat_map(Map::values_mut)
}

/// Returns whether an operation needs credentials.
fn is_of_agents(operation: &Value) -> bool {
    let tag = operation.pointer("/tags/0").and_then(Value::as_str);
    tag.is_some_and(|tag| tag != "Cards" && tag != "Bridge")
}

/// Adds the codes to the reasons that errors may have.
pub(super) fn reasons(status: &mut Value) {
    const AT: &str = "/properties/error/properties/details/items/properties/reason/enum";
    if let Some(Value::Array(known)) = status.pointer_mut(AT) {
        known.extend(REFUSALS.map(|(_, reason, _)| Value::from(reason)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_of_agents_may_refuse_and_cards_may_not() {
        let operation =
            |tag: &str| json!({"get": {"operationId": "x", "tags": [tag], "responses": {}}});
        let mut paths = Map::from_iter([
            ("/tasks".to_owned(), operation("A2A 1.0")),
            ("/card".to_owned(), operation("Cards")),
        ]);
        refusals(&mut paths);
        let statuses = |path: &str| paths[path]["get"]["responses"].as_object().map(Map::len);
        assert_eq!((statuses("/tasks"), statuses("/card")), (Some(2), Some(0)));
        let content = &paths["/tasks"]["get"]["responses"]["401"]["content"];
        assert!(content["application/problem+json"].is_object(), "{content}");
        let mut all = Value::Object(paths);
        leave_public(&mut all);
        assert_eq!(all["/card"]["get"]["security"], json!([]));
        assert_eq!(all["/tasks"]["get"].get("security"), None);
        let mut status = json!({"properties": {"error": {"properties": {"details": {"items":
            {"properties": {"reason": {"enum": ["X"]}}}}}}}});
        reasons(&mut status);
        assert!(status.to_string().contains(r#"["X","UNAUTHENTICATED","PERMISSION_DENIED"]"#));
    }
}
