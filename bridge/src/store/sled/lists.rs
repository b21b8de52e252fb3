//! Where the tasks of a page are.

use super::{
    codec::{Card, read_text},
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
        let from = self.start(caller, query)?;
        let (mut found, total) = match &query.context_id {
            Some(context) => self.in_context(caller, context, from.as_ref(), query)?,
            None => self.in_lanes(caller, from.as_ref(), query)?,
        };
        found.sort();
        let (tasks, next) = cut(found, query.page_size);
        Ok(Places { tasks, next, total })
    }

    /// Where the page begins. A damaged task may be the last of the page before.
    fn start(&self, caller: &Caller, query: &ListQuery) -> Result<Option<Position>, StoreError> {
        query.start(|position| {
            let card = self.card(&position.task)?;
            Ok(card.is_some_and(|card| card.owner == *caller && card.agent == query.agent))
        })
    }

    /// Each state has a lane, in order; the page is among the beginnings of all.
    fn in_lanes(
        &self,
        caller: &Caller,
        from: Option<&Position>,
        query: &ListQuery,
    ) -> Result<(Vec<Position>, usize), StoreError> {
        let (mut found, mut total) = (Vec::new(), 0);
        let counts = self
            .index
            .now()
            .counts(&keys::counts(caller, &query.agent))?;
        let wanted = query.state.as_ref();
        let wanted = counts
            .iter()
            .filter(|(state, _)| wanted.is_none_or(|one| one.as_str() == *state));
        for (state, count) in wanted {
            let count = usize::try_from(*count).unwrap_or_default();
            let lane = keys::lane(caller, &query.agent, state);
            // Behind the last there may be places of many tasks that have moved on.
            let most = count.min(query.page_size + 1);
            for place in self.lane(&lane, state, from, query).take(most) {
                found.push(place?);
            }
            total += match query.after {
                Some(_) => self.lane(&lane, state, None, query).take(count).count(),
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
        for entry in self.index.now().scan(prefix.clone(), None) {
            let (key, _) = entry?;
            let task = read_text(&key[prefix.len()..], "the key of a context")?;
            if let Some(Card { millis, state, .. }) = self.card(&task)? {
                let wanted = query.state.as_ref().is_none_or(|one| one.as_str() == state);
                if wanted && query.reaches(millis) {
                    found.push(Position { millis, task });
                }
            }
        }
        let total = found.len();
        found.retain(|place| from.is_none_or(|from| place > from));
        Ok((found, total))
    }

    /// The places in the lane of a state after `from`, as far back in time as the query reaches. Where a task was before,
    /// its card is not.
    fn lane(
        &self,
        lane: &Key,
        state: &str,
        from: Option<&Position>,
        query: &ListQuery,
    ) -> impl Iterator<Item = Result<Position, StoreError>> {
        let after = from.map(|from| keys::at(lane.clone(), from));
        let place = move |entry: Result<(Key, Vec<u8>), StoreError>| {
            let (key, _) = entry?;
            let broken = || StoreError::corrupt("the index", "a key of a list is broken");
            keys::position(&key, lane).ok_or_else(broken)
        };
        let places = self.index.now().scan(lane.clone(), after).map(place);
        let places = places.take_while(|place| {
            let millis = place.as_ref().map(|place| place.millis);
            millis.map_or(true, |millis| query.reaches(millis))
        });
        let is_there = move |place: &Position| -> Result<bool, StoreError> {
            let card = self.card(&place.task)?;
            Ok(card.is_some_and(|card| card.state == state && card.millis == place.millis))
        };
        places.filter_map(move |place| match place {
            Ok(place) => is_there(&place)
                .map(|is_there| is_there.then_some(place))
                .transpose(),
            Err(error) => Some(Err(error)),
        })
    }
}
