//! Records the changes of a store, and checks its content when it is opened again.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt::{self, Debug},
};

use super::*;
use crate::{StoredEvent, sled::test_rng::TestRng, testing::status};

const RECORDS: usize = 4;
/// The lengths of texts. There are few, so that records often overwrite torn records exactly.
const LENGTHS: [usize; 6] = [8, 8, 8, 300, 3_000, 9_000];

/// A violation of the store's guarantees.
#[derive(Debug)]
#[expect(dead_code, reason = "it is shown to those whose test fails")]
pub(super) enum Violation {
    /// An acknowledged change is missing or different.
    Lost { what: String, found: String },
    /// The store has a refused, partial or unknown change.
    Appeared { what: String, found: String },
    /// The store reports damage that does not exist.
    Damaged(String),
    /// Another result is wrong.
    Wrong(String),
}

/// The counts of all operations.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) disks: usize,
    pub(super) starts: usize,
    pub(super) flips: usize,
    /// The number of compactions that removed segments.
    pub(super) removed: usize,
    pub(super) deleted: usize,
    pub(super) acknowledged: usize,
    pub(super) refused: usize,
    /// The number of changes whose outcome was unknown.
    pub(super) open: usize,
    pub(super) open_and_kept: usize,
}

impl Count {
    pub(super) fn add(&mut self, other: &Self) {
        self.disks += other.disks;
        self.starts += other.starts;
        self.flips += other.flips;
        self.removed += other.removed;
        self.deleted += other.deleted;
        self.acknowledged += other.acknowledged;
        self.refused += other.refused;
        self.open += other.open;
        self.open_and_kept += other.open_and_kept;
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            disks,
            starts,
            flips,
            removed,
            deleted,
            acknowledged,
            refused,
            open,
            open_and_kept,
        } = self;
        write!(
            f,
            "{disks} disks, {starts} starts, {flips} bits changed, {removed} segments removed: {acknowledged} acknowledged ({deleted} deletions), {refused} refused, {open} \
             neither, of which {open_and_kept} were kept"
        )
    }
}

/// The changes of a task (its events) or of a small record (its values).
#[derive(Debug)]
struct History<T> {
    /// The changes that were acknowledged or found later.
    kept: Vec<T>,
    /// The changes of unknown outcome after those. Each is kept or lost as a whole, and none is kept without those before it.
    pending: VecDeque<Vec<T>>,
    /// Whether a bit of its data was flipped, so that it is not checked any more.
    is_damaged: bool,
    /// The deletion, which comes after all other changes.
    deletion: Option<Deleted>,
}

/// The state of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deleted {
    Unknown,
    Done,
}

impl<T> Default for History<T> {
    fn default() -> Self {
        Self { kept: Vec::new(), pending: VecDeque::new(), is_damaged: false, deletion: None }
    }
}

impl<T> History<T> {
    /// Returns whether it must exist.
    fn exists(&self) -> bool {
        !self.kept.is_empty() && self.deletion.is_none()
    }
}

impl<T: Clone + Debug + PartialEq> History<T> {
    fn len(&self) -> usize {
        self.kept.len() + self.pending.iter().map(Vec::len).sum::<usize>()
    }

    /// Records that the first change of unknown outcome was acknowledged or refused.
    fn settle(&mut self, is_kept: bool) {
        let first = self.pending.pop_front().unwrap_or_default();
        if is_kept {
            self.kept.extend(first);
        }
    }

    /// Compares it with the content of the store, which must be kept from now on.
    fn check(&mut self, what: &str, found: Vec<T>, count: &mut Count) -> Result<(), Violation> {
        let (mut expected, mut kept) = (self.kept.clone(), 0);
        let mut is_whole = expected.len() == found.len();
        for next in &self.pending {
            if expected.len() < found.len() {
                expected.extend(next.iter().cloned());
                kept += 1;
            }
            is_whole |= expected.len() == found.len();
        }
        let what = format!("{} of {what}", self.kept.len());
        let shown = format!("{} events", found.len());
        if !found.starts_with(&self.kept) {
            return Err(Violation::Lost { what, found: shown });
        }
        if !is_whole || expected != found {
            return Err(Violation::Appeared { what, found: shown });
        }
        count.open_and_kept += kept;
        self.kept = found;
        self.pending.clear();
        Ok(())
    }
}

/// The expected content of a store.
#[derive(Debug, Default)]
pub(super) struct Model {
    tasks: Vec<History<StoredEvent>>,
    /// The values of each record, of which the last one is valid.
    records: [History<Option<Vec<u8>>>; RECORDS],
    counter: usize,
    pub(super) is_damaged: bool,
    /// Whether a bit was flipped whose task or record is not known yet. The damage to a deletion is only found without an
    /// index.
    pub(super) has_unknown_damage: bool,
}

/// An operation.
#[derive(Clone, Debug)]
pub(super) enum Job {
    Append(usize, Append),
    Delete(usize),
    Record(usize, Option<Vec<u8>>),
}

/// Returns a sample. Like those of real tasks, the ids differ in more than one bit.
fn sample(task: usize) -> Sample {
    let caller = crate::caller::Caller::new(["alice", "bob", ""][task % 3]);
    Sample::new(format!("task-{:06}", task * 387_421 % 1_000_000)).of(caller)
}

fn owner() -> crate::caller::Caller {
    Sample::new("").caller
}

impl Model {
    /// Chooses the next operation.
    pub(super) fn choose(&mut self, rng: &mut TestRng) -> Job {
        self.counter += 1;
        let text = self.text(rng);
        if rng.below(4) == 0 {
            let record = rng.below(RECORDS);
            let value = (rng.below(3) > 0).then(|| text.into_bytes());
            self.records[record].pending.push_back(vec![value.clone()]);
            return Job::Record(record, value);
        }
        let is_new = self.tasks.is_empty() || rng.below(3) == 0;
        let number = match is_new {
            true => self.tasks.len(),
            false => self.tasks.len() - 1 - rng.below(self.tasks.len().min(8)),
        };
        if is_new {
            self.tasks.push(History::default());
        }
        let can_be_deleted =
            |task: &History<StoredEvent>| task.deletion.is_none() && task.len() > 0;
        if !is_new && rng.below(6) == 0 && can_be_deleted(&self.tasks[number]) {
            self.tasks[number].deletion = Some(Deleted::Unknown);
            return Job::Delete(number);
        }
        if self.tasks[number].deletion.is_some() {
            return self.choose(rng);
        }
        let (sample, task) = (sample(number), &mut self.tasks[number]);
        let mut events = vec![status(TaskState::Working, &text)];
        match task.len() {
            0 => events.insert(0, sample.created()),
            _ if rng.below(3) == 0 => events.push(status(TaskState::InputRequired, "well?")),
            _ => {}
        }
        let append = sample.append(task.len() as Seq, self.counter as i64, events);
        let append = append.checked().unwrap();
        task.pending.push_back(append.clone().into_stored().collect());
        Job::Append(number, append)
    }

    fn text(&self, rng: &mut TestRng) -> String {
        let length = LENGTHS[rng.below(LENGTHS.len())];
        format!("{:08}{}", self.counter, "x".repeat(length))
    }

    /// Records the outcome of an operation.
    pub(super) fn settle(
        &mut self,
        job: &Job,
        outcome: Result<(), StoreError>,
        count: &mut Count,
    ) -> Result<(), Violation> {
        let is_damaged = match job {
            Job::Append(task, _) | Job::Delete(task) => self.tasks[*task].is_damaged,
            Job::Record(record, _) => self.records[*record].is_damaged,
        };
        let is_kept = match outcome {
            Ok(()) => true,
            Err(StoreError::Full { .. } | StoreError::Unavailable { .. }) => false,
            // The creation of the task was refused, or its outcome is unknown.
            Err(StoreError::NotFound { .. }) if matches!(job, Job::Delete(_)) => false,
            Err(StoreError::Closed) => {
                count.open += 1;
                return Ok(());
            }
            Err(_) if is_damaged => false,
            Err(StoreError::Conflict { .. } | StoreError::NotFound { .. })
                if self.builds_on_refused(job) =>
            {
                false
            }
            Err(error) => return Err(Violation::Wrong(format!("{error:?}"))),
        };
        match is_kept {
            true => count.acknowledged += 1,
            false => count.refused += 1,
        }
        match job {
            Job::Append(task, _) => self.tasks[*task].settle(is_kept),
            Job::Delete(task) => {
                self.tasks[*task].deletion = is_kept.then_some(Deleted::Done);
                count.deleted += usize::from(is_kept);
            }
            Job::Record(record, _) => self.records[*record].settle(is_kept),
        }
        Ok(())
    }

    /// Returns whether an append follows refused events: on a full disk, concurrent writes can be in several batches, of
    /// which the first is refused and the next is not.
    fn builds_on_refused(&self, job: &Job) -> bool {
        match job {
            Job::Append(task, append) => append.expected > self.tasks[*task].kept.len() as Seq,
            Job::Delete(_) | Job::Record(..) => false,
        }
    }

    /// Checks the whole content of a store. After a bit was flipped, one task or record may differ if the damage is
    /// reported.
    pub(super) async fn check(
        &mut self,
        store: &SledStore,
        count: &mut Count,
    ) -> Result<(), Violation> {
        let has_unknown_damage = &mut self.has_unknown_damage;
        let mut excuse = |is_damaged: &mut bool, outcome: Result<(), Violation>| match outcome {
            Err(_) if *is_damaged => Ok(()),
            Err(_) if *has_unknown_damage && is_damage_reported(store) => {
                (*is_damaged, *has_unknown_damage) = (true, false);
                Ok(())
            }
            outcome => outcome,
        };
        for number in 0..self.tasks.len() {
            let task = &mut self.tasks[number];
            let outcome = check_task(store, number, task, count).await;
            excuse(&mut task.is_damaged, outcome)?;
        }
        let records = store.records(&owner(), "k", "s").await;
        let records = records.map_err(|error| Violation::Wrong(format!("{error:?}")))?;
        let records: BTreeMap<String, Vec<u8>> = records.into_iter().collect();
        for (number, record) in self.records.iter_mut().enumerate() {
            let found = records.get(&number.to_string()).cloned();
            let outcome = check_record(number, record, found, count);
            excuse(&mut record.is_damaged, outcome)?;
        }
        if self.is_damaged { Ok(()) } else { self.check_lists(store).await }
    }

    /// Checks the lists and counts.
    async fn check_lists(&self, store: &SledStore) -> Result<(), Violation> {
        let damage = store.damage();
        if damage != Damage::default() {
            return Err(Violation::Damaged(format!("{damage:?}")));
        }
        let wrong = |error: StoreError| Violation::Wrong(format!("{error:?}"));
        let counts = store.counts().await.map_err(wrong)?;
        let there = self.tasks.iter().filter(|task| task.exists());
        let (there, counted) =
            (there.count(), counts.values().map(|counts| counts.open).sum::<usize>());
        if there != counted {
            let what = format!("{counted} tasks are counted, {there} are there");
            return Err(Violation::Wrong(what));
        }
        let mut query = ListQuery::of("sample");
        query.page_size = 1_000;
        let page = store.list(&owner(), &query).await.map_err(wrong)?;
        let listed: Vec<&str> = page.tasks.iter().map(|one| one.task.id.as_str()).collect();
        let ours = (0..self.tasks.len()).step_by(3);
        let ours = ours.filter(|number| self.tasks[*number].exists());
        let ours: Vec<String> = ours.map(|number| sample(number).task).collect();
        if let Some(id) = ours.iter().find(|id| !listed.contains(&id.as_str())) {
            return Err(Violation::Wrong(format!("{id} is in no list")));
        }
        if listed.len() != ours.len() || page.total != ours.len() {
            let what = format!("{} are listed, {} are there", listed.len(), ours.len());
            return Err(Violation::Wrong(what));
        }
        Ok(())
    }
}

/// Returns whether damage is reported.
fn is_damage_reported(store: &SledStore) -> bool {
    let report = store.check().unwrap();
    !report.damaged.is_empty() || !report.lost.is_empty() || report.records > 0
}

async fn check_task(
    store: &SledStore,
    number: usize,
    task: &mut History<StoredEvent>,
    count: &mut Count,
) -> Result<(), Violation> {
    let Sample { caller, task: id, .. } = sample(number);
    let found = match store.read(&caller, &id, 0, 100_000).await {
        Ok(found) => found,
        Err(StoreError::NotFound { .. }) => Vec::new(),
        Err(error @ StoreError::Damaged { .. }) => {
            return Err(Violation::Damaged(error.to_string()));
        }
        Err(error) => return Err(Violation::Wrong(format!("{error:?}"))),
    };
    let numbers = found.iter().map(|stored| stored.seq);
    if !numbers.eq(1..=found.len() as Seq) {
        return Err(Violation::Wrong(format!("{id} has a gap")));
    }
    let seq = store.head(&caller, &id).await.map_or(0, |head| head.seq);
    if seq != found.len() as Seq {
        return Err(Violation::Wrong(format!(
            "the head of {id} is at {seq}, its events are {}",
            found.len()
        )));
    }
    match task.deletion {
        Some(Deleted::Unknown) if found.is_empty() => {
            count.open_and_kept += 1;
            task.deletion = Some(Deleted::Done);
            Ok(())
        }
        Some(Deleted::Done) if found.is_empty() => Ok(()),
        // The deletion was lost.
        Some(Deleted::Done) => Err(Violation::Lost {
            what: format!("the deletion of {id}"),
            found: format!("{} events", found.len()),
        }),
        Some(Deleted::Unknown) | None => {
            task.deletion = None;
            task.check(&id, found, count)
        }
    }
}

fn check_record(
    number: usize,
    record: &mut History<Option<Vec<u8>>>,
    found: Option<Vec<u8>>,
    count: &mut Count,
) -> Result<(), Violation> {
    let last = record.kept.last().cloned().unwrap_or_default();
    let kept = match found == last {
        true => 0,
        false => {
            let place = record.pending.iter().rposition(|value| value[0] == found);
            place.map_or(0, |place| place + 1)
        }
    };
    let mut there = record.kept.clone();
    there.extend(record.pending.iter().take(kept).flatten().cloned());
    if there.last().cloned().unwrap_or_default() != found {
        let what = format!("the value of record {number}");
        let found = found
            .map_or("nothing".into(), |found| String::from_utf8_lossy(&found[..8]).into_owned());
        return Err(Violation::Lost { what, found });
    }
    record.check(&format!("record {number}"), there, count)
}

impl Job {
    pub(super) async fn run(&self, store: &SledStore) -> Result<(), StoreError> {
        match self {
            Self::Append(task, append) => {
                let caller = sample(*task).caller;
                store.append(&caller, append.clone()).await.map(drop)
            }
            Self::Delete(task) => {
                let Sample { caller, task, .. } = sample(*task);
                store.delete(&caller, &task, Deletion::Forced).await
            }
            Self::Record(record, value) => {
                let key = record_key(&record.to_string());
                match value {
                    Some(value) => store.put_record(&owner(), &key, value.clone()).await,
                    None => store.delete_record(&owner(), &key).await.map(drop),
                }
            }
        }
    }
}
