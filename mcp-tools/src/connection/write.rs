//! Writes connection details as JSON, in two shapes.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{ConnectionDetails, Transport};
use crate::secret::Secret;

impl ConnectionDetails {
    /// Writes the details in the format of MCP clients:
    /// `{"mcpServers": {NAME: ..}, "episodeId": .., "expiresAt": ..}`. Secrets are written in clear.
    pub fn to_mcp_servers(&self) -> Value {
        let mut server = transport(&self.transport);
        server.insert("type".to_owned(), json!(kind(&self.transport)));
        let mut data = Map::from_iter([("mcpServers".to_owned(), json!({ &self.name: server }))]);
        data.extend(self.episode());
        Value::Object(data)
    }

    /// Writes the details in the format that `connect_to_mcp_server` tools read:
    /// `{"mcp_connection_details": {"url" | "command": .., "transport": .., ..}}`. Secrets are written in clear.
    pub fn to_mcp_connection_details(&self) -> Value {
        let mut details = transport(&self.transport);
        details.insert("transport".to_owned(), json!(kind(&self.transport)));
        details.insert("name".to_owned(), json!(self.name));
        details.extend(self.episode());
        json!({ "mcp_connection_details": details })
    }

    fn episode(&self) -> impl Iterator<Item = (String, Value)> + use<> {
        let id = self.episode_id.as_ref().map(|id| json!(id));
        let expiry = self.expires_at.map(|expiry| json!(expiry.to_string()));
        [("episodeId", id), ("expiresAt", expiry)]
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
    }
}

fn kind(transport: &Transport) -> &'static str {
    match transport {
        Transport::Http { .. } => "http",
        Transport::Stdio { .. } => "stdio",
    }
}

/// `args` is written even if it is empty: without it, some readers split `command` as a whole command line.
fn transport(transport: &Transport) -> Map<String, Value> {
    match transport {
        Transport::Http { url, headers } => {
            object([("url", Some(json!(url))), ("headers", exposed(headers))])
        }
        Transport::Stdio { command, args, env, cwd } => object([
            ("command", Some(json!(command))),
            ("args", Some(json!(args))),
            ("env", exposed(env)),
            ("cwd", cwd.as_ref().map(|cwd| json!(cwd.to_string_lossy()))),
        ]),
    }
}

fn exposed(values: &BTreeMap<String, Secret>) -> Option<Value> {
    (!values.is_empty()).then(|| json!(values))
}

fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Map<String, Value> {
    members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
