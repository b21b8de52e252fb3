//! Counts the tasks of a caller that have not ended, if the caller's limit could be reached.

use bridge_protocol::a2a::{Error, TaskState};

use super::{Context, Service, error};
use crate::store::{ListQuery, StoreError};

/// The states of tasks that have not ended.
const OPEN: [TaskState; 4] =
    [TaskState::Submitted, TaskState::Working, TaskState::InputRequired, TaskState::AuthRequired];

impl Service {
    /// Refuses a new task of a caller that has too many which have not ended. A repeated message is refused too; it
    /// can be sent again later.
    pub(super) async fn may_create_task(&self, context: &Context) -> Result<(), Error> {
        let (agent, owner) = (&context.agent, &context.caller);
        let allowed = self.quota.task(agent, owner, self.open_tasks(context));
        let allowed = allowed.await.map_err(error::of_store)?;
        allowed.map_err(error::of_quota)
    }

    /// Returns the number of the caller's tasks with the agent that have not ended.
    async fn open_tasks(&self, context: &Context) -> Result<usize, StoreError> {
        let mut open = 0;
        for state in OPEN {
            let query = ListQuery {
                state: Some(state),
                page_size: 1,
                artifacts: false,
                history: Some(0),
                ..ListQuery::of(&context.agent)
            };
            open += self.turns.store().list(&context.caller, &query).await?.total;
        }
        Ok(open)
    }
}
