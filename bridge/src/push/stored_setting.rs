//! A setting as it stands in the store: in the clear, or sealed but for the host that it delivers to.

use serde::{Deserialize, Serialize};

use super::{
    seal::{Seal, Sealed},
    setting::Setting,
    setting_repository::SettingKey,
};
use crate::store::{StoreError, encoded};

/// What the store keeps of a setting.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum StoredSetting {
    /// All of it.
    Clear(Setting),
    /// The same, for those who have the key.
    Sealed {
        /// Where it delivers to, as `HOST:PORT`.
        host: String,
        /// The setting.
        setting: Sealed,
    },
}

impl StoredSetting {
    /// What is kept of this setting.
    ///
    /// # Errors
    /// If it cannot be sealed, so that a setting that should be is never kept in the clear.
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

    /// The setting.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if none of the keys opens it.
    pub(super) fn open(self, key: &SettingKey, seal: &Seal) -> Result<Setting, StoreError> {
        let setting = match self {
            Self::Clear(setting) => return Ok(setting),
            Self::Sealed { setting, .. } => setting,
        };
        let opened = seal.open(&setting, &key.place());
        let text = opened.map_err(|error| broken(key, &error))?;
        serde_json::from_slice(&text).map_err(|error| broken(key, &error))
    }

    /// Where it delivers to, as `HOST:PORT`.
    pub(super) fn host(&self) -> String {
        match self {
            Self::Clear(setting) => setting.host(),
            Self::Sealed { host, .. } => host.clone(),
        }
    }

    /// Whether it would be kept so again.
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
