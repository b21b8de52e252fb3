//! `bridge serve`: hosts agents until it is stopped.
//!
//! - `flags`: merges the command line into the configuration
//! - `awaited`: finds agents whose clients have to wait
//! - `agent_factory`: creates agents
//! - `bot_credentials`: creates tokens and verifiers for bots
//! - `caller_access`: creates the access rules for callers
//! - `certificate`: reports the validity of the certificate
//! - `addresses`: the addresses of the program
//! - `blocked_port`: warns of ports to which some clients do not connect
//! - `listeners`: listens at them
//! - `push`: settings of push notifications
//! - `drain`: stops in order
//! - `reload`: reads the configuration again
//! - `run`: serves until a signal arrives

mod addresses;
mod agent_factory;
mod awaited;
mod blocked_port;
mod bot_credentials;
mod caller_access;
mod certificate;
mod drain;
mod flags;
mod listeners;
mod own_address;
mod push;
mod reload;
pub(super) mod run;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bridge_program::{stop_or_end, system::ReloadSignals};
use tokio::net::TcpListener;
use tracing::Level;
use url::Url;

pub(super) use addresses::{Addresses, Encryption, encryption, listen};
pub(super) use awaited::{WaitNotice, awaited};
pub(super) use bot_credentials::BotCredentials;
pub(super) use certificate::concern;
pub(super) use flags::Serve;
pub(super) use listeners::ListenError;

use super::{
    Result,
    admin::{AdminSocket, SOCKET},
    store::StoreChoice,
};
use crate::{
    auth::{self, CardSigner, Issuer, IssuerSettings, PrivateKey},
    bot::remote::{Channel, ChannelSettings},
    clock,
    config::{Auth, Config, IssuerConfig, Period},
    host::{Host, HostedAgents, HttpGuard},
    store::{Store, transfer},
};
use agent_factory::AgentFactory;
use reload::Reload;
pub(super) use run::LeaseLost;

/// The time for threads to end with the program. The system looks much longer for the address of a name if no name server answers.
const LAST: Duration = Duration::from_secs(2);

impl Serve {
    pub(super) fn execute(&self) -> Result<()> {
        let runtime = bridge_program::runtime()?;
        let served = runtime.block_on(self.serve());
        runtime.shutdown_timeout(LAST);
        served
    }

    async fn serve(&self) -> Result<()> {
        // This happens before any output that the program runs.
        let hangups = ReloadSignals::listen()?;
        let config = self.config()?;
        addresses::check(&config)?;
        let choice = self.store_choice(&config)?;
        let listener = listeners::listen(&config).await?;
        let grpc = listeners::listen_for_grpc(&config).await?;
        let grpc_address = grpc.as_ref().map(TcpListener::local_addr).transpose()?;
        let callbacks = listeners::listen_for_bots(&config, listener.local_addr()?).await?;
        let callback_address = callbacks.as_ref().map(TcpListener::local_addr).transpose()?;
        let place = Addresses::of(&config, listener.local_addr()?, callback_address)?;
        blocked_port::warn(&place);
        let store = choice.open().await?;
        if let Some(source) = transfer::unfinished_source(&*store).await? {
            let error = format!(
                "{choice} is an unfinished copy of {source}: run bridge migrate {source} {choice} again, or name another store"
            );
            return Err(error.into());
        }
        let agent_factory = agent_factory(&config, &place, store.clone(), &choice).await?;
        // From here on there are parts to shut down in order.
        let stop = drain::or_lost(stop_or_end()?, store.leases());
        let (host, notes) = assembled(&config, &agent_factory, &place, grpc_address)?;
        let host = host.stopping(stop.clone());
        let hosted = host.start(place.public_url.as_str()).await?;
        let stop = drain::drain(stop, store.leases(), hosted.clone(), &config.drain);
        let mut callback_app = hosted.callbacks();
        if let Some(issuer) = &agent_factory.issuer {
            callback_app = callback_app.merge(auth::router(issuer.clone()));
        }
        let guard = guard(&config, &place);
        let app = guard.wrap(hosted.router());
        let encryption = addresses::encryption(&config)?;
        certificate::note(&config, hosted.metrics());
        let limits = config.limits.limits();
        let _admin = admin_socket(&config, &choice, &hosted)?;
        let reload = Reload {
            flags: self.clone(),
            config,
            agent_factory,
            hosted,
            encryption: encryption.clone(),
        };
        run::reload_on(hangups, reload);
        notes.iter().for_each(|note| print(note));
        if let Some(address) = grpc_address {
            print(&format!("listening for gRPC on {address}"));
        }
        if let Some(address) = callback_address {
            print(&format!("listening for bots on http://{address}"));
        }
        print(&format!("listening on {}", place.here));
        let listeners = run::Listeners {
            listener,
            grpc,
            encryption,
            limits,
            callbacks: callbacks.map(|listener| (listener, callback_app)),
        };
        run::run_on(&*store, listeners.run(app, stop)).await
    }
}

/// Prints a message for the operator, at any log level.
fn print(text: &str) {
    bridge_program::log::tell(Level::INFO, text);
}

/// Serves the operator's commands. The socket is by default in the store's folder, if that is possible.
fn admin_socket(
    config: &Config,
    choice: &StoreChoice,
    hosted: &HostedAgents,
) -> Result<Option<AdminSocket>, String> {
    let named = config.admin.as_ref();
    let Some(path) = named.cloned().or_else(|| choice.beside(SOCKET)) else {
        return Ok(None);
    };
    match AdminSocket::serve(&path, hosted.admin()) {
        Ok(socket) => Ok(Some(socket)),
        Err(error) if named.is_some() => Err(format!("admin: {}: {error}", path.display())),
        Err(error) => {
            tracing::warn!(%error, "the socket for the operator's commands cannot be created: name another path with \
                                    --admin");
            Ok(None)
        }
    }
}

/// Returns the error with which `bridge serve` would refuse this configuration. Does everything except listening, and
/// keeps nothing.
pub(super) async fn judge(config: &Config) -> Result<()> {
    addresses::check(config)?;
    StoreChoice::of(config)?;
    let mut config = config.clone();
    config.issuer.keys = None;
    let place = Addresses::configured(&config)?;
    let choice = StoreChoice::Memory;
    let agent_factory = agent_factory(&config, &place, choice.open().await?, &choice).await?;
    let (host, _) = assembled(&config, &agent_factory, &place, addresses::grpc_listen(&config))?;
    host.start(place.public_url.as_str()).await?;
    addresses::encryption(&config)?;
    Ok(())
}

/// Prepares the creation of agents.
async fn agent_factory(
    config: &Config,
    place: &Addresses,
    store: Arc<dyn Store>,
    choice: &StoreChoice,
) -> Result<AgentFactory> {
    let channel = Channel::new(
        store.clone(),
        ChannelSettings {
            callback_url: place.callback_url.clone(),
            ..ChannelSettings::at(place.public_url.clone())
        },
    )?;
    Ok(AgentFactory {
        place: place.clone(),
        channel,
        store,
        issuer: issuer(config, place, choice).await?,
    })
}

/// Returns the host with the agents and all other settings, and what the operator should know of the agents.
fn assembled(
    config: &Config,
    agent_factory: &AgentFactory,
    place: &Addresses,
    grpc: Option<SocketAddr>,
) -> Result<(Host, Vec<String>)> {
    let (host, notes) = agent_factory.host(config)?;
    let mut host = host
        .connector(agent_factory.channel.clone())
        .grpc(place.grpc(config, grpc))
        .quota(config.limits.quota())
        .turn_limits(config.limits.turn_limits(config.agents.len()));
    if let Some(issuer) = &agent_factory.issuer {
        host = host.issuer(issuer.clone());
    }
    if let Some(size) = config.limits.body {
        host = host.body_limit(size.0);
    }
    if let Some(key) = &config.card_key {
        host = host.signer(Arc::new(CardSigner::read(&key.file, key.id.as_deref())?));
    }
    Ok((push::with_push(host, &config.push)?, notes))
}

/// Returns the checks in front of the agents.
fn guard(config: &Config, place: &Addresses) -> HttpGuard {
    let origins = config.cors.iter().flat_map(|cors| &cors.origins);
    let origins = origins.map(|one| one.0.clone());
    let own = place.callback_url.host_str().map(str::to_owned);
    let is_checked = config.hosts.is_some() || addresses::is_only_here(config);
    let hosts = config.hosts.iter().flatten().map(|one| one.0.clone());
    HttpGuard {
        origins: origins.collect(),
        public_url: config.public_url.as_ref().map(|url| url.0.clone()),
        hosts: is_checked.then(|| hosts.chain(own).collect()),
        trusted_proxies: config.trusted_proxies.iter().map(|net| net.0).collect(),
    }
}

/// Returns the bridge's own issuer, if an agent or the file needs it, since its keys take a moment to create.
async fn issuer(
    config: &Config,
    place: &Addresses,
    store: &StoreChoice,
) -> Result<Option<Arc<Issuer>>> {
    let mut auths = config.agents.iter().filter_map(|agent| agent.auth.as_ref());
    let is_used = auths.any(Auth::needs_issuer) || config.push.is_signed();
    if !is_used && config.issuer == IssuerConfig::default() {
        return Ok(None);
    }
    let settings = issuer_settings(config, &place.callback_url, store);
    let issuer = Issuer::open(settings, clock::now()).await?;
    let issuer = match &config.push.key {
        Some(key) => issuer.with_key(PrivateKey::read(&key.file, key.id.as_deref())?),
        None => issuer,
    };
    Ok(Some(Arc::new(issuer)))
}

/// Returns the settings of the bridge's own issuer. Its URL is the public one if there is one, because receivers of webhooks
/// and identity providers read its keys there; otherwise the URL for bots.
pub(super) fn issuer_settings(
    config: &Config,
    callback_url: &Url,
    store: &StoreChoice,
) -> IssuerSettings {
    let issuer = &config.issuer;
    let configured = issuer.url.as_ref().or(config.public_url.as_ref());
    let url = configured.map_or(callback_url, |url| &url.0);
    let usual = IssuerSettings::new(url.as_str());
    IssuerSettings {
        keys: issuer.keys.clone().or_else(|| store.beside("issuer.json")),
        rotate_every: Period::or(issuer.rotate_every, usual.rotate_every),
        lifetime: Period::or(issuer.token_lifetime, usual.lifetime),
        ..usual
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;
    use std::path::Path;

    #[test]
    fn the_issuer_is_where_others_read_its_keys() {
        let public = "public_url = 'https://agents.example'\n";
        let callback = "callback_url = 'http://bridge:3978'\n";
        let own = "[issuer]\nurl = 'https://issuer.example'\n";
        for (text, expected) in [
            (String::new(), "http://127.0.0.1:3978"),
            (callback.to_owned(), "http://bridge:3978"),
            (format!("{public}{callback}"), "https://agents.example"),
            (format!("{public}{own}"), "https://issuer.example"),
        ] {
            let text = format!("{text}[[agents]]\nname = 'a'\nbuiltin = 'echo'\n");
            let config = parse(Path::new("a.toml"), &text, &["echo"]).unwrap();
            let place = Addresses::configured(&config).unwrap();
            let settings = issuer_settings(&config, &place.callback_url, &StoreChoice::Memory);
            assert_eq!(settings.url, expected, "{text}");
        }
    }
}
