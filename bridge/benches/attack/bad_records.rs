//! Kills the program, flips a byte of a file in its store, and starts it again.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::harness::{BackgroundClients, Error, Harness, Program, post_rpc};

/// The longest time for which other clients may wait for an answer on a busy machine.
const LIMIT: Duration = Duration::from_secs(5);

/// The path of a file in the store's folder, and its content.
type StoredFile = (PathBuf, Vec<u8>);

pub(crate) async fn run(harness: &mut Harness) -> Result<(), Error> {
    let flips = harness.flips();
    let program = Program::start(&[])?;
    BackgroundClients::new(&program).run_during(sleep(Duration::from_millis(500))).await;
    // The index is written some time after the log.
    sleep(Duration::from_secs(3)).await;
    let client = reqwest::Client::builder().no_proxy().build()?;
    let ids = list_tasks(&client, &program).await?;
    let folder = program.kill()?;
    let data = folder.path().join("data");
    let mut files = read_files(&data)?;
    for (path, _) in &mut files {
        *path = path.strip_prefix(&data)?.to_owned();
    }
    let mut store =
        DamagedStore { folder: Some(folder), client, ids, files, damaged: 0, failed: 0 };
    let mut random = 1_u64;
    for number in 0..flips {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let (path, at) = store.choose_byte(number % 2 == 0, random);
        let damage = format!("{} at byte {at}", path.display());
        store.restore()?;
        let path = store.data().join(path);
        let mut changed = fs::read(&path)?;
        if let Some(byte) = changed.get_mut(at) {
            *byte ^= 1 << ((random >> 60) % 8);
        }
        fs::write(&path, changed)?;
        if let Some(lost) = store.restart(harness, &damage).await? {
            let promise = format_args!("at most one task is lost with {damage}: {lost}");
            harness.check(lost <= 1, promise);
        }
    }
    harness.note(format_args!(
        "{flips} bytes flipped, {} tasks read after each: {} starts failed, {} tasks damaged",
        store.ids.len(),
        store.failed,
        store.damaged
    ));
    remove_each(harness, &mut store).await
}

/// Removes each file in turn, and prints how many tasks are lost with it.
async fn remove_each(harness: &mut Harness, store: &mut DamagedStore) -> Result<(), Error> {
    let most = harness.pick(usize::MAX, 3);
    let paths: Vec<PathBuf> = store.files.iter().map(|file| file.0.clone()).collect();
    for path in paths.iter().take(most) {
        store.restore()?;
        fs::remove_file(store.data().join(path))?;
        let damage = format!("{} removed", path.display());
        if let Some(lost) = store.restart(harness, &damage).await? {
            harness.note(format_args!("{damage}: {lost} tasks are lost"));
        }
    }
    Ok(())
}

/// A copy of a store that is damaged in one place after the other.
struct DamagedStore {
    folder: Option<TempDir>,
    client: reqwest::Client,
    ids: Vec<String>,
    files: Vec<StoredFile>,
    damaged: usize,
    failed: usize,
}

impl DamagedStore {
    fn data(&self) -> PathBuf {
        let folder = self.folder.as_ref().map(TempDir::path);
        folder.unwrap_or(Path::new("")).join("data")
    }

    /// Chooses a byte in a file of the log, or in another file.
    fn choose_byte(&self, is_log: bool, random: u64) -> (PathBuf, usize) {
        let has_kind = |file: &&StoredFile| {
            file.0.extension().is_some_and(|name| name == "log") == is_log && !file.1.is_empty()
        };
        let chosen: Vec<&StoredFile> = self.files.iter().filter(has_kind).collect();
        let (path, bytes) = chosen[(random >> 50) as usize % chosen.len()];
        let at = 16 + (random >> 17) as usize % (bytes.len() - 16).max(1);
        (path.clone(), at)
    }

    /// Writes all files as they were before the damage.
    fn restore(&self) -> Result<(), Error> {
        let data = self.data();
        if data.exists() {
            fs::remove_dir_all(&data)?;
        }
        for (path, bytes) in &self.files {
            let path = data.join(path);
            fs::create_dir_all(path.parent().ok_or("a file has no folder")?)?;
            fs::write(path, bytes)?;
        }
        Ok(())
    }

    /// Starts the program on the damaged store. Returns how many of the listed tasks cannot be read, or `None` if the
    /// program does not start.
    async fn restart(
        &mut self,
        harness: &mut Harness,
        damage: &str,
    ) -> Result<Option<usize>, Error> {
        let folder = self.folder.take().ok_or("there is no folder")?;
        let program = match Program::restart(folder, &[]) {
            Ok(program) => program,
            Err(error) => {
                self.failed += 1;
                harness.check(false, format_args!("the program starts with {damage}: {error}"));
                self.folder = Some(tempfile::tempdir()?);
                return Ok(None);
            }
        };
        let lost = unreadable(&self.client, &program, &self.ids).await?;
        self.damaged += lost.len();
        let background = BackgroundClients::new(&program);
        let (_, mut latencies) = background.run_during(sleep(Duration::from_millis(50))).await;
        if latencies.times.is_empty() && latencies.failed == 0 {
            // A busy machine may need longer for one answer.
            (_, latencies) = background.run_during(sleep(LIMIT)).await;
        }
        harness.check(
            !latencies.times.is_empty() && latencies.failed == 0,
            format_args!("other clients are served with {damage}"),
        );
        list_tasks(&self.client, &program).await?;
        let folder = program.kill()?;
        if let [one] = &lost[..] {
            let report = Program::check_store(folder.path())?;
            harness.check(
                report.contains(one.as_str()),
                format_args!("`store check` lists task {one} with {damage}: {report}"),
            );
        }
        self.folder = Some(folder);
        Ok(Some(lost.len()))
    }
}

/// Returns the ids of the newest tasks.
async fn list_tasks(client: &reqwest::Client, program: &Program) -> Result<Vec<String>, Error> {
    let url = format!("{}/a2a", program.url());
    let params = json!({"pageSize": 100});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": params});
    let page = post_rpc(client, &url, &request).await?;
    let tasks = page["result"]["tasks"].as_array().ok_or("the list has no tasks")?;
    let id = |task: &Value| task["id"].as_str().map(str::to_owned);
    Ok(tasks.iter().filter_map(id).collect())
}

/// Returns those of the given ids whose task cannot be read.
async fn unreadable(
    client: &reqwest::Client,
    program: &Program,
    ids: &[String],
) -> Result<Vec<String>, Error> {
    let url = format!("{}/a2a", program.url());
    let mut unreadable = Vec::new();
    for id in ids {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": id}});
        if post_rpc(client, &url, &request).await?["result"]["id"] != **id {
            unreadable.push(id.clone());
        }
    }
    Ok(unreadable)
}

fn read_files(folder: &Path) -> Result<Vec<StoredFile>, Error> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        match entry?.path() {
            path if path.is_dir() => files.extend(self::read_files(&path)?),
            path if path.is_file() => files.push((path.clone(), fs::read(path)?)),
            // The operator's socket is neither.
            _ => {}
        }
    }
    files.sort();
    Ok(files)
}
