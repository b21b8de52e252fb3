//! What was done to a store, and what must be there when it is opened again.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt::{self, Debug},
};

use super::*;
use crate::{StoredEvent, sled::lots::Lots, testing::status};

const RECORDS: usize = 4;
/// Texts have one of few lengths, so that what is written takes the exact place of what was torn.
const LENGTHS: [usize; 6] = [8, 8, 8, 300, 3_000, 9_000];

/// What a store did that it must not do.
#[derive(Debug)]
#[expect(dead_code, reason = "it is shown to those whose test fails")]
pub(super) enum Violation {
    /// What was acknowledged is not there, or not as it was.
    Lost { what: String, found: String },
    /// What was refused, or half of something, or nothing that ever was said is there.
    Appeared { what: String, found: String },
    /// It says that something is damaged that cannot be.
    Damaged(String),
    /// Something else is not as it must be.
    Wrong(String),
}

/// What was done in all.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) disks: usize,
    pub(super) starts: usize,
    pub(super) flips: usize,
    /// Segments that were emptied and removed.
    pub(super) removed: usize,
    pub(super) deleted: usize,
    pub(super) acknowledged: usize,
    pub(super) refused: usize,
    /// Nobody was told whether it was kept.
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

/// Something that changes in steps: a task by its appends, a small record by its values.
#[derive(Debug)]
struct History<T> {
    /// What was acknowledged, or seen since.
    kept: Vec<T>,
    /// What was begun after that, each of it kept wholly or not at all, and none without those before it.
    begun: VecDeque<Vec<T>>,
    /// A bit of it was changed: then nothing more is said of it.
    is_hit: bool,
    /// It was begun to be deleted, after all else, or that was acknowledged or seen.
    deletion: Option<IsDeleted>,
}

/// How far a deletion went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IsDeleted {
    Perhaps,
    Yes,
}

impl<T> Default for History<T> {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            begun: VecDeque::new(),
            is_hit: false,
            deletion: None,
        }
    }
}

impl<T> History<T> {
    /// Whether it must be there.
    fn is_there(&self) -> bool {
        !self.kept.is_empty() && self.deletion.is_none()
    }
}

impl<T: Clone + Debug + PartialEq> History<T> {
    fn len(&self) -> usize {
        self.kept.len() + self.begun.iter().map(Vec::len).sum::<usize>()
    }

    /// The first that was begun was acknowledged, or refused.
    fn settle(&mut self, is_kept: bool) {
        let first = self.begun.pop_front().unwrap_or_default();
        if is_kept {
            self.kept.extend(first);
        }
    }

    /// Compares it with what is there, which from now on must stay.
    fn check(&mut self, what: &str, found: Vec<T>, count: &mut Count) -> Result<(), Violation> {
        let (mut expected, mut kept) = (self.kept.clone(), 0);
        let mut is_whole = expected.len() == found.len();
        for next in &self.begun {
            if expected.len() < found.len() {
                expected.extend(next.iter().cloned());
                kept += 1;
            }
            is_whole |= expected.len() == found.len();
        }
        let shown = || format!("{} events", found.len());
        if !found.starts_with(&self.kept) {
            let what = format!("{} of {what}", self.kept.len());
            return Err(Violation::Lost {
                what,
                found: shown(),
            });
        }
        if !is_whole || expected != found {
            let what = format!("{} of {what}", self.kept.len());
            return Err(Violation::Appeared {
                what,
                found: shown(),
            });
        }
        count.open_and_kept += kept;
        self.kept = found;
        self.begun.clear();
        Ok(())
    }
}

/// All that was done.
#[derive(Debug, Default)]
pub(super) struct Model {
    tasks: Vec<History<StoredEvent>>,
    /// The last value of each is what counts.
    records: [History<Option<Vec<u8>>>; RECORDS],
    said: usize,
    pub(super) is_hit: bool,
    /// A bit was changed, and it has not shown yet what is hit: of a deletion it shows when the index is lost.
    pub(super) may_be_hit: bool,
}

/// Something to do.
#[derive(Clone, Debug)]
pub(super) enum Job {
    Append(usize, Append),
    Delete(usize),
    Record(usize, Option<Vec<u8>>),
}

/// The ids are as different as those of real tasks: one changed bit does not make the id of another task.
fn sample(task: usize) -> Sample {
    let caller = crate::caller::Caller::new(["alice", "bob", ""][task % 3]);
    Sample::new(format!("task-{:06}", task * 387_421 % 1_000_000)).of(caller)
}

fn owner() -> crate::caller::Caller {
    Sample::new("").caller
}

impl Model {
    /// Something that can be done next.
    pub(super) fn draw(&mut self, lots: &mut Lots) -> Job {
        self.said += 1;
        let text = self.text(lots);
        if lots.below(4) == 0 {
            let record = lots.below(RECORDS);
            let value = (lots.below(3) > 0).then(|| text.into_bytes());
            self.records[record].begun.push_back(vec![value.clone()]);
            return Job::Record(record, value);
        }
        let is_new = self.tasks.is_empty() || lots.below(3) == 0;
        let number = match is_new {
            true => self.tasks.len(),
            false => self.tasks.len() - 1 - lots.below(self.tasks.len().min(8)),
        };
        if is_new {
            self.tasks.push(History::default());
        }
        let may_go = |task: &History<StoredEvent>| task.deletion.is_none() && task.len() > 0;
        if !is_new && lots.below(6) == 0 && may_go(&self.tasks[number]) {
            self.tasks[number].deletion = Some(IsDeleted::Perhaps);
            return Job::Delete(number);
        }
        if self.tasks[number].deletion.is_some() {
            return self.draw(lots);
        }
        let (sample, task) = (sample(number), &mut self.tasks[number]);
        let mut events = vec![status(TaskState::Working, &text)];
        match task.len() {
            0 => events.insert(0, sample.created()),
            _ if lots.below(3) == 0 => events.push(status(TaskState::InputRequired, "well?")),
            _ => {}
        }
        let append = sample.append(task.len() as Seq, self.said as i64, events);
        let append = append.checked().unwrap();
        task.begun.push_back(append.clone().into_stored().collect());
        Job::Append(number, append)
    }

    fn text(&self, lots: &mut Lots) -> String {
        let length = LENGTHS[lots.below(LENGTHS.len())];
        format!("{:08}{}", self.said, "x".repeat(length))
    }

    /// Takes note of what came of something.
    pub(super) fn settle(
        &mut self,
        job: &Job,
        outcome: Result<(), StoreError>,
        count: &mut Count,
    ) -> Result<(), Violation> {
        let is_hit = match job {
            Job::Append(task, _) | Job::Delete(task) => self.tasks[*task].is_hit,
            Job::Record(record, _) => self.records[*record].is_hit,
        };
        let is_kept = match outcome {
            Ok(()) => true,
            Err(StoreError::Full { .. }) => false,
            // What it would delete was refused or is not known to be there.
            Err(StoreError::NotFound { .. }) if matches!(job, Job::Delete(_)) => false,
            Err(StoreError::Closed) => {
                count.open += 1;
                return Ok(());
            }
            Err(_) if is_hit => false,
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
                self.tasks[*task].deletion = is_kept.then_some(IsDeleted::Yes);
                count.deleted += usize::from(is_kept);
            }
            Job::Record(record, _) => self.records[*record].settle(is_kept),
        }
        Ok(())
    }

    /// Whether an append follows events that were refused: when there is no room, the writes of one moment can be in
    /// several batches, of which the first is refused and the next is not. All before it are settled.
    fn builds_on_refused(&self, job: &Job) -> bool {
        match job {
            Job::Append(task, append) => append.expected > self.tasks[*task].kept.len() as Seq,
            Job::Delete(_) | Job::Record(..) => false,
        }
    }

    /// Compares all that there is with what must be there. After one bit was changed, one task or record may differ, if
    /// that was noticed.
    pub(super) async fn check(
        &mut self,
        store: &SledStore,
        count: &mut Count,
    ) -> Result<(), Violation> {
        let may_be_hit = &mut self.may_be_hit;
        let mut excuse = |is_hit: &mut bool, outcome: Result<(), Violation>| match outcome {
            Err(_) if *is_hit => Ok(()),
            Err(_) if *may_be_hit && is_noticed(store) => {
                (*is_hit, *may_be_hit) = (true, false);
                Ok(())
            }
            outcome => outcome,
        };
        for number in 0..self.tasks.len() {
            let task = &mut self.tasks[number];
            let outcome = check_task(store, number, task, count).await;
            excuse(&mut task.is_hit, outcome)?;
        }
        let records = store.records(&owner(), "k", "s").await;
        let records = records.map_err(|error| Violation::Wrong(format!("{error:?}")))?;
        let records: BTreeMap<String, Vec<u8>> = records.into_iter().collect();
        for (number, record) in self.records.iter_mut().enumerate() {
            let found = records.get(&number.to_string()).cloned();
            let outcome = check_record(number, record, found, count);
            excuse(&mut record.is_hit, outcome)?;
        }
        match self.is_hit {
            true => Ok(()),
            false => self.check_lists(store).await,
        }
    }

    /// What all tasks are together.
    async fn check_lists(&self, store: &SledStore) -> Result<(), Violation> {
        let damage = store.damage();
        if damage != Damage::default() {
            return Err(Violation::Damaged(format!("{damage:?}")));
        }
        let wrong = |error: StoreError| Violation::Wrong(format!("{error:?}"));
        let counts = store.open_counts().await.map_err(wrong)?;
        let there = self.tasks.iter().filter(|task| task.is_there());
        let (there, counted) = (there.count(), counts.values().sum::<usize>());
        if there != counted {
            let what = format!("{counted} tasks are counted, {there} are there");
            return Err(Violation::Wrong(what));
        }
        let mut query = ListQuery::of("sample");
        query.page_size = 1_000;
        let page = store.list(&owner(), &query).await.map_err(wrong)?;
        let listed: Vec<&str> = page.tasks.iter().map(|one| one.task.id.as_str()).collect();
        let ours = (0..self.tasks.len()).step_by(3);
        let ours = ours.filter(|number| self.tasks[*number].is_there());
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

/// Whether those who run it can learn that something is damaged.
fn is_noticed(store: &SledStore) -> bool {
    let report = store.check().unwrap();
    !report.damaged.is_empty() || !report.lost.is_empty() || report.records > 0
}

async fn check_task(
    store: &SledStore,
    number: usize,
    task: &mut History<StoredEvent>,
    count: &mut Count,
) -> Result<(), Violation> {
    let Sample {
        caller, task: id, ..
    } = sample(number);
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
        Some(IsDeleted::Perhaps) if found.is_empty() => {
            count.open_and_kept += 1;
            task.deletion = Some(IsDeleted::Yes);
            Ok(())
        }
        Some(IsDeleted::Yes) if found.is_empty() => Ok(()),
        // The deletion is what was lost.
        Some(IsDeleted::Yes) => Err(Violation::Lost {
            what: format!("the deletion of {id}"),
            found: format!("{} events", found.len()),
        }),
        Some(IsDeleted::Perhaps) | None => {
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
            let place = record.begun.iter().rposition(|value| value[0] == found);
            place.map_or(0, |place| place + 1)
        }
    };
    let mut there = record.kept.clone();
    there.extend(record.begun.iter().take(kept).flatten().cloned());
    if there.last().cloned().unwrap_or_default() != found {
        let what = format!("the value of record {number}");
        let found = found.map_or("nothing".into(), |found| {
            String::from_utf8_lossy(&found[..8]).into_owned()
        });
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
