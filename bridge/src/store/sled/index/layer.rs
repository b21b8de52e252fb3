//! Changes in memory that are not in a run yet.

use std::ops::Bound;

use super::{Value, changes::Changes};
use crate::store::sled::{heads::Tip, keys::Key, log::End};

/// So many tasks may wait for their entries to follow: what is worked out of them together holds up
/// everybody for about a millisecond. Tests have few tasks.
const WAITING: usize = if cfg!(test) { 8 } else { 1024 };

/// Changes since the last run, and up to where in the log they are all.
#[derive(Debug)]
pub(super) struct Layer {
    changes: Changes,
    end: End,
}

impl Layer {
    /// An empty one behind what ends at `end`.
    pub(super) fn new(end: End) -> Self {
        let changes = Changes::default();
        Self { changes, end }
    }

    pub(super) fn apply(&mut self, changes: Changes, end: End) {
        self.changes.absorb(changes);
        self.end = end;
        if self.changes.waiting() >= WAITING {
            self.fold();
        }
    }

    /// Makes the entries say all that there is to say.
    pub(super) fn fold(&mut self) {
        self.changes.fold();
    }

    pub(super) fn end(&self) -> End {
        self.end
    }

    /// What it takes in memory, roughly, besides the few tasks whose entries do not follow yet.
    pub(super) fn bytes(&self) -> usize {
        self.changes.bytes()
    }

    /// How many entries it has.
    pub(super) fn len(&self) -> usize {
        self.changes.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changes.len() == 0 && self.changes.waiting() == 0
    }

    /// The task's newest append, if its entries do not follow it yet.
    pub(super) fn tip(&self, task: &str) -> Option<&Tip> {
        self.changes.tip(task)
    }

    /// The newest that is known of the key here; that may be that there is none.
    pub(super) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.changes.get(key)
    }

    /// The entries whose keys begin with `prefix`, from `from` on.
    pub(super) fn range<'l>(
        &'l self,
        prefix: &'l [u8],
        from: &Bound<Key>,
    ) -> impl Iterator<Item = (Key, Value)> + 'l {
        self.changes.range(prefix, from)
    }

    /// All entries, in the order of the keys.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.changes.entries()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::changes::OVERHEAD, *};

    #[test]
    fn what_is_new_and_removed_again_leaves_nothing() {
        let (mut first, mut second) = (Changes::default(), Changes::default());
        first.put_new(b"new".to_vec(), vec![1]);
        first.put(b"old".to_vec(), vec![2]);
        second.remove(b"new".to_vec());
        second.remove(b"old".to_vec());
        let mut layer = Layer::new(End::default());
        layer.apply(first, End { at: 5, batch: 1 });
        assert_eq!(layer.get(b"new"), Some(Some(&[1][..])));
        layer.apply(second, End { at: 9, batch: 2 });
        assert_eq!((layer.get(b"new"), layer.get(b"old")), (None, Some(None)));
        assert_eq!((layer.end().at, layer.len()), (9, 1));
        assert_eq!(layer.bytes(), b"old".len() + OVERHEAD);
    }
}
