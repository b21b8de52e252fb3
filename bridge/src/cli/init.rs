//! `bridge init`: creates a new agent in a folder.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use bridge_program::{Exit, outln, shell_word, system};
use bridge_protocol::dialect::card;
use bridge_verify::lint::{Level, lint};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::{Result, exit_code::failure, runtime, serve, write_new};
use crate::{
    builtin, clock,
    config::{self, AgentName, HttpUrl, TurnPreset, listening, parsed},
};

/// The placeholder for a message id, which the shell fills in.
const ID: &str = "MESSAGE_ID";

/// The path of the agent.
const PATH: &str = "/a2a/v1";

/// The template of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Template {
    /// An assistant, with results in the form of A2A 0.3
    Assistant,
    /// UST A2A v0.1: a final task in `result.task`, with a flat state and artifacts; the token is X on this machine
    Ust,
}

/// Create a new agent in a folder
#[derive(Debug, Args)]
pub(super) struct Init {
    /// The folder, which is created if it is missing
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// The template to use
    #[arg(long, value_name = "NAME", default_value = "assistant")]
    template: Template,
    /// The agent's name in URL paths
    #[arg(long, default_value = "assistant", value_parser = parsed::<AgentName>)]
    name: AgentName,
    /// The agent's name for people
    #[arg(
        long,
        default_value = "Assistant",
        default_value_if("template", "ust", "UST Hello Support")
    )]
    title: String,
    /// A description in one line
    #[arg(
        long,
        default_value = "Answers questions",
        default_value_if("template", "ust", "Answers brief internal FAQs.")
    )]
    description: String,
    /// The id of its first skill, such as faq.answer
    #[arg(
        long,
        value_name = "NAMESPACE.SKILL",
        default_value = "assistant.answer",
        default_value_if("template", "ust", "faq.answer")
    )]
    skill: String,
    /// The name of that skill for people
    #[arg(
        long,
        default_value = "Answer questions",
        default_value_if("template", "ust", "Answer short FAQs")
    )]
    skill_name: String,
    /// The description of that skill
    #[arg(
        long,
        default_value = "Answers a question that is put in a sentence",
        default_value_if("template", "ust", "Answers brief internal IT/HR FAQs.")
    )]
    skill_description: String,
    /// The organization that provides the agent
    #[arg(long, default_value = "Example", default_value_if("template", "ust", "UST"))]
    organization: String,
    /// The organization's website
    #[arg(
        long,
        value_name = "URL",
        default_value = "https://example.com",
        default_value_if("template", "ust", "https://ust.com"),
        value_parser = parsed::<HttpUrl>
    )]
    organization_url: HttpUrl,
    /// The URL at which a running bot accepts activities; without it the agent echoes each message
    #[arg(long, value_name = "URL", value_parser = parsed::<HttpUrl>)]
    bot: Option<HttpUrl>,
    /// The address to listen on
    #[arg(long, value_name = "IP:PORT", value_parser = listening, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
}

impl Init {
    pub(super) fn execute(&self) -> Result<()> {
        let card = self.card();
        check_card(&card)?;
        let files = [
            ("agent-card.json", serde_json::to_string_pretty(&card)? + "\n"),
            ("bridge.toml", self.configuration()),
            ("token", self.token() + "\n"),
        ];
        let path = |name: &str| self.folder.join(name);
        if let Some((name, _)) = files.iter().find(|(name, _)| path(name).exists()) {
            let there = path(name);
            let text = format!("{} exists already: choose another folder", there.display());
            return Err(failure(Exit::Usage)(text).into());
        }
        fs::create_dir_all(&self.folder).map_err(|error| {
            let folder = self.folder.display();
            failure(Exit::Infrastructure)(format!("cannot make the folder {folder}: {error}"))
        })?;
        for (index, (name, text)) in files.iter().enumerate() {
            // Only this user can read the files, because one of them is a secret.
            if let Err(error) = write_new(&mut system::private_file(), &path(name), text) {
                // The next attempt would refuse to replace the files that were written.
                for (written, _) in &files[..index] {
                    let _ = fs::remove_file(path(written));
                }
                let text = format!("{}: {error}", path(name).display());
                return Err(failure(Exit::Infrastructure)(text).into());
            }
        }
        for (name, _) in &files {
            outln!("wrote {}", path(name).display());
        }
        let configuration = path("bridge.toml");
        let config = config::read(&configuration, &builtin::names())?;
        if let Err(reason) = runtime()?.block_on(serve::judge(&config)) {
            outln!("first: {reason}");
        }
        outln!("next: bridge serve --config {}", shell_word(&configuration));
        outln!("      {}", self.call(&path("token")));
        Ok(())
    }

    /// Returns the card in the form of 0.3, the most common form of published cards.
    fn card(&self) -> Value {
        json!({
            "protocolVersion": "0.3.0",
            "name": self.title,
            "description": self.description,
            "url": format!("http://{}{PATH}", self.place()),
            "preferredTransport": "JSONRPC",
            "version": "0.1.0",
            "capabilities": {"streaming": self.template == Template::Assistant},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "provider": {
                "organization": self.organization,
                "url": self.organization_url.0.as_str().trim_end_matches('/'),
            },
            "skills": [{
                "id": self.skill,
                "name": self.skill_name,
                "description": self.skill_description,
                "tags": self.skill.split('.').collect::<Vec<_>>(),
            }],
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "security": [{"bearer": []}],
        })
    }

    fn configuration(&self) -> String {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let agent = match &self.bot {
            Some(bot) => format!("bot = {}", quoted(bot.0.as_str())),
            None => format!(
                "builtin = {:<34}# or bot = \"http://HOST/api/messages\"",
                quoted(self.builtin())
            ),
        };
        format!(
            r#"# The agents of a bridge. `bridge check bridge.toml` reports mistakes in this file and in the card,
# `bridge serve --config bridge.toml` serves the agents, and `bridge config schema` describes every key.

listen = "{listen}"
store = "sled:bridge-data"                  # or "memory", or "postgres://USER@HOST/DATABASE"

[[agents]]
name = "{name}"
{agent}
{turns}path = "{PATH}"
card_file = "agent-card.json"
{results}

# The callers and their tokens, which they send as Authorization: Bearer TOKEN.
[agents.access.bearer.secrets]
me = {{ file = "token" }}
"#,
            listen = self.listen,
            name = self.name.text,
            turns = TurnPreset::explained(),
            results = self.results(),
        )
    }

    /// Returns the built-in bot that is used if there is no other; its results are final.
    fn builtin(&self) -> &'static str {
        match self.template {
            Template::Assistant => "echo",
            Template::Ust => "sample",
        }
    }

    fn results(&self) -> &'static str {
        match self.template {
            Template::Assistant => {
                "# flat_results = true                       # for clients that look for result.task.state"
            }
            Template::Ust => {
                "flat_results = true                         # clients look for result.task.state\n\
                 repeats = \"another\"                         # the line in the document always has the same message id"
            }
        }
    }

    /// Returns the agent's host and port. The document of UST has localhost.
    fn place(&self) -> String {
        match self.is_printed() {
            true => format!("localhost:{}", self.listen.port()),
            false => self.listen.to_string(),
        }
    }

    /// Returns a random token, or the printed one if the lines of the document must work and only this machine can
    /// connect.
    fn token(&self) -> String {
        if self.is_printed() { "X".to_owned() } else { clock::new_secret() }
    }

    /// Returns whether the lines printed in the document of UST must work as they are.
    fn is_printed(&self) -> bool {
        self.template == Template::Ust && self.listen.ip().is_loopback()
    }

    /// Returns a command that sends a message, for the usual shell of the system.
    fn call(&self, token: &Path) -> String {
        if cfg!(windows) {
            return format!(
                "$env:TOKEN = Get-Content {}; bridge chat http://{}{PATH} --bearer-env TOKEN --message hello",
                shell_word(token),
                self.place()
            );
        }
        let message = json!({
            "jsonrpc": "2.0", "id": "1", "method": "message/send",
            "params": {"message": {
                "messageId": ID, "role": "user", "parts": [{"kind": "text", "text": "hello"}],
            }},
        });
        // Each message has a new id, because a repeated id is the same message.
        let message = message.to_string().replace(ID, "'$(date +%s%N)'");
        format!(
            "curl -s http://{}{PATH} -H 'Content-Type: application/json' \
             -H \"Authorization: Bearer $(cat {})\" -d '{message}'",
            self.place(),
            shell_word(token)
        )
    }
}

/// Returns an error for an invalid card, which is not written.
fn check_card(document: &Value) -> Result<(), String> {
    card::read(document.clone()).map_err(|error| error.to_string())?;
    let (_, findings) = lint(document);
    let wrong = findings.iter().find(|one| one.level == Level::Error);
    wrong.map_or(Ok(()), |one| Err(format!("{} {}: {}", one.path, one.message, one.fix)))
}
