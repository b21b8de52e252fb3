//! Several sorted sources as one.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
};

use super::Value;
use crate::store::{StoreError, sled::keys::Key};

type Entry = (Key, Value);

/// Entries in the order of their keys, each key once.
pub(super) type Source<'s> = Box<dyn Iterator<Item = Result<Entry, StoreError>> + 's>;

/// Goes through all sources at once; of a key that several have, the first source counts.
pub(super) struct Merge<'s> {
    sources: Vec<Source<'s>>,
    /// The next entry of each source, the smallest key first, of equal ones the first source's.
    next: BinaryHeap<Reverse<(Key, usize, Value)>>,
}

impl<'s> Merge<'s> {
    pub(super) fn new(sources: Vec<Source<'s>>) -> Result<Self, StoreError> {
        let mut merge = Self {
            next: BinaryHeap::with_capacity(sources.len()),
            sources,
        };
        for (number, source) in merge.sources.iter_mut().enumerate() {
            if let Some((key, value)) = source.next().transpose()? {
                merge.next.push(Reverse((key, number, value)));
            }
        }
        Ok(merge)
    }

    /// Takes the smallest entry; its source's next one takes its place.
    fn pop(&mut self) -> Result<Option<Entry>, StoreError> {
        let Some(mut smallest) = self.next.peek_mut() else {
            return Ok(None);
        };
        let Reverse((_, source, _)) = *smallest;
        let taken = match self.sources[source].next().transpose()? {
            Some((key, value)) => std::mem::replace(&mut *smallest, Reverse((key, source, value))),
            None => PeekMut::pop(smallest),
        };
        let Reverse((key, _, value)) = taken;
        Ok(Some((key, value)))
    }

    fn take(&mut self) -> Result<Option<Entry>, StoreError> {
        let taken = self.pop()?;
        if let Some((key, _)) = &taken {
            while self
                .next
                .peek()
                .is_some_and(|Reverse((same, ..))| same == key)
            {
                self.pop()?;
            }
        }
        Ok(taken)
    }
}

impl Iterator for Merge<'_> {
    type Item = Result<Entry, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.take().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &'static str) -> Source<'static> {
        let entry = |pair: &str| {
            let (key, value) = pair.split_at(1);
            let value = (value != "-").then(|| value.into());
            Ok((key.into(), value))
        };
        Box::new(text.split(' ').filter(|pair| !pair.is_empty()).map(entry))
    }

    #[test]
    fn keys_come_once_and_in_order_from_the_first_that_has_them() {
        let merge = Merge::new(vec![
            source("b1 d1 e-"),
            source("a2 b2"),
            source("b3 c3 e3 f3"),
        ]);
        let text = |entry: Result<Entry, _>| {
            let (key, value) = entry.unwrap();
            let value = value.unwrap_or(b"-".to_vec());
            String::from_utf8([key, value].concat()).unwrap()
        };
        let merged: Vec<_> = merge.unwrap().map(text).collect();
        assert_eq!(merged.join(" "), "a2 b1 c3 d1 e- f3");
    }
}
