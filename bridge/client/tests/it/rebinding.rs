//! Tests of DNS rebinding: nothing is sent to a name that resolves to another address than before.

use std::{io, net::IpAddr, sync::Arc};

use async_trait::async_trait;
use bridge_client::{
    Binding, Client, ClientError, Fault, Lookup, Options,
    discovery::{Discovered, DiscoveryError, DiscoveryOptions, discover},
    invocation::{Invocation, InvocationError, invoke},
};
use bridge_protocol::{a2a::Metadata, dialect::card};
use serde_json::{Value, json};
use url::Url;

use crate::{
    server::hello,
    site::{Answer, Site, json as answer, redirect, site},
};

/// A resolver that resolves every name to this machine.
#[derive(Debug)]
struct LocalLookup;

#[async_trait]
impl Lookup for LocalLookup {
    async fn addresses(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Ok(vec![[127, 0, 0, 1].into()])
    }
}

/// Returns the default options.
fn usual() -> Options {
    options(true)
}

fn options(allow_private: bool) -> Options {
    Options { allow_private, lookup: Some(Arc::new(LocalLookup)), ..Options::default() }
}

/// Returns the site under a name that was public before.
fn named(site: &Site) -> Url {
    let mut url = site.url.clone();
    url.set_host(Some("agent.test")).unwrap();
    url
}

/// Returns the agent of a site, found while its name was public.
async fn found(answers: &[(&str, Answer)]) -> (Site, Discovered) {
    let site = site(answers).await;
    let options = DiscoveryOptions {
        allow_private: true,
        lookup: Some(Arc::new(LocalLookup)),
        ..DiscoveryOptions::default()
    };
    let found = discover(&named(&site), &options).await.unwrap();
    (site, found)
}

async fn called(agent: &Discovered, options: &Options) -> Result<(), InvocationError> {
    let invocation = Invocation::new("m-1", "check", Metadata::new());
    invoke(agent, &invocation, options).await.map(drop)
}

fn fault(error: InvocationError) -> Fault {
    match error {
        InvocationError::Agent(ClientError { fault, .. }) => fault,
        other => panic!("expected that nobody was asked, found {other}"),
    }
}

/// Cards whose interface is relative to their own address, and so to the name.
fn ways() -> [(&'static str, Value, &'static str); 4] {
    let skills = json!([{"id": "check"}]);
    let methods = json!([{"id": "check", "input_schema": {"type": "object"}}]);
    let interface = |binding: &str| {
        json!({"name": "New", "skills": skills, "supportedInterfaces": [
            {"url": "/to", "protocolBinding": binding, "protocolVersion": "1.0"},
        ]})
    };
    let here = ".well-known/agent-card.json";
    [
        (here, interface("JSONRPC"), "POST /to"),
        (here, interface("HTTP+JSON"), "POST /to/message:send"),
        (
            ".well-known/agent.json",
            json!({"name": "Club", "base_url": "/", "skills": skills}),
            "POST /tasks/send",
        ),
        ("agent-card", json!({"name": "Plan", "url": "/", "skills": methods}), "POST /execute"),
    ]
}

#[tokio::test]
async fn an_agent_whose_name_has_become_private_is_not_called() {
    for (place, card, call) in ways() {
        let (site, agent) = found(&[(&format!("GET /{place}"), answer(&card))]).await;
        let looked = site.lines().len();
        // The options allow it, and so does the permission recorded at discovery.
        let public = Discovered { allow_private: false, ..agent.clone() };
        for (agent, options) in [(&agent, options(false)), (&public, usual())] {
            match fault(called(agent, &options).await.unwrap_err()) {
                Fault::Private { host, address } => {
                    assert_eq!((host.as_str(), address.is_loopback()), ("agent.test", true));
                }
                other => panic!("{call}: expected that it is private, found {other}"),
            }
        }
        assert_eq!(site.lines().len(), looked, "{call}");
        called(&agent, &usual()).await.unwrap_err();
        assert_eq!(site.lines()[looked..], [call], "the name leads there");
    }
}

#[tokio::test]
async fn no_binding_sends_or_streams_to_it() {
    let is_built = |one: &Binding| *one != Binding::Grpc || cfg!(feature = "grpc");
    for binding in Binding::ALL.into_iter().filter(is_built) {
        let document = json!({"name": "New", "capabilities": {"streaming": true},
        "supportedInterfaces": [
            {"url": "URL/", "protocolBinding": binding.as_str(), "protocolVersion": "1.0"},
        ]});
        let site = site(&[]).await;
        let base = named(&site);
        let document = document.to_string().replace("URL/", base.as_str());
        let (card, _) = card::read(serde_json::from_str(&document).unwrap()).unwrap();
        let options = Options { binding: Some(binding), ..options(false) };
        let client = Client::for_card(card, &base, &options).unwrap();
        let sent = client.send_message(hello()).await.map(drop);
        let streamed = client.send_streaming_message(hello()).await.map(drop);
        for error in [sent.unwrap_err(), streamed.unwrap_err()] {
            let is_private = matches!(error.fault, Fault::Private { .. });
            assert!(is_private, "{binding}: {error}");
        }
        assert!(site.lines().is_empty(), "{binding}");
    }
}

#[tokio::test]
async fn neither_is_its_card_asked_for() {
    let site = site(&[]).await;
    for base in [named(&site), site.url.clone()] {
        let error = Client::connect(&base, &options(false)).await.unwrap_err();
        assert!(matches!(error.fault, Fault::Private { .. }), "{error}");
        let options =
            DiscoveryOptions { lookup: Some(Arc::new(LocalLookup)), ..DiscoveryOptions::default() };
        let error = discover(&base, &options).await.unwrap_err();
        assert!(matches!(error, DiscoveryError::Private { .. }), "{error}");
    }
    assert!(site.lines().is_empty());
}

/// A card may have a literal address where another has a name.
#[tokio::test]
async fn an_agent_at_a_private_address_is_not_called() {
    for (place, card, call) in ways() {
        let (site, mut agent) = found(&[(&format!("GET /{place}"), answer(&card))]).await;
        let text = serde_json::to_string(&card).unwrap();
        let card = text.replace("\"/", &format!("\"{}", site.url));
        let card = serde_json::from_str(&card).unwrap();
        agent = Discovered::from_card(card, agent.found_at).unwrap();
        let looked = site.lines().len();
        let fault = fault(called(&agent, &options(false)).await.unwrap_err());
        assert!(matches!(fault, Fault::Private { .. }), "{call}: {fault}");
        assert_eq!(site.lines().len(), looked, "{call}");
    }
}

#[tokio::test]
async fn no_call_is_led_elsewhere() {
    let other = site(&[]).await;
    for (place, card, call) in ways() {
        let answers =
            [(&*format!("GET /{place}"), answer(&card)), (call, redirect(other.url.as_str()))];
        let (site, agent) = found(&answers).await;
        let fault = fault(called(&agent, &usual()).await.unwrap_err()).to_string();
        assert!(fault.contains(&format!("it redirects to {}", other.url)), "{fault}");
        assert_eq!(site.lines().last().unwrap(), call);
    }
    assert!(other.lines().is_empty(), "a redirect was followed");
}
