//! Secrets in the file, preferably as references.

use std::{fmt, fs, path::Path};

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Unexpected, Visitor, value::MapAccessDeserializer},
};

use super::Problem;
use crate::auth::Secret;

/// A secret: `{ env = "NAME" }`, `{ file = "PATH" }`, or the text itself if only the owner can read the
/// configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretText {
    /// The value of an environment variable.
    Env(String),
    /// The content of a file, without surrounding white space; a relative path starts at the configuration.
    File(String),
    /// The secret itself.
    Clear(Secret),
}

pub(super) struct SecretSources<'a> {
    /// The folder of the configuration.
    pub(super) folder: &'a Path,
    /// Whether only its owner can read the configuration.
    pub(super) is_private: bool,
}

impl SecretText {
    /// Returns the secret. It must have been looked up before, see [`super::read()`].
    pub fn secret(&self) -> Secret {
        match self {
            Self::Clear(secret) => secret.clone(),
            Self::Env(_) | Self::File(_) => Secret::new(""),
        }
    }

    /// Looks up the secret that this refers to.
    pub(super) fn find(&self, places: &SecretSources<'_>) -> Result<Self, Problem> {
        let found = match self {
            Self::Clear(_) if !places.is_private => return Err(Problem::NotPrivate),
            Self::Clear(secret) => return Ok(Self::Clear(secret.clone())),
            Self::Env(name) => {
                let value = std::env::var(name).ok().filter(|value| !value.is_empty());
                value.ok_or_else(|| Problem::NoVariable(name.clone()))?
            }
            Self::File(path) => {
                let path = places.folder.join(path);
                let missing = |error| Problem::NoFile { path: path.clone(), error };
                let text = fs::read_to_string(&path).map_err(|error| missing(error.to_string()))?;
                match text.trim() {
                    "" => return Err(missing("the file is empty".to_owned())),
                    secret => secret.to_owned(),
                }
            }
        };
        Ok(Self::Clear(Secret::new(found)))
    }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SecretTextVisitor)
    }
}

struct SecretTextVisitor;

impl SecretTextVisitor {
    /// Refuses a secret of digits without quotes. The usual message would repeat it.
    fn number<E: Error>(&self) -> E {
        E::invalid_type(Unexpected::Other("a number"), self)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum SecretReference {
    Env(String),
    File(String),
}

impl<'de> Visitor<'de> for SecretTextVisitor {
    type Value = SecretText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{ env = \"NAME\" }, { file = \"PATH\" } or a text")
    }

    fn visit_str<E>(self, text: &str) -> Result<SecretText, E> {
        Ok(SecretText::Clear(Secret::new(text)))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<SecretText, E> {
        Err(self.number())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<SecretText, E> {
        Err(self.number())
    }

    fn visit_i128<E: Error>(self, _: i128) -> Result<SecretText, E> {
        Err(self.number())
    }

    fn visit_u128<E: Error>(self, _: u128) -> Result<SecretText, E> {
        Err(self.number())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<SecretText, E> {
        Err(self.number())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SecretText, A::Error> {
        Ok(match SecretReference::deserialize(MapAccessDeserializer::new(map))? {
            SecretReference::Env(name) => SecretText::Env(name),
            SecretReference::File(path) => SecretText::File(path),
        })
    }
}

/// A reference to a secret, or the secret itself if only the owner can read the file.
#[derive(JsonSchema)]
#[schemars(untagged, deny_unknown_fields, rename = "Secret")]
#[expect(dead_code, reason = "only the schema is made of it")]
pub(super) enum SecretForm {
    Text(String),
    Env {
        /// The name of an environment variable.
        env: String,
    },
    File {
        /// The path of a file; a relative path starts at the configuration.
        file: String,
    },
}
