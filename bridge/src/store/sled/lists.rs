//! Where the tasks of a page are.

use super::{
    codec::{read_number, read_text},
    keys::{self, Key},
    reader::Reader,
};
use crate::{
    caller::Caller,
    store::{
        ListQuery, StoreError,
        list::{Position, cut},
    },
};

/// The places of a page's tasks, see [`crate::store::Page`].
#[derive(Debug)]
pub(super) struct Places {
    pub(super) tasks: Vec<Position>,
    pub(super) next: String,
    pub(super) total: usize,
}

impl Reader {
    /// Where the tasks of a page are.
    pub(super) fn places(&self, caller: &Caller, query: &ListQuery) -> Result<Places, StoreError> {
        let head = |task: &str| Ok(self.tip(task)?.map(|tip| tip.head));
        let from = query.start(caller, head)?;
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
        for entry in self.index.scan(prefix.clone(), None) {
            let (key, _) = entry?;
            let task = read_text(&key[prefix.len()..], "the key of a context")?;
            let tip = self.tip(&task)?.filter(|tip| query.matches(&tip.head));
            found.extend(tip.map(|tip| Position::of(&tip.head)));
        }
        let total = found.len();
        found.retain(|place| from.is_none_or(|from| place > from));
        Ok((found, total))
    }

    /// The states that the caller's tasks are in, or the one that is asked for, with their counts.
    fn states(
        &self,
        caller: &Caller,
        query: &ListQuery,
    ) -> Result<Vec<(String, usize)>, StoreError> {
        let prefix = keys::counts(caller, &query.agent);
        let mut states = Vec::new();
        for entry in self.index.scan(prefix.clone(), None) {
            let (key, count) = entry?;
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
        let after = from.map(|from| keys::at(lane.clone(), from));
        let place = move |entry: Result<(Key, Vec<u8>), StoreError>| {
            let (key, _) = entry?;
            let broken = || StoreError::corrupt("the index", "a key of a list is broken");
            keys::position(&key, lane).ok_or_else(broken)
        };
        let places = self.index.scan(lane.clone(), after).map(place);
        places.take_while(|place| {
            let millis = place.as_ref().map(|place| place.millis);
            millis.map_or(true, |millis| query.reaches(millis))
        })
    }
}
