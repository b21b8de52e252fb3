//! The method, path, query and body of each call (specification 1.0, section 11.3; 0.3, section 3.5.6).

use bridge_protocol::{
    a2a::Operation,
    dialect::{Call, Losses, Version},
    wire::FieldError,
};
use reqwest::Method;
use serde_json::{Map, Value};
use url::Url;

use crate::transport::version_json;
use crate::{Fault, http::Endpoint, transport::report};

/// The parts of an HTTP request.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) body: Option<Value>,
}

impl Route {
    /// Returns the route of a call. Tenant and ids go into the path, the other parameters into the body, or into the
    /// query if there is no body.
    pub(super) fn of(endpoint: &Endpoint, call: &Call) -> Result<Self, Fault> {
        // The table of 0.3 has a list operation without an answer type.
        if endpoint.version.method(call.operation()).is_none() {
            return Err(Fault::NotInVersion(endpoint.version.as_str()));
        }
        let mut losses = Losses::default();
        let mut params = version_json::params(endpoint.version, call, &mut losses);
        report(endpoint, call, &losses);
        let fields = params.as_object_mut().map(std::mem::take);
        let mut fields = fields.unwrap_or_default();
        let method = match (call.operation().http_methods(), endpoint.version) {
            (["DELETE"], _) => Method::DELETE,
            // See `with_other_method`.
            (["POST"], _) | (["GET", "POST"], Version::V1_0) => Method::POST,
            _ => Method::GET,
        };
        let segments = segments(endpoint.version, call.operation(), &mut fields)?;
        let mut url = below(&endpoint.url, &segments);
        let body = (method == Method::POST).then(|| Value::Object(std::mem::take(&mut fields)));
        for (name, value) in fields {
            url.query_pairs_mut().append_pair(&name, &text(&value));
        }
        Ok(Self { method, url, body })
    }

    /// Returns the route of a subscription with the other method, which the server may know instead. Those of the SDKs for
    /// Java and .NET and of betas for JavaScript know only POST in 1.0; that for Python knows only GET in 0.3.
    pub(super) fn with_other_method(&self, operation: Operation) -> Option<Self> {
        let (method, body) = match operation {
            Operation::SubscribeToTask if self.method == Method::POST => (Method::GET, None),
            Operation::SubscribeToTask => (Method::POST, Some(Map::new().into())),
            _ => return None,
        };
        let url = self.url.clone();
        Some(Self { method, url, body })
    }

    /// Returns the route with only the `config` as body, as the annotations in the `a2a.proto` of 0.3 say for the
    /// creation of a push configuration. npm @a2a-js/sdk expects this, PyPI a2a-sdk the whole request.
    pub(super) fn annotated(&self, version: Version, operation: Operation) -> Option<Self> {
        let is_disputed =
            (version, operation) == (Version::V0_3, Operation::CreateTaskPushNotificationConfig);
        let body = self.body.as_ref().filter(|_| is_disputed)?;
        Some(Self {
            method: self.method.clone(),
            url: self.url.clone(),
            body: Some(body.get("config")?.clone()),
        })
    }
}

/// Returns the path below the interface's address. Removes its parts from `fields`.
fn segments(
    version: Version,
    operation: Operation,
    fields: &mut Map<String, Value>,
) -> Result<Vec<String>, Fault> {
    let mut take = |name: &str| match fields.remove(name) {
        // Dot segments would lead to another path.
        Some(Value::String(text)) if !matches!(text.as_str(), "" | "." | "..") => Some(text),
        Some(_) | None => None,
    };
    // The tenant is a part of the path, which before 1.0 has none.
    let tenant = take("tenant").filter(|_| version == Version::V1_0);
    let mut path: Vec<String> = tenant.into_iter().collect();
    for segment in version.path(operation).split('/').skip(1) {
        let field = segment.strip_prefix('{').and_then(|it| it.split_once('}'));
        path.push(match field {
            Some((name, action)) => take(name).ok_or_else(|| missing(name))? + action,
            None => segment.to_owned(),
        });
    }
    Ok(path)
}

fn missing(name: &str) -> Fault {
    Fault::Asked(FieldError::new("an id, since it is part of the path", "nothing").inside(name))
}

/// Returns the address below `base`. Segments are percent-encoded, so that no id changes the path.
fn below(base: &Url, segments: &[String]) -> Url {
    let mut url = base.clone();
    // Some cards of 0.3 already have the version in their address.
    let is_named = base.path().trim_end_matches('/').ends_with("/v1");
    let segments = match segments {
        [first, rest @ ..] if first == "v1" && is_named => rest,
        all => all,
    };
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url
}

/// Returns a value as text for a query.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
