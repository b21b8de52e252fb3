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
    /// The task's head, whoever owns it: it stands in its newest append.
    pub(super) fn head(&self, task: &str) -> Result<Option<Head>, StoreError> {
        let all = keys::events(task, 0)..=keys::events(task, Seq::MAX);
        match self.0.range(all).next_back() {
            Some(newest) => Self::open(&keys::log(task), newest)?.head().map(Some),
            None => Ok(None),
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
        for item in self
            .0
            .range(keys::events(task, after + 1)..=keys::events(task, Seq::MAX))
        {
            let record = Self::open(&prefix, item)?;
            let last = record.last;
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

    /// Heads of open tasks, whoever owns them. A task that ends meanwhile is shown as ended.
    pub(super) fn open_tasks(&self, after: &str, limit: usize) -> Result<Vec<Head>, StoreError> {
        let from = (Bound::Excluded(keys::open(after)), Bound::Unbounded);
        let mut heads = Vec::new();
        for item in self.0.range::<Key, _>(from).take(limit) {
            let (key, _) = item.map_err(sled_error("reading"))?;
            let Some(task) = key.strip_prefix(keys::OPEN) else {
                break;
            };
            let task = read_text(task, "the key of an open task")?;
            heads.extend(self.head(&task)?);
        }
        Ok(heads)
    }

    /// Where the tasks of a page are.
    pub(super) fn places(&self, caller: &Caller, query: &ListQuery) -> Result<Places, StoreError> {
        let from = Position::parse(&query.page_token)?;
        let (mut found, total) = match &query.context_id {
            Some(context) => self.in_context(caller, context, from.as_ref(), query)?,
            None => self.in_lanes(caller, from.as_ref(), query)?,
        };
        found.sort();
        let (tasks, next) = cut(found, query.page_size);
        Ok(Places { tasks, next, total })
    }

    /// Each state has a lane, in order; the page is among the beginnings of all.
    fn in_lanes(
        &self,
        caller: &Caller,
        from: Option<&Position>,
        query: &ListQuery,
    ) -> Result<(Vec<Position>, usize), StoreError> {
        let (mut found, mut total) = (Vec::new(), 0);
        for (state, count) in self.states(caller, query)? {
            let lane = keys::lane(caller, &query.agent, &state);
            for place in self.lane(&lane, from, query).take(query.page_size + 1) {
                found.push(place?);
            }
            total += match query.after {
                Some(_) => self.lane(&lane, None, query).count(),
                None => count,
            };
        }
        Ok((found, total))
    }

    /// A context is a conversation: few tasks, so they are all looked at.
    fn in_context(
        &self,
        caller: &Caller,
        context: &str,
        from: Option<&Position>,
        query: &ListQuery,
    ) -> Result<(Vec<Position>, usize), StoreError> {
        let prefix = keys::context(caller, &query.agent, context);
        let mut found = Vec::new();
        for item in self.0.scan_prefix(&prefix) {
            let (key, _) = item.map_err(sled_error("reading"))?;
            let task = read_text(&key[prefix.len()..], "the key of a context")?;
            let head = self.head(&task)?.filter(|head| query.matches(head));
            found.extend(head.as_ref().map(Position::of));
        }
        let total = found.len();
        found.retain(|place| from.is_none_or(|from| place > from));
        Ok((found, total))
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

    pub(super) fn get(&self, key: &[u8]) -> Result<Option<sled::IVec>, StoreError> {
        self.0.get(key).map_err(sled_error("reading"))
    }

    /// One append of the log whose keys begin with `prefix`.
    fn open(
        prefix: &[u8],
        item: sled::Result<(sled::IVec, sled::IVec)>,
    ) -> Result<Record, StoreError> {
        let (key, bytes) = item.map_err(sled_error("reading"))?;
        let last = read_number(&key[prefix.len()..], "the key of an append")?;
        Ok(Record { last, bytes })
    }
}
