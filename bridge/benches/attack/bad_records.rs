//! Kills the program, flips a byte of what it has kept, and starts it again.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::frame::{Failed, Others, Program, Scene, ask};

/// A file, and what was in it.
type Kept = (PathBuf, Vec<u8>);

pub(crate) async fn run(scene: &mut Scene) -> Result<(), Failed> {
    let flips = scene.pick(150, 8);
    let program = Program::start(&[])?;
    Others::of(&program)
        .watch(sleep(Duration::from_millis(500)))
        .await;
    // The index is written some time after.
    sleep(Duration::from_secs(3)).await;
    let client = reqwest::Client::builder().no_proxy().build()?;
    let ids = listed(&client, &program).await?;
    let mut folder = program.kill()?;
    let data = folder.path().join("data");
    let kept = files(&data)?;
    let (mut damaged, mut lot) = (0, 1_u64);
    for number in 0..flips {
        lot = lot.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let is_log = |kept: &&Kept| {
            kept.0.extension().is_some_and(|name| name == "log") == (number % 2 == 0)
        };
        let chosen: Vec<&Kept> = kept
            .iter()
            .filter(is_log)
            .filter(|kept| !kept.1.is_empty())
            .collect();
        let (path, bytes) = chosen[(lot >> 50) as usize % chosen.len()];
        let at = 16 + (lot >> 17) as usize % (bytes.len() - 16).max(1);
        restore(&data, &kept)?;
        let mut changed = bytes.clone();
        if let Some(byte) = changed.get_mut(at) {
            *byte ^= 1 << ((lot >> 60) % 8);
        }
        fs::write(path, changed)?;
        let what = format!("{} at byte {at}", path.display());
        let program = match Program::again(folder, &[]) {
            Ok(program) => program,
            Err(error) => {
                scene.must(
                    false,
                    format_args!("it starts with {what} changed: {error}"),
                );
                return Ok(());
            }
        };
        let unreadable = unreadable(&client, &program, &ids).await?;
        scene.must(
            unreadable <= 1,
            format_args!("one task is lost at most, with {what}: {unreadable}"),
        );
        damaged += unreadable;
        let others = Others::of(&program);
        let (_, waited) = others.watch(sleep(Duration::from_millis(50))).await;
        scene.must(
            !waited.times.is_empty() && waited.failed == 0,
            format_args!("others are served, with {what}"),
        );
        listed(&client, &program).await?;
        folder = program.kill()?;
    }
    scene.note(format_args!(
        "{flips} bytes flipped, {} tasks looked at each time, {damaged} damaged",
        ids.len()
    ));
    Ok(())
}

/// The ids of the newest tasks.
async fn listed(client: &reqwest::Client, program: &Program) -> Result<Vec<String>, Failed> {
    let url = format!("{}/a2a", program.url());
    let params = json!({"pageSize": 100});
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": params});
    let page = ask(client, &url, &asked).await?;
    let tasks = page["result"]["tasks"]
        .as_array()
        .ok_or("a list is shown")?;
    let id = |task: &Value| task["id"].as_str().map(str::to_owned);
    Ok(tasks.iter().filter_map(id).collect())
}

async fn unreadable(
    client: &reqwest::Client,
    program: &Program,
    ids: &[String],
) -> Result<usize, Failed> {
    let url = format!("{}/a2a", program.url());
    let mut unreadable = 0;
    for id in ids {
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": id}});
        unreadable += usize::from(ask(client, &url, &asked).await?["result"]["id"] != **id);
    }
    Ok(unreadable)
}

fn files(folder: &Path) -> Result<Vec<Kept>, Failed> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        match entry?.path() {
            path if path.is_dir() => files.extend(self::files(&path)?),
            path => files.push((path.clone(), fs::read(path)?)),
        }
    }
    files.sort();
    Ok(files)
}

fn restore(data: &Path, kept: &[Kept]) -> Result<(), Failed> {
    fs::remove_dir_all(data)?;
    for (path, bytes) in kept {
        fs::create_dir_all(path.parent().ok_or("a file is in a folder")?)?;
        fs::write(path, bytes)?;
    }
    Ok(())
}
