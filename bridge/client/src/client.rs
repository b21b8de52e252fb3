//! The operations of an agent, one function each.

use std::sync::atomic::AtomicU64;

use bridge_protocol::{
    a2a::{
        AgentCard, CancelTaskRequest, GetTaskRequest, ListTasksRequest, ListTasksResponse,
        SendMessageRequest, SendMessageResponse, SubscribeToTaskRequest, Task,
    },
    dialect::{Call, Version},
    wire::{FieldError, Wire as _},
};
use reqwest::redirect;
use serde_json::Value;
use url::Url;

use crate::{
    ClientError, EventStream, Fault, Options,
    card::{choose, fetch_card},
    credentials::is_loopback,
    rpc::Endpoint,
    stream,
};

/// A connection to one agent. Cheap to share behind an `Arc`; every method takes `&self`.
#[derive(Debug)]
pub struct Client {
    card: AgentCard,
    endpoint: Endpoint,
}

impl Client {
    /// Reads the card of the agent at `base` and chooses how to speak to it.
    ///
    /// # Errors
    /// If there is no card, or none of its interfaces can be used.
    pub async fn connect(base: &Url, options: &Options) -> Result<Self, ClientError> {
        let http = http_client(base, options).map_err(|fault| fault.of(base.as_str(), "card"))?;
        let card = fetch_card(&http, base, &options.limits).await;
        let card = card.map_err(|error| ClientError {
            fault: options.credentials.hide_in(error.fault),
            ..error
        })?;
        Self::with_card(http, card, base, options)
    }

    /// Chooses how to speak to an agent whose card was read already, from `base` or below it.
    ///
    /// # Errors
    /// If none of the card's interfaces can be used.
    pub fn for_card(card: AgentCard, base: &Url, options: &Options) -> Result<Self, ClientError> {
        let http = http_client(base, options).map_err(|fault| fault.of(base.as_str(), "card"))?;
        Self::with_card(http, card, base, options)
    }

    fn with_card(
        http: reqwest::Client,
        card: AgentCard,
        base: &Url,
        options: &Options,
    ) -> Result<Self, ClientError> {
        let named = |fault: Fault| fault.of(base.as_str(), "card");
        let (interface, version) = choose(&card, options.version).map_err(named)?;
        let url = base.join(&interface.url).map_err(|error| {
            let field = FieldError::new("a URL", error.to_string());
            named(Fault::Invalid(field.inside("url")))
        })?;
        options.credentials.check(base, &url).map_err(named)?;
        let endpoint = Endpoint {
            credentials: options.credentials.clone(),
            http,
            url,
            version,
            limits: options.limits,
            next_id: AtomicU64::new(1),
        };
        Ok(Self { card, endpoint })
    }

    /// The agent's card.
    pub fn card(&self) -> &AgentCard {
        &self.card
    }

    /// The version that is spoken.
    pub fn version(&self) -> Version {
        self.endpoint.version
    }

    /// SendMessage (specification 3.1.1).
    ///
    /// # Errors
    /// See [`Fault`]; so for all operations.
    pub async fn send_message(
        &self,
        request: SendMessageRequest,
    ) -> Result<SendMessageResponse, ClientError> {
        let version = self.version();
        self.call(Call::SendMessage(request), |result| {
            version.send_result_to_v1(result)
        })
        .await
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
        let version = self.version();
        self.call(Call::GetTask(request), |result| version.task_to_v1(result))
            .await
    }

    /// ListTasks (3.1.4). New in 1.0.
    pub async fn list_tasks(
        &self,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, ClientError> {
        self.call(Call::ListTasks(request), ListTasksResponse::read)
            .await
    }

    /// CancelTask (3.1.5).
    pub async fn cancel_task(&self, request: CancelTaskRequest) -> Result<Task, ClientError> {
        let version = self.version();
        self.call(Call::CancelTask(request), |result| {
            version.task_to_v1(result)
        })
        .await
    }

    /// SubscribeToTask (3.1.6).
    pub async fn subscribe_to_task(
        &self,
        request: SubscribeToTaskRequest,
    ) -> Result<EventStream, ClientError> {
        self.open(Call::SubscribeToTask(request)).await
    }

    async fn call<T>(
        &self,
        call: Call,
        read: impl FnOnce(Value) -> Result<T, FieldError>,
    ) -> Result<T, ClientError> {
        let result = self.endpoint.call(&call).await;
        let read = result.and_then(|result| read(result).map_err(Fault::Invalid));
        read.map_err(|fault| self.named(fault, &call))
    }

    async fn open(&self, call: Call) -> Result<EventStream, ClientError> {
        let opened = stream::open(&self.endpoint, &call).await;
        opened.map_err(|fault| self.named(fault, &call))
    }

    fn named(&self, fault: Fault, call: &Call) -> ClientError {
        let fault = self.endpoint.credentials.hide_in(fault);
        fault.of(self.endpoint.url.as_str(), call.operation().name())
    }
}

/// Redirects are not followed: a card decides where messages go, and nobody else. A proxy of the
/// environment is for the outside; on this machine it would only be in the way.
pub(crate) fn http_client(base: &Url, options: &Options) -> Result<reqwest::Client, Fault> {
    let builder = reqwest::Client::builder()
        .connect_timeout(options.limits.connect)
        .redirect(redirect::Policy::none())
        .default_headers(options.credentials.headers())
        .tcp_nodelay(true);
    let builder = match is_loopback(base) {
        true => builder.no_proxy(),
        false => builder,
    };
    builder
        .build()
        .map_err(|error| Fault::Unreachable(error.to_string()))
}
