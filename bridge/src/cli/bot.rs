//! Parses a running bot: `NAME=URL`.

use std::str::FromStr;

use crate::config::{AgentName, HttpUrl};

/// A bot on the command line.
#[derive(Clone, Debug)]
pub(super) struct BotChoice {
    pub(super) name: AgentName,
    pub(super) url: HttpUrl,
}

impl FromStr for BotChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected NAME=URL, such as echo=http://localhost:3979/api/messages";
        let (name, address) = text.split_once('=').ok_or(expected)?;
        let wrong = |error: String| format!("{expected}: {error}");
        Ok(Self {
            name: name.to_owned().try_into().map_err(wrong)?,
            url: url(address).map_err(wrong)?,
        })
    }
}

/// Parses a web address.
pub(super) fn url(text: &str) -> Result<HttpUrl, String> {
    text.to_owned().try_into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bot_is_named_by_name_and_url() {
        let choice: BotChoice = "a=http://localhost:3979/api?x=y".parse().unwrap();
        assert_eq!(choice.name.0, "a");
        assert_eq!(choice.url.0.as_str(), "http://localhost:3979/api?x=y");
        for wrong in ["", "a", "=http://h/", "a=", "a=h:80", "a=ftp://h/", "a b=http://h"] {
            let error = wrong.parse::<BotChoice>().unwrap_err();
            assert!(error.starts_with("expected NAME=URL, such as "), "{wrong}: {error}");
        }
    }
}
