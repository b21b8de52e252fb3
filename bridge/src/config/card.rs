//! The settings of an agent's card, in the configuration file.

use std::collections::BTreeMap;

use bridge_protocol::{
    a2a::{
        AgentCard, AgentExtension, AgentProvider, AgentSkill, SecurityRequirement, SecurityScheme,
        StringList,
    },
    wire::Wire as _,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

use super::HttpUrl;

/// The card of an agent; absent fields are those of the bot. The bridge sets addresses and protocol
/// capabilities.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CardConfig {
    /// The name for people; the agent's name if absent.
    pub name: Option<String>,
    /// A description of what it does.
    pub description: Option<String>,
    /// The version.
    pub version: Option<String>,
    /// The provider.
    pub provider: Option<ProviderConfig>,
    /// The URL of the documentation.
    pub documentation_url: Option<HttpUrl>,
    /// The URL of an icon.
    pub icon_url: Option<HttpUrl>,
    /// The media types that it accepts.
    pub input_modes: Option<Vec<String>>,
    /// The media types that it produces.
    pub output_modes: Option<Vec<String>>,
    /// The skills.
    pub skills: Option<Vec<SkillConfig>>,
    /// The security schemes by name, in the form of A2A 1.0.
    #[serde(default, deserialize_with = "schemes")]
    #[schemars(with = "BTreeMap<String, BTreeMap<String, Value>>")]
    pub security_schemes: BTreeMap<String, SecurityScheme>,
    /// The security requirements, one of which is needed; each lists schemes with their scopes.
    #[serde(default)]
    pub security: Vec<BTreeMap<String, Vec<String>>>,
    /// The supported protocol extensions, in the form of A2A 1.0.
    #[serde(default, deserialize_with = "extensions")]
    #[schemars(with = "Vec<BTreeMap<String, Value>>")]
    pub extensions: Vec<AgentExtension>,
}

/// The provider of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    /// The name of the organization.
    pub organization: String,
    /// The website.
    pub url: HttpUrl,
}

/// A skill of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillConfig {
    /// The id, unique within the card.
    pub id: String,
    /// The name for people; the id if absent.
    pub name: Option<String>,
    /// A description of what it does.
    pub description: String,
    /// Keywords.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Example prompts.
    #[serde(default)]
    pub examples: Vec<String>,
    /// The media types that it accepts, if they differ from the card's.
    #[serde(default)]
    pub input_modes: Vec<String>,
    /// The media types that it produces, if they differ from the card's.
    #[serde(default)]
    pub output_modes: Vec<String>,
    /// The requirements in addition to the card's, enforced for calls that name the skill.
    #[serde(default)]
    pub security: Vec<BTreeMap<String, Vec<String>>>,
    /// The JSON Schema of the parameters, for cards with input_schema.
    pub input_schema: Option<BTreeMap<String, Value>>,
    /// The same, for cards with parameters.
    pub parameters: Option<BTreeMap<String, Value>>,
    /// The JSON Schema of the result.
    pub output_schema: Option<BTreeMap<String, Value>>,
}

impl SkillConfig {
    /// Returns the schemas with their names in cards.
    pub(super) fn schemas(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let schemas = [
            ("input_schema", &self.input_schema),
            ("parameters", &self.parameters),
            ("output_schema", &self.output_schema),
        ];
        schemas.into_iter().filter_map(|(name, schema)| {
            let schema = schema.clone()?;
            Some((name, schema.into_iter().collect()))
        })
    }
}

impl CardConfig {
    /// Returns the card with these settings.
    pub fn apply(&self, mut card: AgentCard) -> AgentCard {
        replace(&mut card.name, self.name.as_ref());
        replace(&mut card.description, self.description.as_ref());
        replace(&mut card.version, self.version.as_ref());
        replace(&mut card.default_input_modes, self.input_modes.as_ref());
        replace(&mut card.default_output_modes, self.output_modes.as_ref());
        let url = |url: &HttpUrl| url.0.to_string();
        card.documentation_url =
            self.documentation_url.as_ref().map(url).or(card.documentation_url);
        card.icon_url = self.icon_url.as_ref().map(url).or(card.icon_url);
        card.provider = self.provider.as_ref().map(AgentProvider::from).or(card.provider);
        if let Some(skills) = &self.skills {
            card.skills = skills.iter().map(skill).collect();
        }
        card.security_schemes.extend(self.security_schemes.clone());
        card.security_requirements.extend(self.security.iter().map(requirement));
        card.capabilities.extensions.extend(self.extensions.clone());
        card
    }

    /// Returns the extended card with these settings: the skills are added to the public ones, and replace those with
    /// the same id.
    pub fn extended(&self, card: &AgentCard) -> AgentCard {
        let mut extended = self.apply(card.clone());
        let Some(own) = &self.skills else {
            return extended;
        };
        let is_kept = |skill: &&AgentSkill| own.iter().all(|one| one.id != skill.id);
        let kept = card.skills.iter().filter(is_kept).cloned();
        extended.skills = kept.chain(own.iter().map(skill)).collect();
        extended
    }
}

fn replace<T: Clone>(field: &mut T, said: Option<&T>) {
    if let Some(said) = said {
        said.clone_into(field);
    }
}

impl From<&ProviderConfig> for AgentProvider {
    fn from(config: &ProviderConfig) -> Self {
        Self {
            url: config.url.0.to_string(),
            organization: config.organization.clone(),
            ..Self::default()
        }
    }
}

fn skill(config: &SkillConfig) -> AgentSkill {
    AgentSkill {
        id: config.id.clone(),
        name: config.name.clone().unwrap_or_else(|| config.id.clone()),
        description: config.description.clone(),
        tags: config.tags.clone(),
        examples: config.examples.clone(),
        input_modes: config.input_modes.clone(),
        output_modes: config.output_modes.clone(),
        security_requirements: config.security.iter().map(requirement).collect(),
        extra: config.schemas().map(|(name, schema)| (name.to_owned(), schema)).collect(),
    }
}

fn requirement(config: &BTreeMap<String, Vec<String>>) -> SecurityRequirement {
    let scopes = |list: &Vec<String>| StringList { list: list.clone(), ..StringList::default() };
    let schemes = config.iter().map(|(name, list)| (name.clone(), scopes(list)));
    SecurityRequirement { schemes: schemes.collect(), ..SecurityRequirement::default() }
}

fn schemes<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, SecurityScheme>, D::Error> {
    let values = BTreeMap::<String, Value>::deserialize(deserializer)?;
    let read = |(name, value): (String, Value)| {
        let scheme = SecurityScheme::read(value).map_err(D::Error::custom)?;
        Ok((name, scheme))
    };
    values.into_iter().map(read).collect()
}

fn extensions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<AgentExtension>, D::Error> {
    let values = Vec::<Value>::deserialize(deserializer)?;
    let read = |value| AgentExtension::read(value).map_err(D::Error::custom);
    values.into_iter().map(read).collect()
}
