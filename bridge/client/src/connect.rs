//! From an address to an agent that can be called: card, interface, credentials.

use bridge_protocol::{
    a2a::{AgentCard, GetExtendedAgentCardRequest, Metadata},
    dialect::{Call, Version, v0_1::card::has_paths},
};
use reqwest::redirect;
use url::Url;

#[cfg(feature = "grpc")]
use crate::transport::grpc;
use crate::{
    Binding, ClientError, Fault, Options,
    agent::Agent,
    card,
    credentials::is_loopback,
    http::Endpoint,
    interface,
    negotiation::{self, Choice, Wanted},
    transport::{JsonRpc, Rest, Transport},
};

/// Reads the card of the agent at `base` and chooses how to speak to it.
pub(crate) async fn to(base: &Url, options: &Options) -> Result<(AgentCard, Agent), ClientError> {
    let connected = connect(base, options).await;
    let (card, known) = connected.map_err(|fault| {
        let fault = options.credentials.hide_in(fault);
        fault.of(base, "card")
    })?;
    match options.extended_card && card.capabilities.extended_agent_card == Some(true) {
        true => extended(known, base, options).await,
        false => Ok((card, known)),
    }
}

/// Chooses how to speak to an agent whose card is known.
pub(crate) fn by_card(
    card: &AgentCard,
    base: &Url,
    options: &Options,
) -> Result<Agent, ClientError> {
    let http = http_client(base, options);
    let known = http.and_then(|http| agent(http, card, base, options));
    known.map_err(|fault| {
        let fault = options.credentials.hide_in(fault);
        fault.of(base, "card")
    })
}

async fn connect(base: &Url, options: &Options) -> Result<(AgentCard, Agent), Fault> {
    options.guard().check_literal(base)?;
    let http = http_client(base, options)?;
    let card = card::find(&http, base, options).await?;
    trust(&card, options).await?;
    let agent = agent(http, &card, base, options)?;
    Ok((card, agent))
}

/// Goes by the card that the agent shows to those whom it knows.
async fn extended(
    known: Agent,
    base: &Url,
    options: &Options,
) -> Result<(AgentCard, Agent), ClientError> {
    let call = Call::GetExtendedAgentCard(GetExtendedAgentCardRequest {
        tenant: known.tenant.clone(),
        extra: Metadata::new(),
    });
    let connected = async {
        let card: AgentCard = known.ask(&call).await?;
        trust(&card, options).await?;
        let agent = agent(http_client(base, options)?, &card, base, options)?;
        Ok((card, agent))
    };
    connected.await.map_err(|fault| known.named(fault, &call))
}

async fn trust(card: &AgentCard, options: &Options) -> Result<(), Fault> {
    match &options.signatures {
        Some(check) => check.check(card).await.map_err(Fault::Untrusted),
        None => Ok(()),
    }
}

fn agent(
    http: reqwest::Client,
    card: &AgentCard,
    base: &Url,
    options: &Options,
) -> Result<Agent, Fault> {
    let wanted = Wanted {
        version: options.version,
        binding: options.binding,
    };
    let choice = negotiation::choose(card, wanted)?;
    let url = interface::address(choice.binding, base, &choice.interface.url);
    let url = url.map_err(Fault::Invalid)?;
    options.guard().check_literal(&url)?;
    options.credentials.check(base, &url)?;
    let credentials = options.credentials.chosen(card)?;
    let http = match choice.binding {
        Binding::JsonRpc | Binding::HttpJson => http,
        Binding::Grpc => built(builder(&url, options).http2_prior_knowledge())?,
    };
    let endpoint = Endpoint {
        http,
        url,
        version: choice.version,
        limits: options.limits,
        credentials: credentials.clone(),
        extensions: options.extensions.clone(),
    };
    Ok(Agent {
        url: endpoint.url.clone(),
        version: choice.version,
        binding: choice.binding,
        tenant: choice.interface.tenant.clone(),
        streaming: card.capabilities.streaming,
        limits: options.limits,
        retries: options.retries,
        polls: options.polls,
        credentials,
        transport: transport(endpoint, choice, card)?,
    })
}

fn transport(endpoint: Endpoint, choice: Choice<'_>, card: &AgentCard) -> Result<Transport, Fault> {
    match choice.binding {
        Binding::JsonRpc => {
            let has_paths = choice.version == Version::V0_1 && has_paths(card);
            Ok(Transport::JsonRpc(JsonRpc::new(endpoint, has_paths)))
        }
        Binding::HttpJson => Ok(Transport::Rest(Rest::new(endpoint))),
        #[cfg(feature = "grpc")]
        Binding::Grpc => Ok(Transport::Grpc(grpc::Grpc::new(endpoint))),
        #[cfg(not(feature = "grpc"))]
        Binding::Grpc => Err(Fault::NotInVersion(choice.version.as_str())),
    }
}

/// Redirects are not followed: a card decides where messages go, and nobody else. A proxy of the
/// environment is for the outside; on this machine it would only be in the way. The address itself is for
/// the caller to judge if it is no name.
pub(crate) fn http_client(base: &Url, options: &Options) -> Result<reqwest::Client, Fault> {
    built(builder(base, options))
}

fn builder(base: &Url, options: &Options) -> reqwest::ClientBuilder {
    let builder = reqwest::Client::builder()
        .connect_timeout(options.limits.connect)
        .redirect(redirect::Policy::none())
        .tcp_nodelay(true);
    let builder = options.guard().on(options.roots.add_to(builder));
    match is_loopback(base) {
        true => builder.no_proxy(),
        false => builder,
    }
}

fn built(builder: reqwest::ClientBuilder) -> Result<reqwest::Client, Fault> {
    let built = builder.build();
    built.map_err(|error| Fault::Unreachable(error.to_string()))
}
