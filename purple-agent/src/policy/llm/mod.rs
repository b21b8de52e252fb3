//! A language model chooses.
//!
//! The settings are `provider` (`openai`, `openai-responses`, `anthropic` or `gemini`), `model`, `base_url`, `key_env` (the
//! environment variable that holds the key), `max_output_tokens` (a call), `limit_field` (its name in chat
//! completions, `max_tokens` unless the server refuses that), `max_total_tokens`, `context_tokens` (how much the model
//! takes; without it a conversation is made shorter when the model refuses it for its length), `max_result_bytes`
//! (of a tool's result, 50,000), `time_per_call` and `longest_pause` (seconds), `retries`, `parameters` (further members
//! of each request), `instructions` (put after this crate's own) and `system_file` (a file whose text is said in
//! the place of this crate's own instructions: the agent is then an assistant, which is told what its user says,
//! word for word, and is connected to the server that it knows beforehand without asking for it).
//!
//! A model may ask for several calls at once. They are made at once, but for those that say that they change something,
//! and it gets all their results together, in its order.

mod anthropic;
mod chat;
mod compact;
mod error;
mod gemini;
mod http;
mod instructions;
mod names;
mod openai;
mod pending;
mod quirks;
mod read;
mod responses;
mod settings;

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::model::JsonObject;
use serde_json::Value;

pub use error::ModelError;

use super::{Action, NewPolicy, Policy, PolicyError, SettingsError, Situation, ToolCall};
use chat::{Entry, Reply, ToolDefinition, shown};
use http::Endpoint;
use instructions::Briefing;
use names::ModelNames;
use pending::{Pending, wait_tool};
use quirks::{ServerQuirks, is_overflow};
use settings::{LlmSettings, Provider};

/// How often in a row a model may ask for nothing but calls that cannot be read.
const UNREADABLE: u32 = 3;

/// Tokens are estimated at so many bytes each where a server does not count them.
const BYTES_PER_TOKEN: usize = 4;

/// How often a conversation is made shorter for one answer.
const COMPACTIONS: u32 = 8;

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
    let model = Arc::new(Model {
        settings,
        endpoint,
        quirks: ServerQuirks::default(),
    });
    Ok(Arc::new(move || Box::new(Llm::new(model.clone()))))
}

/// Which model is asked, and where.
struct Model {
    settings: LlmSettings,
    endpoint: Endpoint,
    quirks: ServerQuirks,
}

/// The policy, in the middle of its conversation with the model.
struct Llm {
    model: Arc<Model>,
    entries: Vec<Entry>,
    pending: Pending,
    /// The number of the newest message that the model was told of.
    seen: u64,
    spent: u64,
    brief: Option<Briefing>,
}

#[async_trait]
impl Policy for Llm {
    fn name(&self) -> &str {
        "llm"
    }

    async fn next(&mut self, situation: &Situation<'_>) -> Result<Action, PolicyError> {
        self.pending.hear(situation.steps.last());
        if self.brief()?.connects_first(situation) {
            let connect = ToolCall::new(instructions::CONNECT, JsonObject::new());
            return Ok(Action::Call(vec![connect]));
        }
        let news = self.news(situation);
        let names = ModelNames::of(situation.tools);
        let mut tools = shown(situation.tools, &names);
        tools.push(wait_tool());
        let (mut news, mut last) = (news, String::new());
        for _ in 0..UNREADABLE {
            self.entries
                .extend(self.pending.results(self.model.settings.max_result_bytes));
            self.entries.extend(news.take().map(Entry::Told));
            let reply = self.ask(&tools).await?;
            if reply.calls.is_empty() {
                return self.finish(reply).map_err(PolicyError::from);
            }
            self.entries.push(Entry::Answered(reply.raw));
            match self.pending.take(reply.calls, &names) {
                Ok(action) => return Ok(action),
                Err(unreadable) => last = unreadable,
            }
        }
        let times = UNREADABLE;
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
        }
    }

    /// What the model is told beforehand, read when it is needed first.
    fn brief(&mut self) -> Result<&Briefing, ModelError> {
        if self.brief.is_none() {
            self.brief = Some(Briefing::read(&self.model.settings)?);
        }
        Ok(self.brief.get_or_insert_default())
    }

    /// What the model is told besides results: to begin, or that messages came in.
    fn news(&mut self, situation: &Situation<'_>) -> Option<String> {
        let newest = situation.context.incoming_messages().newest();
        let before = std::mem::replace(&mut self.seen, newest);
        let brief = self.brief.as_ref()?;
        brief.news(situation.context, self.entries.is_empty(), before, newest)
    }

    async fn ask(&mut self, tools: &[ToolDefinition]) -> Result<Reply, ModelError> {
        let (model, spent) = (self.model.clone(), self.spent);
        let limit = model.settings.max_total_tokens;
        if spent >= limit {
            return Err(ModelError::TokensSpent { spent, limit });
        }
        let request = self.fitting_request(tools);
        let (request, answer) = self.answered(request, tools).await?;
        let read = match model.settings.provider {
            Provider::OpenAi => openai::reply(&answer),
            Provider::Responses => responses::reply(&answer),
            Provider::Anthropic => anthropic::reply(&answer),
            Provider::Gemini => gemini::reply(&answer),
        };
        let reply = read.map_err(|error| model.endpoint.invalid(error))?;
        let estimate = || estimate(&request) + estimate(&answer);
        self.spent += reply.tokens.unwrap_or_else(estimate);
        Ok(reply)
    }

    /// The request that was taken, and its answer. A refusal that says how to ask is followed, and a conversation
    /// that is too long is made shorter.
    async fn answered(
        &mut self,
        mut request: Value,
        tools: &[ToolDefinition],
    ) -> Result<(Value, Value), ModelError> {
        let (model, mut shortened) = (self.model.clone(), 0);
        loop {
            let error = match model.endpoint.post(&request).await {
                Ok(answer) => return Ok((request, answer)),
                Err(error) => error,
            };
            if is_overflow(&error) {
                shortened += 1;
                if shortened > COMPACTIONS || !compact::compact(&mut self.entries) {
                    return Err(error);
                }
            } else if !model.quirks.learn(&error, model.settings.limit_field) {
                return Err(error);
            }
            request = self.request(tools);
        }
    }

    /// The next request, made shorter if the model is known to take no more.
    fn fitting_request(&mut self, tools: &[ToolDefinition]) -> Value {
        let settings = &self.model.settings;
        let room = settings
            .context_tokens
            .map(|tokens| tokens.saturating_sub(settings.max_output_tokens));
        let mut request = self.request(tools);
        while room.is_some_and(|room| estimate(&request) > room)
            && compact::compact(&mut self.entries)
        {
            request = self.request(tools);
        }
        request
    }

    fn request(&self, tools: &[ToolDefinition]) -> Value {
        let Model {
            settings, quirks, ..
        } = &*self.model;
        let (system, entries) = (
            self.brief.as_ref().map_or("", Briefing::system),
            &self.entries,
        );
        match settings.provider {
            Provider::OpenAi => openai::request(settings, quirks, system, entries, tools),
            Provider::Responses => responses::request(settings, quirks, system, entries, tools),
            Provider::Anthropic => anthropic::request(settings, system, entries, tools),
            Provider::Gemini => gemini::request(settings, system, entries, tools),
        }
    }

    fn finish(&self, reply: Reply) -> Result<Action, ModelError> {
        if reply.cut {
            let limit = self.model.settings.max_output_tokens;
            return Err(ModelError::Cut { limit });
        }
        let (text, data) = (reply.text, None);
        Ok(Action::Finish { text, data })
    }
}

/// About how many tokens a body has.
fn estimate(body: &Value) -> u64 {
    (body.to_string().len() / BYTES_PER_TOKEN) as u64
}
