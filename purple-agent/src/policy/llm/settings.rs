//! The settings of the policy `llm`.

use std::time::Duration;

use bridge_protocol::wire::FieldError;
use mcp_tools::secret::Secret;
use serde_json::{Map, Value};
use url::Url;

use super::super::{SettingsError, settings::Settings};

/// Reads an environment variable.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Which protocol is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Provider {
    /// Chat completions, as OpenAI and many others serve them.
    OpenAi,
    /// Messages, as Anthropic serves them.
    Anthropic,
}

/// Which model is asked, and within which limits.
#[derive(Clone, Debug)]
pub(super) struct LlmSettings {
    pub(super) provider: Provider,
    pub(super) base_url: Url,
    pub(super) model: String,
    /// Absent for servers that want none.
    pub(super) key: Option<Secret>,
    pub(super) max_output_tokens: u64,
    pub(super) max_total_tokens: u64,
    pub(super) time_per_call: Duration,
    /// How often a call is tried again.
    pub(super) retries: u32,
    pub(super) longest_pause: Duration,
    /// Further members of each request, such as `temperature`.
    pub(super) parameters: Map<String, Value>,
    /// Put after the instructions.
    pub(super) instructions: Option<String>,
}

impl LlmSettings {
    pub(super) fn read(value: &Value, variables: Lookup<'_>) -> Result<Self, SettingsError> {
        let named = |source| SettingsError::Setting {
            policy: "llm",
            source,
        };
        let mut settings = Settings::of(value).map_err(named)?;
        let provider = provider(&mut settings).map_err(named)?;
        let base_url = base_url(&mut settings, provider, variables).map_err(named)?;
        let key = settings.string("key_env").map_err(named)?;
        let key = key_of(key, provider, &base_url, variables)?;
        let read = Self::rest(settings, provider, base_url, key);
        read.map_err(named)
    }

    fn rest(
        mut settings: Settings,
        provider: Provider,
        base_url: Url,
        key: Option<Secret>,
    ) -> Result<Self, FieldError> {
        let read = Self {
            provider,
            base_url,
            model: settings.required_string("model")?,
            key,
            max_output_tokens: settings.count("max_output_tokens")?.unwrap_or(4096),
            max_total_tokens: settings.count("max_total_tokens")?.unwrap_or(500_000),
            time_per_call: settings
                .seconds("time_per_call")?
                .unwrap_or(Duration::from_secs(120)),
            retries: retries(&mut settings)?,
            longest_pause: settings
                .seconds("longest_pause")?
                .unwrap_or(Duration::from_secs(30)),
            parameters: settings.object("parameters")?.unwrap_or_default(),
            instructions: settings.string("instructions")?,
        };
        settings.end().map(|()| read)
    }
}

fn provider(settings: &mut Settings) -> Result<Provider, FieldError> {
    match settings.string("provider")?.as_deref() {
        None | Some("openai") => Ok(Provider::OpenAi),
        Some("anthropic") => Ok(Provider::Anthropic),
        Some(other) => {
            let found = format!("{other:?}");
            Err(FieldError::new("openai or anthropic", found).inside("provider"))
        }
    }
}

/// The setting, else the variables that the providers' own clients read, else the provider's address.
fn base_url(
    settings: &mut Settings,
    provider: Provider,
    variables: Lookup<'_>,
) -> Result<Url, FieldError> {
    let (names, default): (&[&str], _) = match provider {
        Provider::OpenAi => (
            &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
            "https://api.openai.com/v1",
        ),
        Provider::Anthropic => (&["ANTHROPIC_BASE_URL"], "https://api.anthropic.com"),
    };
    let variable = || names.iter().find_map(|name| variables(name));
    let text = settings.string("base_url")?.or_else(variable);
    let text = text.as_deref().unwrap_or(default);
    let url = Url::parse(text).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let unexpected = || FieldError::new("an http or https URL", format!("{text:?}"));
    url.ok_or_else(|| unexpected().inside("base_url"))
}

/// The key. Only the providers' own addresses cannot do without; a named variable has to be there.
fn key_of(
    named: Option<String>,
    provider: Provider,
    base_url: &Url,
    variables: Lookup<'_>,
) -> Result<Option<Secret>, SettingsError> {
    let (default, host) = match provider {
        Provider::OpenAi => ("OPENAI_API_KEY", "api.openai.com"),
        Provider::Anthropic => ("ANTHROPIC_API_KEY", "api.anthropic.com"),
    };
    let needed = named.is_some() || base_url.host_str() == Some(host);
    let variable = named.unwrap_or_else(|| default.to_owned());
    let key = variables(&variable).filter(|key| !key.is_empty());
    match key {
        None if needed => Err(SettingsError::NoKey { variable }),
        key => Ok(key.map(Secret::new)),
    }
}

fn retries(settings: &mut Settings) -> Result<u32, FieldError> {
    match settings.take("retries") {
        None => Ok(4),
        Some(value) => {
            let few = value.as_u64().filter(|count| *count <= 20);
            let count = few.and_then(|count| u32::try_from(count).ok());
            let unexpected = || FieldError::unexpected("a whole number from 0 to 20", &value);
            count.ok_or_else(|| unexpected().inside("retries"))
        }
    }
}
