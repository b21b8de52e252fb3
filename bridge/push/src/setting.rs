//! A push setting: the owner's configuration and the version in which it was made. [`StoredSetting`] is its stored
//! form.

use std::fmt;

use bridge_protocol::{a2a::TaskPushNotificationConfig, dialect::Version, wire::FieldError};
use serde::{Deserialize, Serialize, de::Error as _};
use url::Url;

use super::{
    PushSettings, headers,
    seal::{Seal, Sealed},
    target,
};
use crate::{
    caller::Caller,
    clock,
    store::{Result, StoreError, encoded},
};

/// The longest id, in bytes.
const ID_LIMIT: usize = 128;

/// The largest setting, including unknown fields, in bytes.
const LIMIT: usize = 32 * 1024;

/// The webhook of a task: its address, credentials and version.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Setting {
    /// The version that the owner uses.
    #[serde(serialize_with = "write_version", deserialize_with = "read_version")]
    pub(super) version: Version,
    /// The configuration that the owner sent, with an id.
    pub(super) config: TaskPushNotificationConfig,
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setting")
            .field("version", &self.version)
            .field("id", &self.config.id)
            .finish_non_exhaustive()
    }
}

impl Setting {
    /// Checks a configuration, and creates a setting from it.
    pub(super) fn checked(
        mut config: TaskPushNotificationConfig,
        version: Version,
        settings: &PushSettings,
    ) -> Result<Self, FieldError> {
        check_id(config.id.as_deref().unwrap_or_default()).map_err(|error| error.inside("id"))?;
        target::check(&config.url, &settings.allowed).map_err(|error| error.inside("url"))?;
        headers::of(&config)?;
        let size = serde_json::to_vec(&config).map_or(usize::MAX, |bytes| bytes.len());
        headers::check_size(size, LIMIT)?;
        config.id = config.id.filter(|id| !id.is_empty());
        Ok(Self { version, config })
    }

    /// Assigns the setting to a task. A setting without an id gets a new id; before 1.0 it gets the task's id, because
    /// a task then had a single setting without an id, and the SDKs of that time use the task's.
    pub(super) fn of_task(mut self, task: &str) -> Self {
        self.config.task_id = Some(task.to_owned());
        self.config.id.get_or_insert_with(|| match self.version {
            Version::V1_0 => clock::new_id(),
            Version::V0_3 | Version::V0_1 => task.to_owned(),
        });
        self
    }

    /// Returns the webhook's host, as `HOST:PORT`.
    pub(super) fn host(&self) -> String {
        let url = Url::parse(&self.config.url);
        url.as_ref().map(target::origin).unwrap_or_default()
    }

    /// Returns the setting's id; empty if it has none yet.
    pub(super) fn id(&self) -> &str {
        self.config.id.as_deref().unwrap_or_default()
    }
}

fn check_id(id: &str) -> Result<(), FieldError> {
    headers::check_size(id.len(), ID_LIMIT)?;
    match id.contains(char::is_control) {
        true => Err(FieldError::new("an id without control characters", "one with them")),
        false => Ok(()),
    }
}

fn write_version<S: serde::Serializer>(version: &Version, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(version.as_str())
}

fn read_version<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Version, D::Error> {
    let text = String::deserialize(from)?;
    Version::of(&text).ok_or_else(|| D::Error::custom("expected a version of A2A"))
}

/// Identifies a setting of a task. The order is that of the tasks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SettingKey {
    pub(super) task: String,
    pub(super) caller: Caller,
    pub(super) id: String,
}

impl SettingKey {
    pub(super) fn new(caller: &Caller, task: &str, id: &str) -> Self {
        Self { caller: caller.clone(), task: task.to_owned(), id: id.to_owned() }
    }

    /// Returns the associated data of an encrypted setting: it cannot be used for another task or caller.
    pub(super) fn place(&self) -> Vec<u8> {
        encoded(&(&self.caller, &self.task, &self.id))
    }
}

/// A setting as the store keeps it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum StoredSetting {
    /// The setting without encryption.
    Clear(Setting),
    /// The encrypted setting.
    Sealed {
        /// The webhook's host, as `HOST:PORT`.
        host: String,
        /// The encrypted setting.
        setting: Sealed,
    },
}

impl StoredSetting {
    /// Converts a setting to its stored form, which is encrypted if `seal` has a key.
    ///
    /// # Errors
    /// If encryption fails, so that a setting that should be encrypted is never stored as plain text.
    pub(super) fn of(key: &SettingKey, setting: &Setting, seal: &Seal) -> Result<Self> {
        let closed = seal.close(encoded(setting), &key.place());
        Ok(match closed.map_err(|error| corrupt(key, &error))? {
            None => Self::Clear(setting.clone()),
            Some(sealed) => Self::Sealed { host: setting.host(), setting: sealed },
        })
    }

    /// Decrypts the setting.
    pub(super) fn open(self, key: &SettingKey, seal: &Seal) -> Result<Setting> {
        let setting = match self {
            Self::Clear(setting) => return Ok(setting),
            Self::Sealed { setting, .. } => setting,
        };
        let opened = seal.open(&setting, &key.place());
        let text = opened.map_err(|error| corrupt(key, &error))?;
        serde_json::from_slice(&text).map_err(|error| corrupt(key, &error))
    }

    /// Returns the webhook's host, as `HOST:PORT`.
    pub(super) fn host(&self) -> String {
        match self {
            Self::Clear(setting) => setting.host(),
            Self::Sealed { host, .. } => host.clone(),
        }
    }

    /// Returns whether the setting is encrypted with the current key, or plain if there is none.
    pub(super) fn is_current(&self, seal: &Seal) -> bool {
        match self {
            Self::Clear(_) => seal.is_current(None),
            Self::Sealed { setting, .. } => seal.is_current(Some(setting)),
        }
    }
}

fn corrupt(key: &SettingKey, error: &dyn std::fmt::Display) -> StoreError {
    let what = format!("the push setting {} of task {}", key.id, key.task);
    StoreError::corrupt(what, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridge_protocol::wire::Wire as _;
    use serde_json::{Value, json};

    fn checked(config: Value, version: Version) -> Result<Setting, String> {
        let config = TaskPushNotificationConfig::read(config).unwrap();
        let settings = PushSettings::default();
        Setting::checked(config, version, &settings).map_err(|error| error.to_string())
    }

    #[test]
    fn a_setting_round_trips_through_its_record() {
        let config =
            json!({"id": "a/b", "url": "https://h.test/?k=1", "token": "t", "x": {"y": 1}});
        for version in Version::ALL {
            let setting = checked(config.clone(), version).unwrap().of_task("task");
            let record = serde_json::to_vec(&setting).unwrap();
            assert_eq!(serde_json::from_slice::<Setting>(&record).unwrap(), setting);
        }
    }

    #[test]
    fn a_setting_without_an_id_gets_one() {
        let made = |version| {
            let setting = checked(json!({"id": "", "url": "https://h.test/"}), version).unwrap();
            setting.of_task("task").id().to_owned()
        };
        assert_eq!(made(Version::V0_3), "task");
        assert_ne!(made(Version::V1_0), made(Version::V1_0));
        let named = json!({"id": "mine", "url": "https://h.test/"});
        assert_eq!(checked(named, Version::V1_0).unwrap().of_task("task").id(), "mine");
    }

    #[test]
    fn an_encrypted_setting_is_of_one_caller_task_and_id() {
        let mut seal = Seal::default();
        let key = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
        seal.add(&crate::auth::Secret::new(key)).unwrap();
        let setting = checked(json!({"id": "a", "url": "https://h.test/"}), Version::V1_0).unwrap();
        let key = |caller: &str, task, id| SettingKey::new(&Caller::new(caller), task, id);
        let opened = |other: &SettingKey| {
            let stored = StoredSetting::of(&key("me", "t", "a"), &setting, &seal).unwrap();
            stored.open(other, &seal)
        };
        assert_eq!(opened(&key("me", "t", "a")).unwrap(), setting);
        for other in [key("you", "t", "a"), key("me", "u", "a"), key("me", "t", "b")] {
            assert!(matches!(opened(&other), Err(StoreError::Corrupt { .. })), "{other:?}");
        }
    }

    #[test]
    fn every_field_has_a_limit() {
        let url = "https://h.test/";
        let id = "x".repeat(ID_LIMIT);
        let sized = |more: usize| json!({"url": url, "id": id, "more": "x".repeat(more)});
        let empty = TaskPushNotificationConfig::read(sized(0)).unwrap();
        let left = LIMIT - serde_json::to_vec(&empty).unwrap().len();
        checked(sized(left), Version::V1_0).unwrap();
        let error = checked(sized(left + 1), Version::V1_0).unwrap_err();
        assert_eq!(error, "expected at most 32768 bytes, found 32769 bytes");
        for (config, expected) in [
            (json!({"url": "http://10.0.0.1/"}), "url: expected a host on the public internet"),
            (
                json!({"url": url, "id": "x".repeat(129)}),
                "id: expected at most 128 bytes, found 129 bytes",
            ),
            (json!({"url": url, "id": "a\nb"}), "id: expected an id without control characters"),
            (json!({"url": url, "token": "\n"}), "token: expected visible ASCII characters"),
            (
                json!({"url": url, "more": "x".repeat(LIMIT)}),
                "expected at most 32768 bytes, found 328",
            ),
        ] {
            let error = checked(config, Version::V1_0).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn debug_output_contains_no_secrets() {
        let config = json!({"url": "https://h.test/?k=hunter2", "token": "hunter2",
            "authentication": {"scheme": "Bearer", "credentials": "hunter2"}});
        let setting = checked(config, Version::V1_0).unwrap();
        assert!(!format!("{setting:?}").contains("hunter2"));
    }
}
