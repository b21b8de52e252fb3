//! Writes `transcript.jsonl` during the run.
//!
//! Every entry is one `write(2)`, done before anything that follows from it can happen, so a runner that
//! crashes or is killed loses at most the line that it was writing. There is no fsync: it would protect
//! against power loss only, and cost more than the exchange that is recorded.
//!
//! Entries are kept in the file only. Bodies can be large and runs long, so memory holds just a counter;
//! [`Transcript::entries`] reads the file back. The exception are bodies in which something was masked:
//! expectations are checked against the original, so [`Transcript::said`] has those unmasked, up to 64 MiB.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde::Serialize;
use tokio::sync::watch;

use super::{Body, Content, Direction, Entry, Hop, TranscriptError, polls::PollAnswers, reader};

/// The most bytes of unmasked bodies that are kept, counted by their entries. Expectations beyond that are
/// checked against the masked form.
const SAID_LIMIT: usize = 64 * 1024 * 1024;

/// The memory that an entry needs in addition to the bytes of its line, once it is read.
const ENTRY_OVERHEAD: u64 = 2 * 1024;

/// A transcript that is being written. Clones write to the same file.
#[derive(Clone, Debug)]
pub struct Transcript(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    begun: Instant,
    exchanges: AtomicU64,
    activity: watch::Sender<Instant>,
    log: Mutex<Log>,
}

#[derive(Debug)]
struct Log {
    file: File,
    written: u64,
    broken: Option<Arc<io::Error>>,
    polls: PollAnswers,
    sent: BTreeMap<String, u64>,
    /// The unmasked form of bodies that were masked, by the entry's number.
    said: BTreeMap<u64, Body>,
    said_bytes: usize,
}

/// An entry without its number and time.
#[derive(Serialize)]
struct Unnumbered<'a> {
    hop: &'a Hop,
    exchange: u64,
    direction: Direction,
    #[serde(flatten)]
    content: &'a Content,
}

impl Transcript {
    /// Begins a transcript in a new file at `path`; entries are timed from `begun`.
    ///
    /// # Errors
    /// If the file exists already or cannot be created.
    pub fn create(path: &Path, begun: Instant) -> Result<Self, TranscriptError> {
        let file = File::create_new(path)
            .map_err(|source| TranscriptError::Create { path: path.to_owned(), source })?;
        Ok(Self(Arc::new(Shared {
            path: path.to_owned(),
            begun,
            exchanges: AtomicU64::new(0),
            activity: watch::Sender::new(begun),
            log: Mutex::new(Log {
                file,
                written: 0,
                broken: None,
                polls: PollAnswers::default(),
                sent: BTreeMap::new(),
                said: BTreeMap::new(),
                said_bytes: 0,
            }),
        })))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns a number for a new exchange, from 1, unique in this transcript.
    pub fn next_exchange(&self) -> u64 {
        self.0.exchanges.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Writes one entry and counts it as activity, unless it is a poll without news. The caller must have
    /// masked secrets.
    ///
    /// If a line cannot be written, nothing more is written, so that the file has no gap;
    /// [`check`](Self::check) and [`entries`](Self::entries) return the error from then on.
    pub fn record(&self, hop: &Hop, exchange: u64, direction: Direction, content: &Content) {
        self.record_masked(hop, exchange, direction, content, None);
    }

    /// Like [`record`](Self::record), with the unmasked body if `content` has a masked one.
    pub fn record_masked(
        &self,
        hop: &Hop,
        exchange: u64,
        direction: Direction,
        content: &Content,
        said: Option<Body>,
    ) {
        let entry = Unnumbered { hop, exchange, direction, content };
        // Serialize before taking the lock, because that is most of the work.
        let entry = serde_json::to_vec(&entry);
        let mut log = self.log();
        let now = Instant::now();
        let result = entry.map_err(io::Error::from).and_then(|entry| {
            let bytes = entry.len();
            log.append(&entry, now - self.0.begun)?;
            let sender = match direction {
                Direction::Forward => &hop.from,
                Direction::Back => &hop.to,
            };
            log.count(sender, bytes);
            log.remember(said, bytes);
            Ok(())
        });
        if let Err(error) = result {
            tracing::error!(path = %self.0.path.display(), %error, "the transcript breaks off");
            log.broken = Some(Arc::new(error));
        }
        if log.polls.is_sign_of_life(hop, exchange, content) {
            self.0.activity.send_replace(now);
        }
    }

    /// Counts activity that leaves no entry, such as the chunks of a body that is not kept.
    pub fn touch(&self) {
        self.0.activity.send_replace(Instant::now());
    }

    /// Records activity because a program has printed this text, unless the text only logs polls. Returns whether it did.
    pub fn printed(&self, text: &str) -> bool {
        let counts = !self.log().polls.is_echo(text);
        if counts {
            self.touch();
        }
        counts
    }

    /// Counts a message that a party sent past the recorder, so that the transcript has no entry for it.
    pub fn count_unrecorded(&self, sender: &str, bytes: usize) {
        self.log().count(sender, bytes);
        self.touch();
    }

    /// Returns the time of the last activity on any hop; the beginning of the run if there was none.
    pub fn last_activity(&self) -> Instant {
        *self.0.activity.borrow()
    }

    /// Returns a receiver that changes with every activity.
    pub fn activity(&self) -> watch::Receiver<Instant> {
        self.0.activity.subscribe()
    }

    /// Returns the number of bytes that each party has sent, with an overhead for each message.
    pub fn sent(&self) -> BTreeMap<String, u64> {
        self.log().sent.clone()
    }

    /// Checks that all recorded entries are in the file.
    ///
    /// # Errors
    /// If a line could not be written.
    pub fn check(&self) -> Result<(), TranscriptError> {
        let log = self.log();
        match &log.broken {
            None => Ok(()),
            Some(source) => Err(TranscriptError::Write {
                path: self.0.path.clone(),
                written: log.written,
                source: Arc::clone(source),
            }),
        }
    }

    /// Reads every entry so far from the file.
    ///
    /// # Errors
    /// If a line could not be written, or the file cannot be read.
    pub fn entries(&self) -> Result<Vec<Entry>, TranscriptError> {
        self.check()?;
        reader::read(&self.0.path)
    }

    /// Returns every entry so far, with unmasked bodies: for checks only, never to be shown.
    ///
    /// # Errors
    /// As for [`entries`](Self::entries).
    pub fn said(&self) -> Result<Vec<Entry>, TranscriptError> {
        let entries = self.entries()?;
        Ok(self.unmasked(&entries).unwrap_or(entries))
    }

    /// Returns these entries of this transcript with unmasked bodies; `None` if nothing in them was masked, so that
    /// nothing is copied in the usual case.
    pub fn unmasked(&self, entries: &[Entry]) -> Option<Vec<Entry>> {
        let log = self.log();
        if log.said.is_empty() {
            return None;
        }
        let mut entries = entries.to_vec();
        for entry in &mut entries {
            if let (Some(said), Some(body)) = (log.said.get(&entry.seq), entry.content.body_mut()) {
                body.clone_from(said);
            }
        }
        Some(entries)
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    /// Keeps the unmasked body of the entry that was written last, as long as there is room.
    fn remember(&mut self, said: Option<Body>, bytes: usize) {
        let Some(said) = said else { return };
        if self.said_bytes + bytes > SAID_LIMIT {
            tracing::warn!(
                entry = self.written,
                "an entry is judged in its masked form: the memory for unmasked entries is used up"
            );
            return;
        }
        self.said_bytes += bytes;
        self.said.insert(self.written, said);
    }

    /// Counts a message for the party that sent it.
    fn count(&mut self, sender: &str, bytes: usize) {
        *self.sent.entry(sender.to_owned()).or_default() += bytes as u64 + ENTRY_OVERHEAD;
    }

    /// Writes the line of the next entry, which gets its number and its time in place of the brace with which it begins.
    fn append(&mut self, entry: &[u8], time: Duration) -> io::Result<()> {
        if self.broken.is_some() {
            return Ok(());
        }
        let seq = self.written + 1;
        let (seconds, micros) = (time.as_secs(), time.subsec_micros());
        let mut line = Vec::with_capacity(entry.len() + 64);
        write!(line, "{{\"seq\":{seq},\"time\":{seconds}.{micros:06},")?;
        line.extend_from_slice(&entry[1..]);
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.written = seq;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, thread};

    use super::*;
    use crate::Body;

    fn transcript() -> (tempfile::TempDir, Transcript) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("transcript.jsonl");
        let transcript = Transcript::create(&path, Instant::now()).unwrap();
        (folder, transcript)
    }

    #[test]
    fn records_are_read_as_written() {
        let (_folder, transcript) = transcript();
        let hop = Hop::new("green", "purple");
        let request = Content::Request {
            method: "POST".to_owned(),
            path: "/".to_owned(),
            headers: BTreeMap::new(),
            body: Some(Body::Text("line\nbreak \u{1F980}".to_owned())),
        };
        let exchange = transcript.next_exchange();
        transcript.record(&hop, exchange, Direction::Forward, &request);
        transcript.record(&hop, exchange, Direction::Back, &Content::End);

        let entries = transcript.entries().unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!((entries[0].seq, entries[1].seq), (1, 2));
        assert!(entries[0].time <= entries[1].time);
        assert_eq!(entries[0].content, request);
        assert_eq!(entries[1].direction, Direction::Back);
        assert_eq!(entries[1].exchange, 1);
    }

    #[test]
    fn writers_on_many_threads_leave_no_gap() {
        let (_folder, transcript) = transcript();
        let hop = Hop::new("a", "b");
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let exchange = transcript.next_exchange();
                        transcript.record(&hop, exchange, Direction::Back, &Content::End);
                    }
                });
            }
        });
        let entries = transcript.entries().unwrap();
        let numbers: Vec<u64> = entries.iter().map(|entry| entry.seq).collect();
        assert_eq!(numbers, (1..=400).collect::<Vec<_>>());
        assert!(entries.windows(2).all(|pair| pair[0].time <= pair[1].time));
    }

    #[tokio::test]
    async fn activity_wakes_its_waiters() {
        let (_folder, transcript) = transcript();
        let before = transcript.last_activity();
        let mut activity = transcript.activity();
        transcript.record(&Hop::new("a", "b"), 1, Direction::Back, &Content::End);
        activity.changed().await.unwrap();
        assert!(transcript.last_activity() > before);
    }

    #[test]
    fn a_file_of_another_run_is_not_written_over() {
        let (_folder, transcript) = transcript();
        let error = Transcript::create(transcript.path(), Instant::now()).unwrap_err();
        assert!(matches!(error, TranscriptError::Create { .. }));
    }

    #[test]
    fn a_full_disk_is_reported() {
        let full = Path::new("/dev/full");
        let Ok(file) = File::options().write(true).open(full) else {
            return;
        };
        let (_folder, transcript) = transcript();
        transcript.log().file = file;
        transcript.record(&Hop::new("a", "b"), 1, Direction::Back, &Content::End);
        let error = transcript.entries().unwrap_err();
        assert!(matches!(error, TranscriptError::Write { written: 0, .. }));
    }
}
