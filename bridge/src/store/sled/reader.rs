//! Reading from index and log. Nothing here waits but for the disk.

use std::{collections::BTreeMap, fs::File, sync::Arc};

use bridge_protocol::a2a::TaskState;

use super::{
    codec::{self, Appended, Card, read_place},
    heads::{Heads, Tip},
    keys::{self, Key},
    log::{Log, Place},
    mend::Current,
    quarantine::Quarantine,
};
use crate::{
    caller::Caller,
    store::{Head, Seq, StoreError, Stored},
};

/// Every append whose number is a multiple of this is found by its number in the index; the others by
/// going back from one to the one before it.
pub(super) const STRIDE: u32 = 32;

/// All that is durable.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    pub(super) index: Current,
    pub(super) log: Arc<Log>,
    pub(super) heads: Arc<Heads>,
    pub(super) quarantine: Arc<Quarantine>,
    /// Nobody else opens the folder while anybody reads: the last of all that is let go.
    pub(super) _lock: Arc<File>,
}

/// Events of a task, and about how many bytes they take in memory.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) events: Vec<Stored>,
    pub(super) bytes: usize,
}

/// A task that the index knows.
#[derive(Debug)]
pub(super) enum Found {
    /// Its newest append.
    Whole(Tip),
    /// Its newest append cannot be read.
    Damaged { owner: Caller, reason: String },
}

impl Reader {
    /// The task's newest append, whoever owns it.
    pub(super) fn find(&self, task: &str) -> Result<Option<Found>, StoreError> {
        if let Some(found) = self.find_in_memory(task) {
            return Ok(Some(found));
        }
        let Some(card) = self.index.now().get(&keys::head(task))? else {
            return Ok(None);
        };
        let Card { place, owner, .. } = Card::read(&card)?;
        match self.tip_at(place, task) {
            Ok(tip) => Ok(Some(Found::Whole(tip))),
            Err(error @ StoreError::Corrupt { .. }) => Ok(Some(self.damaged(task, owner, &error))),
            Err(error) => Err(error),
        }
    }

    /// What lists must know of the task, whether it is damaged or not.
    pub(super) fn card(&self, task: &str) -> Result<Option<Card>, StoreError> {
        if let Some(tip) = self.tip_in_memory(task) {
            return Ok(Some(Card::of(&tip)));
        }
        let card = self.index.now().get(&keys::head(task))?;
        card.map(|card| Card::read(&card)).transpose()
    }

    fn tip_in_memory(&self, task: &str) -> Option<Tip> {
        self.heads.get(task).or_else(|| self.index.now().tip(task))
    }

    /// The same if the disk need not be asked.
    pub(super) fn find_in_memory(&self, task: &str) -> Option<Found> {
        let tip = self.tip_in_memory(task)?;
        if !tip.is_broken {
            return Some(Found::Whole(tip));
        }
        let lost = StoreError::corrupt("its newest append", "it is lost");
        Some(self.damaged(task, tip.head.owner.clone(), &lost))
    }

    /// The newest append that is known of the task, whether a later one is lost or not.
    pub(super) fn last_tip(&self, task: &str) -> Result<Option<Tip>, StoreError> {
        if let Some(tip) = self.tip_in_memory(task) {
            return Ok(Some(tip));
        }
        Ok(match self.find(task)? {
            Some(Found::Whole(tip)) => Some(tip),
            Some(Found::Damaged { .. }) | None => None,
        })
    }

    fn tip_at(&self, place: Place, task: &str) -> Result<Tip, StoreError> {
        let record = self.log.read(place)?;
        let append = Appended::open(&record)?;
        let head = append.head()?;
        if head.task != task {
            return Err(StoreError::corrupt(
                "a record of the log",
                "it is of another task",
            ));
        }
        Ok(Tip {
            head: Arc::new(head),
            place,
            number: append.number,
            is_broken: false,
        })
    }

    fn damaged(&self, task: &str, owner: Caller, error: &StoreError) -> Found {
        let reason = error.to_string();
        self.quarantine.add(task, &reason);
        Found::Damaged { owner, reason }
    }

    /// At most `limit` events after `after`. A task of which not all can be read is damaged from then on.
    pub(super) fn events(&self, tip: &Tip, after: Seq, limit: usize) -> Result<Part, StoreError> {
        match self.read_events(tip, after, limit) {
            Err(error @ StoreError::Corrupt { .. }) => {
                let (task, reason) = (tip.head.task.clone(), error.to_string());
                self.quarantine.add(&task, &reason);
                Err(StoreError::Damaged { task, reason })
            }
            read => read,
        }
    }

    fn read_events(&self, tip: &Tip, after: Seq, limit: usize) -> Result<Part, StoreError> {
        let wanted = after.saturating_add(limit as Seq).min(tip.head.seq);
        let mut appends = Vec::new();
        let mut part = Part::default();
        let mut next = (wanted > after)
            .then(|| self.from(tip, wanted))
            .transpose()?;
        let mut covered = None;
        while let Some(place) = next {
            let record = self.log.read(place)?;
            let append = Appended::open(&record)?;
            // What the disk lost in the middle of a log must not go unnoticed.
            let is_gap = covered.is_some_and(|covered| append.last + 1 != covered);
            if is_gap || (append.first() > 1 && append.previous.is_none()) {
                return Err(missing(&tip.head, append.first()));
            }
            if append.first() <= wanted {
                part.bytes += record.len() + append.weight();
                appends.push(append.events()?);
            }
            covered = Some(append.first());
            next = append.previous.filter(|_| append.first() > after + 1);
        }
        let events = appends.into_iter().rev().flatten();
        let events = events.filter(|stored| stored.seq > after);
        part.events = events.take(limit).collect();
        Ok(part)
    }

    /// Where to begin to go back from in order to find event `wanted`.
    fn from(&self, tip: &Tip, wanted: Seq) -> Result<Place, StoreError> {
        if tip.number < STRIDE || wanted == tip.head.seq {
            return Ok(tip.place);
        }
        let prefix = keys::appends(&tip.head.task);
        let before = keys::append(&tip.head.task, wanted - 1);
        match self
            .index
            .now()
            .scan(prefix, Some(before))
            .next()
            .transpose()?
        {
            Some((_, place)) => read_place(&place, "an append of a task"),
            None => Ok(tip.place),
        }
    }

    /// Heads of open tasks, whoever owns them. A task that ends meanwhile is shown as ended, one that is damaged is
    /// left out.
    pub(super) fn open_tasks(&self, after: &str, limit: usize) -> Result<Vec<Head>, StoreError> {
        let open = self
            .index
            .now()
            .scan(keys::OPEN.into(), Some(keys::open(after)));
        let mut heads = Vec::new();
        for entry in open {
            if heads.len() == limit {
                break;
            }
            let (key, _) = entry?;
            let task = codec::read_text(&key[keys::OPEN.len()..], "the key of an open task")?;
            if let Some(Found::Whole(tip)) = self.find(&task)? {
                heads.push(Arc::unwrap_or_clone(tip.head));
            }
        }
        Ok(heads)
    }

    /// The same of tasks with turns that have not ended.
    pub(super) fn open_turns(
        &self,
        mut after: String,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        let mut heads = Vec::new();
        while heads.len() < limit {
            let tasks = self.index.now().turns(&after, limit - heads.len());
            let Some(last) = tasks.last() else { break };
            after.clone_from(last);
            for task in &tasks {
                if let Some(Found::Whole(tip)) = self.find(task)? {
                    heads.push(Arc::unwrap_or_clone(tip.head));
                }
            }
        }
        Ok(heads)
    }

    /// How many tasks of each agent are not in a terminal state.
    pub(super) fn open_counts(&self) -> Result<BTreeMap<String, usize>, StoreError> {
        let (index, mut open) = (self.index.now(), BTreeMap::new());
        for key in index.counted()? {
            let (_, agent) = keys::counted(&key)
                .ok_or_else(|| StoreError::corrupt("the index", "a key of counts is broken"))?;
            let counts = index.counts(&key)?;
            let counts = counts
                .iter()
                .filter(|(state, _)| !TaskState::from(state.as_str()).is_terminal());
            let count: i64 = counts.map(|(_, count)| count).sum();
            *open.entry(agent).or_default() += usize::try_from(count).unwrap_or_default();
        }
        Ok(open)
    }

    /// The records whose keys begin with `prefix`, by the rest of their keys. One that is damaged is left out, and
    /// costs none of the others.
    pub(super) fn records(&self, prefix: &Key) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let mut records = Vec::new();
        for entry in self.index.now().scan(prefix.clone(), None) {
            let (key, place) = entry?;
            let id = codec::read_text(&key[prefix.len()..], "the key of a record")?;
            match self.value(&place) {
                Ok(value) => records.push((id, value)),
                Err(error @ StoreError::Corrupt { .. }) => {
                    tracing::error!(%error, "a small record is left out, since it is damaged");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(records)
    }

    /// The value of a small record at a place, as the index has it.
    pub(super) fn value(&self, place: &[u8]) -> Result<Vec<u8>, StoreError> {
        let record = self.log.read(read_place(place, "a small record")?)?;
        codec::small_value(&record)
    }
}

fn missing(head: &Head, seq: Seq) -> StoreError {
    let reason = format!("the events before {seq} are missing");
    StoreError::corrupt(format!("task {}", head.task), &reason)
}
