//! All parts of an index.

use std::sync::Arc;

use super::{Limits, Value, filter, layer::Layer, part::Part};
use crate::store::{
    StoreError,
    sled::keys::{self, Key},
};

/// All parts.
#[derive(Debug)]
pub(super) struct Parts {
    /// Newest first.
    pub(super) all: Vec<Arc<Part>>,
    /// So many of them, the newest, remember message ids.
    pub(super) remembering: usize,
    /// The greatest key of a task. Ids are made in order, so a new one needs no look at any part.
    last_task: Key,
}

impl Parts {
    pub(super) fn new(all: Vec<Arc<Part>>, limits: Limits) -> Self {
        let (mut left, mut newer, mut remembering) = (limits.filters, 0, 0);
        let bounded = |part: Arc<Part>| {
            remembering += usize::from(newer < limits.messages);
            newer += part.meta.messages;
            let filter = part
                .filter
                .as_ref()
                .map_or(0, |filter| filter.as_bytes().len());
            match left.checked_sub(filter) {
                Some(less) => {
                    left = less;
                    part
                }
                None => Arc::new(Part {
                    filter: None,
                    ..Part::clone(&part)
                }),
            }
        };
        let all: Vec<Arc<Part>> = all.into_iter().map(bounded).collect();
        let last_task = all.iter().map(|part| &part.meta.last_task).max();
        Self {
            last_task: last_task.cloned().unwrap_or_default(),
            remembering,
            all,
        }
    }

    /// Those that may have the key, or keys that begin with this.
    pub(super) fn with<'p>(&'p self, key: &[u8]) -> impl Iterator<Item = &'p Arc<Part>> + use<'p> {
        let count = match key.first() {
            Some(&keys::HEAD) if *key > *self.last_task => 0,
            Some(&keys::MESSAGE) => self.remembering,
            Some(_) | None => self.all.len(),
        };
        let hash = keys::asked(key).map(filter::hash);
        let may_have = move |part: &&Arc<Part>| match (hash, &part.filter) {
            (Some(hash), Some(filter)) => filter.may_have(hash),
            (None, _) | (_, None) => true,
        };
        self.all[..count].iter().filter(may_have)
    }

    /// A newer part as a layer again.
    pub(super) fn layer(&self, part: &Part) -> Result<Layer, StoreError> {
        let mut layer = Layer::new(part.meta.end);
        layer.former = Some(part.number);
        for entry in part.from(&[]) {
            let (key, value) = entry?;
            let value = match keys::is_count(&key) {
                true => {
                    let older = keys::count(self.get(&key)?.as_deref());
                    let more = keys::count(value.as_deref()) - older;
                    Some(more.to_be_bytes().into())
                }
                false => value,
            };
            layer.put(key, value);
        }
        Ok(layer)
    }

    /// The newest that they say of a key.
    pub(super) fn get(&self, key: &[u8]) -> Result<Value, StoreError> {
        for part in self.with(key) {
            if let Some(value) = part.get(key)? {
                return Ok(value);
            }
        }
        Ok(None)
    }
}
