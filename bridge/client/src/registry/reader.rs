//! What is read of a registry: one request at a time, shown what it asks for, and never more than a limit says.
//!
//! `oci-client`, which pushes, reads answers whole whatever their size; what is pulled may come from anybody.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use reqwest::{
    Client, Method, Response, StatusCode,
    header::{ACCEPT, AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE},
    redirect,
};
use serde::Deserialize;
use url::Url;

use super::{
    RegistryAuth, RegistryError, RegistryOptions,
    challenge::{self, Challenge},
    reference::host_of,
};
use crate::{
    body::{self, Unread},
    credentials::is_loopback,
    error::root_cause,
};

/// The types of manifests that can be answered (image specification, "Media Types").
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json, \
    application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json";

/// The header with a manifest's digest (distribution specification, "Pulling manifests").
const DIGEST: &str = "docker-content-digest";

/// Blobs often lie elsewhere.
const REDIRECTS: usize = 5;

/// Of how many repositories it is remembered what let us in.
const REMEMBERED: usize = 1024;

/// As much of a refusal is read as an error can tell.
const REFUSAL: usize = 4 << 10;

/// Reads one registry.
pub(super) struct Reader {
    http: Client,
    url: Url,
    host: String,
    auth: RegistryAuth,
    /// The largest manifest, list or token, in bytes.
    limit: usize,
    /// What let us in, by repository.
    shown: Mutex<BTreeMap<String, HeaderValue>>,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    /// What errors call it.
    pub(super) reference: &'a str,
    /// The repository that it belongs to.
    pub(super) repository: &'a str,
    /// Its path below `/v2/`.
    pub(super) path: &'a str,
    /// Its query.
    pub(super) query: &'a [(&'a str, String)],
}

/// An answer that was read whole.
#[derive(Debug)]
pub(super) struct Answer {
    /// The digest that the registry says it has.
    pub(super) digest: Option<String>,
    pub(super) body: Vec<u8>,
}

/// What a token server answers (distribution's "Token Authentication").
#[derive(Deserialize)]
struct Token {
    #[serde(alias = "access_token")]
    token: String,
}

impl Reader {
    pub(super) fn new(url: &Url, options: &RegistryOptions) -> reqwest::Result<Self> {
        let builder = Client::builder()
            .connect_timeout(options.connect)
            .redirect(redirect::Policy::limited(REDIRECTS))
            // What is asked for over https is never answered from a place without.
            .https_only(url.scheme() == "https")
            .tcp_nodelay(true);
        let builder = match is_loopback(url) {
            true => builder.no_proxy(),
            false => builder,
        };
        Ok(Self {
            http: builder.build()?,
            url: url.clone(),
            host: host_of(url),
            auth: options.auth.clone(),
            limit: options.answer,
            shown: Mutex::default(),
        })
    }

    /// A manifest, a list: what is no larger than [`RegistryOptions::answer`].
    pub(super) async fn get(&self, wanted: Wanted<'_>) -> Result<Answer, RegistryError> {
        self.get_within(wanted, self.limit).await
    }

    /// What is no larger than so many bytes.
    pub(super) async fn get_within(
        &self,
        wanted: Wanted<'_>,
        limit: usize,
    ) -> Result<Answer, RegistryError> {
        let reply = self.ask(Method::GET, wanted).await?;
        let digest = digest_in(&reply);
        let body = self.body(reply, wanted.reference, limit).await?;
        Ok(Answer { digest, body })
    }

    /// The digest of what is there, if the registry says it.
    pub(super) async fn head(&self, wanted: Wanted<'_>) -> Result<Option<String>, RegistryError> {
        let reply = self.ask(Method::HEAD, wanted).await?;
        Ok(digest_in(&reply))
    }

    /// Asks, and asks again with what is wanted to be shown. The answer is a success.
    async fn ask(&self, method: Method, wanted: Wanted<'_>) -> Result<Response, RegistryError> {
        let known = self.lock().get(wanted.repository).cloned();
        let reply = self.send(method.clone(), wanted, known).await?;
        if reply.status() != StatusCode::UNAUTHORIZED {
            return self.success(reply, wanted.reference).await;
        }
        let Some(shown) = self.answer_to(&reply).await? else {
            return Err(self.not_let_in());
        };
        let reply = self.send(method, wanted, Some(shown.clone())).await?;
        let reply = self.success(reply, wanted.reference).await?;
        let mut known = self.lock();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(wanted.repository.to_owned(), shown);
        drop(known);
        Ok(reply)
    }

    async fn send(
        &self,
        method: Method,
        wanted: Wanted<'_>,
        shown: Option<HeaderValue>,
    ) -> Result<Response, RegistryError> {
        let mut url = self.url.clone();
        url.set_path(&format!("/v2/{}", wanted.path));
        let request = self.http.request(method, url).query(wanted.query);
        let request = request.header(ACCEPT, format!("{MANIFESTS}, */*"));
        let request = match shown {
            Some(shown) => request.header(AUTHORIZATION, shown),
            None => request,
        };
        let sent = request.send().await;
        sent.map_err(|error| self.unreachable(&error))
    }

    async fn success(&self, reply: Response, reference: &str) -> Result<Response, RegistryError> {
        let status = reply.status();
        let reference = reference.to_owned();
        match status.as_u16() {
            200..=299 => Ok(reply),
            401 | 403 => Err(self.not_let_in()),
            404 => Err(RegistryError::NotFound { reference }),
            500.. => Err(RegistryError::Failing {
                registry: self.host.clone(),
                status: status.as_u16(),
            }),
            _ => {
                let said = body::read(reply, REFUSAL).await.unwrap_or_default();
                let said = String::from_utf8_lossy(&said);
                Err(RegistryError::refused(
                    reference,
                    &format!("{status} {said}"),
                ))
            }
        }
    }

    async fn body(
        &self,
        reply: Response,
        reference: &str,
        limit: usize,
    ) -> Result<Vec<u8>, RegistryError> {
        body::read(reply, limit).await.map_err(|error| match error {
            Unread::TooLarge => RegistryError::TooLarge {
                reference: reference.to_owned(),
                limit,
            },
            Unread::Broken(error) => self.unreachable(&error),
        })
    }

    /// What a registry that asks who we are is shown, if we have it.
    async fn answer_to(&self, reply: &Response) -> Result<Option<HeaderValue>, RegistryError> {
        if let RegistryAuth::Bearer(token) = &self.auth {
            return Ok(sensitive(&format!("Bearer {token}")));
        }
        let headers = reply.headers().get_all(WWW_AUTHENTICATE).iter();
        let asked = challenge::read(headers.filter_map(|header| header.to_str().ok()));
        match asked {
            Some(Challenge::Token(url)) => {
                let token = self.token(url).await?;
                Ok(sensitive(&format!("Bearer {token}")))
            }
            Some(Challenge::Basic) => Ok(self.basic()),
            None => Ok(None),
        }
    }

    /// User and password, if that is how we are known.
    fn basic(&self) -> Option<HeaderValue> {
        match &self.auth {
            RegistryAuth::Basic(user, password) => {
                let pair = BASE64_STANDARD.encode(format!("{user}:{password}"));
                sensitive(&format!("Basic {pair}"))
            }
            RegistryAuth::Anonymous | RegistryAuth::Bearer(_) => None,
        }
    }

    /// A token of the server that the registry names; user and password go there only where nobody reads along.
    async fn token(&self, url: Url) -> Result<String, RegistryError> {
        let server = host_of(&url);
        if url.scheme() != "https" && !is_loopback(&url) {
            return Err(RegistryError::PlainHttp { host: server });
        }
        let request = self.http.get(url);
        let request = match self.basic() {
            Some(basic) => request.header(AUTHORIZATION, basic),
            None => request,
        };
        let reply = request.send().await;
        let reply = reply.map_err(|error| self.unreachable(&error))?;
        let reply = self.success(reply, &server).await?;
        let body = self.body(reply, &server, self.limit).await?;
        let read = serde_json::from_slice::<Token>(&body);
        // What is wrong with it is said without a word of it.
        let no_token = |_| RegistryError::refused(server, "expected an object with a token");
        read.map(|answer| answer.token).map_err(no_token)
    }

    fn unreachable(&self, error: &reqwest::Error) -> RegistryError {
        RegistryError::Unreachable {
            registry: self.host.clone(),
            cause: root_cause(error),
        }
    }

    fn not_let_in(&self) -> RegistryError {
        RegistryError::Unauthorized {
            registry: self.host.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, HeaderValue>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn digest_in(reply: &Response) -> Option<String> {
    let header = reply.headers().get(DIGEST)?;
    header.to_str().ok().map(str::to_owned)
}

/// A header that no log shows; nothing if the secret has characters that no header can have.
fn sensitive(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}
