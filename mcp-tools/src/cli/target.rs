//! The flags that choose the server a command connects to.

use std::{env, error::Error};

use bridge_program::{Exit, Failure, failure, header_and_variable};
use clap::Args;
use url::Url;

use crate::{
    allow_list::AllowList,
    client::{ConnectError, Connection, Options},
    connection::{ConnectionDetails, DEFAULT_NAME, Transport},
    secret::Secret,
};

/// The environment variable that contains the bearer token.
pub(super) const TOKEN: &str = "MCP_TOKEN";

/// An MCP server over HTTP, or a program that speaks MCP.
#[derive(Debug, Args)]
pub(super) struct Target {
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    headers: Headers,
    /// A further environment variable that the program gets, such as its API key; may be given several times
    #[arg(long, value_name = "NAME", conflicts_with = "url")]
    pass_env: Vec<String>,
}

/// The headers of requests to a server over HTTP. Their values are not on the command line, which other users can read.
#[derive(Debug, Args)]
pub(super) struct Headers {
    /// Send a header with the value of an environment variable, such as X-API-Key=MY_KEY; may be given several times
    #[arg(long = "header-env", value_name = "HEADER=NAME", value_parser = header_and_variable)]
    headers: Vec<(String, String)>,
}

/// The server, named in one of two ways.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Server {
    /// The URL of the server; the bearer token is read from the environment variable MCP_TOKEN
    #[arg(long, value_name = "URL")]
    url: Option<Url>,
    /// A program that speaks MCP over standard input and output, with its arguments; of the environment it gets PATH,
    /// HOME and the like, MCP_TOKEN, and what --pass-env names
    #[arg(long, value_name = "COMMAND LINE", conflicts_with = "headers")]
    command: Option<String>,
}

impl Target {
    /// Connects to the server. A host or program that is named on the command line is allowed by that.
    pub(super) async fn connect(&self) -> Result<Connection, Box<dyn Error>> {
        let Server { url, command } = &self.server;
        let (details, allowed) = match (url, command) {
            (Some(url), _) => {
                let mut allowed = AllowList::default();
                allowed.hosts.extend(url.host_str().map(str::to_owned));
                (over_http(url, &self.headers)?, allowed)
            }
            (None, line) => {
                let line = line.as_deref().unwrap_or_default();
                let (mut details, allowed) = program(line, &self.pass_env)?;
                if let Transport::Stdio { env, .. } = &mut details.transport {
                    env.extend(token().map(|token| (TOKEN.to_owned(), token)));
                }
                (details, allowed)
            }
        };
        let opened = Connection::open(&details, &allowed, &Options::default()).await;
        opened.map_err(|error| match (error, url, token()) {
            (ConnectError::Unauthorized(server), Some(_), None) => format!(
                "{server}: the server requires a token: put it into the environment variable {TOKEN}"
            )
            .into(),
            (error, ..) => error.into(),
        })
    }
}

/// Returns the details of a server over HTTP, with the token and the headers from environment variables.
pub(super) fn over_http(url: &Url, named: &Headers) -> Result<ConnectionDetails, Failure> {
    let mut details = ConnectionDetails::http(DEFAULT_NAME, url.clone());
    if let Some(token) = token() {
        details = details.with_bearer(&token);
    }
    if let Transport::Http { headers, .. } = &mut details.transport {
        for (name, variable) in &named.headers {
            headers.insert(name.clone(), read_variable("--header-env", variable)?);
        }
    }
    Ok(details)
}

fn read_variable(flag: &str, name: &str) -> Result<Secret, Failure> {
    let value = env::var(name);
    let value = value.map_err(|_| failure(Exit::Usage)(format!("{flag}: {name} is not set")))?;
    Ok(Secret::new(value))
}

/// Returns the details of a program, with the variables that it gets, and what allows it.
pub(super) fn program(
    line: &str,
    pass_env: &[String],
) -> Result<(ConnectionDetails, AllowList), Failure> {
    let mut words = shlex::split(line).unwrap_or_default().into_iter();
    let command = words.next();
    let command = command.ok_or_else(|| {
        failure(Exit::Usage)(
            "--command: expected a program and its arguments, as a shell reads them",
        )
    })?;
    let mut allowed = AllowList::default();
    allowed.commands.insert(command.clone());
    let mut details = ConnectionDetails::stdio(DEFAULT_NAME, command, words);
    if let Transport::Stdio { env, .. } = &mut details.transport {
        for name in pass_env {
            env.insert(name.clone(), read_variable("--pass-env", name)?);
        }
    }
    Ok((details, allowed))
}

pub(super) fn token() -> Option<Secret> {
    let token = env::var(TOKEN).ok().filter(|token| !token.is_empty());
    token.map(Secret::new)
}
