//! ListTasks (specification 3.1.4).

use std::sync::Arc;

use bridge_program::read_response;
use bridge_protocol::{
    a2a::{Error, ListTasksRequest, ListTasksResponse, TaskState},
    wire::FieldError,
};
use jiff::Timestamp;

use super::{Context, Service, error, history, sequence};
use crate::store::{ListQuery, Snapshot, size};

const LARGEST_PAGE: i32 = 100;
const USUAL_PAGE: i32 = 50;

/// The size limit of a page in bytes, unless a single task is larger: half of what gRPC clients accept by default.
const PAGE_BYTES: usize = 2 << 20;

impl Service {
    /// Lists the caller's tasks with this agent, latest status first.
    pub async fn list_tasks(
        &self,
        context: &Context,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, Error> {
        let page_size = page_size(request.page_size)?;
        history::check(request.history_length)?;
        let query = ListQuery {
            agent: context.agent.clone(),
            context_id: request.context_id,
            state: state(request.status)?,
            after: after(request.status_timestamp_after.as_deref())?,
            page_token: request.page_token.unwrap_or_default(),
            page_size: page_size.unsigned_abs() as usize,
            page_bytes: PAGE_BYTES,
            artifacts: request.include_artifacts.unwrap_or(false),
            history: request
                .history_length
                .and_then(|length| usize::try_from(length).ok()),
        };
        let shown = |Snapshot { task, seq, .. }| {
            let task = sequence::numbered(context, query.select_content(task), seq);
            Arc::unwrap_or_clone(task)
        };
        let read = || async {
            let page = self.turns.store().list(&context.caller, &query).await;
            let page = page.map_err(error::of_store)?;
            Ok(ListTasksResponse {
                tasks: page.tasks.into_iter().map(shown).collect(),
                next_page_token: page.next,
                page_size,
                total_size: i32::try_from(page.total).unwrap_or(i32::MAX),
                ..ListTasksResponse::default()
            })
        };
        let size = |page: &ListTasksResponse| page.tasks.iter().map(size::task).sum();
        read_response(None::<fn() -> String>, read, size).await
    }
}

fn page_size(wanted: Option<i32>) -> Result<i32, Error> {
    match wanted.unwrap_or(USUAL_PAGE) {
        size @ 1..=LARGEST_PAGE => Ok(size),
        other => {
            let expected = format!("a number from 1 to {LARGEST_PAGE}");
            Err(FieldError::new(expected, other.to_string())
                .inside("pageSize")
                .into())
        }
    }
}

/// Returns `None` for the unspecified state, which is no filter.
fn state(wanted: Option<TaskState>) -> Result<Option<TaskState>, Error> {
    match wanted {
        Some(TaskState::Unknown(name)) => {
            let error = FieldError::new(
                "a task state such as TASK_STATE_WORKING",
                format!("{name:?}"),
            );
            Err(error.inside("status").into())
        }
        other => Ok(other.filter(|state| *state != TaskState::Unspecified)),
    }
}

fn after(wanted: Option<&str>) -> Result<Option<Timestamp>, Error> {
    let Some(text) = wanted else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|_| {
        let error = FieldError::new("a time such as 2026-01-31T12:00:00Z", format!("{text:?}"));
        error.inside("statusTimestampAfter").into()
    })
}
