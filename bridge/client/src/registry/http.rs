//! Sends requests to a registry, authenticates them, and limits the size of answers.

use std::{
    collections::BTreeMap,
    sync::{MutexGuard, PoisonError},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bridge_http::{BodyError, is_loopback, read_body, root_cause_with_proxy, with_proxy_for};
use bytes::Bytes;
use reqwest::{
    Client, Method, RequestBuilder, Response, StatusCode,
    header::{
        ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, LOCATION,
        WWW_AUTHENTICATE,
    },
    redirect,
};
use serde::Deserialize;
use url::Url;

use super::{
    Registry, RegistryAuth, RegistryError, RegistryOptions, Result,
    artifact::MANIFEST_TYPE,
    challenge::{self, Challenge},
    digest,
    reference::host_of,
};

/// The types of manifests that are accepted (image specification, "Media Types").
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json, \
    application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json";

/// The header with a manifest's digest (distribution specification, "Pulling manifests").
const DIGEST: &str = "docker-content-digest";

/// Blobs are often stored at another host.
const REDIRECTS: usize = 5;

/// The number of repositories whose authorization is cached.
const REMEMBERED: usize = 1024;

/// The size of an error answer that is read, in bytes.
const REFUSAL: usize = 4 << 10;

/// Some content of a registry.
#[derive(Clone, Debug)]
pub(super) struct Content {
    /// The reference for error messages.
    pub(super) reference: String,
    /// The repository that it belongs to.
    pub(super) repository: String,
    pub(super) url: Url,
}

/// The answer of a token server (distribution's "Token Authentication"). Some have the token under both names.
#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

/// Creates the client for the requests to a registry.
pub(super) fn client(url: &Url, options: &RegistryOptions) -> reqwest::Result<Client> {
    let builder = options
        .tls
        .add_to(Client::builder())
        .connect_timeout(options.connect)
        .redirect(redirect::Policy::limited(REDIRECTS))
        // A request over https must not be redirected to plain HTTP.
        .https_only(url.scheme() == "https")
        .tcp_nodelay(true);
    with_proxy_for(url, builder).build()
}

impl Registry {
    /// Fetches content of at most `limit` bytes, and returns it with the digest that the registry declares.
    pub(super) async fn get(
        &self,
        wanted: &Content,
        limit: usize,
    ) -> Result<(Vec<u8>, Option<String>)> {
        let getting = async {
            let reply = self.ask(Method::GET, wanted).await?;
            let digest = digest_in(&reply);
            Ok((self.body(reply, &wanted.reference, limit).await?, digest))
        };
        self.in_time(getting).await
    }

    /// Returns the digest of some content, if the registry declares it.
    pub(super) async fn head(&self, wanted: &Content) -> Result<Option<String>> {
        let reply = self.in_time(self.ask(Method::HEAD, wanted)).await?;
        Ok(digest_in(&reply))
    }

    /// Stores content of an artifact under its digest (distribution specification, "Pushing a blob monolithically").
    pub(super) async fn put_blob(&self, artifact: &Content, content: Bytes) -> Result<()> {
        let uploads = self.below(&format!("{}/blobs/uploads/", artifact.repository));
        let open = || self.http.post(uploads.clone()).header(CONTENT_LENGTH, 0);
        let opened = self.authenticated(artifact, open).await?;
        let header = opened.headers().get(LOCATION);
        let location = header.and_then(|header| uploads.join(header.to_str().ok()?).ok());
        let mut location = location.ok_or_else(|| {
            RegistryError::refused(&artifact.reference, "expected a Location for the upload")
        })?;
        location.query_pairs_mut().append_pair("digest", &digest::of(&content));
        let put = || {
            let request = self.http.put(location.clone()).body(content.clone());
            request.header(CONTENT_TYPE, "application/octet-stream")
        };
        if location.origin() == uploads.origin() {
            self.authenticated(artifact, put).await?;
        } else {
            // Another host has its authorization in the location.
            let reply = self.send(put(), None).await?;
            self.success(reply, &artifact.reference).await?;
        }
        Ok(())
    }

    /// Stores a manifest (distribution specification, "Pushing manifests").
    pub(super) async fn put_manifest(&self, artifact: &Content, manifest: Bytes) -> Result<()> {
        let put = || {
            let request = self.http.put(artifact.url.clone()).body(manifest.clone());
            request.header(CONTENT_TYPE, MANIFEST_TYPE)
        };
        self.authenticated(artifact, put).await?;
        Ok(())
    }

    /// Asks for content.
    async fn ask(&self, method: Method, wanted: &Content) -> Result<Response> {
        let request = || {
            let request = self.http.request(method.clone(), wanted.url.clone());
            request.header(ACCEPT, format!("{MANIFESTS}, */*"))
        };
        self.authenticated(wanted, request).await
    }

    /// Sends a request, and again with authentication if the registry requires it. Only a success is
    /// returned.
    async fn authenticated(
        &self,
        wanted: &Content,
        request: impl Fn() -> RequestBuilder,
    ) -> Result<Response> {
        let known = self.lock().get(&wanted.repository).cloned();
        let reply = self.send(request(), known).await?;
        if reply.status() != StatusCode::UNAUTHORIZED {
            return self.success(reply, &wanted.reference).await;
        }
        let Some(shown) = self.answer_to(&reply).await? else {
            return Err(self.not_let_in());
        };
        let reply = self.send(request(), Some(shown.clone())).await?;
        let reply = self.success(reply, &wanted.reference).await?;
        let mut known = self.lock();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(wanted.repository.clone(), shown);
        drop(known);
        Ok(reply)
    }

    async fn send(&self, request: RequestBuilder, shown: Option<HeaderValue>) -> Result<Response> {
        let request = match shown {
            Some(shown) => request.header(AUTHORIZATION, shown),
            None => request,
        };
        let sent = request.send().await;
        sent.map_err(|error| self.unreachable(&error))
    }

    /// Returns the URL of a path below `/v2/`.
    pub(super) fn below(&self, path: &str) -> Url {
        let mut url = self.url.clone();
        url.set_path(&format!("/v2/{path}"));
        url
    }

    async fn success(&self, reply: Response, reference: &str) -> Result<Response> {
        let status = reply.status();
        let reference = reference.to_owned();
        match status.as_u16() {
            200..=299 => Ok(reply),
            401 | 403 => Err(self.not_let_in()),
            404 => Err(RegistryError::NotFound(reference)),
            500.. => {
                Err(RegistryError::Failing { registry: self.host.clone(), status: status.as_u16() })
            }
            _ => {
                let text = read_body(reply, REFUSAL).await.unwrap_or_default();
                let text = String::from_utf8_lossy(&text);
                Err(RegistryError::refused(reference, &format!("{status} {text}")))
            }
        }
    }

    async fn body(&self, reply: Response, reference: &str, limit: usize) -> Result<Vec<u8>> {
        read_body(reply, limit).await.map_err(|error| match error {
            BodyError::TooLarge => {
                RegistryError::TooLarge { reference: reference.to_owned(), limit }
            }
            BodyError::Broken(error) => self.unreachable(&error),
        })
    }

    /// Returns the `Authorization` header that answers a registry's challenge; `None` if there are no such credentials.
    async fn answer_to(&self, reply: &Response) -> Result<Option<HeaderValue>> {
        let bearer = |token: &str| sensitive(&format!("Bearer {token}"));
        if let RegistryAuth::Bearer(token) = &self.options.auth {
            return Ok(bearer(token));
        }
        let headers = reply.headers().get_all(WWW_AUTHENTICATE).iter();
        Ok(match challenge::read(headers.filter_map(|header| header.to_str().ok())) {
            Some(Challenge::Token(url)) => bearer(&self.token(url).await?),
            Some(Challenge::Basic) => self.basic(),
            None => None,
        })
    }

    /// Returns the header for HTTP Basic, if the credentials are user name and password.
    fn basic(&self) -> Option<HeaderValue> {
        match &self.options.auth {
            RegistryAuth::Basic(user, password) => {
                let pair = BASE64_STANDARD.encode(format!("{user}:{password}"));
                sensitive(&format!("Basic {pair}"))
            }
            RegistryAuth::Anonymous | RegistryAuth::Bearer(_) => None,
        }
    }

    /// Fetches a token from the server that the registry names. Credentials are sent there only over https or
    /// on this machine.
    async fn token(&self, url: Url) -> Result<String> {
        let server = host_of(&url);
        if url.scheme() != "https" && !is_loopback(&url) {
            return Err(RegistryError::PlainHttp(server));
        }
        let reply = self.send(self.http.get(url), self.basic()).await?;
        let reply = self.success(reply, &server).await?;
        let body = self.body(reply, &server, self.options.answer).await?;
        let read = serde_json::from_slice::<Token>(&body);
        // The answer may contain a secret, so the error does not quote it.
        let no_token = || RegistryError::refused(server, "expected an object with a token");
        let token = read.ok().and_then(|answer| answer.token.or(answer.access_token));
        token.ok_or_else(no_token)
    }

    fn unreachable(&self, error: &reqwest::Error) -> RegistryError {
        RegistryError::Unreachable {
            registry: self.host.clone(),
            cause: root_cause_with_proxy(error),
        }
    }

    fn not_let_in(&self) -> RegistryError {
        RegistryError::Unauthorized(self.host.clone())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, HeaderValue>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn digest_in(reply: &Response) -> Option<String> {
    let header = reply.headers().get(DIGEST)?;
    header.to_str().ok().map(str::to_owned)
}

/// Returns a header value that is not logged; `None` if it has characters that no header can have.
fn sensitive(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}
