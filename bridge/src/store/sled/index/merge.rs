//! Several sorted sources as one.

use super::Value;
use crate::store::{StoreError, sled::keys::Key};

/// Goes through entries in the order of their keys. Nothing of them is copied on the way: there are
/// millions, and most are only carried from one run to the next.
pub(super) trait Source {
    /// Goes to the next entry; false behind the last one, after which it is not asked again.
    fn advance(&mut self) -> Result<bool, StoreError>;

    /// The entry's key.
    fn key(&self) -> &[u8];

    /// What the entry says; nothing if it says that there is none.
    fn value(&self) -> Option<&[u8]>;
}

/// Entries that stand in memory, as a source.
#[derive(Debug)]
pub(super) struct Listed<I> {
    rest: I,
    now: (Key, Value),
}

impl<I: Iterator<Item = (Key, Value)>> Listed<I> {
    pub(super) fn new(entries: impl IntoIterator<IntoIter = I>) -> Self {
        Self {
            rest: entries.into_iter(),
            now: Default::default(),
        }
    }
}

impl<I: Iterator<Item = (Key, Value)>> Source for Listed<I> {
    fn advance(&mut self) -> Result<bool, StoreError> {
        let next = self.rest.next();
        Ok(next.map(|next| self.now = next).is_some())
    }

    fn key(&self) -> &[u8] {
        &self.now.0
    }

    fn value(&self) -> Option<&[u8]> {
        self.now.1.as_deref()
    }
}

/// Goes through all sources at once, each key once; of a key that several have, the first source counts.
pub(super) struct Merge<'s> {
    sources: Vec<Box<dyn Source + 's>>,
    /// Those that have an entry which was not shown, the smallest key last, of equal ones the first source.
    order: Vec<usize>,
    shown: Option<usize>,
}

impl<'s> Merge<'s> {
    pub(super) fn new(sources: Vec<Box<dyn Source + 's>>) -> Result<Self, StoreError> {
        let count = sources.len();
        let mut merge = Self {
            sources,
            order: Vec::with_capacity(count),
            shown: None,
        };
        (0..count).try_for_each(|source| merge.step(source))?;
        Ok(merge)
    }

    /// Takes a source to its next entry and puts it where that belongs.
    fn step(&mut self, source: usize) -> Result<(), StoreError> {
        if self.sources[source].advance()? {
            let place = |one: usize| (self.sources[one].key(), one);
            let later = |one: &usize| place(*one) > place(source);
            let at = self.order.partition_point(later);
            self.order.insert(at, source);
        }
        Ok(())
    }

    /// Takes every source beyond the key that is shown.
    fn pass(&mut self, shown: usize) -> Result<(), StoreError> {
        while let Some(&other) = self.order.last()
            && self.sources[other].key() == self.sources[shown].key()
        {
            self.order.pop();
            self.step(other)?;
        }
        self.step(shown)
    }
}

impl Source for Merge<'_> {
    fn advance(&mut self) -> Result<bool, StoreError> {
        if let Some(shown) = self.shown.take() {
            self.pass(shown)?;
        }
        self.shown = self.order.pop();
        Ok(self.shown.is_some())
    }

    fn key(&self) -> &[u8] {
        self.shown.map_or(&[], |shown| self.sources[shown].key())
    }

    fn value(&self) -> Option<&[u8]> {
        self.shown.and_then(|shown| self.sources[shown].value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &'static str) -> Box<dyn Source> {
        let entry = |pair: &str| {
            let (key, value) = pair.split_at(1);
            (key.into(), (value != "-").then(|| value.into()))
        };
        let pairs = text.split(' ').filter(|pair| !pair.is_empty());
        Box::new(Listed::new(pairs.map(entry)))
    }

    #[test]
    fn keys_come_once_and_in_order_from_the_first_that_has_them() {
        let sources = ["b1 d1 e-", "a2 b2", "", "b3 c3 e3 f3"].map(source);
        let mut merge = Merge::new(sources.into()).unwrap();
        let mut merged = Vec::new();
        while merge.advance().unwrap() {
            let entry = [merge.key(), merge.value().unwrap_or(b"-")].concat();
            merged.push(String::from_utf8(entry).unwrap());
        }
        assert_eq!(merged.join(" "), "a2 b1 c3 d1 e- f3");
    }
}
