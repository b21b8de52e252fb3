//! Connects to an agent: reads its card and chooses an interface and credentials.

use std::{sync::Arc, time::Duration};

use bridge_http::{Connections, with_proxy_for};
use bridge_protocol::{
    a2a::{AgentCard, GetExtendedAgentCardRequest},
    dialect::Call,
};
use reqwest::redirect;
use url::Url;

#[cfg(feature = "grpc")]
use crate::transport::grpc;
use crate::{
    Binding, ClientError, Fault, Options, Result,
    agent::Agent,
    card, card_url,
    failover::InterfaceSet,
    http::Endpoint,
    interface,
    negotiation::{self, ChosenInterface},
    sequence::Sequence,
    transport::{JsonRpc, Transport},
};

/// Reads the card of the agent at `base` and chooses its interfaces.
pub(crate) async fn to(base: &Url, options: &Options) -> Result<(AgentCard, InterfaceSet)> {
    let failed = |fault| failed(fault, base, options);
    let literal = options.guard().check_literal(base);
    literal.map_err(|private| failed(private.into()))?;
    let http = connections(base, options).map_err(failed)?;
    let card = card::find(&http, base, options).await?;
    let known = Connector { http: &http, base, options }.trusted(&card).await.map_err(failed)?;
    match options.extended_card && card.capabilities.extended_agent_card == Some(true) {
        true => extended(known, base, options).await,
        false => Ok((card, known)),
    }
}

/// Chooses the interfaces of an agent whose card is known.
pub(crate) fn by_card(card: &AgentCard, base: &Url, options: &Options) -> Result<InterfaceSet> {
    let http = connections(base, options);
    let known = http.and_then(|http| Connector { http: &http, base, options }.interfaces(card));
    known.map_err(|fault| failed(fault, base, options))
}

fn failed(fault: Fault, at: &Url, options: &Options) -> ClientError {
    options.credentials.mask_fault(fault).of(at, "card")
}

/// Fetches the extended card and chooses its interfaces instead.
async fn extended(
    known: InterfaceSet,
    base: &Url,
    options: &Options,
) -> Result<(AgentCard, InterfaceSet)> {
    let call = Call::GetExtendedAgentCard(GetExtendedAgentCardRequest::default());
    let follow = |agent: Arc<Agent>, call: Call| async move {
        let connected = async {
            let card: AgentCard = agent.ask(&call).await?;
            let http = connections(base, options)?;
            let interfaces = Connector { http: &http, base, options }.trusted(&card).await?;
            Ok::<_, Fault>((card, interfaces))
        };
        connected.await.map_err(|fault| agent.named(fault, &call))
    };
    known.make(&call, follow).await
}

/// Chooses the interfaces of the agent at an address, with connections to it.
struct Connector<'a> {
    http: &'a Connections,
    base: &'a Url,
    options: &'a Options,
}

impl Connector<'_> {
    /// Returns the interfaces of a card, once it has passed the check of the options.
    async fn trusted(&self, card: &AgentCard) -> Result<InterfaceSet, Fault> {
        if let Some(check) = &self.options.signatures {
            check.check(card).await.map_err(Fault::Untrusted)?;
        }
        self.interfaces(card)
    }

    /// Returns the interfaces of the card that can be used. An unusable interface is skipped if there is another.
    fn interfaces(&self, card: &AgentCard) -> Result<InterfaceSet, Fault> {
        know_extensions(card, self.options)?;
        let mut usable = Vec::new();
        let mut first = None;
        for choice in negotiation::choices(card, self.options)? {
            match self.agent(choice, card) {
                Ok(agent) => usable.push(agent),
                Err(fault) => first = first.or(Some(fault)),
            }
        }
        let mut usable = usable.into_iter();
        match (usable.next(), first) {
            (Some(agent), _) => Ok(InterfaceSet::new(agent, usable)),
            (None, Some(fault)) => Err(fault),
            (None, None) => Err(Fault::Unreachable("the card has no interface".into())),
        }
    }

    fn agent(&self, choice: ChosenInterface<'_>, card: &AgentCard) -> Result<Agent, Fault> {
        let Self { http, base, options } = *self;
        let home = if card_url::is_card(base) { &card_url::agent_base(base) } else { base };
        let url = interface::address(choice.binding, home, &choice.interface.url);
        let url = url.map_err(Fault::Invalid)?;
        options.guard().check_literal(&url)?;
        options.credentials.check(base, &url)?;
        let credentials = options.credentials.chosen(card)?;
        let http = match choice.binding {
            Binding::JsonRpc | Binding::HttpJson if url.origin() == base.origin() => http.clone(),
            // Whether a proxy is used depends on the server.
            Binding::JsonRpc | Binding::HttpJson => connections(&url, options)?,
            Binding::Grpc => {
                let http = options.tls.add_to_http2(builder(&url, options));
                let http = http.pool_idle_timeout(HTTP2_IDLE_TIMEOUT).build();
                http.map_err(|error| Fault::Unreachable(error.to_string()))?.into()
            }
        };
        let transport = match choice.binding {
            Binding::JsonRpc => Transport::JsonRpc(JsonRpc::new(choice.version.has_paths(card))),
            Binding::HttpJson => Transport::Rest,
            #[cfg(feature = "grpc")]
            Binding::Grpc => Transport::Grpc(grpc::Grpc { meter: options.grpc_meter.clone() }),
            #[cfg(not(feature = "grpc"))]
            Binding::Grpc => return Err(Fault::NotInVersion(choice.version.as_str())),
        };
        let endpoint = Endpoint {
            http,
            url,
            version: choice.version,
            limits: options.limits,
            credentials,
            extensions: options.extensions.clone(),
            sequence: Sequence::offered(card, choice.version, &options.extensions),
        };
        Ok(Agent {
            endpoint,
            binding: choice.binding,
            tenant: choice.interface.tenant.clone(),
            streaming: card.capabilities.streaming,
            retries: options.retries,
            polls: options.polls,
            must_stream: options.must_stream,
            transport,
        })
    }
}

/// Refuses an agent that requires an extension that the caller does not support (specification 4.4.4, 4.6.1):
/// the extension may change the meaning of requests and answers.
fn know_extensions(card: &AgentCard, options: &Options) -> Result<(), Fault> {
    let required = card.capabilities.extensions.iter();
    let unknown = required.filter(|one| one.required && !options.extensions.contains(&one.uri));
    let uris: Vec<_> = unknown.map(|one| one.uri.clone()).collect();
    if uris.is_empty() { Ok(()) } else { Err(Fault::Extensions(uris)) }
}

/// Prepares connections to an agent. They follow no redirects, because only the card decides where messages go, and use
/// no proxy for addresses of this machine. The caller checks `base` if its host is an IP address.
pub(crate) fn connections(base: &Url, options: &Options) -> Result<Connections, Fault> {
    let connections = Connections::new(|| options.tls.add_to(builder(base, options)));
    connections.map_err(|error| Fault::Unreachable(error.to_string()))
}

/// The time that an unused connection of HTTP/2 is kept, which is shorter than the times of servers and proxies.
const HTTP2_IDLE_TIMEOUT: Duration = Duration::from_secs(4);

fn builder(base: &Url, options: &Options) -> reqwest::ClientBuilder {
    let builder = reqwest::Client::builder()
        .connect_timeout(options.limits.connect)
        .redirect(redirect::Policy::none())
        .tcp_nodelay(true);
    with_proxy_for(base, options.guard().on(builder))
}
