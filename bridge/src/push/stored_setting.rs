//! The stored form of a setting: plain, or encrypted except for the webhook's host.

use serde::{Deserialize, Serialize};

use super::{
    seal::{Seal, Sealed},
    setting::Setting,
    setting_repository::SettingKey,
};
use crate::store::{StoreError, encoded};

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
    pub(super) fn of(key: &SettingKey, setting: &Setting, seal: &Seal) -> Result<Self, StoreError> {
        let closed = seal.close(encoded(setting), &key.place());
        Ok(match closed.map_err(|error| broken(key, &error))? {
            None => Self::Clear(setting.clone()),
            Some(sealed) => Self::Sealed {
                host: setting.host(),
                setting: sealed,
            },
        })
    }

    /// Decrypts the setting.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if none of the keys decrypts it.
    pub(super) fn open(self, key: &SettingKey, seal: &Seal) -> Result<Setting, StoreError> {
        let setting = match self {
            Self::Clear(setting) => return Ok(setting),
            Self::Sealed { setting, .. } => setting,
        };
        let opened = seal.open(&setting, &key.place());
        let text = opened.map_err(|error| broken(key, &error))?;
        serde_json::from_slice(&text).map_err(|error| broken(key, &error))
    }

    /// The webhook's host, as `HOST:PORT`.
    pub(super) fn host(&self) -> String {
        match self {
            Self::Clear(setting) => setting.host(),
            Self::Sealed { host, .. } => host.clone(),
        }
    }

    /// Whether the setting is encrypted with the current key, or plain if there is none.
    pub(super) fn is_current(&self, seal: &Seal) -> bool {
        match self {
            Self::Clear(_) => seal.is_current(None),
            Self::Sealed { setting, .. } => seal.is_current(Some(setting)),
        }
    }
}

fn broken(key: &SettingKey, error: &dyn std::fmt::Display) -> StoreError {
    let what = format!("the push setting {} of task {}", key.id, key.task);
    StoreError::corrupt(what, error)
}
