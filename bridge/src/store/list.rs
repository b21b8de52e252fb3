//! Lists of tasks: what is asked for, and where a page begins.

use std::sync::Arc;

use bridge_protocol::a2a::{Task, TaskState};
use jiff::Timestamp;

use super::{Head, Snapshot, StoreError, size};

/// Which tasks, and which page of them.
#[derive(Clone, Debug, PartialEq)]
pub struct ListQuery {
    /// The agent that works on them.
    pub agent: String,
    /// Only of this context.
    pub context_id: Option<String>,
    /// Only in this state.
    pub state: Option<TaskState>,
    /// Only with a status of this time or later.
    pub after: Option<Timestamp>,
    /// The last page's `next`, which is good for the same caller and agent only; empty for the first page.
    pub page_token: String,
    /// At most so many tasks, at least one.
    pub page_size: usize,
    /// At most about so many bytes of what is wanted of the tasks, but at least one task.
    pub page_bytes: usize,
    /// Whether their artifacts are wanted.
    pub artifacts: bool,
    /// How many of the latest messages of their histories are wanted; all of them if nobody says how many.
    pub history: Option<usize>,
}

impl ListQuery {
    /// The first page of all tasks of an agent.
    pub fn of(agent: impl Into<String>) -> Self {
        Self {
            agent: agent.into(),
            context_id: None,
            state: None,
            after: None,
            page_token: String::new(),
            page_size: 50,
            page_bytes: usize::MAX,
            artifacts: true,
            history: None,
        }
    }

    /// What is wanted of a task: a page need not hold more of it.
    pub fn wanted(&self, task: Arc<Task>) -> Arc<Task> {
        let skipped = self.skipped(&task);
        let is_whole = skipped == 0 && (self.artifacts || task.artifacts.is_empty());
        if is_whole {
            return task;
        }
        let artifacts = task.artifacts.iter().filter(|_| self.artifacts);
        Arc::new(Task {
            id: task.id.clone(),
            context_id: task.context_id.clone(),
            status: task.status.clone(),
            artifacts: artifacts.cloned().collect(),
            history: task.history[skipped..].to_vec(),
            metadata: task.metadata.clone(),
            extra: task.extra.clone(),
        })
    }

    /// The tasks of a page at these positions, as far as its bytes go, and the token of the next page, which is `next` if
    /// all of them fit. A position of which `load` gives nothing, such as that of a damaged task, is passed over.
    ///
    /// # Errors
    /// Those of `load`.
    pub fn fill(
        &self,
        positions: Vec<ListPosition>,
        next: String,
        load: impl Fn(&ListPosition) -> Result<Option<Snapshot>, StoreError>,
    ) -> Result<(Vec<Snapshot>, String), StoreError> {
        let (mut tasks, mut left) = (Vec::with_capacity(positions.len()), self.page_bytes);
        let mut last: Option<ListPosition> = None;
        for position in positions {
            if let Some(snapshot) = load(&position)? {
                let size = self.size(&snapshot.task);
                if let Some(last) = last.filter(|_| size > left && !tasks.is_empty()) {
                    return Ok((tasks, last.token()));
                }
                left = left.saturating_sub(size);
                tasks.push(snapshot);
            }
            last = Some(position);
        }
        Ok((tasks, next))
    }

    /// About how large what is wanted of a task is, in bytes.
    fn size(&self, task: &Task) -> usize {
        let skipped = task.history[..self.skipped(task)].iter();
        let artifacts = task.artifacts.iter().filter(|_| !self.artifacts);
        let left_out = skipped.map(size::message).sum::<usize>()
            + artifacts.map(size::artifact).sum::<usize>();
        size::task(task).saturating_sub(left_out)
    }

    fn skipped(&self, task: &Task) -> usize {
        let length = task.history.len();
        length.saturating_sub(self.history.unwrap_or(length))
    }

    /// The position after which the page begins; `None` for the first page. `is_own` says whether the caller has the
    /// task of a position at this agent: a token of another list is refused like one that was made up.
    ///
    /// # Errors
    /// `PageToken`, and what `is_own` fails with.
    pub fn start(
        &self,
        is_own: impl FnOnce(&ListPosition) -> Result<bool, StoreError>,
    ) -> Result<Option<ListPosition>, StoreError> {
        let Some(position) = ListPosition::parse(&self.page_token)? else {
            return Ok(None);
        };
        match is_own(&position)? {
            true => Ok(Some(position)),
            false => Err(StoreError::PageToken {
                token: self.page_token.clone(),
            }),
        }
    }

    /// Whether it leaves out any task of the agent.
    pub(crate) fn is_narrow(&self) -> bool {
        self.context_id.is_some() || self.state.is_some() || self.after.is_some()
    }

    /// Whether a task of the agent belongs to the list.
    pub fn matches(&self, head: &Head) -> bool {
        self.context_id
            .as_ref()
            .is_none_or(|wanted| *wanted == head.context_id)
            && self
                .state
                .as_ref()
                .is_none_or(|wanted| *wanted == head.state)
            && self.reaches(head.status_time.as_millisecond())
    }

    /// Whether a status of this time is not too old.
    pub(crate) fn reaches(&self, millis: i64) -> bool {
        let after = self.after.map(Timestamp::as_millisecond);
        after.is_none_or(|after| millis >= after)
    }
}

/// Tasks, newest status first.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// As they stand, perhaps with more of them than is wanted.
    pub tasks: Vec<Snapshot>,
    /// Asks for the next page; empty at the end.
    pub next: String,
    /// How many tasks there are on all pages.
    pub total: usize,
}

/// A task's position in a list, after which a page begins. They are ordered as lists are: newest status first, then by
/// task id. As a page token it is `MILLISECONDS.TASK`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPosition {
    /// Since when the task has its status, in milliseconds since 1970.
    pub millis: i64,
    /// The task, which decides between equal times.
    pub task: String,
}

impl ListPosition {
    /// The position of a task.
    pub fn of(head: &Head) -> Self {
        Self {
            millis: head.status_time.as_millisecond(),
            task: head.task.clone(),
        }
    }

    /// The token of the page that begins after it.
    pub fn token(&self) -> String {
        format!("{}.{}", self.millis, self.task)
    }

    /// `None` for the empty token, which asks for the first page.
    fn parse(token: &str) -> Result<Option<Self>, StoreError> {
        if token.is_empty() {
            return Ok(None);
        }
        let position = token.split_once('.').and_then(|(millis, task)| {
            Some(Self {
                millis: millis.parse().ok()?,
                task: task.into(),
            })
        });
        let token = || StoreError::PageToken {
            token: token.into(),
        };
        position.map(Some).ok_or_else(token)
    }
}

impl Ord for ListPosition {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let newest_first = other.millis.cmp(&self.millis);
        newest_first.then_with(|| self.task.cmp(&other.task))
    }
}

impl PartialOrd for ListPosition {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Cuts a list to a page, and gives the token of the next page. `positions` has one more than the page if there is a
/// next one.
pub(crate) fn cut(
    mut positions: Vec<ListPosition>,
    page_size: usize,
) -> (Vec<ListPosition>, String) {
    let more = positions.len() > page_size;
    positions.truncate(page_size);
    match positions.last() {
        Some(last) if more => {
            let next = last.token();
            (positions, next)
        }
        Some(_) | None => (positions, String::new()),
    }
}
