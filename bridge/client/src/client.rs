//! The operations of an agent, one method each.

use std::sync::Arc;

use bridge_protocol::{
    a2a::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
    },
    dialect::{Call, Version},
};
use url::Url;

use crate::{
    Binding, EventStream, Options, Result, agent::Agent, connect, failover::InterfaceSet, stream,
    transport::answer::Answer,
};

/// A connection to one agent. Cheap to share behind an `Arc`; every method takes `&self`.
///
/// Requests and answers have the types of 1.0, whatever the agent's version and binding. An operation that
/// the agent's version does not have fails with [`crate::Fault::NotInVersion`], and nothing is sent.
#[derive(Debug)]
pub struct Client {
    card: AgentCard,
    interfaces: InterfaceSet,
}

impl Client {
    /// Reads the card of the agent at `base`, which may be the address of the card itself, and chooses the
    /// first of the card's interfaces that this client supports. If that interface refuses the connection,
    /// the next one is used.
    ///
    /// # Errors
    /// Returns an error if there is no card, or none of its interfaces can be used.
    pub async fn connect(base: &Url, options: &Options) -> Result<Self> {
        // The future is large, and so would be every future that awaits it. Therefore it is boxed, here and
        // below.
        let (card, interfaces) = Box::pin(connect::to(base, options)).await?;
        Ok(Self { card, interfaces })
    }

    /// Chooses an interface from a card that was read already, from `base` or below it.
    ///
    /// # Errors
    /// Returns an error if none of the card's interfaces can be used.
    pub fn for_card(card: AgentCard, base: &Url, options: &Options) -> Result<Self> {
        let interfaces = connect::by_card(&card, base, options)?;
        Ok(Self { card, interfaces })
    }

    /// Returns the agent's card.
    pub fn card(&self) -> &AgentCard {
        &self.card
    }

    /// Returns the version of the interface in use. Another interface, used when this one refuses connections, may have
    /// another version.
    pub fn version(&self) -> Version {
        self.interfaces.agent().endpoint.version
    }

    /// Returns the binding of the interface in use.
    pub fn binding(&self) -> Binding {
        self.interfaces.agent().binding
    }

    /// SendMessage (specification 3.1.1).
    ///
    /// # Errors
    /// See [`crate::Fault`]. This holds for all operations.
    pub async fn send_message(&self, request: SendMessageRequest) -> Result<SendMessageResponse> {
        self.call(Call::SendMessage(request)).await
    }

    /// SendStreamingMessage (3.1.2).
    ///
    /// # Errors
    /// See [`crate::Fault`].
    pub async fn send_streaming_message(&self, request: SendMessageRequest) -> Result<EventStream> {
        self.open(Call::SendStreamingMessage(request)).await
    }

    /// GetTask (3.1.3).
    ///
    /// # Errors
    /// See [`crate::Fault`].
    pub async fn get_task(&self, request: GetTaskRequest) -> Result<Task> {
        self.call(Call::GetTask(request)).await
    }

    /// ListTasks (3.1.4). New in 1.0.
    ///
    /// # Errors
    /// See [`crate::Fault`]. An agent of an earlier version than 1.0 has no list: [`Fault::NotInVersion`](crate::Fault::NotInVersion).
    pub async fn list_tasks(&self, request: ListTasksRequest) -> Result<ListTasksResponse> {
        self.call(Call::ListTasks(request)).await
    }

    /// CancelTask (3.1.5).
    ///
    /// # Errors
    /// See [`crate::Fault`].
    pub async fn cancel_task(&self, request: CancelTaskRequest) -> Result<Task> {
        self.call(Call::CancelTask(request)).await
    }

    /// SubscribeToTask (3.1.6).
    ///
    /// # Errors
    /// See [`crate::Fault`].
    pub async fn subscribe_to_task(&self, request: SubscribeToTaskRequest) -> Result<EventStream> {
        self.open(Call::SubscribeToTask(request)).await
    }

    /// Follows a task by calling GetTask (3.1.3) until the task has ended or waits for input. This is for
    /// tasks whose stream ended too early, and for agents that answer before the task is done. The events
    /// report the changes since `task`, the last known state; there are none if that state is already final.
    ///
    /// [`Options::polls`] sets the interval, [`Limits::idle`](crate::Limits::idle) how long the task may stay
    /// unchanged.
    pub fn poll_task(&self, task: Task) -> EventStream {
        stream::poll(self.interfaces.agent().clone(), None, task)
    }

    /// Follows a task as [`Client::poll_task`] does, in the tenant of its message (specification 4.4.6).
    pub fn poll_task_in(&self, tenant: &str, task: Task) -> EventStream {
        stream::poll(self.interfaces.agent().clone(), Some(tenant.to_owned()), task)
    }

    /// CreateTaskPushNotificationConfig (3.1.7).
    ///
    /// # Errors
    /// See [`crate::Fault`].
    pub async fn create_task_push_notification_config(
        &self,
        config: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig> {
        self.call(Call::CreateTaskPushNotificationConfig(config)).await
    }

    /// GetTaskPushNotificationConfig (3.1.8).
    ///
    /// # Errors
    /// See [`crate::Fault`].
    pub async fn get_task_push_notification_config(
        &self,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig> {
        self.call(Call::GetTaskPushNotificationConfig(request)).await
    }

    /// ListTaskPushNotificationConfigs (3.1.9). 0.1 has none.
    ///
    /// # Errors
    /// See [`crate::Fault`]. In 0.1 it is [`Fault::NotInVersion`](crate::Fault::NotInVersion).
    pub async fn list_task_push_notification_configs(
        &self,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse> {
        self.call(Call::ListTaskPushNotificationConfigs(request)).await
    }

    /// DeleteTaskPushNotificationConfig (3.1.10). 0.1 has none.
    ///
    /// # Errors
    /// See [`crate::Fault`]. In 0.1 it is [`Fault::NotInVersion`](crate::Fault::NotInVersion).
    pub async fn delete_task_push_notification_config(
        &self,
        request: DeleteTaskPushNotificationConfigRequest,
    ) -> Result<()> {
        self.call(Call::DeleteTaskPushNotificationConfig(request)).await
    }

    /// GetExtendedAgentCard (3.1.11): the card for authenticated callers. 0.1 has none.
    ///
    /// # Errors
    /// See [`crate::Fault`]. In 0.1 it is [`Fault::NotInVersion`](crate::Fault::NotInVersion).
    pub async fn get_extended_agent_card(
        &self,
        request: GetExtendedAgentCardRequest,
    ) -> Result<AgentCard> {
        self.call(Call::GetExtendedAgentCard(request)).await
    }

    pub(crate) async fn call<T: Answer>(&self, call: Call) -> Result<T> {
        let ask = |agent: Arc<Agent>, call: Call| async move {
            let answer = agent.ask(&call).await;
            answer.map_err(|fault| agent.named(fault, &call))
        };
        Box::pin(self.interfaces.make(&call, ask)).await
    }

    async fn open(&self, call: Call) -> Result<EventStream> {
        Box::pin(self.interfaces.make(&call, stream::open)).await
    }
}
