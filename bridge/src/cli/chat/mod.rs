//! `bridge chat`: talks to any A2A agent from a terminal.
//!
//! - `session`: what is sent, and in which conversation
//! - `show`: what is seen of the answers
//! - `file`: files to send along
//! - `credentials`: what the agent is shown

pub(super) mod credentials;
mod file;
mod session;
mod show;

use std::{error::Error, io::IsTerminal as _, path::PathBuf};

use bridge_client::{Binding, Client, Options};
use bridge_protocol::dialect::Version;
use clap::{Args, ValueEnum};
use tokio::io::{AsyncBufReadExt as _, BufReader, stdin};
use url::Url;

use credentials::Shown;
use session::Session;
use show::Show;

use super::trust::Trust;

const HELP: &str = "\
/file PATH   send this file with the next message
/new         begin another conversation
/quit        end; so does Ctrl-D";

/// Talk to an A2A agent from the terminal
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct Chat {
    /// Where the agent is: its card lies below this address
    url: Url,
    /// Say this and end, in place of reading what to say, a line a message
    #[arg(long, short)]
    message: Option<String>,
    /// A file to send with the first message; several may be named
    #[arg(long, value_name = "PATH")]
    file: Vec<PathBuf>,
    /// Print every event as one line of JSON, in the form of A2A 1.0
    #[arg(long)]
    json: bool,
    /// Speak this version, in place of the newest that both sides know
    #[arg(long, value_enum)]
    version: Option<Spoken>,
    /// Speak over this binding, in place of the best that both sides know
    #[arg(long, value_enum)]
    binding: Option<Carried>,
    #[command(flatten)]
    shown: Shown,
    #[command(flatten)]
    trust: Trust,
    /// Wait for whole answers, even if the agent can stream
    #[arg(long)]
    no_stream: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Spoken {
    #[value(name = "1.0")]
    V1_0,
    #[value(name = "0.3")]
    V0_3,
    #[value(name = "0.1")]
    V0_1,
}

impl From<Spoken> for Version {
    fn from(spoken: Spoken) -> Self {
        match spoken {
            Spoken::V1_0 => Self::V1_0,
            Spoken::V0_3 => Self::V0_3,
            Spoken::V0_1 => Self::V0_1,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Carried {
    /// JSON-RPC
    Jsonrpc,
    /// HTTP+JSON
    Rest,
    /// gRPC
    Grpc,
}

impl From<Carried> for Binding {
    fn from(carried: Carried) -> Self {
        match carried {
            Carried::Jsonrpc => Self::JsonRpc,
            Carried::Rest => Self::HttpJson,
            Carried::Grpc => Self::Grpc,
        }
    }
}

/// What a line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Line<'a> {
    Nothing,
    Say(&'a str),
    File(&'a str),
    New,
    Help,
    Quit,
    Unknown(&'a str),
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Self {
        let line = line.trim();
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (word, rest.trim()) {
            ("", _) => Self::Nothing,
            ("/file", path) if !path.is_empty() => Self::File(path),
            ("/new", "") => Self::New,
            ("/help", "") => Self::Help,
            ("/quit", "") => Self::Quit,
            (command, _) if command.starts_with('/') => Self::Unknown(line),
            (_, _) => Self::Say(line),
        }
    }
}

impl Chat {
    pub(super) fn execute(&self) -> Result<(), Box<dyn Error>> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(self.talk())
    }

    async fn talk(&self) -> Result<(), Box<dyn Error>> {
        let options = Options {
            version: self.version.map(Version::from),
            binding: self.binding.map(Binding::from),
            credentials: self.shown.credentials(&|name| std::env::var(name).ok())?,
            roots: self.trust.roots()?,
            ..Options::default()
        };
        let client = Client::connect(&self.url, &options).await?;
        let mut session = Session::new(client, Show::new(self.json), !self.no_stream);
        for path in &self.file {
            session.attach(file::part(path)?);
        }
        match &self.message {
            Some(message) => session.say(message).await?,
            None => self.converse(&mut session).await?,
        }
        Ok(())
    }

    async fn converse(&self, session: &mut Session) -> Result<(), Box<dyn Error>> {
        // What a program reads is not decorated.
        let is_seen = std::io::stdin().is_terminal() && !self.json;
        if is_seen {
            eprintln!("{}; /help tells what else there is", session.agent());
        }
        let mut lines = BufReader::new(stdin()).lines();
        loop {
            if is_seen {
                eprint!("> ");
            }
            let Some(line) = lines.next_line().await? else {
                return Ok(());
            };
            match Line::parse(&line) {
                Line::Nothing => {}
                Line::Say(text) => {
                    if let Err(error) = session.say(text).await {
                        eprintln!("error: {error}");
                    }
                }
                Line::File(path) => match file::part(path.as_ref()) {
                    Ok(part) => session.attach(part),
                    Err(error) => eprintln!("error: {error}"),
                },
                Line::New => session.begin(),
                Line::Help => eprintln!("{HELP}"),
                Line::Quit => return Ok(()),
                Line::Unknown(line) => eprintln!("error: there is no {line:?}; there are:\n{HELP}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_message_or_a_command() {
        for (line, expected) in [
            ("", Line::Nothing),
            ("  hello there ", Line::Say("hello there")),
            ("-multi /file x", Line::Say("-multi /file x")),
            ("/file  a b.png", Line::File("a b.png")),
            ("/file", Line::Unknown("/file")),
            ("/new", Line::New),
            ("/help", Line::Help),
            ("/quit", Line::Quit),
            ("/quit now", Line::Unknown("/quit now")),
        ] {
            assert_eq!(Line::parse(line), expected, "{line}");
        }
    }
}
