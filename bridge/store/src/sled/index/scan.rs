//! Reads the entries of a list in the order of their keys, from all layers and parts.

use std::{collections::BTreeMap, sync::Arc};

use super::{Index, Value, merge::Merge};
use crate::{Result, sled::keys::Key};

/// The number of entries that are read at a time.
const PAGE: usize = 128;

/// A list that is being read.
struct Scan {
    prefix: Key,
    end: Option<Key>,
    merge: Option<Merge>,
}

impl Index {
    /// Returns the entries whose keys begin with `prefix`, after the key `after` if it is given, in the order of the keys.
    /// Entries that change meanwhile may be missing.
    pub(in crate::sled) fn scan(
        self: Arc<Self>,
        prefix: Key,
        after: Option<Key>,
    ) -> impl Iterator<Item = Result<(Key, Vec<u8>)>> + use<> {
        self.scan_before(prefix, after, None)
    }

    /// Returns such entries before the key `end`, if it is given.
    pub(in crate::sled) fn scan_before(
        self: Arc<Self>,
        prefix: Key,
        after: Option<Key>,
        end: Option<Key>,
    ) -> impl Iterator<Item = Result<(Key, Vec<u8>)>> + use<> {
        let mut next = Some(after.map_or_else(|| prefix.clone(), successor));
        let merge = None;
        let mut scan = Scan { prefix, end, merge };
        let pages = std::iter::from_fn(move || {
            let start = next.take()?;
            let page = match self.page(&mut scan, &start) {
                Ok(page) => page,
                Err(error) => return Some(vec![Err(error)]),
            };
            let last = page.last_key_value().filter(|_| page.len() == PAGE);
            next = last.map(|(last, _)| successor(last.clone()));
            let there = page.into_iter().filter_map(|(key, value)| Some(Ok((key, value?))));
            Some(there.collect())
        });
        pages.flatten()
    }

    /// Returns a consistent page of entries from `start` on, including removed ones.
    fn page(&self, scan: &mut Scan, start: &[u8]) -> Result<BTreeMap<Key, Value>> {
        let owned = |(key, value): (&Key, &Value)| (key.clone(), value.clone());
        let (mut page, sealed, parts): (BTreeMap<_, _>, _, _) = {
            let state = self.lock_with_lists();
            let young = state.young.lists.range(&scan.prefix, start).take(PAGE);
            let young = young.map(owned).collect();
            (young, state.sealed.clone(), Arc::clone(&state.parts))
        };
        let sealed = sealed.iter().map(|sealed| sealed.complete_lists());
        for (key, value) in sealed.flat_map(|lists| lists.range(&scan.prefix, start).take(PAGE)) {
            page.entry(key.clone()).or_insert_with(|| value.clone());
        }
        if let Some(end) = &scan.end {
            page.split_off(end);
        }
        truncate(&mut page);
        self.read_disk(|| {
            // If there is a new part, its entries were in a layer before, so the merge begins again.
            let merge = scan.merge.take().filter(|merge| merge.is_of(&parts));
            let merge = merge.unwrap_or_else(|| Merge::new(&parts, &scan.prefix, start));
            let merge = scan.merge.insert(merge);
            loop {
                let last = page.last_key_value().filter(|_| page.len() == PAGE);
                let end = last.map(|(key, _)| key).or(scan.end.as_ref());
                let Some((key, value)) = merge.next_before(end)? else {
                    return Ok(());
                };
                // The merge may have an older entry of the last key of the previous page, which is not valid.
                if key.as_slice() >= start {
                    page.entry(key).or_insert(value);
                    truncate(&mut page);
                }
            }
        })?;
        Ok(page)
    }
}

/// Returns the smallest key after another one.
fn successor(mut key: Key) -> Key {
    key.push(0);
    key
}

/// Truncates a page to its size.
fn truncate(page: &mut BTreeMap<Key, Value>) {
    while page.len() > PAGE {
        page.pop_last();
    }
}
