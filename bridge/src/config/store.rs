//! Where tasks are kept, as the file says it.

use std::fmt;

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::Size;

/// Where tasks are kept, and what that may take: the place alone, or a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreConfig(pub StoreTable);

/// Where tasks are kept, and what that may take.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoreTable {
    /// memory, or sled:FOLDER; sled:bridge-data if absent.
    pub place: Option<String>,
    /// How many ids of callers' messages are remembered at least, the newest: a message that comes again after so many
    /// others is a new one. 4000000 if absent.
    pub message_ids: Option<u64>,
    /// How much memory the filters of the index may take: 8 bytes a task. Tasks that are too old for them are found more
    /// slowly. 128 MiB if absent.
    pub filters: Option<Size>,
}

impl<'de> Deserialize<'de> for StoreConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = StoreConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("memory, sled:FOLDER or a table")
    }

    fn visit_str<E>(self, text: &str) -> Result<StoreConfig, E> {
        let place = Some(text.to_owned());
        Ok(StoreConfig(StoreTable {
            place,
            ..StoreTable::default()
        }))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<StoreConfig, A::Error> {
        StoreTable::deserialize(MapAccessDeserializer::new(map)).map(StoreConfig)
    }
}

/// Where tasks are kept, and what that may take.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only the schema is made of it")]
pub(super) enum StoreForm {
    /// memory, or sled:FOLDER.
    Place(String),
    /// The place, and what it may take.
    Table(StoreTable),
}
