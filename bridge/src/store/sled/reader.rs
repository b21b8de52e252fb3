//! Reading from the database. Nothing here waits but for the disk.

use std::ops::Bound;

use super::{
    codec::{self, Record, read_number, read_text},
    error::sled_error,
    keys::{self, Key},
};
use crate::{
    caller::Caller,
    store::{
        Head, ListQuery, Seq, StoreError,
        list::{Position, cut},
    },
};

/// A view of the database for reading.
#[derive(Clone, Debug)]
pub(super) struct Reader(pub(super) sled::Db);

/// Where the tasks of a page are, see [`crate::store::Page`].
#[derive(Debug)]
pub(super) struct Places {
    pub(super) tasks: Vec<Position>,
    pub(super) next: String,
    pub(super) total: usize,
}

impl Reader {
    /// The task's head, if the caller owns it.
    pub(super) fn head(&self, caller: &Caller, task: &str) -> Result<Head, StoreError> {
        match self.get(&keys::head(task))? {
            Some(bytes) => codec::read_head(&bytes, task)?.owned_by(caller),
            None => Err(StoreError::not_found(task)),
        }
    }

    /// The appends that hold the first `limit` events after `after`.
    pub(super) fn log(
        &self,
        task: &str,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let prefix = keys::log(task);
        let mut records = Vec::new();
        let mut covered = after;
        for item in self.0.range(keys::events(task, after + 1)..) {
            let (key, bytes) = item.map_err(sled_error("reading"))?;
            let Some(last) = key.strip_prefix(prefix.as_slice()) else {
                break;
            };
            let last = read_number(last, "the key of an append")?;
            let record = Record { last, bytes };
            // What the disk lost in the middle of a log must not go unnoticed.
            if last - record.count()?.min(last) > covered {
                let what = format!("task {task}");
                let reason = format!("the events after {covered} are missing");
                return Err(StoreError::corrupt(what, &reason));
            }
            covered = last;
            records.push(record);
            if covered - after >= limit as Seq {
                break;
            }
        }
        Ok(records)
    }

    pub(super) fn message(&self, key: &[u8]) -> Result<Option<(String, Seq)>, StoreError> {
        self.get(key)?
            .map(|bytes| codec::read_place(&bytes))
            .transpose()
    }

    pub(super) fn client_task(&self, key: &[u8]) -> Result<Option<String>, StoreError> {
        let read = |bytes: sled::IVec| read_text(&bytes, "the task of a client's id");
        self.get(key)?.map(read).transpose()
    }

    /// Heads of open tasks, whoever owns them. A task that ends meanwhile is left out.
    pub(super) fn open_tasks(&self, after: &str, limit: usize) -> Result<Vec<Head>, StoreError> {
        let from = (Bound::Excluded(keys::open(after)), Bound::Unbounded);
        let mut heads = Vec::new();
        for item in self.0.range::<Key, _>(from) {
            let (key, _) = item.map_err(sled_error("reading"))?;
            let Some(task) = key.strip_prefix(keys::OPEN).filter(|_| heads.len() < limit) else {
                break;
            };
            let task = read_text(task, "the key of an open task")?;
            if let Some(bytes) = self.get(&keys::head(&task))? {
                heads.push(codec::read_head(&bytes, &task)?);
            }
        }
        Ok(heads)
    }

    /// A page. Each state has a lane of its own, in order; the page is the beginning of all together.
    pub(super) fn places(&self, caller: &Caller, query: &ListQuery) -> Result<Places, StoreError> {
        let from = Position::parse(&query.page_token)?;
        let narrow = query.context_id.is_some() || query.after.is_some();
        let (mut found, mut total) = (Vec::new(), 0);
        for (state, count) in self.states(caller, query)? {
            let context = query.context_id.as_deref();
            let lane = keys::lane(caller, &query.agent, context, &state);
            for place in self
                .lane(&lane, from.as_ref(), query)
                .take(query.page_size + 1)
            {
                found.push(place?);
            }
            total += match narrow {
                true => self.lane(&lane, None, query).count(),
                false => count,
            };
        }
        found.sort();
        let (tasks, next) = cut(found, query.page_size);
        Ok(Places { tasks, next, total })
    }

    pub(super) fn record(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.get(key)?.map(|bytes| bytes.to_vec()))
    }

    /// The records whose keys begin with `prefix`, by the rest of their keys.
    pub(super) fn records(&self, prefix: &[u8]) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let read = |item: sled::Result<(sled::IVec, sled::IVec)>| {
            let (key, value) = item.map_err(sled_error("reading"))?;
            let id = read_text(&key[prefix.len()..], "the key of a record")?;
            Ok((id, value.to_vec()))
        };
        self.0.scan_prefix(prefix).map(read).collect()
    }

    /// The states that the caller's tasks are in, or the one that is asked for, with their counts.
    fn states(
        &self,
        caller: &Caller,
        query: &ListQuery,
    ) -> Result<Vec<(String, usize)>, StoreError> {
        let prefix = keys::counts(caller, &query.agent);
        let mut states = Vec::new();
        for item in self.0.scan_prefix(&prefix) {
            let (key, count) = item.map_err(sled_error("reading"))?;
            let state = read_text(&key[prefix.len()..], "the key of a count")?;
            let count = read_number(&count, "a count of tasks")?;
            let wanted = query.state.as_ref().is_none_or(|one| one.as_str() == state);
            if wanted && count > 0 {
                states.push((state, usize::try_from(count).unwrap_or(usize::MAX)));
            }
        }
        Ok(states)
    }

    /// The places in a lane after `from`, as far back in time as the query reaches.
    fn lane(
        &self,
        lane: &Key,
        from: Option<&Position>,
        query: &ListQuery,
    ) -> impl Iterator<Item = Result<Position, StoreError>> {
        let start = match from {
            Some(from) => Bound::Excluded(keys::at(lane.clone(), from)),
            None => Bound::Included(lane.clone()),
        };
        let place = move |item: sled::Result<(sled::IVec, sled::IVec)>| {
            let read = item.map(|(key, _)| keys::position(&key, lane));
            read.map_err(sled_error("reading")).transpose()
        };
        let items = self.0.range::<Key, _>((start, Bound::Unbounded));
        items.map_while(place).take_while(|place| {
            let millis = place.as_ref().map(|place| place.millis);
            millis.map_or(true, |millis| query.reaches(millis))
        })
    }

    fn get(&self, key: &[u8]) -> Result<Option<sled::IVec>, StoreError> {
        self.0.get(key).map_err(sled_error("reading"))
    }
}
