//! A running bot: `NAME=URL`.

use std::str::FromStr;

use url::Url;

use crate::bot::remote::RemoteBot;

/// A bot as the command line names it.
#[derive(Clone, Debug)]
pub(super) struct BotChoice {
    name: String,
    url: Url,
}

impl BotChoice {
    /// The bot, hosted in the usual way.
    pub(super) fn bot(&self) -> RemoteBot {
        RemoteBot::new(&self.name, self.url.clone())
    }
}

impl FromStr for BotChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected NAME=URL, such as echo=http://localhost:3979/api/messages";
        let (name, url) = text.split_once('=').ok_or_else(expected)?;
        let url = Url::parse(url).map_err(|error| format!("{}: {error}", expected()))?;
        let is_http = matches!(url.scheme(), "http" | "https");
        match is_http && !name.is_empty() {
            true => Ok(Self {
                name: name.into(),
                url,
            }),
            false => Err(expected().into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bot_is_named_by_name_and_url() {
        let choice: BotChoice = "a=http://localhost:3979/api?x=y".parse().unwrap();
        assert_eq!(choice.name, "a");
        assert_eq!(choice.url.as_str(), "http://localhost:3979/api?x=y");
        for wrong in ["", "a", "=http://h/", "a=", "a=h:80", "a=ftp://h/"] {
            let error = wrong.parse::<BotChoice>().unwrap_err();
            assert!(
                error.starts_with("expected NAME=URL, such as "),
                "{wrong}: {error}"
            );
        }
    }
}
