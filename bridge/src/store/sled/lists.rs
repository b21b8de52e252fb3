//! Where the tasks of a page are.

use super::{
    codec::{read_number, read_text},
    keys::{self, Key},
    reader::{Found, Reader},
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
        let from = self.start(caller, query)?;
        let (mut found, total) = match &query.context_id {
            Some(context) => self.in_context(caller, context, from.as_ref(), query)?,
            None => self.in_lanes(caller, from.as_ref(), query)?,
        };
        found.sort();
        let (tasks, next) = cut(found, query.page_size);
        Ok(Places { tasks, next, total })
    }

    /// Where the page begins. A damaged task may be the last of the page before: it stands in the caller's lanes.
    fn start(&self, caller: &Caller, query: &ListQuery) -> Result<Option<Position>, StoreError> {
        query.start(|position| {
            Ok(match self.find(&position.task)? {
                Some(Found::Whole(tip)) => {
                    tip.head.owner == *caller && tip.head.agent == query.agent
                }
                Some(Found::Damaged { .. }) => self.is_listed(caller, &query.agent, position)?,
                None => false,
            })
        })
    }

    fn is_listed(
        &self,
        caller: &Caller,
        agent: &str,
        position: &Position,
    ) -> Result<bool, StoreError> {
        for (state, _) in self.states(caller, &ListQuery::of(agent))? {
            let lane = keys::lane(caller, agent, &state);
            if self.index.get(&keys::at(lane, position))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
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
        let (mut found, mut damaged) = (Vec::new(), 0);
        for entry in self.index.scan(prefix.clone(), None) {
            let (key, _) = entry?;
            let task = read_text(&key[prefix.len()..], "the key of a context")?;
            match self.find(&task)? {
                Some(Found::Whole(tip)) if query.matches(&tip.head) => {
                    found.push(Position::of(&tip.head));
                }
                Some(Found::Damaged { .. }) => damaged += 1,
                Some(Found::Whole(_)) | None => {}
            }
        }
        let total = found.len() + damaged;
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
