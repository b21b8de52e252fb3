//! The settings of the store, in the configuration file.

use std::fmt;

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::{Age, Period, Size};

/// The store of tasks: its location, or a table with its location and limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreConfig(pub StoreTable);

/// The store of tasks, with its limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoreTable {
    /// memory, sled:FOLDER or postgres://USER@HOST/DATABASE; sled:bridge-data if absent. A relative folder starts at the
    /// current folder, not at the configuration.
    pub place: Option<StorePlace>,
    /// The number of newest message ids that are remembered at least; 4000000 if absent. A message that is repeated
    /// after more messages than this counts as new.
    pub message_ids: Option<u64>,
    /// The memory limit of the index filters, which take 8 bytes for each task; 128 MiB if absent. Tasks
    /// too old for the filters are found more slowly.
    pub filters: Option<Size>,
    /// The largest number of connections to PostgreSQL, at least 3; 12 if absent. Two more are used to wait for
    /// notifications, and to renew the bridge's own lease.
    #[schemars(range(min = 3))]
    pub connections: Option<u16>,
    /// The time after which other bridges on the same database take over the turns of a bridge that does not renew its
    /// lease; 10s if absent.
    pub lease: Option<Period>,
    /// The rules for keeping ended tasks, applied to each agent separately.
    #[serde(default)]
    pub retention: RetentionConfig,
}

/// The location of the store, which may hold the password of a database.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(transparent)]
pub struct StorePlace(pub String);

impl StorePlace {
    /// Returns whether there is a password in the address of a database.
    pub(super) fn has_password(&self) -> bool {
        let (address, query) = self.0.split_once('?').unwrap_or((&self.0, ""));
        let (_, place) = address.split_once("://").unwrap_or_default();
        let user = place.rsplit_once('@').map_or("", |(user, _)| user);
        user.contains(':') || query.split('&').any(|pair| pair.starts_with("password="))
    }
}

impl fmt::Debug for StorePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.has_password() {
            true => f.write_str("StorePlace(***)"),
            false => f.debug_tuple("StorePlace").field(&self.0).finish(),
        }
    }
}

/// The rules for keeping ended tasks. Open tasks are never deleted. The message ids, files and push notification
/// settings of a task are deleted with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetentionConfig {
    /// The time after its last status at which a task is deleted, such as 30d, or forever; 90d if absent.
    pub age: Option<Age>,
    /// The number of ended tasks that are kept; unlimited if absent. The oldest are deleted first.
    pub tasks: Option<usize>,
    /// The size of the ended tasks that are kept; unlimited if absent. The oldest are deleted first.
    pub bytes: Option<Size>,
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
        f.write_str("memory, sled:FOLDER, postgres://USER@HOST/DATABASE or a table")
    }

    fn visit_str<E>(self, text: &str) -> Result<StoreConfig, E> {
        let place = Some(StorePlace(text.to_owned()));
        Ok(StoreConfig(StoreTable { place, ..StoreTable::default() }))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<StoreConfig, A::Error> {
        StoreTable::deserialize(MapAccessDeserializer::new(map)).map(StoreConfig)
    }
}

/// The store of tasks, with its limits.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only the schema is made of it")]
pub(super) enum StoreForm {
    /// memory, sled:FOLDER or postgres://USER@HOST/DATABASE.
    Place(String),
    /// The location of the store, and its limits.
    Table(StoreTable),
}
