//! The connection to an MCP server.

use std::{
    borrow::Cow,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bridge_telemetry::Instrument as _;
use futures_util::FutureExt as _;
use reqwest_0_13::Client;
use rmcp::{
    ClientHandler, Peer, RoleClient,
    handler::client::progress::{ProgressDispatcher, ProgressSubscriber},
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientConfig,
        ClientRequest, CustomResult, Implementation, JsonObject, ListToolsRequest, NumberOrString,
        PaginatedRequestParams, ProgressNotificationParam, ProgressToken, ProtocolVersion,
        RequestParamsMeta as _, ServerResult, Tool,
    },
    service::{
        ClientInitializeError, NotificationContext, RunningService, ServiceError,
        serve_client_with_lifecycle,
    },
};
use serde::Deserialize as _;
use serde_json::Value;
use tokio::{
    sync::Mutex,
    time::{Duration, sleep, timeout},
};
use url::Url;

use super::{
    error::{CallError, ConnectError},
    failure::{self, Failures},
    http,
    options::{Lifecycle, Limits, Options},
    program,
    readable::Readable,
    sse,
};
use crate::{
    allow_list::AllowList,
    connection::{ConnectionDetails, Transport},
    trace,
};

/// The time between two looks at whether a connection has ended.
const LOOK: Duration = Duration::from_millis(200);

/// A connection to an MCP server. Dropping it closes it: a program that was started is asked to end, and is killed
/// together with the processes that it started if it does not.
pub struct Connection {
    details: ConnectionDetails,
    limits: Limits,
    handler: Handler,
    peer: Peer<RoleClient>,
    /// `None` once the connection is closed.
    service: Mutex<Option<RunningService<RoleClient, Handler>>>,
    failures: Failures,
}

impl Connection {
    /// Connects if the details are [allowed](AllowList), and negotiates a protocol version with the server.
    ///
    /// # Errors
    /// [`ConnectError`], which tells a refused address, a rejected token and an unreachable server apart.
    pub async fn open(
        details: &ConnectionDetails,
        allowed: &AllowList,
        options: &Options,
    ) -> Result<Self, ConnectError> {
        allowed.check(details)?;
        let (limits, failures) = (options.limits, Failures::of(details));
        let handler = Handler::default();
        let limit = match details.transport {
            Transport::Http { .. } => limits.connect,
            Transport::Stdio { .. } => limits.start,
        };
        let service = timeout(limit, begin(details, allowed, options, &handler, &failures))
            .await
            .map_err(|_| failures.connect_timed_out(limit))??;
        Ok(Self {
            details: details.clone(),
            limits,
            peer: service.peer().clone(),
            handler,
            service: Mutex::new(Some(service)),
            failures,
        })
    }

    /// Returns the details that the connection was opened with.
    pub fn details(&self) -> &ConnectionDetails {
        &self.details
    }

    /// Returns the name of the server in its details.
    pub fn name(&self) -> &str {
        &self.details.name
    }

    /// Returns the negotiated version of MCP, such as `2025-11-25`.
    pub fn protocol_version(&self) -> String {
        let info = self.peer.peer_info();
        info.map(|info| info.protocol_version.to_string()).unwrap_or_default()
    }

    /// Returns the server's instructions for its users, if it has some. They were written by the server's author, as the
    /// descriptions of tools.
    pub fn instructions(&self) -> Option<String> {
        self.peer.peer_info()?.instructions.clone()
    }

    /// Lists the server's current tools. The descriptions were written by the server's author: they are data to
    /// show, never instructions to follow.
    ///
    /// # Errors
    /// [`CallError`]
    pub async fn tools(&self) -> Result<Vec<Tool>, CallError> {
        let call = "tools/list";
        self.in_time(call, self.all_tools(call)).await?
    }

    /// Returns how many times the server has reported that its tools changed.
    pub fn tool_changes(&self) -> u64 {
        self.handler.tool_changes.load(Ordering::Relaxed)
    }

    /// Calls a tool. A failure of the tool itself is a result with `is_error`.
    ///
    /// # Errors
    /// [`CallError`] if there is no result.
    pub async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
    ) -> Result<CallToolResult, CallError> {
        self.call_for(None, None, tool, arguments).await
    }

    /// Returns the reports of progress that the server sends for one call, which has their token.
    pub(crate) async fn reports(&self) -> ProgressSubscriber {
        let number = self.handler.calls.fetch_add(1, Ordering::Relaxed);
        let token = ProgressToken(NumberOrString::String(format!("call-{number}").into()));
        self.handler.progress.subscribe(token).await
    }

    /// Calls a tool for another caller, whose `traceparent` is passed on where no spans are exported.
    pub(crate) async fn call_for(
        &self,
        traceparent: Option<&str>,
        reports: Option<ProgressToken>,
        tool: &str,
        arguments: JsonObject,
    ) -> Result<CallToolResult, CallError> {
        let mut request =
            CallToolRequestParams::new(Cow::Owned(tool.to_owned())).with_arguments(arguments);
        if let Some(traceparent) = traceparent {
            request.set_traceparent(traceparent);
        }
        if let Some(token) = reports {
            request.set_progress_token(token);
        }
        let span = trace::outgoing(&mut request);
        let called = self.peer.call_tool_once(request).instrument(span);
        let response = self.in_time(tool, called).await?;
        let response = response.map_err(|error| self.failures.call(tool, error))?;
        let result = self.complete(tool, response)?;
        failure::check_size(tool, failure::bytes(&result), "bytes", self.limits.result)?;
        Ok(result)
    }

    async fn in_time<T>(&self, call: &str, work: impl Future<Output = T>) -> Result<T, CallError> {
        let limit = self.limits.call;
        let done = timeout(limit, work).await;
        done.map_err(|_| CallError::TimedOut { call: call.to_owned(), limit })
    }

    /// Waits until the connection has ended, because it was closed or the server has gone.
    pub async fn ended(&self) {
        // `rmcp` announces this end to the owner of a service only, which is needed to close it.
        while !self.peer.is_transport_closed() {
            sleep(LOOK).await;
        }
    }

    /// Closes the connection gracefully within the limit `close`; later calls fail. Closing again does nothing.
    pub async fn close(&self) {
        let service = self.service.lock().await.take();
        if let Some(mut service) = service {
            // A service that has not ended by then is killed when it is dropped.
            let _ = service.close_with_timeout(self.limits.close).await;
        }
    }

    /// Reads all pages of the tool list. A page that names the cursor it was asked with is the last: some servers name
    /// one, often an empty one, although there is no further page, and answer it with the same tools again. The limits
    /// stop a server whose list never ends.
    async fn all_tools(&self, call: &str) -> Result<Vec<Tool>, CallError> {
        let (mut tools, mut size, mut pages) = (Vec::<Tool>::new(), 0, 0);
        let mut asked: Option<String> = None;
        loop {
            let page = PaginatedRequestParams::default().with_cursor(asked.clone());
            let listed = match self.peer.list_tools(Some(page.clone())).await {
                Err(ServiceError::UnexpectedResponse) => {
                    return Err(self.wrong_tools(call, page).await);
                }
                listed => listed.map_err(|error| self.failures.call(call, error))?,
            };
            size += failure::bytes(&listed.tools);
            pages += 1;
            let is_last = listed.next_cursor.is_none() || listed.next_cursor == asked;
            let is_new =
                |tool: &Tool| !is_last || !tools.iter().any(|known| known.name == tool.name);
            let new: Vec<Tool> = listed.tools.into_iter().filter(is_new).collect();
            tools.extend(new);
            failure::check_size(call, tools.len(), "tools", self.limits.tools)?;
            failure::check_size(call, size, "bytes", self.limits.result)?;
            failure::check_size(call, pages, "pages", self.limits.tools)?;
            if is_last {
                return Ok(tools);
            }
            asked = listed.next_cursor;
        }
    }

    /// Returns the error for a list that could not be read. `rmcp` does not say why, so the list is requested again, and
    /// its tools are read one by one.
    async fn wrong_tools(&self, call: &str, page: PaginatedRequestParams) -> CallError {
        let request = ListToolsRequest {
            method: Default::default(),
            params: Some(page),
            extensions: Default::default(),
        };
        let listed = self.peer.send_request(ClientRequest::ListToolsRequest(request)).await;
        let wrong = match &listed {
            Ok(ServerResult::CustomResult(CustomResult(list))) => wrong_tool(list),
            Ok(_) | Err(_) => None,
        };
        let reason = wrong.unwrap_or_else(|| "the answer is no list of tools".to_owned());
        self.failures.unexpected(call, &reason)
    }

    fn complete(
        &self,
        tool: &str,
        response: CallToolResponse,
    ) -> Result<CallToolResult, CallError> {
        let asks_for = match response {
            CallToolResponse::Complete(result) => return Ok(result),
            CallToolResponse::InputRequired(_) => "asks for user input, which is not supported",
            CallToolResponse::Task(_) => "made a task of the call, which this client did not offer",
            _ => "answered in a way that this client does not know",
        };
        let reason = format!("expected a result, but the server {asks_for}");
        Err(self.failures.unexpected(tool, &reason))
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("details", &self.details)
            .field("protocol_version", &self.protocol_version())
            .finish_non_exhaustive()
    }
}

/// Begins the protocol. Some servers answer `server/discover`, which they do not know, with an empty result or a failure
/// of HTTP in place of an error, and some programs end; then a new connection begins with `initialize`.
async fn begin(
    details: &ConnectionDetails,
    allowed: &AllowList,
    options: &Options,
    handler: &Handler,
    failures: &Failures,
) -> Result<RunningService<RoleClient, Handler>, ConnectError> {
    let begin_with = async |lifecycle: Lifecycle| match &details.transport {
        Transport::Http { url, headers } => {
            let headers = http::headers(headers).map_err(|bad| failures.header(bad))?;
            let client = http::client(&Arc::new(allowed.clone()), &options.limits)
                .map_err(|error| failures.connect(error.as_ref()))?;
            let begun = over_http(client, url, headers, handler, lifecycle).await;
            Ok::<_, ConnectError>(begun)
        }
        Transport::Stdio { command, args, env, cwd } => {
            let printed = &failures.printed;
            let program = program::Program::start(command, args, env, cwd.as_deref(), printed)
                .map_err(|source| failures.start(source))?;
            let program = Readable(program);
            Ok(serve_client_with_lifecycle(handler.clone(), program, lifecycle.mode()).await)
        }
    };
    let mut begun = begin_with(options.lifecycle).await?;
    if let (Lifecycle::Either, Err(error)) = (options.lifecycle, &begun)
        && failure::may_know_initialize(error, details)
    {
        begun = begin_with(Lifecycle::Initialize).await?;
    }
    begun.map_err(|error| failures.begin(&error))
}

async fn over_http(
    client: Client,
    url: &Url,
    headers: http::Headers,
    handler: &Handler,
    lifecycle: Lifecycle,
) -> Result<RunningService<RoleClient, Handler>, ClientInitializeError> {
    let transport = Readable(http::transport(url, headers.clone(), client.clone()));
    let begun = serve_client_with_lifecycle(handler.clone(), transport, lifecycle.mode()).await;
    match begun {
        Err(error) if failure::is_of_no_post(&error) => {
            let Ok(transport) = sse::Sse::open(client, url, headers).await else {
                return Err(error);
            };
            // HTTP+SSE is older than `server/discover`, so only `initialize` can work.
            let lifecycle = Lifecycle::Initialize.mode();
            serve_client_with_lifecycle(handler.clone(), Readable(transport), lifecycle).await
        }
        begun => begun,
    }
}

/// Returns the first tool of a list that violates the protocol, and how.
fn wrong_tool(list: &Value) -> Option<String> {
    let tools = list["tools"].as_array()?.iter().enumerate();
    tools.into_iter().find_map(|(index, tool)| {
        let error = Tool::deserialize(tool).err()?;
        Some(format!("tools[{index}], named {}: {error}", tool["name"]))
    })
}

/// Offers nothing to servers, neither a model nor a user nor files.
#[derive(Clone, Default)]
struct Handler {
    /// The number of times that the tools changed.
    tool_changes: Arc<AtomicU64>,
    /// The number of calls whose progress somebody followed.
    calls: Arc<AtomicU64>,
    progress: ProgressDispatcher,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), client)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.tool_changes.fetch_add(1, Ordering::Relaxed);
    }

    async fn on_progress(
        &self,
        report: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        // A report for which a slow reader has no place is left out, because the next one says more.
        let _ = self.progress.handle_notification(report).now_or_never();
    }
}
