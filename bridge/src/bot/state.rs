//! What a bot remembers of a conversation.

use std::sync::Arc;

use bridge_protocol::a2a::Metadata;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    caller::Caller,
    store::{RecordKey, Store, StoreError},
};

/// The kind of records that states are.
const KIND: &str = "bot-state";

/// What a bot remembers of a conversation: named values. It is read when it is first asked for, and
/// kept when the turn has ended well, before its end is logged. A turn that fails, or whose task was
/// canceled, leaves the state as it was.
///
/// Turns of one conversation come one after the other. A conversation that is continued from outside
/// while a turn runs does not wait for it: of two states, the one that is kept last stays.
#[derive(Debug, Default)]
pub struct ConversationState {
    values: Metadata,
    has_changed: bool,
}

/// Why a state could not be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// A value is not of the type that was asked for, or is none that JSON can hold.
    #[error("conversation state {name} does not fit its type: {source}")]
    Value {
        /// Its name.
        name: String,
        /// What does not fit.
        source: serde_json::Error,
    },
    /// The record is no state.
    #[error("the state of conversation {conversation} is corrupt: {source}")]
    Corrupt {
        /// The conversation.
        conversation: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The store failed, or the state is larger than a record may be.
    #[error("the conversation state could not be read or kept: {0}")]
    Store(#[from] StoreError),
}

impl ConversationState {
    /// A value, if there is one.
    ///
    /// # Errors
    /// [`StateError::Value`] if it is of another type.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StateError> {
        let value = self.values.get(name).map(T::deserialize);
        value.transpose().map_err(|source| unfit(name, source))
    }

    /// Remembers a value, in place of the one that has its name.
    ///
    /// # Errors
    /// [`StateError::Value`] if JSON cannot hold it.
    pub fn set(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result<(), StateError> {
        let value = serde_json::to_value(value).map_err(|source| unfit(name, source))?;
        self.values.insert(name.into(), value);
        self.has_changed = true;
        Ok(())
    }

    /// Forgets a value.
    pub fn remove(&mut self, name: &str) {
        self.has_changed |= self.values.remove(name).is_some();
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.has_changed |= !self.values.is_empty();
        self.values.clear();
    }
}

fn unfit(name: &str, source: serde_json::Error) -> StateError {
    StateError::Value {
        name: name.into(),
        source,
    }
}

/// Where the state of a conversation is kept, and the state once it was read.
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
        let key = RecordKey {
            kind: KIND.into(),
            scope: agent.into(),
            id: conversation.into(),
        };
        Self {
            store,
            caller,
            key,
            state: None,
        }
    }

    /// The state; reads it the first time.
    pub(super) async fn state(&mut self) -> Result<&mut ConversationState, StateError> {
        let state = match self.state.take() {
            Some(state) => state,
            None => self.read().await?,
        };
        Ok(self.state.insert(state))
    }

    /// Keeps the state, if it has changed.
    pub(super) async fn save(self) -> Result<(), StateError> {
        let Some(state) = self.state.filter(|state| state.has_changed) else {
            return Ok(());
        };
        if state.values.is_empty() {
            self.store.delete_record(&self.caller, &self.key).await?;
        } else {
            let record = serde_json::Value::from(state.values)
                .to_string()
                .into_bytes();
            self.store
                .put_record(&self.caller, &self.key, record)
                .await?;
        }
        Ok(())
    }

    async fn read(&self) -> Result<ConversationState, StateError> {
        let Some(record) = self.store.record(&self.caller, &self.key).await? else {
            return Ok(ConversationState::default());
        };
        let corrupt = |source| StateError::Corrupt {
            conversation: self.key.id.clone(),
            source,
        };
        Ok(ConversationState {
            values: serde_json::from_slice(&record).map_err(corrupt)?,
            has_changed: false,
        })
    }
}
