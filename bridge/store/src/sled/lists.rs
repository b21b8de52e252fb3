//! Finds the tasks of a page.

use super::{
    keys::{self, Key, Order},
    reader::Reader,
};
use crate::{ListPosition, ListQuery, Result, caller::Caller};

impl Reader {
    /// Returns the positions of the tasks of a page, see [`ListQuery::fill`], and the number of tasks on all pages.
    pub(super) fn page_positions(
        &self,
        caller: &Caller,
        query: &ListQuery,
    ) -> Result<(Vec<ListPosition>, usize)> {
        let from = query.start(|position| {
            // The last task of the previous page may be damaged, so only the index is read.
            let indexed = self.indexed_task(&position.task)?;
            Ok(indexed
                .is_some_and(|indexed| indexed.owner == caller.id && indexed.agent == query.agent))
        })?;
        let (mut found, total) = self.in_states(caller, from.as_ref(), query)?;
        found.sort();
        Ok((found, query.known_total.unwrap_or(total)))
    }

    /// Returns the first positions of the sorted lists of all states, which contain those of the page, and the total.
    fn in_states(
        &self,
        caller: &Caller,
        from: Option<&ListPosition>,
        query: &ListQuery,
    ) -> Result<(Vec<ListPosition>, usize)> {
        let (mut found, mut total) = (Vec::new(), 0);
        let (agent, context) = (&query.agent, query.context_id.as_deref());
        let state = query.state.as_ref().map(|state| state.as_str());
        let states = keys::states(caller, agent, context, state);
        for (state, count) in self.index().counts(&states)? {
            let list = keys::counted_list(&state);
            for place in self.state_list(&list, from, query).take(query.page_size + 1) {
                found.push(place?);
            }
            total += match query.after {
                Some(_) if query.known_total.is_some() => 0,
                Some(_) => self.state_list(&list, None, query).count(),
                None => count,
            };
        }
        Ok((found, total))
    }

    /// Returns the positions in a state list after `from` whose times the query includes.
    fn state_list(
        &self,
        list: &Key,
        from: Option<&ListPosition>,
        query: &ListQuery,
    ) -> impl Iterator<Item = Result<ListPosition>> {
        let after = from.map(|from| keys::ordered_key(list.clone(), Order::NewestFirst, from));
        let entries = self.index().scan(list.clone(), after);
        let page_positions = entries.map(|entry| keys::position(&entry?.0));
        page_positions.take_while(|place| {
            let millis = place.as_ref().map(|place| place.millis);
            millis.map_or(true, |millis| query.includes_time(millis))
        })
    }
}
