//! The operations of an agent, one function each.

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
    Binding, ClientError, EventStream, Options, agent::Agent, connect, stream,
    transport::reply::Answered, ways::Ways,
};

/// A connection to one agent. Cheap to share behind an `Arc`; every method takes `&self`.
///
/// Whatever the version and the binding, requests and answers are of the types of 1.0. A version that has
/// no such operation says so ([`crate::Fault::NotInVersion`]) without asking the agent.
#[derive(Debug)]
pub struct Client {
    card: AgentCard,
    ways: Ways,
}

impl Client {
    /// Reads the card of the agent at `base`, which may be the card's own address, and chooses how to speak to it:
    /// by the first of the card's interfaces that it can use, and by the next one if nobody takes a connection there.
    ///
    /// # Errors
    /// If there is no card, or none of its interfaces can be used.
    pub async fn connect(base: &Url, options: &Options) -> Result<Self, ClientError> {
        // An exchange is large, and whoever waits for it would have to hold all of it: so it is on the heap, here
        // and below.
        let (card, ways) = Box::pin(connect::to(base, options)).await?;
        Ok(Self { card, ways })
    }

    /// Chooses how to speak to an agent whose card was read already, from `base` or below it.
    ///
    /// # Errors
    /// If none of the card's interfaces can be used.
    pub fn for_card(card: AgentCard, base: &Url, options: &Options) -> Result<Self, ClientError> {
        let ways = connect::by_card(&card, base, options)?;
        Ok(Self { card, ways })
    }

    /// The agent's card.
    pub fn card(&self) -> &AgentCard {
        &self.card
    }

    /// The version that is spoken; another interface of the card may have another, if it has to be used.
    pub fn version(&self) -> Version {
        self.ways.agent().version
    }

    /// How calls are carried.
    pub fn binding(&self) -> Binding {
        self.ways.agent().binding
    }

    /// SendMessage (specification 3.1.1).
    ///
    /// # Errors
    /// See [`crate::Fault`]; so for all operations.
    pub async fn send_message(
        &self,
        request: SendMessageRequest,
    ) -> Result<SendMessageResponse, ClientError> {
        self.call(Call::SendMessage(request)).await
    }

    /// SendStreamingMessage (3.1.2).
    pub async fn send_streaming_message(
        &self,
        request: SendMessageRequest,
    ) -> Result<EventStream, ClientError> {
        self.open(Call::SendStreamingMessage(request)).await
    }

    /// GetTask (3.1.3).
    pub async fn get_task(&self, request: GetTaskRequest) -> Result<Task, ClientError> {
        self.call(Call::GetTask(request)).await
    }

    /// ListTasks (3.1.4). New in 1.0.
    pub async fn list_tasks(
        &self,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, ClientError> {
        self.call(Call::ListTasks(request)).await
    }

    /// CancelTask (3.1.5).
    pub async fn cancel_task(&self, request: CancelTaskRequest) -> Result<Task, ClientError> {
        self.call(Call::CancelTask(request)).await
    }

    /// SubscribeToTask (3.1.6).
    pub async fn subscribe_to_task(
        &self,
        request: SubscribeToTaskRequest,
    ) -> Result<EventStream, ClientError> {
        self.open(Call::SubscribeToTask(request)).await
    }

    /// What becomes of a task, by asking for it (GetTask, 3.1.3) until it has ended or waits for somebody: for
    /// tasks whose stream ended before they did, or that were answered before they were done. The events say
    /// what is new since `task`, which is how it stood last; none come of one that is there already.
    ///
    /// [`Options::polls`] says how often, and [`Limits::idle`](crate::Limits::idle) how long nothing may change.
    pub fn poll_task(&self, task: Task) -> EventStream {
        stream::poll(self.ways.agent().clone(), task)
    }

    /// CreateTaskPushNotificationConfig (3.1.7).
    pub async fn create_task_push_notification_config(
        &self,
        config: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, ClientError> {
        self.call(Call::CreateTaskPushNotificationConfig(config))
            .await
    }

    /// GetTaskPushNotificationConfig (3.1.8).
    pub async fn get_task_push_notification_config(
        &self,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, ClientError> {
        self.call(Call::GetTaskPushNotificationConfig(request))
            .await
    }

    /// ListTaskPushNotificationConfigs (3.1.9). 0.1 has none.
    pub async fn list_task_push_notification_configs(
        &self,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, ClientError> {
        self.call(Call::ListTaskPushNotificationConfigs(request))
            .await
    }

    /// DeleteTaskPushNotificationConfig (3.1.10). 0.1 has none.
    pub async fn delete_task_push_notification_config(
        &self,
        request: DeleteTaskPushNotificationConfigRequest,
    ) -> Result<(), ClientError> {
        self.call(Call::DeleteTaskPushNotificationConfig(request))
            .await
    }

    /// GetExtendedAgentCard (3.1.11): the card for callers whom the agent knows. 0.1 has none.
    pub async fn get_extended_agent_card(
        &self,
        request: GetExtendedAgentCardRequest,
    ) -> Result<AgentCard, ClientError> {
        self.call(Call::GetExtendedAgentCard(request)).await
    }

    async fn call<T: Answered>(&self, call: Call) -> Result<T, ClientError> {
        let ask = |agent: Arc<Agent>, call: Call| async move {
            let answer = agent.ask(&call).await;
            answer.map_err(|fault| agent.named(fault, &call))
        };
        Box::pin(self.ways.make(&call, ask)).await
    }

    async fn open(&self, call: Call) -> Result<EventStream, ClientError> {
        Box::pin(self.ways.make(&call, stream::open)).await
    }
}
