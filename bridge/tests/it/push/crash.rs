//! The program is killed while it delivers, again and again, to a webhook that fails now and then: in the end
//! every event of every acknowledged task was delivered, in order, whatever came twice.
//!
//! Four rounds by default; `BRIDGE_KILLS=50` for the full measurement. The figures are printed.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use tokio::{sync::mpsc, task::JoinSet, time::sleep};

use super::receiver::{Answer, Delivery, Receiver};
use crate::{client::Client, program::Bridge};

/// The number of clients at a time.
const CLIENTS: usize = 8;

#[derive(Debug, Default)]
struct Figures {
    kills: usize,
    tasks: usize,
    deliveries: usize,
    /// Events that came more than once.
    repeated: usize,
    lost: usize,
    disordered: usize,
}

fn serve(store: &str) -> Bridge {
    let allowed = ["--push-allow", "loopback"];
    Bridge::serve(&[&["--store", store, "--builtin", "sample"][..], &allowed].concat())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_the_program_is_killed() {
    let kills = std::env::var("BRIDGE_KILLS").map_or(4, |text| text.parse().unwrap());
    let receiver = Receiver::start().await;
    let folder = tempfile::tempdir().unwrap();
    let store = format!("sled:{}", folder.path().join("data").display());
    let mut figures = Figures::default();
    let mut acknowledged = Vec::new();
    for round in 0..kills {
        let mut bridge = serve(&store);
        acknowledged.extend(talk_until_killed(&mut bridge, round, &receiver).await);
        figures.kills += 1;
    }
    let bridge = serve(&store);
    let client = Client::of(bridge.url());
    for (path, task) in &acknowledged {
        let ended = ended(&client, task).await;
        let is_end = |one: &Delivery| one.state().as_deref() == Some(&*ended);
        let got = receiver.wait(path, |got| got.iter().any(is_end)).await;
        count(&got, &mut figures);
    }
    figures.tasks = acknowledged.len();
    println!("{figures:?}");
    assert!(figures.tasks > kills, "{figures:?}");
    assert_eq!((figures.lost, figures.disordered), (0, 0), "{figures:?}");
}

/// Lets clients begin tasks, then kills the program at a moment that follows from nothing but two answers.
async fn talk_until_killed(
    bridge: &mut Bridge,
    round: usize,
    receiver: &Receiver,
) -> Vec<(String, String)> {
    let mut clients = JoinSet::new();
    let (answered, mut answers) = mpsc::unbounded_channel();
    for number in 0..CLIENTS {
        let (client, receiver) = (Client::of(bridge.url()), receiver.clone());
        let answered = answered.clone();
        let name = format!("/{round}-{number}");
        clients.spawn(async move { talk(&client, &name, &receiver, answered).await });
    }
    for _ in 0..2 {
        answers.recv().await.expect("a task is begun");
    }
    sleep(Duration::from_millis(100 + 37 * (round as u64 % 11))).await;
    bridge.kill();
    clients.join_all().await.concat()
}

/// Begins one task after the other until nobody answers; those that were answered come back.
async fn talk(
    client: &Client,
    name: &str,
    receiver: &Receiver,
    answered: mpsc::UnboundedSender<()>,
) -> Vec<(String, String)> {
    let mut told = Vec::new();
    for number in 0.. {
        let path = format!("{name}-{number}");
        if number % 3 == 0 {
            receiver.answer(&path, &[Answer::Status(200), Answer::Status(500)]);
        }
        let config = json!({"url": receiver.at(&path)});
        let text = if number % 2 == 0 { "-stream" } else { "hello" };
        let said = super::say(&path, text, &config);
        match client.call("sample", "SendMessage", &said).await {
            Some(answer) => {
                let task = answer["result"]["task"]["id"].as_str();
                let task = task.unwrap_or_else(|| panic!("{answer}"));
                told.push((path, task.to_owned()));
                let _ = answered.send(());
            }
            None => break,
        }
    }
    told
}

/// Returns the state in which a task ends; turns that were running at a kill fail.
async fn ended(client: &Client, task: &str) -> String {
    loop {
        let got = client.call("sample", "GetTask", &json!({"id": task})).await.unwrap();
        let state = got["result"]["status"]["state"].as_str().unwrap();
        if ["TASK_STATE_COMPLETED", "TASK_STATE_FAILED"].contains(&state) {
            return state.to_owned();
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// Looks for gaps in what one setting got. Which events there are is seen from the pieces that artifacts come
/// in, and from the states: working first, the end last.
fn count(got: &[Delivery], figures: &mut Figures) {
    figures.deliveries += got.len();
    let mut first = BTreeMap::<u64, &Value>::new();
    let mut newest = 0;
    for one in got {
        let (_, seq) = one.headers["idempotency-key"].rsplit_once('/').unwrap();
        let seq = seq.parse().unwrap();
        match first.insert(seq, &one.body) {
            Some(before) => {
                figures.repeated += 1;
                figures.disordered += usize::from(*before != one.body);
            }
            None => figures.disordered += usize::from(seq < newest),
        }
        newest = newest.max(seq);
    }
    let begins = first
        .values()
        .next()
        .is_some_and(|body| body["statusUpdate"]["status"]["state"] == "TASK_STATE_WORKING");
    figures.lost += usize::from(!begins);
    // All events between the first and the last one are shown, except the end of the turn, and the message from which
    // an answer's artifact is made.
    let events: Vec<(u64, &Value)> = first.into_iter().collect();
    let is_answer = |body: &Value| {
        let id = body["artifactUpdate"]["artifact"]["artifactId"].as_str();
        id.is_some_and(|id| id.ends_with(".answer"))
    };
    let gap = |pair: &&[(u64, &Value)]| {
        let hidden = u64::from(is_answer(pair[1].1));
        pair[1].0 != pair[0].0 + 1 + hidden
    };
    figures.lost += events.windows(2).filter(gap).count();
}
