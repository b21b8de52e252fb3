//! The file again: what it says now takes the place of what it said, or nothing changes.

use std::error::Error;

use super::{Serve, cast::Cast, place::Encryption};
use crate::{config::Config, host::Hosted};

/// What can be replaced while it is served.
pub(super) struct Reload {
    pub(super) flags: Serve,
    pub(super) config: Config,
    pub(super) cast: Cast,
    pub(super) hosted: Hosted,
    pub(super) encryption: Encryption,
}

impl Reload {
    /// Reads the file again, and says what came of it.
    pub(super) fn again(&mut self) {
        if !self.flags.has_file() {
            return tracing::info!("there is no configuration to read again");
        }
        match self.replace() {
            Ok(()) => tracing::info!(
                agents = self.config.agents.len(),
                "the configuration was read again"
            ),
            Err(error) => tracing::error!("the configuration stays as it was: {error}"),
        }
    }

    fn replace(&mut self) -> Result<(), Box<dyn Error>> {
        let config = self.flags.config()?;
        super::place::check(&config)?;
        self.renew(&config)?;
        self.hosted.replace(self.cast.host(&config)?)?;
        for key in fixed(&self.config, &config) {
            tracing::warn!("{key} has changed, which needs a restart");
        }
        self.config.agents = config.agents;
        self.config.provider = config.provider;
        Ok(())
    }

    #[cfg(feature = "tls")]
    fn renew(&self, config: &Config) -> Result<(), Box<dyn Error>> {
        match (&self.encryption, &config.tls) {
            (Some(certificate), Some(tls)) => Ok(certificate.renew(super::place::files(tls))?),
            (None, _) | (_, None) => Ok(()),
        }
    }

    #[cfg(not(feature = "tls"))]
    fn renew(&self, _: &Config) -> Result<(), Box<dyn Error>> {
        match self.encryption {
            None => Ok(()),
            Some(never) => match never {},
        }
    }
}

/// Keys that have changed and cannot be followed.
fn fixed<'a>(old: &Config, new: &Config) -> impl Iterator<Item = &'a str> {
    let changes = [
        ("listen", old.listen != new.listen),
        ("public_url", old.public_url != new.public_url),
        ("callback_url", old.callback_url != new.callback_url),
        (
            "store",
            old.store.as_ref().map(toml::Spanned::get_ref)
                != new.store.as_ref().map(toml::Spanned::get_ref),
        ),
        (
            "trusted_proxies",
            old.trusted_proxies != new.trusted_proxies,
        ),
        ("grpc", old.grpc != new.grpc),
        ("cors", old.cors != new.cors),
        ("tls", old.tls.is_some() != new.tls.is_some()),
        ("issuer", old.issuer != new.issuer),
        ("push", old.push != new.push),
        ("card_key", old.card_key != new.card_key),
    ];
    changes
        .into_iter()
        .filter(|(_, changed)| *changed)
        .map(|(key, _)| key)
}
