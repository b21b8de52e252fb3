//! ListTasks (specification 3.1.4).

use std::sync::Arc;

use bridge_program::read_response;
use bridge_protocol::{
    a2a::{ListTasksRequest, ListTasksResponse, TaskState},
    wire::FieldError,
};
use jiff::Timestamp;

use super::{Context, Result, Service, error, history, sequence};
use crate::store::{ListQuery, Snapshot, size};

pub(super) const LARGEST_PAGE: i32 = 100;
const USUAL_PAGE: i32 = 50;

/// The size limit of a page in bytes, unless a single task is larger: half of what gRPC clients accept by default.
const PAGE_BYTES: usize = 2 << 20;

impl Service {
    /// Lists the caller's tasks with this agent, latest status first.
    ///
    /// # Errors
    /// If the page size, the length of the history, the state or the time is invalid, or the store fails.
    pub async fn list_tasks(
        &self,
        context: &Context,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse> {
        let page_size = page_size(request.page_size, USUAL_PAGE)?;
        history::check(request.history_length)?;
        let token = PageToken::read(request.page_token.as_deref().unwrap_or_default());
        let query = ListQuery {
            agent: context.agent.to_string(),
            context_id: request.context_id,
            state: state(request.status)?,
            after: after(request.status_timestamp_after.as_deref())?,
            page_token: token.of_store.to_owned(),
            known_total: token.total,
            page_size: page_size.unsigned_abs() as usize,
            page_bytes: PAGE_BYTES,
            artifacts: request.include_artifacts.unwrap_or(false),
            history: request.history_length.and_then(|length| usize::try_from(length).ok()),
        };
        let shown = |Snapshot { task, seq, .. }| {
            let task = sequence::numbered(context, query.select_content(task), seq);
            Arc::unwrap_or_clone(task)
        };
        let read = || async {
            let page = self.turns.store().list(&context.caller, &query).await;
            let page = page.map_err(error::of_store)?;
            let next = PageToken {
                of_store: &page.next,
                total: query.is_filtered().then_some(page.total),
            };
            Ok(ListTasksResponse {
                next_page_token: next.text(),
                tasks: page.tasks.into_iter().map(shown).collect(),
                page_size,
                total_size: i32::try_from(page.total).unwrap_or(i32::MAX),
                ..ListTasksResponse::default()
            })
        };
        let size = |page: &ListTasksResponse| page.tasks.iter().map(size::task).sum();
        read_response(None::<fn() -> String>, read, size).await
    }
}

/// A page token: that of the store, after the number of all tasks if it took filters to count them (`TOTAL:TOKEN`). A client
/// that reads all pages has them counted once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PageToken<'t> {
    of_store: &'t str,
    total: Option<usize>,
}

impl<'t> PageToken<'t> {
    fn read(text: &'t str) -> Self {
        let parts = text.split_once(':');
        let parts = parts.and_then(|(total, token)| Some((total.parse().ok()?, token)));
        let (total, of_store) = parts.map_or((None, text), |(total, token)| (Some(total), token));
        Self { of_store, total }
    }

    /// Returns the token for the client; empty on the last page.
    fn text(self) -> String {
        match self.total.filter(|_| !self.of_store.is_empty()) {
            Some(total) => format!("{total}:{}", self.of_store),
            None => self.of_store.to_owned(),
        }
    }
}

/// Returns the size of a page; `usual` if the client names none.
pub(super) fn page_size(wanted: Option<i32>, usual: i32) -> Result<i32> {
    match wanted.unwrap_or(usual) {
        size @ 1..=LARGEST_PAGE => Ok(size),
        other => {
            let expected = format!("a number from 1 to {LARGEST_PAGE}");
            Err(FieldError::new(expected, other.to_string()).inside("pageSize").into())
        }
    }
}

/// Returns `None` for the unspecified state, which is no filter.
fn state(wanted: Option<TaskState>) -> Result<Option<TaskState>> {
    match wanted {
        Some(TaskState::Unknown(name)) => {
            let error =
                FieldError::new("a task state such as TASK_STATE_WORKING", format!("{name:?}"));
            Err(error.inside("status").into())
        }
        other => Ok(other.filter(|state| *state != TaskState::Unspecified)),
    }
}

fn after(wanted: Option<&str>) -> Result<Option<Timestamp>> {
    let Some(text) = wanted else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|_| {
        let error = FieldError::new("a time such as 2026-01-31T12:00:00Z", format!("{text:?}"));
        error.inside("statusTimestampAfter").into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_token_has_the_total_of_a_filtered_list() {
        let token = |total, of_store| PageToken { of_store, total };
        for (text, expected) in [
            ("", token(None, "")),
            ("1700.task", token(None, "1700.task")),
            ("12:1700.task", token(Some(12), "1700.task")),
            ("12:1700.a:b", token(Some(12), "1700.a:b")),
            ("1700.a:b", token(None, "1700.a:b")),
        ] {
            let read = PageToken::read(text);
            assert_eq!(read, expected);
            assert_eq!(read.text(), text);
        }
        assert_eq!(token(Some(12), "").text(), "", "the last page");
    }
}
