//! Lists of tasks: queries, pages and page tokens.

use std::{sync::Arc, vec};

use bridge_protocol::a2a::{Task, TaskState};
use bridge_translate::question;
use jiff::Timestamp;

use super::{Head, Result, Snapshot, StoreError, size};

/// A query for a page of a list of tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct ListQuery {
    /// The agent that works on the tasks.
    pub agent: String,
    /// Selects the tasks of this context.
    pub context_id: Option<String>,
    /// Selects the tasks in this state.
    pub state: Option<TaskState>,
    /// Selects the tasks whose last status is of this time or later.
    pub after: Option<Timestamp>,
    /// The previous page's `next`, valid for the same caller and agent only; empty for the first page.
    pub page_token: String,
    /// The number of tasks on all pages, if an earlier page has shown it. It is not counted again then: without an index for
    /// the filters, each page would cost as much as all of them.
    pub known_total: Option<usize>,
    /// The largest number of tasks on the page, at least 1.
    pub page_size: usize,
    /// The approximate largest size of the requested content on the page, in bytes. A page has at least one task.
    pub page_bytes: usize,
    /// Whether artifacts are requested.
    pub artifacts: bool,
    /// The number of latest messages of the history that are requested; all of them if `None`.
    pub history: Option<usize>,
}

impl ListQuery {
    /// Creates a query for the first page of all tasks of an agent.
    pub fn of(agent: impl Into<String>) -> Self {
        Self {
            agent: agent.into(),
            context_id: None,
            state: None,
            after: None,
            page_token: String::new(),
            known_total: None,
            page_size: 50,
            page_bytes: usize::MAX,
            artifacts: true,
            history: None,
        }
    }

    /// Removes the content from a task that was not requested.
    pub fn select_content(&self, task: Arc<Task>) -> Arc<Task> {
        question::shown(task, self.history, self.artifacts)
    }

    /// Returns the position after which the page begins; `None` for the first page. `is_own` returns whether the task at a
    /// position belongs to the caller and the agent. A token of another list is refused like an invalid one.
    ///
    /// # Errors
    /// `PageToken`, and the errors of `is_own`.
    pub fn start(
        &self,
        is_own: impl FnOnce(&ListPosition) -> Result<bool>,
    ) -> Result<Option<ListPosition>> {
        let Some(position) = self.position()? else {
            return Ok(None);
        };
        match is_own(&position)? {
            true => Ok(Some(position)),
            false => Err(StoreError::PageToken { token: self.page_token.clone() }),
        }
    }

    /// Parses the page token, without a check of the list that it belongs to.
    ///
    /// # Errors
    /// `PageToken`.
    pub fn position(&self) -> Result<Option<ListPosition>> {
        ListPosition::parse(&self.page_token)
    }

    /// Returns whether the query has filters.
    pub fn is_filtered(&self) -> bool {
        self.context_id.is_some() || self.state.is_some() || self.after.is_some()
    }

    /// Returns whether the query selects this task of the agent.
    pub fn matches(&self, head: &Head) -> bool {
        self.context_id.as_ref().is_none_or(|wanted| **wanted == *head.context_id)
            && self.state.as_ref().is_none_or(|wanted| *wanted == head.state)
            && self.includes_time(head.status_time.as_millisecond())
    }

    /// Returns whether the query selects a status of this time.
    pub fn includes_time(&self, millis: i64) -> bool {
        let after = self.after.map(Timestamp::as_millisecond);
        after.is_none_or(|after| millis >= after)
    }
}

/// A page of tasks, newest status first.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// The tasks, possibly with more content than was requested.
    pub tasks: Vec<Snapshot>,
    /// The token of the next page; empty on the last page.
    pub next: String,
    /// The number of tasks on all pages.
    pub total: usize,
}

/// A page to which tasks are added until it is full.
#[derive(Debug)]
pub struct PageBuilder<'q> {
    query: &'q ListQuery,
    positions: vec::IntoIter<ListPosition>,
    tasks: Vec<Snapshot>,
    bytes_left: usize,
    /// The last position of the page so far.
    last: Option<ListPosition>,
    has_next_page: bool,
}

impl<'q> PageBuilder<'q> {
    /// Begins a page with the tasks at these positions, one more than the page has if there are so many.
    pub fn new(query: &'q ListQuery, mut positions: Vec<ListPosition>) -> Self {
        let has_next_page = positions.len() > query.page_size;
        positions.truncate(query.page_size);
        Self {
            query,
            positions: positions.into_iter(),
            tasks: Vec::new(),
            bytes_left: query.page_bytes,
            last: None,
            has_next_page,
        }
    }

    /// Returns the position of the next task, which is then passed to [`add`](Self::add), until the page is full.
    pub fn next_position(&mut self) -> Option<ListPosition> {
        self.positions.next()
    }

    /// Adds the requested content of the task at this position; `None` skips the position, such as that of a damaged task.
    /// If the task does not fit, it is left for the next page.
    pub fn add(&mut self, position: ListPosition, snapshot: Option<Snapshot>) {
        if let Some(Snapshot { task, agent, seq, .. }) = snapshot {
            // The page keeps no content that was not requested.
            let task = self.query.select_content(task);
            let size = size::task(&task);
            if size > self.bytes_left && !self.tasks.is_empty() {
                self.positions = Vec::new().into_iter();
                self.has_next_page = true;
                return;
            }
            self.bytes_left = self.bytes_left.saturating_sub(size);
            self.tasks.push(Snapshot::new(task, agent, seq));
        }
        self.last = Some(position);
    }

    /// Returns the page; `total` is the number of tasks on all pages.
    pub fn finish(self, total: usize) -> Page {
        let last = self.last.filter(|_| self.has_next_page);
        let next = last.map_or_else(String::new, |last| last.token());
        Page { tasks: self.tasks, next, total }
    }
}

/// The position of a task in a list. Positions are ordered like lists: newest status first, then by task id. The page
/// token is `MILLISECONDS.TASK`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPosition {
    /// The time of the task's status, in milliseconds since 1970.
    pub millis: i64,
    /// The task's id, which orders tasks with the same time.
    pub task: String,
}

impl ListPosition {
    /// Returns the position of a task.
    pub fn of(head: &Head) -> Self {
        Self { millis: head.status_time.as_millisecond(), task: head.task.to_string() }
    }

    /// Returns the token of the page that begins after this position.
    pub fn token(&self) -> String {
        format!("{}.{}", self.millis, self.task)
    }

    /// Parses a page token. Returns `None` for an empty one, which selects the first page.
    fn parse(token: &str) -> Result<Option<Self>> {
        if token.is_empty() {
            return Ok(None);
        }
        let position = token.split_once('.').and_then(|(millis, task)| {
            Some(Self { millis: millis.parse().ok()?, task: task.into() })
        });
        let token = || StoreError::PageToken { token: token.into() };
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
