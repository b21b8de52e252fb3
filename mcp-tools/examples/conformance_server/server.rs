//! Dispatches requests to the tools, prompts and resources.

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities,
        CompleteRequestParams, CompleteResult, GetPromptRequestParams, GetPromptResponse,
        GetPromptResult, InputRequiredResult, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
        ReadResourceResponse, ReadResourceResult, RequestStateCodec, RequestStateError,
        ServerCapabilities, ServerConfig, SetLevelRequestParams, SubscribeRequestParams,
        SubscriptionFilter, UnsubscribeRequestParams,
    },
    service::{RequestContext, SubscriptionContext},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::{ask, input::InputRetry, offers, prompts, resources, tools};

/// A change that subscribers are notified of.
#[derive(Clone, Copy)]
enum Change {
    Tools,
    Prompts,
}

/// The server. Clones share its state.
#[derive(Clone)]
pub(crate) struct Fixture {
    codec: Arc<RequestStateCodec>,
    changes: broadcast::Sender<Change>,
}

impl Fixture {
    pub(crate) fn new() -> Result<Self, RequestStateError> {
        let codec = RequestStateCodec::try_new(*b"a key that no other server knows")?;
        Ok(Self { codec: Arc::new(codec), changes: broadcast::Sender::new(16) })
    }
}

type Context = RequestContext<RoleServer>;

impl Fixture {
    async fn called(
        &self,
        call: CallToolRequestParams,
        context: &Context,
    ) -> Result<Value, ErrorData> {
        let arguments = call.arguments.unwrap_or_default();
        match &*call.name {
            "test_tool_with_logging" => tools::logging(context, true).await,
            // From 2026-07-28 on, a client enables log messages in each request.
            "test_logging_tool" => {
                tools::logging(context, context.meta.log_level().is_some()).await
            }
            "test_tool_with_progress" => tools::progress(context).await,
            "test_sampling" => ask::sampling(context, &arguments).await,
            "test_elicitation" => ask::elicitation(context, &arguments).await,
            "test_elicitation_sep1034_defaults" => ask::defaults(context).await,
            "test_elicitation_sep1330_enums" => ask::choices(context).await,
            "test_streaming_elicitation" => tools::progress(context).await,
            "test_missing_capability" => needs_sampling(context),
            "test_trigger_tool_change" => Ok(self.change(Change::Tools)),
            "test_trigger_prompt_change" => Ok(self.change(Change::Prompts)),
            name => {
                if let Some(answer) = tools::fixed(name) {
                    return Ok(answer);
                }
                let again = self.again(call.input_responses, call.request_state, context);
                let unknown =
                    || ErrorData::invalid_params(format!("there is no tool {name:?}"), None);
                again.answer(name)?.ok_or_else(unknown)
            }
        }
    }

    fn again(
        &self,
        responses: Option<rmcp::model::InputResponses>,
        state: Option<String>,
        context: &Context,
    ) -> InputRetry<'_> {
        InputRetry {
            responses,
            state,
            capabilities: context.client_capabilities(),
            codec: &self.codec,
        }
    }

    fn change(&self, change: Change) -> Value {
        // There may be no subscriber.
        let _ = self.changes.send(change);
        tools::text("changed")
    }
}

fn needs_sampling(context: &Context) -> Result<Value, ErrorData> {
    let client = json!(context.client_capabilities());
    if client["sampling"].is_null() {
        let needed: ClientCapabilities = read(json!({"sampling": {}}))?;
        return Err(ErrorData::missing_required_client_capability(needed));
    }
    Ok(tools::text("The client can do sampling."))
}

/// Converts JSON into a type of the protocol. The fixture's JSON is constant, so an error is the server's fault.
fn read<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// Converts either a result or a request for input.
fn complete<T, R>(answer: Value) -> Result<R, ErrorData>
where
    T: DeserializeOwned + Into<R>,
    InputRequiredResult: Into<R>,
{
    match answer["resultType"] == "input_required" {
        true => read::<InputRequiredResult>(answer).map(Into::into),
        false => read::<T>(answer).map(Into::into),
    }
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(offers::tools()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        complete::<CallToolResult, _>(self.called(call, &context).await?)
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        read(offers::prompts())
    }

    async fn get_prompt(
        &self,
        prompt: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = prompt.arguments.unwrap_or_default();
        let again = self.again(prompt.input_responses, prompt.request_state, &context);
        complete::<GetPromptResult, _>(prompts::get(&prompt.name, &arguments, &again)?)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        read(offers::resources())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        read(offers::templates())
    }

    async fn read_resource(
        &self,
        resource: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        complete::<ReadResourceResult, _>(resources::read(&resource.uri)?)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        let begun = &request.argument.value;
        let known = ["paris", "park", "party"].into_iter();
        let values: Vec<&str> = known.filter(|value| value.starts_with(begun)).collect();
        read(json!({"resultType": "complete", "completion": {"values": values, "hasMore": false}}))
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.changes.subscribe();
        loop {
            let change = tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                change = changes.recv() => change,
            };
            // The subscription drops notifications that the client did not ask for.
            let _ = match change {
                Ok(Change::Tools) => subscription.sink().notify_tool_list_changed().await,
                Ok(Change::Prompts) => subscription.sink().notify_prompt_list_changed().await,
                Err(_) => return Ok(()),
            };
        }
    }
}
