//! The settings of the policy `llm`.

use std::{fs, path::PathBuf, time::Duration};

use bridge_client::{Tls, web_url};
use bridge_protocol::wire::FieldError;
use mcp_tools::secret::Secret;
use serde_json::{Map, Value};
use url::Url;

use super::super::{SettingsError, settings::Settings};

/// Reads an environment variable.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The API of a model's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Provider {
    /// Chat completions, as OpenAI and many other servers offer them.
    OpenAi,
    /// Responses, as OpenAI offers them.
    Responses,
    /// Messages, as Anthropic offers them.
    Anthropic,
    /// `generateContent`, as Google offers it.
    Gemini,
}

/// The members of a chat completion request that limit its output, the usual one first. OpenAI's newer models reject it, and some
/// other servers know no other.
pub(super) const LIMIT_FIELDS: [&str; 2] = ["max_tokens", "max_completion_tokens"];

impl Provider {
    /// Returns the environment variables in which the provider's clients look for an address, and the provider's
    /// own address.
    fn addresses(self) -> (&'static [&'static str], &'static str) {
        match self {
            Self::OpenAi | Self::Responses => {
                (&["OPENAI_BASE_URL", "OPENAI_API_BASE"], "https://api.openai.com/v1")
            }
            Self::Anthropic => (&["ANTHROPIC_BASE_URL"], "https://api.anthropic.com"),
            Self::Gemini => (
                &["GOOGLE_GEMINI_BASE_URL", "GEMINI_API_BASE"],
                "https://generativelanguage.googleapis.com",
            ),
        }
    }

    /// Returns the environment variables in which the provider's clients look for a key.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::OpenAi | Self::Responses => &["OPENAI_API_KEY"],
            Self::Anthropic => &["ANTHROPIC_API_KEY"],
            Self::Gemini => &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
        }
    }
}

/// The model, its server and the limits.
#[derive(Clone, Debug)]
pub(super) struct LlmSettings {
    pub(super) provider: Provider,
    pub(super) base_url: Url,
    pub(super) model: String,
    /// Certificates of authorities that are trusted beside the public ones.
    pub(super) tls: Tls,
    /// The API key; absent for servers that need none.
    pub(super) key: Option<Secret>,
    /// The limit of one answer; if absent, it depends on the model.
    pub(super) max_output_tokens: Option<u64>,
    /// One of [`LIMIT_FIELDS`].
    pub(super) limit_field: &'static str,
    pub(super) max_total_tokens: u64,
    /// The size of the model's context; longer conversations are shortened before the request. If absent, they are
    /// shortened after the model's error.
    pub(super) context_tokens: Option<u64>,
    /// The largest tool result in bytes; the middle of a longer result is cut out.
    pub(super) max_result_bytes: usize,
    /// The number of the newest images in tool results that the model sees.
    pub(super) images: usize,
    pub(super) time_per_call: Duration,
    /// The number of retries of a call.
    pub(super) retries: u32,
    pub(super) longest_pause: Duration,
    /// Further members of each request, such as `temperature`.
    pub(super) parameters: Map<String, Value>,
    /// Text that is appended to the instructions.
    pub(super) instructions: Option<String>,
    /// A file whose text replaces the instructions.
    pub(super) system_file: Option<PathBuf>,
}

impl LlmSettings {
    pub(super) fn read(value: &Value, variables: Lookup<'_>) -> Result<Self, SettingsError> {
        let read = Self::without_key(value, variables);
        let (mut read, variable) = read.map_err(SettingsError::of("llm"))?;
        read.key = key_of(variable.as_deref(), read.provider, &read.base_url, variables)?;
        Ok(read)
    }

    /// Reads all settings but the key; also returns the name of the variable with the key, if one is named.
    fn without_key(
        value: &Value,
        variables: Lookup<'_>,
    ) -> Result<(Self, Option<String>), FieldError> {
        let mut settings = Settings::of(value)?;
        let provider = provider(&mut settings)?;
        let seconds = |settings: &mut Settings, name, default| {
            let read = settings.seconds(name)?;
            Ok(read.unwrap_or(Duration::from_secs(default)))
        };
        let read = Self {
            provider,
            base_url: base_url(&mut settings, provider, variables)?,
            model: settings.required_string("model")?,
            tls: tls(&mut settings)?,
            key: None,
            max_output_tokens: settings.count("max_output_tokens")?,
            limit_field: limit_field(&mut settings)?,
            context_tokens: settings.count("context_tokens")?,
            max_result_bytes: settings
                .count("max_result_bytes")?
                .map_or(MAX_RESULT, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
            max_total_tokens: settings.count("max_total_tokens")?.unwrap_or(500_000),
            time_per_call: seconds(&mut settings, "time_per_call", 240)?,
            images: settings.up_to("images", 100)?.unwrap_or(3) as usize,
            retries: settings.up_to("retries", 20)?.unwrap_or(4),
            longest_pause: seconds(&mut settings, "longest_pause", 30)?,
            parameters: settings.object("parameters")?.unwrap_or_default(),
            instructions: settings.string("instructions")?,
            system_file: settings.string("system_file")?.map(PathBuf::from),
        };
        let variable = settings.string("key_env")?;
        settings.end().map(|()| (read, variable))
    }
}

/// The default limit: the size of a long file, and a small share of any model's context.
const MAX_RESULT: usize = 50_000;

fn provider(settings: &mut Settings) -> Result<Provider, FieldError> {
    match settings.string("provider")?.as_deref() {
        None | Some("openai") => Ok(Provider::OpenAi),
        Some("openai-responses") => Ok(Provider::Responses),
        Some("anthropic") => Ok(Provider::Anthropic),
        Some("gemini") => Ok(Provider::Gemini),
        Some(other) => {
            let expected = "openai, openai-responses, anthropic or gemini";
            Err(FieldError::new(expected, format!("{other:?}")).inside("provider"))
        }
    }
}

fn tls(settings: &mut Settings) -> Result<Tls, FieldError> {
    let Some(path) = settings.string("ca")? else {
        return Ok(Tls::default());
    };
    let wrong = |why: String| {
        FieldError::new("a file with certificates in PEM", format!("{path:?}: {why}")).inside("ca")
    };
    let text = fs::read(&path).map_err(|error| wrong(error.to_string()))?;
    Tls::trusting(&text).map_err(|error| wrong(error.to_string()))
}

fn limit_field(settings: &mut Settings) -> Result<&'static str, FieldError> {
    let Some(set) = settings.string("limit_field")? else {
        return Ok(LIMIT_FIELDS[0]);
    };
    let unexpected = || FieldError::new(LIMIT_FIELDS.join(" or "), format!("{set:?}"));
    let known = LIMIT_FIELDS.into_iter().find(|known| *known == set);
    known.ok_or_else(|| unexpected().inside("limit_field"))
}

/// Returns the setting, else the value of the variables that the providers' own clients read, else the provider's
/// address.
fn base_url(
    settings: &mut Settings,
    provider: Provider,
    variables: Lookup<'_>,
) -> Result<Url, FieldError> {
    let (names, default) = provider.addresses();
    let is_set = |url: &String| !url.is_empty();
    let variable = || names.iter().find_map(|name| variables(name).filter(is_set));
    let text = settings.string("base_url")?.or_else(variable);
    let text = text.as_deref().unwrap_or(default);
    let unexpected = || FieldError::new("an http or https URL", format!("{text:?}"));
    web_url(text).ok_or_else(|| unexpected().inside("base_url"))
}

/// Returns the key. It is required only for the providers' own addresses, and if the settings name a variable.
fn key_of(
    named: Option<&str>,
    provider: Provider,
    base_url: &Url,
    variables: Lookup<'_>,
) -> Result<Option<Secret>, SettingsError> {
    let own = Url::parse(provider.addresses().1).ok();
    let is_own = own.is_some_and(|own| own.host_str() == base_url.host_str());
    let needed = named.is_some() || is_own;
    let names = match named {
        Some(named) => vec![named],
        None => provider.keys().to_vec(),
    };
    let mut keys = names.iter().filter_map(|name| variables(name));
    let key = keys.find(|key| !key.is_empty());
    let variable = names.join(" or ");
    match key {
        None if needed => Err(SettingsError::NoKey(variable)),
        key => Ok(key.map(Secret::new)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn variables(name: &str) -> Option<String> {
        let value = match name {
            "OPENAI_API_KEY" => "openai-key",
            "MY_KEY" => "my-key",
            "ANTHROPIC_BASE_URL" => "http://127.0.0.1:4000/anthropic",
            // Files of variables often have some without a value.
            "OPENAI_BASE_URL" => "",
            _ => return None,
        };
        Some(value.to_owned())
    }

    #[test]
    fn the_documented_settings_are_those_that_are_read() {
        let pages = include_str!("../../../../docs/reference/policies.md");
        let (_, page) = pages.split_once("\n## llm\n").unwrap();
        let (page, _) = page.split_once("\n## ").unwrap();
        let names = page.lines().filter_map(|line| line.strip_prefix("| `"));
        let mut documented: Vec<&str> = names.filter_map(|name| name.split('`').next()).collect();
        let unknown = json!({"model": "m", "base_url": "http://h", "no such": 1});
        let error = LlmSettings::read(&unknown, &variables).unwrap_err().to_string();
        let (_, read) = error.split_once("one of the settings ").unwrap();
        let (read, _) = read.split_once(", found").unwrap();
        let mut read: Vec<&str> = read.split(", ").collect();
        documented.sort_unstable();
        read.sort_unstable();
        assert_eq!(documented, read);
    }

    #[test]
    fn the_key_and_the_address_come_from_the_environment() {
        for (settings, url, key) in [
            (json!({}), "https://api.openai.com/v1", Some("openai-key")),
            (
                json!({"key_env": "MY_KEY", "base_url": "http://h:1/v1"}),
                "http://h:1/v1",
                Some("my-key"),
            ),
            (json!({"provider": "anthropic"}), "http://127.0.0.1:4000/anthropic", None),
        ] {
            let mut settings = settings;
            settings["model"] = json!("m");
            let read = LlmSettings::read(&settings, &variables).unwrap();
            assert_eq!(read.base_url.as_str(), url);
            assert_eq!(read.key.as_ref().map(Secret::expose), key);
            assert!(!format!("{read:?}").contains("-key\""));
        }
        let own =
            json!({"provider": "anthropic", "model": "m", "base_url": "https://api.anthropic.com"});
        let missing = LlmSettings::read(&own, &variables).unwrap_err();
        assert!(
            matches!(missing, SettingsError::NoKey(variable) if variable == "ANTHROPIC_API_KEY")
        );
    }
}
