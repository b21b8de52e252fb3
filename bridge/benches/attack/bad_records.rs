//! Kills the program, flips a byte of what it has kept, and starts it again.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::frame::{Failed, Others, Program, Scene, ask};

/// How long others may wait for an answer on a machine that does much else.
const SERVED: Duration = Duration::from_secs(5);

/// A file of the store's folder, and what was in it.
type Kept = (PathBuf, Vec<u8>);

pub(crate) async fn run(scene: &mut Scene) -> Result<(), Failed> {
    let flips = scene.flips();
    let program = Program::start(&[])?;
    Others::of(&program)
        .watch(sleep(Duration::from_millis(500)))
        .await;
    // The index is written some time after.
    sleep(Duration::from_secs(3)).await;
    let client = reqwest::Client::builder().no_proxy().build()?;
    let ids = listed(&client, &program).await?;
    let folder = program.kill()?;
    let data = folder.path().join("data");
    let mut kept = files(&data)?;
    for (path, _) in &mut kept {
        *path = path.strip_prefix(&data)?.to_owned();
    }
    let mut victim = Victim {
        folder: Some(folder),
        client,
        ids,
        kept,
        damaged: 0,
        failed: 0,
    };
    let mut lot = 1_u64;
    for number in 0..flips {
        lot = lot.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let (path, at) = victim.place(number % 2 == 0, lot);
        let what = format!("{} at byte {at}", path.display());
        victim.restore()?;
        let path = victim.data().join(path);
        let mut changed = fs::read(&path)?;
        if let Some(byte) = changed.get_mut(at) {
            *byte ^= 1 << ((lot >> 60) % 8);
        }
        fs::write(&path, changed)?;
        if let Some(lost) = victim.look(scene, &what).await? {
            let promise = format_args!("one task is lost at most, with {what}: {lost}");
            scene.must(lost <= 1, promise);
        }
    }
    scene.note(format_args!(
        "{flips} bytes flipped, {} tasks looked at each time: {} starts failed, {} tasks damaged",
        victim.ids.len(),
        victim.failed,
        victim.damaged
    ));
    remove_each(scene, &mut victim).await
}

/// Removes each file in turn.
async fn remove_each(scene: &mut Scene, victim: &mut Victim) -> Result<(), Failed> {
    let most = scene.pick(usize::MAX, 3);
    let paths: Vec<PathBuf> = victim.kept.iter().map(|kept| kept.0.clone()).collect();
    for path in paths.iter().take(most) {
        victim.restore()?;
        fs::remove_file(victim.data().join(path))?;
        let what = format!("{} removed", path.display());
        if let Some(lost) = victim.look(scene, &what).await? {
            scene.note(format_args!("{what}: {lost} tasks are lost"));
        }
    }
    Ok(())
}

/// What is damaged again and again.
struct Victim {
    folder: Option<TempDir>,
    client: reqwest::Client,
    ids: Vec<String>,
    kept: Vec<Kept>,
    damaged: usize,
    failed: usize,
}

impl Victim {
    fn data(&self) -> PathBuf {
        let folder = self.folder.as_ref().map(TempDir::path);
        folder.unwrap_or(Path::new("")).join("data")
    }

    /// A file of the log, or another one, and a byte of it.
    fn place(&self, is_log: bool, lot: u64) -> (PathBuf, usize) {
        let has_kind = |kept: &&Kept| {
            kept.0.extension().is_some_and(|name| name == "log") == is_log && !kept.1.is_empty()
        };
        let chosen: Vec<&Kept> = self.kept.iter().filter(has_kind).collect();
        let (path, bytes) = chosen[(lot >> 50) as usize % chosen.len()];
        let at = 16 + (lot >> 17) as usize % (bytes.len() - 16).max(1);
        (path.clone(), at)
    }

    /// As it was before.
    fn restore(&self) -> Result<(), Failed> {
        let data = self.data();
        if data.exists() {
            fs::remove_dir_all(&data)?;
        }
        for (path, bytes) in &self.kept {
            let path = data.join(path);
            fs::create_dir_all(path.parent().ok_or("a file is in a folder")?)?;
            fs::write(path, bytes)?;
        }
        Ok(())
    }

    /// Starts the program on what is there, and looks at what it shows: how many of the tasks it does not, or
    /// nothing if it does not start.
    async fn look(&mut self, scene: &mut Scene, what: &str) -> Result<Option<usize>, Failed> {
        let folder = self.folder.take().ok_or("there is no folder")?;
        let program = match Program::again(folder, &[]) {
            Ok(program) => program,
            Err(error) => {
                self.failed += 1;
                scene.must(false, format_args!("it starts with {what}: {error}"));
                self.folder = Some(tempfile::tempdir()?);
                return Ok(None);
            }
        };
        let lost = unreadable(&self.client, &program, &self.ids).await?;
        self.damaged += lost.len();
        let others = Others::of(&program);
        let (_, mut waited) = others.watch(sleep(Duration::from_millis(50))).await;
        if waited.times.is_empty() && waited.failed == 0 {
            // A busy machine may need longer for one answer.
            (_, waited) = others.watch(sleep(SERVED)).await;
        }
        scene.must(
            !waited.times.is_empty() && waited.failed == 0,
            format_args!("others are served, with {what}"),
        );
        listed(&self.client, &program).await?;
        let folder = program.kill()?;
        if let [one] = &lost[..] {
            let said = Program::check(folder.path())?;
            scene.must(
                said.contains(one.as_str()),
                format_args!("the check lists task {one}, with {what}: {said}"),
            );
        }
        self.folder = Some(folder);
        Ok(Some(lost.len()))
    }
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

/// Those that are not shown.
async fn unreadable(
    client: &reqwest::Client,
    program: &Program,
    ids: &[String],
) -> Result<Vec<String>, Failed> {
    let url = format!("{}/a2a", program.url());
    let mut unreadable = Vec::new();
    for id in ids {
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": id}});
        if ask(client, &url, &asked).await?["result"]["id"] != **id {
            unreadable.push(id.clone());
        }
    }
    Ok(unreadable)
}

fn files(folder: &Path) -> Result<Vec<Kept>, Failed> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        match entry?.path() {
            path if path.is_dir() => files.extend(self::files(&path)?),
            path if path.is_file() => files.push((path.clone(), fs::read(path)?)),
            // The operator's socket.
            _ => {}
        }
    }
    files.sort();
    Ok(files)
}
