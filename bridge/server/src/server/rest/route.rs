//! Maps paths to operations, by the paths of [`Operation`].

use axum::http::Method;
use bridge_protocol::{a2a::Operation, dialect::Version};
use percent_encoding::percent_decode_str;

/// The first segments of paths, which cannot be read as tenants.
pub(in crate::server) const RESERVED: [&str; 5] =
    ["v1", "tasks", "message:send", "message:stream", "extendedAgentCard"];

/// The operation that a path requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RouteMatch {
    pub(super) version: Version,
    pub(super) operation: Operation,
    pub(super) tenant: Option<String>,
    /// The values in the path with the names of their fields.
    pub(super) fields: Vec<(&'static str, String)>,
}

/// The reason why a path and a method match no operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RouteError {
    /// The path is unknown.
    Path,
    /// The path has other methods.
    Method { allowed: Vec<&'static str> },
}

/// Returns the version that is served at a path below an agent's address.
pub(super) fn version(path: &str) -> Version {
    match path.split('/').nth(1) {
        Some("v1") => Version::V0_3,
        Some(_) | None => Version::V1_0,
    }
}

/// Finds the operation of a path below an agent's address.
pub(super) fn find(
    method: &Method,
    path: &str,
    takes_tenants: bool,
) -> Result<RouteMatch, RouteError> {
    let segments: Vec<String> = path.split('/').skip(1).map(decoded).collect();
    let mut segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    if segments.iter().all(|segment| segment.is_empty()) {
        return Err(RouteError::Method { allowed: vec!["POST"] });
    }
    let version = version(path);
    if version == Version::V0_3 {
        segments.remove(0);
    }
    let tenant = match segments.first() {
        Some(first) if takes_tenants && version == Version::V1_0 && !RESERVED.contains(first) => {
            Some(segments.remove(0).to_owned()).filter(|name| !name.is_empty())
        }
        Some(_) | None => None,
    };
    let found = matching(method, &segments, version)?;
    Ok(RouteMatch { tenant, ..found })
}

fn matching(
    method: &Method,
    segments: &[&str],
    version: Version,
) -> Result<RouteMatch, RouteError> {
    let mut allowed = Vec::new();
    for operation in Operation::ALL {
        let path = version.path(operation);
        let path = path.strip_prefix("/v1").unwrap_or(&path);
        let Some(values) = values(path, segments) else {
            continue;
        };
        if operation.http_methods().contains(&known(method)) {
            return Ok(RouteMatch {
                version,
                operation,
                tenant: None,
                fields: operation.path_fields().zip(values).collect(),
            });
        }
        allowed.extend(operation.http_methods());
    }
    Err(if allowed.is_empty() { RouteError::Path } else { RouteError::Method { allowed } })
}

/// Returns the method to look up: HEAD is handled as GET.
fn known(method: &Method) -> &str {
    match *method {
        Method::HEAD => "GET",
        ref other => other.as_str(),
    }
}

/// Returns the values in the path if it matches the pattern, in which `{...}` is a segment or its part before the colon.
fn values(pattern: &str, segments: &[&str]) -> Option<Vec<String>> {
    let wanted: Vec<&str> = pattern.split('/').skip(1).collect();
    if wanted.len() != segments.len() {
        return None;
    }
    let mut values = Vec::new();
    for (wanted, found) in wanted.iter().zip(segments) {
        let Some((_, action)) = wanted.split_once('}') else {
            if wanted == found {
                continue;
            }
            return None;
        };
        let id = found.strip_suffix(action)?;
        // The first id is the bridge's own of a task, which contains no colon. Clients choose the ids of webhooks.
        if id.is_empty() || values.is_empty() && id.contains(':') {
            return None;
        }
        values.push(id.to_owned());
    }
    Some(values)
}

/// Decodes a segment. Clients may encode any character, including the colon of an action.
fn decoded(segment: &str) -> String {
    percent_decode_str(segment).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(method: &str, path: &str) -> String {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        match find(&method, path, true) {
            Ok(RouteMatch { version, operation, tenant, fields }) => {
                let values = fields.iter().map(|(name, value)| format!(" {name}={value}"));
                let tenant = tenant.map(|tenant| format!(" of {tenant}"));
                let values: String = values.collect();
                format!("{version} {operation}{values}{}", tenant.unwrap_or_default())
            }
            Err(RouteError::Path) => "nothing".into(),
            Err(RouteError::Method { allowed }) => allowed.join(","),
        }
    }

    #[test]
    fn paths_are_operations() {
        for (method, path, expected) in [
            ("POST", "/message:send", "1.0 SendMessage"),
            ("POST", "/message%3Asend", "1.0 SendMessage"),
            ("POST", "/acme/message:stream", "1.0 SendStreamingMessage of acme"),
            ("GET", "/tasks", "1.0 ListTasks"),
            ("GET", "/tasks/t", "1.0 GetTask id=t"),
            ("HEAD", "/tasks/t", "1.0 GetTask id=t"),
            ("GET", "/acme/tasks/t", "1.0 GetTask id=t of acme"),
            ("POST", "/tasks/t:cancel", "1.0 CancelTask id=t"),
            ("GET", "/tasks/t:subscribe", "1.0 SubscribeToTask id=t"),
            ("POST", "/tasks/t:subscribe", "1.0 SubscribeToTask id=t"),
            (
                "POST",
                "/tasks/t/pushNotificationConfigs",
                "1.0 CreateTaskPushNotificationConfig taskId=t",
            ),
            (
                "DELETE",
                "/tasks/t/pushNotificationConfigs/p",
                "1.0 DeleteTaskPushNotificationConfig taskId=t id=p",
            ),
            (
                "GET",
                "/tasks/t/pushNotificationConfigs/urn:p",
                "1.0 GetTaskPushNotificationConfig taskId=t id=urn:p",
            ),
            ("GET", "/extendedAgentCard", "1.0 GetExtendedAgentCard"),
            ("GET", "/a%20b/extendedAgentCard", "1.0 GetExtendedAgentCard of a b"),
            ("GET", "/v1/card", "0.3 GetExtendedAgentCard"),
            ("POST", "/v1/message:send", "0.3 SendMessage"),
            ("GET", "/v1/tasks/t", "0.3 GetTask id=t"),
            ("GET", "/v1/tasks/t:subscribe", "0.3 SubscribeToTask id=t"),
            // Requests that match no operation.
            ("GET", "", "POST"),
            ("GET", "/", "POST"),
            ("GET", "/message:send", "POST"),
            ("PUT", "/tasks/t/pushNotificationConfigs/p", "GET,DELETE"),
            ("GET", "/tasks/t:cancel", "POST"),
            ("POST", "/tasks/t:explode", "nothing"),
            ("GET", "/tasks/:cancel", "nothing"),
            ("GET", "/tasks/", "nothing"),
            ("GET", "/v1/extendedAgentCard", "nothing"),
            ("GET", "/v1/acme/tasks", "nothing"),
            ("GET", "/card", "nothing"),
            ("GET", "/tasks/a&b", "1.0 GetTask id=a&b"),
            ("GET", "/a=b%20+c/tasks/t", "1.0 GetTask id=t of a=b +c"),
        ] {
            assert_eq!(shown(method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn a_shared_path_accepts_no_tenant() {
        let found = find(&Method::POST, "/acme/message:send", false);
        assert_eq!(found, Err(RouteError::Path));
        for reserved in RESERVED {
            let found = find(&Method::GET, &format!("/{reserved}/tasks/t"), true);
            assert_eq!(found.ok().and_then(|routed| routed.tenant), None, "{reserved}");
        }
    }
}
