//! The streamable HTTP transport.

use std::{collections::BTreeMap, error::Error, sync::Arc, time::Duration};

use bridge_http::IDLE_TIMEOUT;
use reqwest_0_13::{
    Client, StatusCode,
    header::{HeaderName, HeaderValue},
    redirect,
};
use rmcp::transport::{
    StreamableHttpClientTransport, common::client_side_sse::ExponentialBackoff,
    streamable_http_client::StreamableHttpClientTransportConfig,
};
use rustls::ClientConfig;
use url::Url;

use super::{options::Limits, resolver::Resolver, traced_http::TracedClient};
use crate::{allow_list::AllowList, secret::Secret};

/// The headers that details may not set, because they belong to HTTP or to the protocol. `Host` matters most:
/// servers on this machine recognise local callers by it. Headers that begin with `Mcp-` are reserved too.
const RESERVED: &str = "\
    accept connection content-length content-type host last-event-id te trailer transfer-encoding \
    upgrade";

/// The number of times that a broken stream is resumed before its call fails.
const RESUMPTIONS: usize = 3;

pub(super) type Headers = Vec<(HeaderName, HeaderValue)>;

/// Returns the headers of connection details as they are sent, with their values marked as sensitive, or the name of one that
/// cannot be sent, and what is expected.
pub(super) fn headers(
    headers: &BTreeMap<String, Secret>,
) -> Result<Headers, (String, &'static str)> {
    let header = |(name, value): (&String, &Secret)| {
        let bad = |expected| (name.clone(), expected);
        let name = HeaderName::try_from(name).map_err(|_| bad("the name of an HTTP header"))?;
        if RESERVED.split(' ').any(|one| name == one) || name.as_str().starts_with("mcp-") {
            return Err(bad("a header that is not the protocol's own"));
        }
        let mut value = HeaderValue::try_from(value.expose())
            .map_err(|_| bad("a value of visible ASCII characters"))?;
        value.set_sensitive(true);
        Ok((name, value))
    };
    headers.iter().map(header).collect()
}

/// Creates a transport to this URL. Nothing is sent yet.
pub(super) fn transport(
    url: &Url,
    headers: Headers,
    client: Client,
) -> StreamableHttpClientTransport<TracedClient> {
    let mut retry = ExponentialBackoff::default();
    retry.max_times = Some(RESUMPTIONS);
    retry.base_duration = Duration::from_millis(200);
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        .custom_headers(headers.into_iter().collect());
    config.retry_config = Arc::new(retry);
    StreamableHttpClientTransport::with_client(TracedClient(client), config)
}

/// Creates an HTTP client that follows no redirects to other origins and uses no proxies, because those would lead to
/// hosts that were not checked.
pub(super) fn client(allowed: &Arc<AllowList>, limits: &Limits) -> Result<Client, Box<dyn Error>> {
    let client = Client::builder()
        .tls_backend_preconfigured(tls()?)
        .redirect(redirect::Policy::custom(within_origin))
        .no_proxy()
        .referer(false)
        .connect_timeout(limits.connect)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .dns_resolver(Arc::new(Resolver(allowed.clone())))
        .build()?;
    Ok(client)
}

/// Follows a redirect that keeps origin and method: a server in Python that is mounted at `/mcp` leads to `/mcp/`.
fn within_origin(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let is_method_kept =
        matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    // One is enough: the address before is the only one.
    let is_same = matches!(attempt.previous(), [from] if from.origin() == attempt.url().origin());
    if is_method_kept && is_same {
        return attempt.follow();
    }
    let said = bridge_http::redirect_advice(attempt.url().clone());
    let status = attempt.status();
    attempt.error(format!("HTTP {status}: {said}"))
}

/// Creates a TLS configuration that trusts the same certificates as the rest of the workspace. It offers HTTP/1.1 alone, because
/// this client speaks nothing else.
pub(crate) fn tls() -> Result<ClientConfig, rustls::Error> {
    let mut config = bridge_http::shared_tls_config()?;
    config.alpn_protocols.clear();
    Ok(config)
}
