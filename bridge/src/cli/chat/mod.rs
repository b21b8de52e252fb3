//! `bridge chat`: talks to any A2A agent from a terminal.
//!
//! - `session`: sends messages and follows their answers
//! - `news`: receives the agent's unsolicited messages
//! - `show`: prints the answers
//! - `content`, `card`, `choice`: render parts and cards as text, with numbered choices
//! - `file`: reads files to send
//! - `credentials`: the credentials for the agent

mod card;
mod choice;
mod content;
pub(super) mod credentials;
mod file;
mod news;
mod session;
mod show;

use std::{
    io::{self, IsTerminal as _},
    path::PathBuf,
    time::Duration,
};

use bridge_client::{Binding, Client, ClientError, Fault, Limits, Options};
use bridge_program::{Exit, err, errln, terminal};
use bridge_protocol::{
    a2a::{ErrorKind, Part},
    dialect::Version,
    signing::SignatureState,
};
use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin, stdin};
use url::Url;

use credentials::CredentialArgs;
use news::Source;
use session::Session;
use show::Printer;

use super::{
    Result, address,
    exit_code::{Failure, failure},
    runtime,
    trust::Trust,
};

const HELP: &str = "\
NUMBER       take the choice with this number; append a card's input fields as NAME=VALUE
/file PATH   send this file with the next message
/say TEXT    send this text, even if it looks like a number or a command
/new         start a new conversation
/quit        quit, as with Ctrl-D";

const EXIT_CODES: &str = "\
Exit codes: 0 the agent answered, 1 a task failed, was rejected or canceled, or the agent said nothing, 2 the command \
line is wrong, 3 a file cannot be read, 4 the agent cannot be reached or requires credentials. Of several messages the \
worst counts. Always 0 in a conversation with a person.";

/// Talk to an A2A agent from the terminal
#[derive(Debug, Args)]
#[command(after_help = format!("In a conversation:\n{HELP}\n\n{EXIT_CODES}"))]
pub(super) struct Chat {
    /// The agent's address, or the address of its card
    #[arg(value_parser = address::parse)]
    url: Url,
    /// The same as --message
    #[arg(value_name = "MESSAGE", conflicts_with = "message")]
    words: Option<String>,
    /// Send this message and exit, instead of reading one message per line
    #[arg(long, short, allow_hyphen_values = true)]
    message: Option<String>,
    /// A file to send with the first message; may be repeated
    #[arg(long, value_name = "PATH")]
    file: Vec<PathBuf>,
    /// Print every event as one line of JSON, in the form of A2A 1.0
    #[arg(long)]
    json: bool,
    /// Use this version, instead of the newest that both sides support
    #[arg(long, value_parser = versions())]
    version: Option<Version>,
    /// Use this binding, instead of the best that both sides support
    #[arg(long, value_parser = bindings(), ignore_case = true)]
    binding: Option<Binding>,
    /// The URI of a protocol extension that you comply with, since the agent may require it; may be repeated
    #[arg(long, value_name = "URI")]
    extension: Vec<String>,
    #[command(flatten)]
    shown: CredentialArgs,
    #[command(flatten)]
    trust: Trust,
    /// Wait for complete answers, even if the agent can stream
    #[arg(long)]
    no_stream: bool,
    /// The seconds to wait without any new part of an answer
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    wait: u64,
}

/// Parses a version that this build speaks, by its name.
fn versions() -> impl TypedValueParser<Value = Version> {
    let names = Version::ALL.iter().rev().map(|version| version.as_str());
    PossibleValuesParser::new(names).try_map(|name| {
        let mut versions = Version::ALL.into_iter();
        versions.find(|version| version.as_str() == name).ok_or("expected a version of A2A")
    })
}

/// Parses a binding by its name on the command line, or by its name in cards.
fn bindings() -> impl TypedValueParser<Value = Binding> {
    let names = Binding::ALL.map(|binding| {
        let (name, help) = flag(binding);
        PossibleValue::new(name).help(help).alias(binding.as_str())
    });
    PossibleValuesParser::new(names).try_map(|name| {
        let is_flag = |binding: &Binding| flag(*binding).0.eq_ignore_ascii_case(&name);
        let named = Binding::ALL.into_iter().find(is_flag).or_else(|| Binding::of(&name));
        named.ok_or("expected a binding of A2A")
    })
}

/// Returns the name of a binding on the command line, and its usual name.
fn flag(binding: Binding) -> (&'static str, &'static str) {
    match binding {
        Binding::JsonRpc => ("jsonrpc", "JSON-RPC"),
        Binding::HttpJson => ("rest", "HTTP+JSON"),
        Binding::Grpc => ("grpc", "gRPC"),
    }
}

/// The command in a line of input.
#[derive(Debug, PartialEq, Eq)]
enum Line<'a> {
    Nothing,
    Say(&'a str),
    /// The choice with this number, with input fields; or a message, if there is no such choice.
    Choose(usize, &'a str, &'a str),
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
            ("/say", text) if !text.is_empty() => Self::Say(text),
            ("/new", "") => Self::New,
            ("/help", "") => Self::Help,
            ("/quit", "") => Self::Quit,
            (command, _) if command.starts_with('/') => Self::Unknown(line),
            // `+1` is a number for Rust, and a message for people.
            (word, _) if word.starts_with('+') => Self::Say(line),
            (number, fields) => match number.parse() {
                Ok(number) if fields.split_whitespace().take(1).all(|one| one.contains('=')) => {
                    Self::Choose(number, fields, line)
                }
                Ok(_) | Err(_) => Self::Say(line),
            },
        }
    }
}

impl Chat {
    pub(super) fn execute(&self) -> Result<Exit> {
        runtime()?.block_on(self.talk())
    }

    async fn talk(&self) -> Result<Exit> {
        let wait = Duration::from_secs(self.wait);
        let options = Options {
            version: self.version,
            binding: self.binding,
            extensions: self.extension.clone(),
            credentials: self.shown.credentials(&|name| std::env::var(name).ok())?,
            tls: self.trust.tls()?,
            limits: Limits { reply: wait, idle: wait, ..Limits::default() },
            ..Options::default()
        };
        let files = self.file.iter().map(|path| file::part(path));
        let files = files.collect::<Result<Vec<_>, _>>().map_err(failure(Exit::Unreadable))?;
        let client = Client::connect(&self.url, &options).await.map_err(|error| refused(&error))?;
        // Output for programs has no decoration.
        let message = self.message.as_ref().or(self.words.as_ref());
        let is_seen = message.is_none() && std::io::stdin().is_terminal() && !self.json;
        let standing = SignatureState::of(&client.card().signatures);
        if is_seen || matches!(standing, SignatureState::Malformed(_)) {
            errln!("the card is {standing}");
        }
        let mut session = Session::new(client, Printer::new(self.json), !self.no_stream, is_seen);
        for file in files {
            session.attach(file);
        }
        match message {
            Some(message) => {
                Ok(session.say(vec![Part::text(message)]).await.map_err(|error| refused(&error))?)
            }
            None => converse(&mut session, is_seen).await,
        }
    }
}

/// Returns what the user is told of an error, with its exit code.
fn refused(error: &ClientError) -> Failure {
    let exit = exit_of(&error.fault);
    let why = match &error.fault {
        Fault::Extensions(_) => format!("{error}\nif you comply with it, add --extension URI"),
        Fault::Unauthenticated { .. } | Fault::NoCredentials { .. } => format!(
            "{error}\nsend them with --bearer-env NAME, --header-env HEADER=NAME, or --cert FILE --key FILE"
        ),
        Fault::Unconnected(_) if error.operation != "card" => format!(
            "{error}\nthe agent's card says that address; if it is wrong, tell the agent the address at which it is reached"
        ),
        Fault::Http { status: 404 | 410, .. } if error.operation == "card" => format!(
            "there is no agent card at {}: bridge discover SITE shows the agents of a site",
            error.agent
        ),
        Fault::Rpc(answer) if answer.kind() == Some(ErrorKind::MethodNotFound) => format!(
            "{error}\nthe agent may speak another version of A2A than its card names: --version 1.0 or --version 0.3 tries one"
        ),
        _ => error.to_string(),
    };
    failure(exit)(why)
}

/// Returns the exit code for an error. An agent that refuses a request has answered; an agent that cannot be reached
/// has not.
fn exit_of(fault: &Fault) -> Exit {
    match fault {
        Fault::Rpc(_) | Fault::Asked(_) | Fault::NotInVersion(_) => Exit::Failed,
        Fault::Unconnected(_)
        | Fault::Unreachable(_)
        | Fault::Private { .. }
        | Fault::Certificate(_)
        | Fault::Timeout(_)
        | Fault::TooLarge(_)
        | Fault::Unauthenticated { .. }
        | Fault::Forbidden { .. }
        | Fault::Http { .. }
        | Fault::Invalid(_)
        | Fault::StreamBroken(_)
        | Fault::NoInterface { .. }
        | Fault::Extensions(_)
        | Fault::Untrusted(_)
        | Fault::NoCredentials { .. }
        | Fault::Elsewhere(_) => Exit::Infrastructure,
    }
}

async fn converse(session: &mut Session, is_seen: bool) -> Result<Exit> {
    if is_seen {
        errln!("{}; /help lists the commands", terminal::line(&session.agent()));
    }
    let mut lines = BufReader::new(stdin()).lines();
    let mut worst = Exit::Passed;
    let mut number = 0;
    loop {
        number += 1;
        let line = next(session, &mut lines, is_seen).await.map_err(|error| {
            failure(Exit::Unreadable)(format!("cannot read line {number} of the input: {error}"))
        })?;
        let Some(line) = line else {
            break;
        };
        let parts = match Line::parse(without_mark(number, &line)) {
            Line::Nothing => continue,
            Line::Say(text) => Ok(vec![Part::text(text)]),
            Line::Choose(number, fields, line) => match session.choice(number) {
                Some(choice) => choice.parts(fields).map_err(failure(Exit::Failed)),
                None => Ok(vec![Part::text(line)]),
            },
            Line::File(path) => match file::part(path.as_ref()) {
                Ok(part) => {
                    session.attach(part);
                    continue;
                }
                Err(error) => Err(failure(Exit::Unreadable)(error)),
            },
            Line::New => {
                session.begin();
                continue;
            }
            Line::Help => {
                errln!("{HELP}");
                continue;
            }
            Line::Quit => break,
            Line::Unknown(line) => {
                let why = format!("there is no {line:?}; there are:\n{HELP}");
                Err(failure(Exit::Failed)(why))
            }
        };
        let exit = match parts {
            Ok(parts) => session.say(parts).await.map_err(|error| refused(&error)),
            Err(failure) => Err(failure),
        };
        worst = worst.max(exit.unwrap_or_else(|failure| {
            errln!("error: {failure}");
            failure.exit
        }));
    }
    Ok(if is_seen { Exit::Passed } else { worst })
}

/// Returns a line without the byte order mark with which some editors and shells begin a text.
fn without_mark(number: u32, line: &str) -> &str {
    line.strip_prefix('\u{feff}').filter(|_| number == 1).unwrap_or(line)
}

/// Reads the next line, and prints the agent's unsolicited messages meanwhile.
async fn next(
    session: &mut Session,
    lines: &mut Lines<BufReader<Stdin>>,
    is_seen: bool,
) -> io::Result<Option<String>> {
    let prompt = || {
        if is_seen {
            err!("> ");
        }
    };
    prompt();
    let mut source = Source::default();
    loop {
        let news = tokio::select! {
            line = lines.next_line() => return line,
            news = session.news(&mut source) => news,
        };
        for event in news {
            // The message starts on a new line, and the prompt is printed again after it.
            let is_told = session.tell(&event, if is_seen { "\n" } else { "" });
            if is_told {
                prompt();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::jsonrpc::RpcError;

    use super::*;

    #[test]
    fn an_agent_without_the_method_is_called_in_another_version() {
        let refused_with = |code| {
            let answer = RpcError { code, message: "Method not found".to_owned(), data: None };
            let error = ClientError {
                agent: "http://h/".into(),
                operation: "SendMessage",
                binding: Some(Binding::JsonRpc),
                fault: Fault::Rpc(answer),
            };
            refused(&error).to_string()
        };
        assert!(refused_with(-32601).ends_with("--version 1.0 or --version 0.3 tries one"));
        assert!(!refused_with(-32602).contains("--version"));
    }

    #[test]
    fn a_binding_has_the_name_that_cards_use_too() {
        let parse = |name: &str| {
            let command = Chat::augment_args(clap::Command::new("chat"));
            let matches = command.try_get_matches_from(["chat", "http://h/", "--binding", name]);
            matches.ok().and_then(|found| found.get_one("binding").copied())
        };
        for name in ["rest", "HTTP+JSON", "http+json"] {
            assert_eq!(parse(name), Some(Binding::HttpJson), "{name}");
        }
        assert_eq!(parse("GRPC"), Some(Binding::Grpc));
        assert_eq!(parse("soap"), None);
    }

    #[test]
    fn a_line_is_a_message_or_a_command() {
        for (line, expected) in [
            ("", Line::Nothing),
            ("  hello there ", Line::Say("hello there")),
            ("-multi /file x", Line::Say("-multi /file x")),
            ("/file  a b.png", Line::File("a b.png")),
            ("/file", Line::Unknown("/file")),
            ("/say 1", Line::Say("1")),
            ("/say /x", Line::Say("/x")),
            ("2", Line::Choose(2, "", "2")),
            ("2 a=b c=d", Line::Choose(2, "a=b c=d", "2 a=b c=d")),
            ("2 a=b c", Line::Choose(2, "a=b c", "2 a=b c")),
            ("2 or 3", Line::Say("2 or 3")),
            ("+1", Line::Say("+1")),
            ("/new", Line::New),
            ("/help", Line::Help),
            ("/quit", Line::Quit),
            ("/quit now", Line::Unknown("/quit now")),
        ] {
            assert_eq!(Line::parse(line), expected, "{line}");
        }
    }
}
