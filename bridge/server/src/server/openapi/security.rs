//! The credentials that the agents demand, and the errors of those that demand any (specification 7.3, 7.4). A2A 0.3 writes
//! schemes and requirements in OpenAPI's form.

use bridge_protocol::dialect::{Losses, card};
use serde_json::{Map, Value, json};

use super::components;
use crate::server::Endpoint;

/// The members of a scheme that OpenAPI knows; cards may have further ones.
const SCHEME: [&str; 8] =
    ["type", "description", "name", "in", "scheme", "bearerFormat", "flows", "openIdConnectUrl"];
const FLOWS: [&str; 4] = ["implicit", "password", "clientCredentials", "authorizationCode"];
const FLOW: [&str; 4] = ["authorizationUrl", "tokenUrl", "refreshUrl", "scopes"];

/// The HTTP statuses with which callers are refused, each with its `google.rpc.Code` and a description.
const REFUSALS: [(&str, &str, &str); 2] = [
    ("401", "UNAUTHENTICATED", "The credentials are missing or not valid"),
    (
        "403",
        "PERMISSION_DENIED",
        "The credentials do not suffice for the agent or for the named skill",
    ),
];

/// Adds the schemes and requirements of these agents to the document. Agents are its servers, for which OpenAPI knows no
/// credentials of their own, so the requirements of all agents are alternatives.
pub(super) fn add(document: &mut Value, endpoints: &[Endpoint]) {
    let (mut schemes, mut alternatives) = (Map::new(), Vec::new());
    for endpoint in endpoints {
        let Some(card) = endpoint.service.card(&endpoint.agent) else { continue };
        let card = card::to_v0_3(&card, &mut Losses::new());
        merge(&endpoint.agent, &card, &mut schemes, &mut alternatives);
    }
    if schemes.is_empty() {
        alternatives.clear();
    } else {
        leave_public(&mut document["paths"]);
        document["components"]["securitySchemes"] = schemes.into();
    }
    document["security"] = alternatives.into();
}

/// Adds what the card of an agent, in the form of 0.3, declares.
fn merge(
    agent: &str,
    card: &Value,
    schemes: &mut Map<String, Value>,
    alternatives: &mut Vec<Value>,
) {
    let mut renamed = Map::new();
    for (name, scheme) in card["securitySchemes"].as_object().into_iter().flatten() {
        let scheme = known(scheme);
        let mut key = key(name);
        if schemes.get(&key).is_some_and(|other| *other != scheme) {
            key = self::key(&format!("{agent}.{name}"));
        }
        renamed.insert(name.clone(), key.clone().into());
        schemes.insert(key, scheme);
    }
    let requirements = card["security"].as_array().filter(|all| !all.is_empty());
    let none = vec![json!({})];
    for requirement in requirements.unwrap_or(&none) {
        let named = requirement.as_object().into_iter().flatten();
        let named = named.filter_map(|(name, scopes)| {
            Some((renamed.get(name)?.as_str()?.to_owned(), scopes.clone()))
        });
        let requirement = Value::Object(named.collect());
        if !alternatives.contains(&requirement) {
            alternatives.push(requirement);
        }
    }
}

/// Returns a name in the characters that OpenAPI allows for names of components.
fn key(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    name.replace(|c| !allowed(c), "_")
}

fn known(scheme: &Value) -> Value {
    let mut scheme = only(scheme, &SCHEME);
    if let Some(flows) = scheme.get_mut("flows") {
        let mut kept = only(flows, &FLOWS);
        kept.values_mut().for_each(|flow| *flow = only(flow, &FLOW).into());
        *flows = kept.into();
    }
    scheme.into()
}

fn only(object: &Value, names: &[&str]) -> Map<String, Value> {
    let kept =
        names.iter().filter_map(|name| Some(((*name).to_owned(), object.get(name)?.clone())));
    kept.collect()
}

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
fn leave_public(paths: &mut Value) {
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
    fn agents_are_alternatives_and_schemes_of_one_name_stay_apart() {
        let bearer = json!({"type": "http", "scheme": "bearer"});
        let key = json!({"type": "apiKey", "in": "header", "name": "X-Key", "x": 1});
        let oauth = json!({"type": "oauth2", "oauth2MetadataUrl": "https://a.test", "flows": {
            "deviceCode": {}, "clientCredentials": {"tokenUrl": "https://a.test/t", "scopes": {}, "x": 1},
        }});
        let cards = [
            ("a", json!({"securitySchemes": {"my token": bearer}, "security": [{"my token": []}]})),
            ("b", json!({"securitySchemes": {"my token": key}, "security": [{"my token": []}]})),
            ("c", json!({"securitySchemes": {"my token": bearer}, "security": [{"my token": []}]})),
            ("d", json!({"securitySchemes": {"o": oauth}})),
        ];
        let (mut schemes, mut alternatives) = (Map::new(), Vec::new());
        for (agent, card) in &cards {
            merge(agent, card, &mut schemes, &mut alternatives);
        }
        assert_eq!(json!(alternatives), json!([{"my_token": []}, {"b.my_token": []}, {}]));
        let flow = json!({"tokenUrl": "https://a.test/t", "scopes": {}});
        assert_eq!(
            json!(schemes),
            json!({
                "my_token": bearer,
                "b.my_token": {"type": "apiKey", "in": "header", "name": "X-Key"},
                "o": {"type": "oauth2", "flows": {"clientCredentials": flow}},
            })
        );
    }

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
