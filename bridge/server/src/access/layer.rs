//! Enforces the access rule in front of an HTTP service.

use std::{
    future::Future,
    mem,
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    BoxError,
    body::{Body, Bytes, HttpBody},
    http::{HeaderMap, Request, Response},
};
use bridge_protocol::a2a::Binding;
use tokio::time::sleep;
use tower::{Layer, Service};

use super::{
    Access, Credentials, PeerCertificate, Refusal,
    credential_location::Head,
    decision::{Decision, decide},
};
use crate::{
    caller::Caller,
    clock,
    metrics::Metrics,
    quota::{self, Admission, Exceeded, Quota},
};

/// Enforces an agent's [`Access`] in front of a service.
#[derive(Clone, Debug)]
pub struct AccessLayer {
    access: Access,
    binding: Binding,
    counted: Option<Counted>,
}

/// The limits of callers, and the metrics in which refusals are counted, with the agent's name there.
#[derive(Clone, Debug)]
struct Counted {
    agent: String,
    metrics: Metrics,
    quota: Quota,
}

/// A service protected by an [`Access`]. Admitted requests have the [`Caller`](crate::caller::Caller) as an
/// extension, which replaces an existing one. If the agent is not protected, an existing extension is kept.
#[derive(Clone, Debug)]
pub struct Guarded<S> {
    inner: S,
    layer: Arc<AccessLayer>,
}

impl AccessLayer {
    pub(super) fn new(access: Access, binding: Binding) -> Self {
        Self { access, binding, counted: None }
    }

    /// Counts refusals in the metrics of this agent, and applies the limits of callers.
    pub(crate) fn counted(self, agent: &str, metrics: &Metrics, quota: &Quota) -> Self {
        let (agent, metrics, quota) = (agent.to_owned(), metrics.clone(), quota.clone());
        Self { counted: Some(Counted { agent, metrics, quota }), ..self }
    }
}

impl<S> Layer<S> for AccessLayer {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { inner, layer: Arc::new(self.clone()) }
    }
}

type Answer<E> = Pin<Box<dyn Future<Output = Result<Response<Body>, E>> + Send>>;

impl<S, B, R> Service<Request<B>> for Guarded<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: 'static,
    B: Send + 'static,
    R: HttpBody<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Answer<S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        // Without credentials to check, most requests pass at once.
        let paced = self.layer.access.is_open().then(|| self.layer.pace(&request));
        let paced = match paced {
            Some(Ok(admission)) if admission.wait.is_none() => {
                let answering = self.inner.call(request);
                return Box::pin(async move {
                    let _admission = admission;
                    Ok(answering.await?.map(Body::new))
                });
            }
            paced => paced,
        };
        // The service that is ready must be called; its clone may not be ready.
        let ready = self.inner.clone();
        let mut inner = mem::replace(&mut self.inner, ready);
        let layer = self.layer.clone();
        Box::pin(async move {
            let admitted = match paced {
                Some(paced) => wait(paced).await,
                None => layer.admit(&mut request).await,
            };
            match admitted {
                Ok(_admission) => Ok(inner.call(request).await?.map(Body::new)),
                Err(refusal) => Ok(layer.refuse(&refusal, request.headers())),
            }
        })
    }
}

/// Waits until a request that came too early may be processed.
async fn wait(paced: Result<Admission, Exceeded>) -> Result<Admission, Refusal> {
    let admission = paced.map_err(Refusal::exceeded)?;
    if let Some(time) = admission.wait {
        sleep(time).await;
    }
    Ok(admission)
}

impl AccessLayer {
    /// Admits a request when it may be processed.
    async fn admit<B>(&self, request: &mut Request<B>) -> Result<Admission, Refusal> {
        let certificate = request.extensions().get::<PeerCertificate>().cloned();
        let source = quota::source(request.extensions());
        let (headers, query) =
            (request.headers().clone(), request.uri().query().unwrap_or_default().to_owned());
        let head = Head { headers: &headers, query: &query, certificate: certificate.as_ref() };
        self.may_try(&head, source)?;
        let results = self.access.check(&head, clock::now()).await;
        let demand = self.access.demand();
        let decision = decide(demand.requirements, &results);
        self.learn(&head, source, &decision);
        match decision {
            Decision::Granted(caller) => {
                // The body may need more credentials.
                let credentials = Credentials::new(self.access.clone(), caller.clone(), results);
                request.extensions_mut().insert(credentials);
                request.extensions_mut().insert(caller);
            }
            refused => {
                let refusal = Refusal::of(&demand, &refused);
                return refusal.map_or_else(|| Ok(Admission::default()), Err);
            }
        }
        wait(self.pace(request)).await
    }

    /// Counts the request for its caller's limits.
    fn pace<B>(&self, request: &Request<B>) -> Result<Admission, Exceeded> {
        let Some(Counted { agent, quota, .. }) = &self.counted else {
            return Ok(Admission::default());
        };
        let extensions = request.extensions();
        let anonymous = Caller::anonymous();
        let caller = extensions.get().unwrap_or(&anonymous);
        quota.request(agent, caller, quota::source(extensions))
    }

    /// Refuses to check more credentials of an address that sent too many wrong ones.
    fn may_try(&self, head: &Head<'_>, source: Option<IpAddr>) -> Result<(), Refusal> {
        let Some(Counted { agent, quota, .. }) = &self.counted else {
            return Ok(());
        };
        let allowed = quota.may_try(agent, source, || self.access.credentials(head));
        allowed.map_err(Refusal::exceeded)
    }

    /// Records whether the credentials were good.
    fn learn(&self, head: &Head<'_>, source: Option<IpAddr>, decision: &Decision) {
        let Some(Counted { quota, .. }) = &self.counted else {
            return;
        };
        match decision {
            Decision::Granted(caller) if caller.is_anonymous() => {}
            Decision::Granted(_) | Decision::Forbidden(_) => {
                quota.right(|| self.access.credentials(head));
            }
            Decision::Unauthenticated(Some(_)) => quota.wrong(source),
            Decision::Unauthenticated(None) | Decision::Unavailable(_) => {}
        }
    }

    fn refuse(&self, refusal: &Refusal, headers: &HeaderMap) -> Response<Body> {
        if let Some(Counted { agent, metrics, .. }) = &self.counted {
            metrics.refused(agent, refusal.name(), refusal.scheme());
        }
        refusal.response(self.binding, headers, None)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bridge_protocol::{a2a::AgentCard, wire::Wire as _};
    use serde_json::json;
    use tower::{ServiceExt as _, service_fn};

    use super::*;
    use crate::{
        access::{Check, Secrets},
        auth::Secret,
    };

    fn access() -> Access {
        let card = json!({
            "name": "a", "supportedInterfaces": [],
            "securitySchemes": {"s": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
            "securityRequirements": [{"schemes": {"s": {"list": []}}}],
        });
        let check = Check {
            secrets: Secrets::default().with("me", &Secret::new("100%")).unwrap(),
            ..Check::default()
        };
        let checks = BTreeMap::from([("s".to_owned(), check)]);
        Access::new(&AgentCard::read(card).unwrap(), "a", checks).unwrap()
    }

    /// Sends a request to a service that answers with the caller's id.
    async fn ask(binding: Binding, token: &str) -> Response<Body> {
        let inner = service_fn(async |request: Request<u8>| {
            let caller = request.extensions().get::<Caller>().cloned();
            Ok::<_, String>(Response::new(
                caller.map_or_else(String::new, |one| one.id.to_string()),
            ))
        });
        let request = Request::get("/").header("authorization", format!("Bearer {token}"));
        let guarded = access().layer(binding).layer(inner);
        guarded.oneshot(request.body(7).unwrap()).await.unwrap()
    }

    #[tokio::test]
    async fn the_layer_works_with_any_service() {
        for (binding, status, grpc, body) in [
            (Binding::JsonRpc, 401, None, r#""code":-32001"#),
            (Binding::HttpJson, 401, None, r#""status":"UNAUTHENTICATED""#),
            (Binding::Grpc, 200, Some("16"), ""),
        ] {
            let refused = ask(binding, "guess").await;
            assert_eq!(refused.status().as_u16(), status);
            let headers = refused.headers();
            assert!(headers["www-authenticate"].to_str().unwrap().contains("invalid_token"));
            let code = headers.get("grpc-status").map(|code| code.to_str().unwrap());
            assert_eq!(code, grpc);
            let text = axum::body::to_bytes(refused.into_body(), 4096).await.unwrap();
            assert!(String::from_utf8_lossy(&text).contains(body), "{text:?}");
            let let_in = ask(binding, "100%").await;
            let text = axum::body::to_bytes(let_in.into_body(), 4096).await.unwrap();
            assert_eq!(text, "me");
        }
    }

    #[test]
    fn who_cannot_be_checked_is_told_when_to_come_again() {
        let unavailable = Decision::Unavailable("s".to_owned());
        let refusal = Refusal::of(&access().demand(), &unavailable).unwrap();
        let response = refusal.response(Binding::HttpJson, &HeaderMap::new(), None);
        assert_eq!(response.status().as_u16(), 503);
        assert_eq!(response.headers()["retry-after"], "5");
    }
}
