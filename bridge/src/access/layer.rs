//! The rule before a service over HTTP, whatever its bodies are.

use std::{
    future::Future,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    BoxError,
    body::{Body, Bytes, HttpBody},
    http::{Request, Response},
};
use tower::{Layer, Service};

use super::{Access, Binding, PeerCertificate, decision::Decision, refusal::Refusal, shown::Head};
use crate::clock;

/// Puts an agent's [`Access`] before a service.
#[derive(Clone, Debug)]
pub struct AccessLayer {
    access: Access,
    binding: Binding,
}

/// A service behind an [`Access`]. Requests that are let in have the
/// [`Caller`](crate::caller::Caller) as an extension, in place of any that was there, unless nothing
/// protects the agent: then whoever stands before decides.
#[derive(Clone, Debug)]
pub struct Guarded<S> {
    inner: S,
    layer: Arc<AccessLayer>,
}

impl AccessLayer {
    pub(super) fn new(access: Access, binding: Binding) -> Self {
        Self { access, binding }
    }
}

impl<S> Layer<S> for AccessLayer {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded {
            inner,
            layer: Arc::new(self.clone()),
        }
    }
}

type Answer<E> = Pin<Box<dyn Future<Output = Result<Response<Body>, E>> + Send>>;

impl<S, B, R> Service<Request<B>> for Guarded<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
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
        // The one that is ready is the one to be called; its clone may not be.
        let ready = self.inner.clone();
        let mut inner = mem::replace(&mut self.inner, ready);
        let layer = self.layer.clone();
        Box::pin(async move {
            match layer.admit(&mut request).await {
                None => Ok(inner.call(request).await?.map(Body::new)),
                Some(refused) => Ok(refused),
            }
        })
    }
}

impl AccessLayer {
    /// Lets a request in, or says how it is refused.
    async fn admit<B>(&self, request: &mut Request<B>) -> Option<Response<Body>> {
        if self.access.is_open() {
            return None;
        }
        let certificate = request.extensions().get::<PeerCertificate>().cloned();
        let (headers, query) = (
            request.headers().clone(),
            request.uri().query().unwrap_or_default().to_owned(),
        );
        let head = Head {
            headers: &headers,
            query: &query,
            certificate: certificate.as_ref(),
        };
        let decision = self.access.decide(&head, clock::now()).await;
        if let Decision::Granted(caller) = decision {
            request.extensions_mut().insert(caller);
            return None;
        }
        let refusal = Refusal::of(&self.access, &decision)?;
        Some(refusal.response(self.binding, &headers))
    }
}
