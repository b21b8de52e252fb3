//! A policy whose actions a language model chooses.
//!
//! The settings are `provider` (`openai`, `openai-responses`, `anthropic` or `gemini`), `model`, `base_url`,
//! `key_env` (the environment variable that contains the key), `max_output_tokens` (per call), `limit_field` (its
//! name in chat completions, `max_tokens` unless the server rejects that), `max_total_tokens`, `context_tokens`
//! (the size of the model's context; without it a conversation is shortened when the model rejects it for its
//! length), `max_result_bytes` (the largest tool result, 50,000), `images` (the number of the newest images in tool results that
//! the model sees, 3), `time_per_call` and `longest_pause` (seconds),
//! `retries`, `parameters` (further members of each request), `instructions` (appended to this crate's own) and
//! `system_file` (a file whose text replaces this crate's own instructions: the agent is then an assistant, which
//! gets its user's messages verbatim, and is connected to its preset server automatically).
//!
//! A model may request several calls at once. They run in parallel, except for calls that declare a change, and
//! the model gets all results together in the requested order.

mod anthropic;
mod chat;
mod compact;
mod error;
mod gemini;
mod http;
mod image;
mod instructions;
mod names;
mod openai;
mod pending;
mod quirks;
mod read;
mod responses;
mod schema;
mod settings;

use std::sync::Arc;

use async_trait::async_trait;
use bridge_protocol::wire::FieldError;
use rmcp::model::JsonObject;
use serde_json::Value;

pub use error::ModelError;

use super::{Action, NewPolicy, Observation, Policy, PolicyError, SettingsError, ToolCall};
use chat::{Entry, Reply, ToolDefinition, shown};
use http::Endpoint;
use instructions::Instructions;
use names::ModelNames;
use pending::{Pending, wait_tool};
use quirks::{ServerQuirks, is_overflow, is_refusal_of_images};
use read::no_error;
use settings::{LlmSettings, Provider};

/// The number of answers in a row after which a model that requests only unreadable calls is stopped.
const MAX_UNREADABLE: u32 = 3;

/// The number of rejections of images after which a conversation has none: one may be due to a single image.
const MAX_REFUSED_IMAGES: u32 = 2;

/// The estimated size of a token, for servers that do not report token counts.
const BYTES_PER_TOKEN: usize = 4;

/// The largest number of times that a conversation is shortened for one answer.
const MAX_COMPACTIONS: u32 = 8;

pub(super) fn new_policy(settings: &Value) -> Result<NewPolicy, SettingsError> {
    let settings = LlmSettings::read(settings, &|name| std::env::var(name).ok())?;
    let key = settings.key.as_ref();
    let (path, headers) = match settings.provider {
        Provider::OpenAi => (openai::PATH.to_owned(), openai::headers(key)),
        Provider::Responses => (responses::PATH.to_owned(), openai::headers(key)),
        Provider::Anthropic => (anthropic::PATH.to_owned(), anthropic::headers(key)),
        Provider::Gemini => (gemini::path(&settings), gemini::headers(key)),
    };
    let endpoint = Endpoint::new(&settings, &path, headers).map_err(SettingsError::Model)?;
    let model = Arc::new(Model { settings, endpoint, quirks: ServerQuirks::default() });
    Ok(Arc::new(move || Box::new(Llm::new(model.clone()))))
}

/// A model and its endpoint.
struct Model {
    settings: LlmSettings,
    endpoint: Endpoint,
    quirks: ServerQuirks,
}

impl Model {
    /// Returns the limit of the next answer, in tokens.
    fn output_limit(&self) -> u64 {
        self.quirks.output_limit(self.settings.max_output_tokens)
    }
}

impl Provider {
    /// Reads an answer of this provider.
    fn reply(self, answer: &Value) -> Result<Reply, FieldError> {
        no_error(answer)?;
        let reply = match self {
            Self::OpenAi => openai::reply(answer),
            Self::Responses => responses::reply(answer),
            Self::Anthropic => anthropic::reply(answer),
            Self::Gemini => gemini::reply(answer),
        }?;
        // Anthropic completes an object that was cut, and the others give a call that was cut before its arguments none.
        Ok(reply.without_cut_call(|arguments| self != Self::Anthropic && !arguments.is_empty()))
    }
}

/// The policy with its conversation.
struct Llm {
    model: Arc<Model>,
    entries: Vec<Entry>,
    pending: Pending,
    /// The number of the newest message that the model knows.
    seen: u64,
    spent: u64,
    brief: Option<Instructions>,
    /// How often the server has rejected a request with images.
    refused_images: u32,
    /// Whether the last call connects an assistant to its server, which no model requested.
    connects: bool,
}

#[async_trait]
impl Policy for Llm {
    fn name(&self) -> &str {
        "llm"
    }

    async fn next(&mut self, observation: &Observation<'_>) -> Result<Action, PolicyError> {
        self.pending.add_results(observation.steps.last());
        if self.brief()?.connects_first(observation) {
            let connect = ToolCall::new(instructions::CONNECT, JsonObject::new());
            self.connects = true;
            return Ok(Action::Call(vec![connect]));
        }
        // The model does not know of this call: without its tools, its answer would look like its own mistake.
        let connected = observation.last().filter(|_| std::mem::take(&mut self.connects));
        if let Some(refused) = connected.filter(|call| call.failed()) {
            return Err(PolicyError::Unconnected(refused.text()));
        }
        let mut news = self.news(observation);
        if self.entries.is_empty() && news.is_none() {
            return Ok(Action::Wait { missing: "a request, in words".to_owned() });
        }
        let names = ModelNames::of(observation.tools);
        let mut tools = shown(observation.tools, &names);
        tools.push(wait_tool());
        let mut last = String::new();
        for _ in 0..MAX_UNREADABLE {
            self.entries.extend(self.pending.results(self.model.settings.max_result_bytes));
            self.entries.extend(news.take());
            let reply = self.ask(&tools).await?;
            if let Some(why) = reply.malformed {
                // Gemini gives no trace of such a call, and a model asked again mostly writes a correct one.
                last = why;
                continue;
            }
            if reply.calls.is_empty() {
                return Ok(Action::finish(reply.text));
            }
            self.entries.push(Entry::Assistant(reply.raw));
            match self.pending.take(reply.calls, &names) {
                Ok(action) => return Ok(action),
                Err(unreadable) => last = unreadable,
            }
        }
        let times = MAX_UNREADABLE;
        Err(ModelError::Unreadable { times, last }.into())
    }
}

impl Llm {
    fn new(model: Arc<Model>) -> Self {
        Self {
            model,
            entries: Vec::new(),
            pending: Pending::default(),
            seen: 0,
            spent: 0,
            brief: None,
            refused_images: 0,
            connects: false,
        }
    }

    /// Returns the instructions, which are read at first use.
    fn brief(&mut self) -> Result<&Instructions, ModelError> {
        if self.brief.is_none() {
            self.brief = Some(Instructions::read(&self.model.settings)?);
        }
        Ok(self.brief.get_or_insert_default())
    }

    /// Returns what the model gets besides results: the beginning, or that messages arrived.
    fn news(&mut self, observation: &Observation<'_>) -> Option<Entry> {
        let newest = observation.context.incoming_messages().newest();
        let before = std::mem::replace(&mut self.seen, newest);
        let brief = self.brief.as_ref()?;
        brief.news(observation.context, self.entries.is_empty(), before, newest)
    }

    /// Asks the model, and once more with a higher limit if its answer was cut at the first one that is not configured.
    async fn ask(&mut self, tools: &[ToolDefinition]) -> Result<Reply, ModelError> {
        let model = self.model.clone();
        let limit = model.output_limit();
        let reply = self.ask_once(tools).await?;
        if let Some(why) = &reply.withheld
            && reply.text.is_empty()
            && reply.calls.is_empty()
        {
            return Err(ModelError::Withheld(why.clone()));
        }
        let is_cut = |reply: &Reply| reply.truncated && reply.calls.is_empty();
        if reply.truncated {
            model.quirks.record_cut();
        }
        let reply = match is_cut(&reply) && model.output_limit() > limit {
            true => self.ask_once(tools).await?,
            false => reply,
        };
        match is_cut(&reply) {
            true => Err(ModelError::Cut(model.output_limit())),
            false => Ok(reply),
        }
    }

    async fn ask_once(&mut self, tools: &[ToolDefinition]) -> Result<Reply, ModelError> {
        let (model, spent) = (self.model.clone(), self.spent);
        let limit = model.settings.max_total_tokens;
        if spent >= limit {
            return Err(ModelError::TokensSpent { spent, limit });
        }
        self.limit_images();
        let request = self.fitting_request(tools);
        let (request, reply) = self.answered(request, tools).await?;
        let estimate = || self.estimate(&request) + estimate(&reply.raw);
        self.spent = self.spent.saturating_add(reply.tokens.unwrap_or_else(estimate));
        Ok(reply)
    }

    /// Returns the accepted request and the model's reply. If a rejection names a quirk of the server, the request is
    /// adapted; if the conversation is too long, it is shortened.
    async fn answered(
        &mut self,
        mut request: Value,
        tools: &[ToolDefinition],
    ) -> Result<(Value, Reply), ModelError> {
        let (model, mut shortened) = (self.model.clone(), 0);
        loop {
            let read = |answer: &Value| model.settings.provider.reply(answer);
            let error = match model.endpoint.post(&request, read).await {
                Ok(reply) => return Ok((request, reply)),
                Err(error) => error,
            };
            if model.quirks.learn_output_limit(&error) {
                // The request is repeated with the lower limit.
            } else if is_overflow(&error)
                && shortened < MAX_COMPACTIONS
                && compact::compact(&mut self.entries)
            {
                shortened += 1;
            } else if model.quirks.learn(&error, model.settings.limit_field) {
                // The request is repeated as the server takes it.
            } else if is_refusal_of_images(&error) && image::remove_all(&mut self.entries) {
                self.refused_images += 1;
            } else {
                return Err(error);
            }
            request = self.request(tools);
        }
    }

    /// Returns the next request, shortened to the known size of the model's context.
    fn fitting_request(&mut self, tools: &[ToolDefinition]) -> Value {
        let settings = &self.model.settings;
        let output = self.model.output_limit();
        let room = settings.context_tokens.map(|tokens| tokens.saturating_sub(output));
        let mut request = self.request(tools);
        while room.is_some_and(|room| self.estimate(&request) > room)
            && compact::compact(&mut self.entries)
        {
            request = self.request(tools);
        }
        request
    }

    /// Removes the images that the model is not shown.
    fn limit_images(&mut self) {
        match self.refused_images < MAX_REFUSED_IMAGES {
            true => image::keep_newest(&mut self.entries, self.model.settings.images),
            false => drop(image::remove_all(&mut self.entries)),
        }
    }

    /// Estimates the number of tokens in a request of this conversation.
    fn estimate(&self, request: &Value) -> u64 {
        let images = image::count(&self.entries) * image::TOKENS;
        let bytes = image::bytes(&self.entries) / BYTES_PER_TOKEN;
        estimate(request).saturating_sub(bytes as u64) + images as u64
    }

    /// Returns the request that continues this conversation, with the parameters of the settings.
    fn request(&self, tools: &[ToolDefinition]) -> Value {
        let Model { settings, quirks, .. } = &*self.model;
        let (system, entries) =
            (self.brief.as_ref().map_or("", Instructions::system), &self.entries);
        let limit = self.model.output_limit();
        let mut body = match settings.provider {
            Provider::OpenAi => openai::request(settings, quirks, system, entries, tools),
            Provider::Responses => responses::request(settings, quirks, system, entries, tools),
            Provider::Anthropic => anthropic::request(settings, limit, system, entries, tools),
            Provider::Gemini => gemini::request(limit, system, entries, tools),
        };
        for (name, value) in &settings.parameters {
            match (body.get_mut(name).and_then(Value::as_object_mut), value) {
                (Some(present), Value::Object(further)) => present.extend(further.clone()),
                (Some(_) | None, _) => body[name] = value.clone(),
            }
        }
        body
    }
}

/// Estimates the number of tokens in a body.
fn estimate(body: &Value) -> u64 {
    (body.to_string().len() / BYTES_PER_TOKEN) as u64
}
