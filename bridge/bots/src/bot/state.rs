//! The stored state of a conversation.

use std::sync::Arc;

use bridge_protocol::a2a::Metadata;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    caller::Caller,
    store::{RecordKey, Store, StoreError},
};

/// The record kind of states.
const KIND: &str = "bot-state";

/// The stored state of a conversation: named values. It is read on first use, and saved when a turn has succeeded,
/// before the end of the turn is logged. A failed turn, or a turn of a canceled task, leaves the stored state
/// unchanged.
///
/// Turns of one conversation run one after the other. A conversation that is continued outside of a turn does not
/// wait for a running turn; of two states, the last one that is saved remains.
#[derive(Debug, Default)]
pub struct ConversationState {
    values: Metadata,
    has_changed: bool,
}

/// The reason why a state could not be read or saved.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum StateError {
    /// A value has another type than the requested one, or cannot be represented in JSON.
    #[error("conversation state {name} does not fit its type: {error}")]
    Value { name: String, error: serde_json::Error },
    /// The record is not a state.
    #[error("the state of conversation {conversation} is corrupt: {error}")]
    Corrupt { conversation: String, error: serde_json::Error },
    /// The store failed, or the state exceeds the size limit of records.
    #[error("the conversation state could not be read or saved: {0}")]
    Store(StoreError),
}

impl From<StoreError> for StateError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl ConversationState {
    /// Returns a value, if there is one.
    ///
    /// # Errors
    /// Returns [`StateError::Value`] if the value has another type.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StateError> {
        let value = self.values.get(name).map(T::deserialize);
        value.transpose().map_err(|source| unfit(name, source))
    }

    /// Sets a value, replacing a previous value of the same name.
    ///
    /// # Errors
    /// Returns [`StateError::Value`] if JSON cannot represent the value.
    pub fn set(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result<(), StateError> {
        let value = serde_json::to_value(value).map_err(|source| unfit(name, source))?;
        self.values.insert(name.into(), value);
        self.has_changed = true;
        Ok(())
    }

    /// Removes a value.
    pub fn remove(&mut self, name: &str) {
        self.has_changed |= self.values.remove(name).is_some();
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.has_changed |= !self.values.is_empty();
        self.values.clear();
    }
}

fn unfit(name: &str, error: serde_json::Error) -> StateError {
    StateError::Value { name: name.into(), error }
}

/// The record of a conversation's state, and the state once it has been read.
#[derive(Debug)]
pub(super) struct StoredState {
    store: Arc<dyn Store>,
    caller: Caller,
    key: RecordKey,
    state: Option<ConversationState>,
}

impl StoredState {
    pub(super) fn new(
        store: Arc<dyn Store>,
        caller: Caller,
        agent: &str,
        conversation: &str,
    ) -> Self {
        Self { store, caller, key: RecordKey::new(KIND, agent, conversation), state: None }
    }

    /// Returns the state; reads it on first use.
    pub(super) async fn state(&mut self) -> Result<&mut ConversationState, StateError> {
        let state = match self.state.take() {
            Some(state) => state,
            None => self.read().await?,
        };
        Ok(self.state.insert(state))
    }

    /// Saves the state if it has changed.
    pub(super) async fn save(self) -> Result<(), StateError> {
        let Some(state) = self.state.filter(|state| state.has_changed) else {
            return Ok(());
        };
        if state.values.is_empty() {
            self.store.delete_record(&self.caller, &self.key).await?;
        } else {
            let record = serde_json::Value::from(state.values).to_string().into_bytes();
            self.store.put_record(&self.caller, &self.key, record).await?;
        }
        Ok(())
    }

    async fn read(&self) -> Result<ConversationState, StateError> {
        let Some(record) = self.store.record(&self.caller, &self.key).await? else {
            return Ok(ConversationState::default());
        };
        let corrupt = |error| StateError::Corrupt { conversation: self.key.id.clone(), error };
        Ok(ConversationState {
            values: serde_json::from_slice(&record).map_err(corrupt)?,
            has_changed: false,
        })
    }
}
