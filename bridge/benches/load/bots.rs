//! Measures what the bridge costs the turns of remote bots: each bot is called directly, then through the bridge.
//!
//! `bots --bot 'NAME=COMMAND'` of the load program; `peers/README.md` has the commands of some. A bot says on its
//! standard error where it listens, as those in `tests/interop/bots` do. It has core 0 for itself; the load and the
//! bridge share core 1. A direct client does what a channel must: it posts an activity, takes the bot's call
//! back, and counts a turn when the bot has answered the post and sent its message.
//!
//! | argument | |
//! |-|-|
//! | `--bot 'NAME=COMMAND'` | a bot that is measured; at least one |
//! | `--program 'NAME=PATH'` | another program to be compared with, such as the one before a change |
//! | `--delivery MODE` | how the bot is asked to answer: `normal` by default, or `expectReplies` |
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
    cells::{call, message, new_id, post},
    connection::Connection,
    process::Server,
    table::{self, Row},
};

/// How many connections talk at once.
const CONNECTIONS: [usize; 3] = [1, 8, 32];
/// How many turns each connection has before it is measured: a bridge learns from a bot's turns.
const WARM: usize = 12;
/// How long one turn may take.
const LIMIT: Duration = Duration::from_secs(30);
/// What is said.
const SAID: &str = "hello, bot";

/// What was asked for.
struct Options {
    rounds: usize,
    time: Duration,
    delivery: String,
    store: String,
    bots: Vec<(String, String)>,
    programs: Vec<(String, String)>,
}

/// Measures as the arguments say and prints a table for each bot.
pub(crate) fn run(arguments: &[&str]) -> Outcome<()> {
    let options = options(arguments)?;
    crate::process::pin_load()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    for (name, command) in &options.bots {
        let rows = runtime.block_on(compare(name, command, &options))?;
        println!("## {name}\n\n{}", table::against(&rows, "direct"));
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
        let value = *arguments
            .next()
            .ok_or(format!("{argument} needs a value"))?;
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
            rows.push(through(program, path, command, options).await?);
        }
    }
    Ok(rows)
}

/// The bot without a bridge.
async fn direct(command: &str, options: &Options) -> Outcome<Row> {
    let bot = Server::telling(command)?;
    let mut row = Row::new("direct");
    let ear = Ear::open().await?;
    let way = Arc::new(Way::Direct {
        bot: bot.port,
        delivery: options.delivery.clone(),
        ear,
    });
    for connections in CONNECTIONS {
        measure(&way, &bot, None, connections, options.time, &mut row).await?;
    }
    Ok(row)
}

/// The bot behind a bridge.
async fn through(program: &str, path: &str, command: &str, options: &Options) -> Outcome<Row> {
    let bot = Server::telling(command)?;
    let folder = tempfile::tempdir()?;
    let config = folder.path().join("bridge.toml");
    fs::write(&config, configured(&bot, folder.path(), options))?;
    let serve = format!(
        "{path} serve --listen 127.0.0.1:{{port}} --config {}",
        config.display()
    );
    let bridge = Server::start_on("1", &serve).await?;
    let mut row = Row::new(program);
    let way = Arc::new(Way::Through {
        bridge: bridge.port,
    });
    for connections in CONNECTIONS {
        measure(
            &way,
            &bot,
            Some(&bridge),
            connections,
            options.time,
            &mut row,
        )
        .await?;
    }
    Ok(row)
}

fn configured(bot: &Server, folder: &Path, options: &Options) -> String {
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

/// How the bot is reached.
enum Way {
    Direct {
        bot: u16,
        delivery: String,
        ear: Ear,
    },
    Through {
        bridge: u16,
    },
}

impl Way {
    fn port(&self) -> u16 {
        match self {
            Self::Direct { bot, .. } => *bot,
            Self::Through { bridge } => *bridge,
        }
    }

    /// One turn, from the message to the answer.
    async fn turn(&self, connection: &mut Connection) -> io::Result<()> {
        match self {
            Self::Direct { bot, delivery, ear } => {
                let conversation = new_id().to_string();
                let activity = activity(&conversation, delivery, &ear.url);
                let heard = ear.expect(&conversation);
                let request = post(*bot, "/api/messages", &activity.to_string());
                let answer = connection.call(&request).await?;
                let is_said = has(answer, b"Echo: ");
                match delivery.as_str() {
                    "expectReplies" if is_said => Ok(()),
                    _ if answer.starts_with(b"HTTP/1.1 20") => {
                        heard.await.map_err(io::Error::other)
                    }
                    _ => Err(unexpected(answer)),
                }
            }
            Self::Through { bridge } => {
                let body = call("SendMessage", &message(SAID));
                let answer = connection.call(&post(*bridge, "/a2a/bot", &body)).await?;
                match has(answer, b"TASK_STATE_COMPLETED") && has(answer, b"Echo: ") {
                    true => Ok(()),
                    false => Err(unexpected(answer)),
                }
            }
        }
    }
}

/// What a channel posts to a bot.
fn activity(conversation: &str, delivery: &str, service_url: &str) -> Value {
    let mut activity = json!({
        "type": "message", "id": new_id().to_string(), "timestamp": "2026-01-01T00:00:00.000Z", "channelId": "webchat",
        "serviceUrl": service_url, "from": {"id": "user", "name": "user", "role": "user"},
        "recipient": {"id": "bot", "name": "bot", "role": "bot"}, "conversation": {"id": conversation},
        "locale": "en-US", "textFormat": "plain", "text": SAID,
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

/// Where a bot calls back that is called directly.
struct Ear {
    url: String,
    expected: Expected,
}

/// The waiters for a bot's message, by conversation.
type Expected = Arc<Mutex<BTreeMap<String, oneshot::Sender<()>>>>;

impl Ear {
    async fn open() -> Outcome<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let expected = Expected::default();
        let app = Router::new()
            .fallback(hear)
            .with_state(Arc::clone(&expected));
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

/// Takes a message at `/v3/conversations/{conversation}/activities`; signs of life are nothing to wait for.
async fn hear(State(expected): State<Expected>, uri: Uri, body: Bytes) -> Json<Value> {
    let conversation = uri.path().split('/').nth(3).unwrap_or_default();
    if has(&body, b"Echo: ") {
        let mut expected = expected.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiting) = expected.remove(conversation) {
            // The waiter may have given up.
            let _ = waiting.send(());
        }
    }
    Json(json!({"id": new_id().to_string()}))
}

/// Talks over so many connections for this long.
async fn measure(
    way: &Arc<Way>,
    bot: &Server,
    bridge: Option<&Server>,
    connections: usize,
    time: Duration,
    row: &mut Row,
) -> Outcome<()> {
    let mut open = Vec::new();
    for _ in 0..connections {
        let mut connection = Connection::open(way.port()).await?;
        for _ in 0..WARM.div_ceil(connections) {
            timeout(LIMIT, way.turn(&mut connection)).await??;
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
    let mut talking = JoinSet::new();
    for mut connection in open {
        let way = Arc::clone(way);
        talking.spawn(async move {
            let mut turns = 0_usize;
            while begun.elapsed() < time {
                timeout(LIMIT, way.turn(&mut connection)).await??;
                turns += 1;
            }
            Ok::<_, io::Error>(turns)
        });
    }
    let mut turns = 0;
    while let Some(talked) = talking.join_next().await {
        turns += talked??;
    }
    let (took, after) = (begun.elapsed(), cpu()?);
    let each = |spent: Duration| spent.as_secs_f64() * 1e3 / turns.max(1) as f64;
    row.put(
        &format!("turns/s {connections}"),
        turns as f64 / took.as_secs_f64(),
    );
    row.put(
        &format!("bot's CPU ms a turn {connections}"),
        each(after.0 - before.0),
    );
    if let (Some(before), Some(after)) = (before.1, after.1) {
        row.put(
            &format!("bridge's CPU ms a turn {connections}"),
            each(after - before),
        );
    }
    Ok(())
}
