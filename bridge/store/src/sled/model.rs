//! Compares a store on disk with a store in memory: the same operations must have the same results.

use std::sync::Arc;

use bridge_protocol::a2a::{TaskState, TaskStatus};

use super::{test_rng::TestRng, *};
use crate::{Event, MemoryStore, testing::Sample};

const AGENT: &str = "sample";
const STATES: [TaskState; 4] =
    [TaskState::Working, TaskState::InputRequired, TaskState::Completed, TaskState::Failed];

struct Pair {
    folder: tempfile::TempDir,
    disk: Option<SledStore>,
    memory: MemoryStore,
    tasks: usize,
}

impl Pair {
    fn new() -> Self {
        let mut pair = Self {
            folder: tempfile::tempdir().unwrap(),
            disk: None,
            memory: MemoryStore::new(),
            tasks: 0,
        };
        pair.reopen();
        pair
    }

    fn reopen(&mut self) {
        drop(self.disk.take());
        let settings = SledSettings::in_folder(self.folder.path());
        self.disk = Some(SledStore::open(&settings).unwrap());
    }

    fn stores(&self) -> [&dyn Store; 2] {
        [self.disk.as_ref().unwrap(), &self.memory]
    }

    fn sample(number: usize) -> Sample {
        let sample = Sample::new(format!("t{number:03}"));
        let sample = sample.within(["x", "y"][number % 2]);
        let caller = Caller::new(["alice", "bob", ""][number % 3]);
        sample.of(caller)
    }

    /// Creates a task, or changes an existing one if possible.
    async fn change(&mut self, rng: &mut TestRng, millis: i64) {
        if self.tasks == 0 || rng.below(3) == 0 {
            for store in self.stores() {
                Self::sample(self.tasks).create(store, millis).await;
            }
            self.tasks += 1;
            return;
        }
        let sample = Self::sample(rng.below(self.tasks));
        let Ok(head) = self.memory.head(&sample.caller, &sample.task).await else {
            return;
        };
        if rng.below(5) == 0 {
            let deletion = [Deletion::Ended, Deletion::Forced][rng.below(2)];
            let [disk, memory] = self.stores();
            let one = disk.delete(&sample.caller, &sample.task, deletion).await;
            let other = memory.delete(&sample.caller, &sample.task, deletion).await;
            assert_eq!(one.map_err(shown), other.map_err(shown));
            return;
        }
        let event = match rng.below(3) {
            0 => Event::TurnEnded { turn: 1 },
            _ => Event::Status {
                status: TaskStatus::new(STATES[rng.below(STATES.len())].clone()),
                metadata: None,
            },
        };
        let append = sample.append(head.seq, millis, vec![event]);
        let [disk, memory] = self.stores();
        let one = disk.append(&sample.caller, append.clone()).await;
        let other = memory.append(&sample.caller, append).await;
        assert_eq!(one.map_err(shown), other.map_err(shown));
    }

    async fn compare(&self, rng: &mut TestRng) {
        let [disk, memory] = self.stores();
        let open = (disk.open_turns("", 99).await, memory.open_turns("", 99).await);
        assert_eq!(open.0.unwrap(), open.1.unwrap());
        let (until, limit) = (jiff::Timestamp::from_millisecond(30), 1 + rng.below(99));
        let until = until.unwrap();
        let waiting = (
            disk.idle_tasks(Idle::Waiting, AGENT, None, until, limit).await,
            memory.idle_tasks(Idle::Waiting, AGENT, None, until, limit).await,
        );
        assert_eq!(waiting.0.unwrap(), waiting.1.unwrap());
        let ended = (
            disk.idle_tasks(Idle::Ended, AGENT, None, until, limit).await,
            memory.idle_tasks(Idle::Ended, AGENT, None, until, limit).await,
        );
        assert_eq!(ended.0.unwrap(), ended.1.unwrap());
        let number = async |store: &dyn Store| {
            let counts = store.counts().await.unwrap().into_iter();
            let numbers = counts.map(|(agent, count)| (agent, count.open, count.ended.tasks));
            numbers.collect::<Vec<_>>()
        };
        assert_eq!(number(disk).await, number(memory).await);
        for caller in ["alice", "bob", "", "nobody"].map(Caller::new) {
            let query = ListQuery {
                context_id: [None, None, Some("x".to_owned())][rng.below(3)].clone(),
                state: [None, Some(STATES[rng.below(STATES.len())].clone())][rng.below(2)].clone(),
                page_size: 1 + rng.below(20),
                ..ListQuery::of(AGENT)
            };
            assert_eq!(all(disk, &caller, &query).await, all(memory, &caller, &query).await);
        }
        for number in 0..self.tasks {
            let Sample { caller, task, .. } = &Self::sample(number);
            let one = (disk.task(caller, task).await, memory.task(caller, task).await);
            let exists = one.1.is_ok();
            assert_eq!(one.0.map_err(shown), one.1.map_err(shown));
            let id = format!("{task}-1");
            let found = disk.find_message(caller, AGENT, &id).await.unwrap();
            assert_eq!(found, exists.then(|| (task.clone(), 2)));
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to map_err")]
fn shown(error: StoreError) -> String {
    error.to_string()
}

/// Returns the tasks on all pages, and the total on each page.
async fn all(store: &dyn Store, caller: &Caller, query: &ListQuery) -> Vec<(usize, Vec<Arc<str>>)> {
    let (mut query, mut pages) = (query.clone(), Vec::new());
    loop {
        let page = store.list(caller, &query).await.unwrap();
        let tasks = page.tasks.iter().map(|one| one.task.id.as_str().into());
        pages.push((page.total, tasks.collect()));
        if page.next.is_empty() {
            return pages;
        }
        query.page_token = page.next;
    }
}

#[tokio::test]
async fn a_store_on_disk_has_the_same_results_as_one_in_memory() {
    for seed in 1..=3 {
        let (mut pair, mut rng) = (Pair::new(), TestRng(seed));
        for step in 1..=160 {
            pair.change(&mut rng, step / 4).await;
            match rng.below(40) {
                0 => pair.reopen(),
                1..=4 => pair.compare(&mut rng).await,
                _ => {}
            }
        }
        pair.reopen();
        pair.compare(&mut rng).await;
    }
}
