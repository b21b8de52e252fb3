//! Measures the cost of the bridge for the turns of remote bots: each bot is called directly, then through the bridge.
//!
//! `bots --bot 'NAME=COMMAND'` of the load program; `peers/README.md` has the commands of some bots. A bot prints on
//! standard error where it listens, like those in `tests/interop/bots`. It has core 0 for itself; the load and the
//! bridge share core 1. A direct client acts as a channel: it posts an activity, receives the bot's call, and counts a
//! turn when the bot has answered the post and sent its message.
//!
//! | argument | |
//! |-|-|
//! | `--bot 'NAME=COMMAND'` | a bot to measure; at least one |
//! | `--program 'NAME=PATH'` | another program to compare, such as the one before a change |
//! | `--delivery MODE` | the delivery mode of the bot's answers: `normal` by default, or `expectReplies` |
//! | `--store WHERE` | `sled` by default, or `memory` |
//! | `--rounds N`, `--seconds N` | as for servers |

use std::{
    collections::BTreeMap,
    fs, io,
    net::Ipv4Addr,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{Json, Router, body::Bytes, extract::State, http::Uri};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot, task::JoinSet, time::timeout};

use crate::{
    Outcome,
    connection::Connection,
    figures::{call, message, new_id, post},
    process::Server,
    table::{self, Row},
};

/// The numbers of connections that send at the same time.
const CONNECTIONS: [usize; 3] = [1, 8, 32];
/// The turns of each connection before the measurement; the bridge adapts to a bot during its first turns.
const WARM_UP_TURNS: usize = 12;
/// The time limit of a turn.
const TURN_LIMIT: Duration = Duration::from_secs(30);
/// The text of each message.
const TEXT: &str = "hello, bot";

/// The options of the command line.
struct Options {
    rounds: usize,
    time: Duration,
    delivery: String,
    store: String,
    bots: Vec<(String, String)>,
    programs: Vec<(String, String)>,
}

/// Measures the bots that the arguments name, and prints a table for each.
pub(crate) fn run(arguments: &[&str]) -> Outcome<()> {
    let options = options(arguments)?;
    crate::process::pin_load()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for (name, command) in &options.bots {
        let rows = runtime.block_on(compare(name, command, &options))?;
        println!("## {name}\n\n{}", table::with_ratios_to(&rows, "direct"));
    }
    Ok(())
}

fn options(arguments: &[&str]) -> Outcome<Options> {
    let mut options = Options {
        rounds: 3,
        time: Duration::from_secs(4),
        delivery: "normal".to_owned(),
        store: "sled".to_owned(),
        bots: Vec::new(),
        programs: Vec::new(),
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let value = *arguments.next().ok_or(format!("{argument} needs a value"))?;
        let named = || match value.split_once('=') {
            Some((name, named)) => Ok((name.to_owned(), named.to_owned())),
            None => Err(format!("expected {argument} NAME=VALUE")),
        };
        match *argument {
            "--bot" => options.bots.push(named()?),
            "--program" => options.programs.push(named()?),
            "--delivery" => options.delivery = value.to_owned(),
            "--store" => options.store = value.to_owned(),
            "--rounds" => options.rounds = value.parse()?,
            "--seconds" => options.time = Duration::from_secs_f64(value.parse()?),
            unknown => {
                return Err(format!(
                    "{unknown} is unknown: see the beginning of benches/load/bots.rs"
                )
                .into());
            }
        }
    }
    if options.bots.is_empty() {
        return Err("expected --bot NAME=COMMAND: see benches/load/peers/README.md".into());
    }
    let own = env!("CARGO_BIN_EXE_bridge");
    options.programs.push(("bridge".to_owned(), own.to_owned()));
    Ok(options)
}

async fn compare(name: &str, command: &str, options: &Options) -> Outcome<Vec<Row>> {
    let mut rows = Vec::new();
    for round in 1..=options.rounds {
        eprintln!("round {round} of {}: {name}", options.rounds);
        rows.push(direct(command, options).await?);
        for (program, path) in &options.programs {
            rows.push(bridged(program, path, command, options).await?);
        }
    }
    Ok(rows)
}

/// Measures the bot without a bridge.
async fn direct(command: &str, options: &Options) -> Outcome<Row> {
    let bot = Server::start_announced(command)?;
    let mut row = Row::new("direct");
    let callbacks = CallbackServer::start().await?;
    let route =
        Arc::new(Route::Direct { bot: bot.port, delivery: options.delivery.clone(), callbacks });
    for connections in CONNECTIONS {
        measure(&route, &bot, None, connections, options.time, &mut row).await?;
    }
    Ok(row)
}

/// Measures the bot behind a bridge.
async fn bridged(program: &str, path: &str, command: &str, options: &Options) -> Outcome<Row> {
    let bot = Server::start_announced(command)?;
    let folder = tempfile::tempdir()?;
    let config = folder.path().join("bridge.toml");
    fs::write(&config, config_text(&bot, folder.path(), options))?;
    let serve = format!("{path} serve --listen 127.0.0.1:{{port}} --config {}", config.display());
    let bridge = Server::start_on("1", &serve).await?;
    let mut row = Row::new(program);
    let route = Arc::new(Route::Bridged { bridge: bridge.port });
    for connections in CONNECTIONS {
        measure(&route, &bot, Some(&bridge), connections, options.time, &mut row).await?;
    }
    Ok(row)
}

fn config_text(bot: &Server, folder: &Path, options: &Options) -> String {
    let store = match options.store.as_str() {
        "sled" => format!("sled:{}", folder.join("data").display()),
        other => other.to_owned(),
    };
    format!(
        "store = '{store}'\n[[agents]]\nname = 'bot'\nbot = 'http://127.0.0.1:{}/api/messages'\n\
         delivery = '{}'\n",
        bot.port, options.delivery
    )
}

/// The route to a bot.
enum Route {
    Direct { bot: u16, delivery: String, callbacks: CallbackServer },
    Bridged { bridge: u16 },
}

impl Route {
    fn port(&self) -> u16 {
        match self {
            Self::Direct { bot, .. } => *bot,
            Self::Bridged { bridge } => *bridge,
        }
    }

    /// Sends one message and waits for its answer.
    async fn turn(&self, connection: &mut Connection) -> io::Result<()> {
        match self {
            Self::Direct { bot, delivery, callbacks } => {
                let conversation = new_id().to_string();
                let activity = activity(&conversation, delivery, &callbacks.url);
                let received = callbacks.expect(&conversation);
                let request = post(*bot, "/api/messages", &activity.to_string());
                let answer = connection.call(&request).await?;
                let is_echoed = has(answer, b"Echo: ");
                match delivery.as_str() {
                    "expectReplies" if is_echoed => Ok(()),
                    _ if answer.starts_with(b"HTTP/1.1 20") => {
                        received.await.map_err(io::Error::other)
                    }
                    _ => Err(unexpected(answer)),
                }
            }
            Self::Bridged { bridge } => {
                let body = call("SendMessage", &message(TEXT));
                let answer = connection.call(&post(*bridge, "/a2a/bot", &body)).await?;
                match has(answer, b"TASK_STATE_COMPLETED") && has(answer, b"Echo: ") {
                    true => Ok(()),
                    false => Err(unexpected(answer)),
                }
            }
        }
    }
}

/// Returns the activity that a channel posts to a bot.
fn activity(conversation: &str, delivery: &str, service_url: &str) -> Value {
    let mut activity = json!({
        "type": "message", "id": new_id().to_string(), "timestamp": "2026-01-01T00:00:00.000Z", "channelId": "webchat",
        "serviceUrl": service_url, "from": {"id": "user", "name": "user", "role": "user"},
        "recipient": {"id": "bot", "name": "bot", "role": "bot"}, "conversation": {"id": conversation},
        "locale": "en-US", "textFormat": "plain", "text": TEXT,
    });
    if delivery != "normal" {
        activity["deliveryMode"] = delivery.into();
    }
    activity
}

fn has(answer: &[u8], text: &[u8]) -> bool {
    answer.windows(text.len()).any(|window| window == text)
}

fn unexpected(answer: &[u8]) -> io::Error {
    io::Error::other(String::from_utf8_lossy(answer))
}

/// The server that a bot calls back when it is called directly.
struct CallbackServer {
    url: String,
    expected: Expected,
}

/// The senders that notify the waiter of each conversation.
type Expected = Arc<Mutex<BTreeMap<String, oneshot::Sender<()>>>>;

impl CallbackServer {
    async fn start() -> Outcome<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let expected = Expected::default();
        let app = Router::new().fallback(handle_callback).with_state(Arc::clone(&expected));
        tokio::spawn(bridge::serve(listener, app, std::future::pending()));
        Ok(Self { url, expected })
    }

    fn expect(&self, conversation: &str) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        let mut expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        expected.insert(conversation.to_owned(), sender);
        receiver
    }
}

/// Handles a message at `/v3/conversations/{conversation}/activities`; typing activities are ignored.
async fn handle_callback(State(expected): State<Expected>, uri: Uri, body: Bytes) -> Json<Value> {
    let conversation = uri.path().split('/').nth(3).unwrap_or_default();
    if has(&body, b"Echo: ") {
        let mut expected = expected.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiting) = expected.remove(conversation) {
            // The waiter may have stopped waiting.
            let _ = waiting.send(());
        }
    }
    Json(json!({"id": new_id().to_string()}))
}

/// Measures turns over this many connections for this time.
async fn measure(
    route: &Arc<Route>,
    bot: &Server,
    bridge: Option<&Server>,
    connections: usize,
    time: Duration,
    row: &mut Row,
) -> Outcome<()> {
    let mut open = Vec::new();
    for _ in 0..connections {
        let mut connection = Connection::open(route.port()).await?;
        for _ in 0..WARM_UP_TURNS.div_ceil(connections) {
            timeout(TURN_LIMIT, route.turn(&mut connection)).await??;
        }
        open.push(connection);
    }
    let cpu = || {
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>((
            bot.cpu()?,
            bridge.map(Server::cpu).transpose()?,
        ))
    };
    let (before, begun) = (cpu()?, Instant::now());
    let mut senders = JoinSet::new();
    for mut connection in open {
        let route = Arc::clone(route);
        senders.spawn(async move {
            let mut turns = 0_usize;
            while begun.elapsed() < time {
                timeout(TURN_LIMIT, route.turn(&mut connection)).await??;
                turns += 1;
            }
            Ok::<_, io::Error>(turns)
        });
    }
    let mut turns = 0;
    while let Some(sent) = senders.join_next().await {
        turns += sent??;
    }
    let (duration, after) = (begun.elapsed(), cpu()?);
    let each = |spent: Duration| spent.as_secs_f64() * 1e3 / turns.max(1) as f64;
    row.put(&format!("turns/s {connections}"), turns as f64 / duration.as_secs_f64());
    row.put(&format!("bot's CPU ms a turn {connections}"), each(after.0 - before.0));
    if let (Some(before), Some(after)) = (before.1, after.1) {
        row.put(&format!("bridge's CPU ms a turn {connections}"), each(after - before));
    }
    Ok(())
}
