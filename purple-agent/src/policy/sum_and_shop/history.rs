//! Queries on the calls so far.

use serde_json::Value;

use crate::policy::{CompletedCall, Step};

/// The calls so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallHistory<'a>(&'a [Step]);

impl<'a> CallHistory<'a> {
    pub(super) fn of(steps: &'a [Step]) -> Self {
        Self(steps)
    }

    fn newest_first(self) -> impl Iterator<Item = &'a CompletedCall> {
        self.0.iter().rev().flat_map(|step| step.called.iter().rev())
    }

    pub(super) fn last(self) -> Option<&'a CompletedCall> {
        self.newest_first().next()
    }

    pub(super) fn last_of(self, tool: &str) -> Option<&'a CompletedCall> {
        self.newest_first().find(|called| called.call.name == tool)
    }

    /// Returns the successful calls of these tools, newest first.
    pub(super) fn succeeded(self, tools: &[&str]) -> impl Iterator<Item = &'a CompletedCall> {
        self.newest_first()
            .filter(move |called| !called.failed() && tools.contains(&called.call.name.as_str()))
    }

    /// Returns the data of the newest successful call of these tools.
    pub(super) fn data(self, tools: &[&str]) -> Option<Value> {
        self.succeeded(tools).next().map(CompletedCall::data)
    }
}
