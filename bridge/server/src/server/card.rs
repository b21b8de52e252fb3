//! Serves agent cards: the document of 1.0 if the client asks for that version, else one that clients of 0.3 can read
//! too.

use std::sync::Arc;

use axum::{
    Extension,
    extract::State,
    http::{
        HeaderMap, StatusCode, Uri,
        header::{
            CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
            VARY,
        },
    },
    response::{IntoResponse as _, Response},
};
use bridge_protocol::{
    a2a::{AgentCard, AgentInterface, Binding},
    dialect::{Version, card, skill::schema::untyped},
    wire::to_value,
};
use jiff::{Timestamp, fmt::rfc2822};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use url::Url;

use super::{Endpoint, Grpc, GrpcAddress, Origin, rest, service_parameters};
use crate::{clock, service::Reply};

/// The caching of cards by clients.
const CACHE: &str = "public, max-age=60";

/// Serves the card at `/.well-known/agent-card.json`.
pub(super) async fn current(
    State(endpoint): State<Arc<Endpoint>>,
    origin: Option<Extension<Origin>>,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let named = match service_parameters::named_version(&headers, &uri) {
        Ok(named) => named,
        Err(error) => return rest::error_response(&headers, error),
    };
    serve_document(endpoint.document(named, origin.as_deref()), endpoint.since, &headers)
}

/// Serves the card at the paths before 0.3. It has the fields of all versions.
pub(super) async fn before(
    State(endpoint): State<Arc<Endpoint>>,
    origin: Option<Extension<Origin>>,
    headers: HeaderMap,
) -> Response {
    let document = endpoint.card(origin.as_deref()).map(|mine| {
        let signed = endpoint.signed(mine.clone(), origin.as_deref());
        let document = card::combined(&signed);
        #[cfg(feature = "legacy")]
        let document = super::legacy::with_card_fields(document, &mine);
        document
    });
    serve_document(document, endpoint.since, &headers)
}

impl Endpoint {
    /// Returns the agent's card in a version; without a version, a card that all versions can read.
    pub(super) fn document(
        &self,
        named: Option<Version>,
        origin: Option<&Origin>,
    ) -> Option<Value> {
        let mut mine = self.signed(self.card(origin)?, origin);
        Some(match named {
            Some(Version::V1_0) => {
                mine.skills.iter_mut().for_each(untyped);
                to_value(&mine)
            }
            Some(Version::V0_1 | Version::V0_3) | None => card::combined(&mine),
        })
    }

    /// Returns the card with the bridge's signatures over all its other fields (specification 8.4).
    fn signed(&self, mut card: AgentCard, origin: Option<&Origin>) -> AgentCard {
        if let Some(signer) = &self.signer {
            card.signatures.clear();
            card.signatures = signer.sign(&to_value(&card), self.base_url_for(origin));
        }
        card
    }

    /// Returns the agent's card with its interfaces.
    fn card(&self, origin: Option<&Origin>) -> Option<AgentCard> {
        let card = self.service.card(&self.agent)?;
        Some(self.with_interfaces_at(self.base_url_for(origin), card))
    }

    /// Returns the agent's address, as the client knows it.
    pub(super) fn address(&self, origin: Option<&Origin>) -> String {
        format!("{}{}", self.base_url_for(origin), self.path)
    }

    fn base_url_for<'a>(&'a self, origin: Option<&'a Origin>) -> &'a str {
        origin.map_or(&self.public_url, |Origin(origin)| origin)
    }

    /// Completes a reply that is a card with the agent's interfaces and, in 1.0, the bridge's signatures: these cover the
    /// document of 1.0, so older documents have none.
    pub(super) fn complete_card(
        &self,
        reply: Reply,
        version: Version,
        origin: Option<&Origin>,
    ) -> Reply {
        let Reply::Card(card) = reply else {
            return reply;
        };
        let card = self.with_interfaces_at(self.base_url_for(origin), *card);
        Reply::Card(Box::new(match version {
            Version::V1_0 => self.signed(card, origin),
            Version::V0_1 | Version::V0_3 => card,
        }))
    }

    fn with_interfaces_at(&self, url: &str, mut card: AgentCard) -> AgentCard {
        // JSON-RPC comes first: clients of 0.3 expect it at a card's `url`. For HTTP+JSON of 0.3 clients add `/v1`
        // themselves, because the paths contain it (0.3.0, section 3.2.3).
        let bindings = [(Binding::JsonRpc, &self.path), (Binding::HttpJson, &self.own_path)];
        card.supported_interfaces.clear();
        for version in [Version::V1_0, Version::V0_3] {
            let interfaces = bindings.map(|(binding, path)| {
                AgentInterface::new(format!("{url}{path}"), binding.as_str(), version.as_str())
            });
            card.supported_interfaces.extend(interfaces);
        }
        let grpc = self.grpc.interface(self.grpc_tenant.as_ref(), url);
        // Requests of 0.3 name no tenant, so they reach only the agent that needs none.
        let older = grpc.clone().filter(|one| one.tenant.is_none());
        let older = older.map(|one| AgentInterface {
            protocol_version: Version::V0_3.as_str().to_owned(),
            ..one
        });
        card.supported_interfaces.extend(grpc.into_iter().chain(older));
        card.capabilities.streaming = Some(true);
        card.capabilities.push_notifications = Some(self.service.pushes());
        card
    }
}

impl Grpc {
    /// Returns the gRPC interface for clients that use HTTP at this URL, if cards list it.
    fn interface(&self, tenant: Option<&String>, http: &str) -> Option<AgentInterface> {
        let (address, form) = match self {
            Self::Listed { address, form } if cfg!(feature = "grpc") => (address, form),
            Self::Listed { .. } | Self::Here | Self::Nowhere => return None,
        };
        let http = Url::parse(http).ok()?;
        let address = address.clone().or_else(|| authority(&http))?;
        let url = match form {
            GrpcAddress::HostPort => address,
            GrpcAddress::Url => format!("{}://{address}", http.scheme()),
        };
        Some(AgentInterface {
            tenant: tenant.cloned(),
            ..AgentInterface::new(url, Binding::Grpc.as_str(), Version::V1_0.as_str())
        })
    }
}

/// Returns `HOST:PORT` of a URL, the form that gRPC channels take.
fn authority(url: &Url) -> Option<String> {
    Some(format!("{}:{}", url.host()?, url.port_or_known_default()?))
}

pub(super) fn serve_document(
    document: Option<Value>,
    since: Timestamp,
    headers: &HeaderMap,
) -> Response {
    let Some(document) = document else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let body = document.to_string();
    let etag = format!("\"{:x}\"", Sha256::digest(&body));
    let is_known = is_known(headers, &etag, since);
    let headers = [
        (CACHE_CONTROL, CACHE),
        (VARY, "A2A-Version"),
        (CONTENT_TYPE, "application/json"),
        (ETAG, &etag),
        (LAST_MODIFIED, &clock::http_date(since)),
    ];
    match is_known {
        true => (StatusCode::NOT_MODIFIED, headers).into_response(),
        false => (headers, body).into_response(),
    }
}

/// Returns whether the client has this version of the document. `If-None-Match` may contain a weak tag, which caches
/// make when they compress a document, or `*` (RFC 9110, 13.1.2). Without it, `If-Modified-Since` counts (13.1.3).
fn is_known(headers: &HeaderMap, etag: &str, since: Timestamp) -> bool {
    if !headers.contains_key(IF_NONE_MATCH) {
        let date = headers.get(IF_MODIFIED_SINCE).and_then(|value| value.to_str().ok());
        let date = date.and_then(|date| rfc2822::parse(date).ok());
        return date.is_some_and(|date| date.timestamp().as_second() >= since.as_second());
    }
    let known = headers.get_all(IF_NONE_MATCH).iter();
    let known = known.filter_map(|value| value.to_str().ok());
    let mut known = known.flat_map(|value| value.split(',')).map(str::trim);
    known.any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == etag)
}

#[cfg(test)]
mod tests {
    use axum::{
        Router,
        body::{Body, to_bytes},
        http::{HeaderValue, Request},
    };
    use serde_json::json;
    use tower::ServiceExt as _;

    use super::*;
    use crate::{
        agent::Agent, auth::CardSigner, caller::Caller, executor::FnExecutor, host::Host,
        store::MemoryStore,
    };

    const KEY: &str = "-----BEGIN PRIVATE KEY-----\n\
                       MC4CAQAwBQYDK2VwBCIEIMV+bbbCwvXKyzbxhFrL3ET4fPhU9iJK9JVTfwFQBviz\n\
                       -----END PRIVATE KEY-----\n";

    /// Asks as a known caller that reaches the bridge at `https://proxy.example`.
    async fn ask(app: &Router, request: Request<Body>) -> Value {
        let mut request = request;
        request.extensions_mut().insert(Origin("https://proxy.example".to_owned()));
        request.extensions_mut().insert(Caller::new("alice"));
        let body = app.clone().oneshot(request).await.unwrap().into_body();
        serde_json::from_slice(&to_bytes(body, 1 << 20).await.unwrap()).unwrap()
    }

    #[tokio::test]
    async fn every_binding_has_the_same_extended_card() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), KEY).unwrap();
        let card = AgentCard::named("A", "Echoes");
        let agent = Agent::new("a", card.clone(), Arc::new(FnExecutor(str::to_owned)));
        let app = Host::new(Arc::new(MemoryStore::new()), [agent])
            .signer(Arc::new(CardSigner::read(file.path(), None).unwrap()))
            .extended_card("a", card)
            .router("http://localhost")
            .await
            .unwrap();
        let rpc = json!({"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard"});
        let rpc = Request::post("/a2a")
            .header("a2a-version", "1.0")
            .header(CONTENT_TYPE, "application/json")
            .body(rpc.to_string().into())
            .unwrap();
        let card = ask(&app, rpc).await["result"].take();
        let got = Request::get("/a2a/extendedAgentCard").body(Body::empty()).unwrap();
        assert_eq!(ask(&app, got).await, card);
        assert_eq!(card["supportedInterfaces"][0]["url"], "https://proxy.example/a2a");
        assert!(card["signatures"][0]["signature"].is_string(), "{card}");
    }

    #[test]
    fn a_known_document_is_not_sent_again() {
        let since = "2026-01-31T12:00:00.9Z".parse().unwrap();
        for (said, expected) in [
            ("\"a\"", true),
            ("W/\"a\"", true),
            ("\"b\", W/\"a\"", true),
            ("*", true),
            ("\"b\"", false),
            ("a", false),
        ] {
            let value = HeaderValue::from_static(said);
            let headers = HeaderMap::from_iter([(IF_NONE_MATCH, value)]);
            assert_eq!(is_known(&headers, "\"a\"", since), expected, "{said}");
        }
        for (said, expected) in [
            ("Sat, 31 Jan 2026 12:00:00 GMT", true),
            ("Sun, 01 Feb 2026 00:00:00 GMT", true),
            ("Sat, 31 Jan 2026 11:59:59 GMT", false),
            ("yesterday", false),
        ] {
            let value = HeaderValue::from_static(said);
            let mut headers = HeaderMap::from_iter([(IF_MODIFIED_SINCE, value)]);
            assert_eq!(is_known(&headers, "\"a\"", since), expected, "{said}");
            headers.insert(IF_NONE_MATCH, HeaderValue::from_static("\"b\""));
            assert!(!is_known(&headers, "\"a\"", since), "{said}");
        }
    }

    #[test]
    fn grpc_addresses_have_a_host_and_a_port() {
        for (http, expected) in [
            ("http://localhost:3978", Some("localhost:3978")),
            ("https://agents.example", Some("agents.example:443")),
            ("http://[::1]:80/base", Some("[::1]:80")),
            ("nonsense", None),
        ] {
            let listed = Grpc::Listed { address: None, form: GrpcAddress::HostPort };
            let found = listed.interface(None, http);
            assert_eq!(found.map(|one| one.url).as_deref(), expected);
        }
        let own = |form| Grpc::Listed { address: Some("grpc.example:50051".into()), form };
        let tenant = "echo".to_owned();
        let found =
            own(GrpcAddress::HostPort).interface(Some(&tenant), "http://localhost").unwrap();
        assert_eq!(found.url, "grpc.example:50051");
        assert_eq!(found.tenant.as_deref(), Some("echo"));
        let found = own(GrpcAddress::Url).interface(Some(&tenant), "https://localhost");
        assert_eq!(found.unwrap().url, "https://grpc.example:50051");
        assert_eq!(Grpc::Here.interface(None, "http://localhost"), None);
    }
}
