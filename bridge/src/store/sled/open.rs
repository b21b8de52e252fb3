//! Opening a store: locks, formats, and what a crash left behind.

use std::{
    fs::{File, TryLockError},
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    draft::Draft,
    error::sled_error,
    heads::Tip,
    index::{Index, Indexer, Limits},
    log::{self, End, Log, Place, Seen, sync_folder},
    mend::{self, Current, FOLDERS, InUse},
    private,
    reader::Reader,
};
use crate::store::StoreError;

/// Small values stay out of sled's own blob files, which it never fsyncs.
const SEGMENT: usize = 8 << 20;

/// A bridge that was just stopped may need so long to let go of the folder.
const PATIENCE: Duration = Duration::from_secs(1);

/// The bytes of the index that may wait in memory to be written, twice. Tests have few tasks.
const ROOM: usize = if cfg!(test) { 24 << 10 } else { 32 << 20 };

/// Parts of fewer bytes are taken along into the next.
const SMALL: u64 = if cfg!(test) { 8 << 10 } else { 4 << 20 };

/// Where the index was in earlier layouts, which is made anew from the log.
const FORMER: [&str; 2] = ["index", "index-2"];

/// So many records of the log go to the index together.
const TOGETHER: usize = 256;

/// Where the store is and what memory it may take.
#[derive(Clone, Debug)]
pub struct SledSettings {
    /// The folder, which is made if need be.
    pub folder: PathBuf,
    /// The bytes that sled keeps of the index.
    pub page_cache: u64,
    /// The bytes that tasks may take, about, which are kept ready to be shown.
    pub task_cache: usize,
    /// The bytes of the index's filters in memory, about: 6 for each task. Tasks that are too old for them are found
    /// more slowly.
    pub filters: usize,
    /// So many ids of callers' messages are remembered at least, the newest.
    pub message_ids: u64,
}

impl SledSettings {
    /// The settings that suit most: 64 MiB of the index, 64 MiB of tasks, 128 MiB of filters, four million messages.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            page_cache: 64 << 20,
            task_cache: 64 << 20,
            filters: 128 << 20,
            message_ids: 4_000_000,
        }
    }

    fn limits(&self) -> Limits {
        Limits {
            room: ROOM,
            small: SMALL,
            filters: self.filters,
            messages: self.message_ids,
            checked: self.page_cache,
        }
    }
}

/// What an open store consists of.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) reader: Reader,
    pub(super) log: log::Writer,
}

/// Opens the folder's store or makes it.
pub(super) fn open(settings: &SledSettings) -> Result<Opened, StoreError> {
    let folder = &settings.folder;
    let failed = |error| StoreError::io(format!("making {}", folder.display()), error);
    private::folder(folder).map_err(failed)?;
    check_layout(folder)?;
    let lock = Arc::new(lock(folder)?);
    let logs = folder.join("log");
    private::own_folder(&logs).map_err(failed)?;
    sync_folder(folder).map_err(failed)?;
    for former in FORMER.map(|name| folder.join(name)) {
        mend::remove(&former)?;
    }
    match open_all(settings, &logs, &lock) {
        Err(error) if !is_hopeless(&error) => {
            tracing::warn!("the index is made anew from the log, which takes a while: {error}");
            for name in FOLDERS {
                mend::remove(&folder.join(name))?;
            }
            open_all(settings, &logs, &lock)
        }
        opened => opened,
    }
}

/// Whether another index would fail in the same way: it is not the index that is wrong.
fn is_hopeless(error: &StoreError) -> bool {
    match error {
        StoreError::Full { .. } | StoreError::Newer { .. } => true,
        StoreError::Io { source, .. } => source.kind() == io::ErrorKind::PermissionDenied,
        _ => false,
    }
}

fn open_all(settings: &SledSettings, logs: &Path, lock: &Arc<File>) -> Result<Opened, StoreError> {
    let folder = index_folder(&settings.folder)?;
    let (index, file) = try_open_index(&folder, settings)?;
    let index = Arc::new(index);
    let indexer = Indexer::start(Arc::clone(&index), file, folder.clone())?;
    let from = index.end();
    let index = Current::new(InUse {
        index,
        indexer: Some(indexer),
        folder,
    });
    catch_up(logs, &index, from, lock)
}

/// Where the index is. Of two none was complete when the program ended.
fn index_folder(folder: &Path) -> Result<PathBuf, StoreError> {
    let [usual, other] = FOLDERS.map(|name| folder.join(name));
    match (usual.exists(), other.exists()) {
        (true, true) => {
            mend::remove(&usual)?;
            mend::remove(&other)?;
            Ok(usual)
        }
        (false, true) => Ok(other),
        (true | false, false) => Ok(usual),
    }
}

/// What stood in a folder before the log was a file of its own: all of it in sled.
fn check_layout(folder: &Path) -> Result<(), StoreError> {
    match folder.join("db").exists() {
        true => Err(StoreError::Older {
            path: folder.into(),
            found: 1,
            known: 2,
        }),
        false => Ok(()),
    }
}

fn lock(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join("lock");
    let failed = |error| StoreError::io(format!("locking {}", path.display()), error);
    let mut options = private::file();
    let options = options.write(true).create(true).truncate(false);
    let file = options.open(&path).map_err(failed)?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => {
                let path = folder.into();
                return Err(StoreError::InUse { path });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
}

/// Opens the index, and the file that sled writes to. What sled panics at is as broken as what it tells of.
pub(super) fn try_open_index(
    folder: &Path,
    settings: &SledSettings,
) -> Result<(Index, File), StoreError> {
    let failed = |error| StoreError::io(format!("opening {}", folder.display()), error);
    private::own_folder(folder).map_err(failed)?;
    let config = sled::Config::new()
        .path(folder)
        .cache_capacity(settings.page_cache)
        .segment_size(SEGMENT)
        .flush_every_ms(None);
    let opened = catch_unwind(AssertUnwindSafe(|| {
        Index::open(open_database(&config)?, settings.limits())
    }));
    let opened =
        opened.unwrap_or_else(|_| Err(StoreError::corrupt("the index", "sled cannot read it")));
    let file = File::open(folder.join("db")).map_err(failed)?;
    private::close(folder);
    Ok((opened?, file))
}

/// Threads of sled's may hold the database for a moment after the last one has closed it. It can be nobody
/// else: the folder is locked by us.
fn open_database(config: &sled::Config) -> Result<sled::Db, StoreError> {
    let begun = Instant::now();
    loop {
        match config.open() {
            Err(sled::Error::Io(error)) if is_held(&error) && begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            opened => return opened.map_err(sled_error("opening")),
        }
    }
}

/// sled has no kind of error for it, only words.
fn is_held(error: &io::Error) -> bool {
    error.to_string().contains("could not acquire lock")
}

/// Has the index, which has all of the log before `from`, follow it to its end.
fn catch_up(
    folder: &Path,
    index: &Current,
    from: End,
    lock: &Arc<File>,
) -> Result<Opened, StoreError> {
    let (heads, quarantine) = (Arc::default(), Arc::default());
    let reader = |log: &Arc<Log>| Reader {
        index: index.clone(),
        log: Arc::clone(log),
        heads: Arc::clone(&heads),
        quarantine: Arc::clone(&quarantine),
        _lock: Arc::clone(lock),
    };
    let mut waiting = Waiting::new(from);
    let mut visit =
        |log: &Arc<Log>, seen: &Seen<'_>, end: End| waiting.take(seen, end, || reader(log));
    let (log, writer) = log::replay(folder, from, &mut visit)?;
    let reader = reader(&log);
    waiting.follow(&reader)?;
    Ok(Opened {
        reader,
        log: writer,
    })
}

/// Whole batches of the log on their way to the index.
pub(super) struct Waiting {
    end: End,
    records: Vec<Kept>,
}

/// What was seen of the log.
enum Kept {
    Record(Place, Vec<u8>),
    Broken(u64, Vec<u8>),
}

impl Waiting {
    pub(super) fn new(end: End) -> Self {
        let records = Vec::new();
        Self { end, records }
    }

    /// Takes what was seen, behind what waits already; has the index follow when that is enough.
    pub(super) fn take(
        &mut self,
        seen: &Seen<'_>,
        end: End,
        reader: impl FnOnce() -> Reader,
    ) -> Result<(), StoreError> {
        if end != self.end && self.records.len() >= TOGETHER {
            self.follow(&reader())?;
        }
        self.end = end;
        self.records.push(match *seen {
            Seen::Record(place, record) => Kept::Record(place, record.to_vec()),
            Seen::Broken(at, bytes) => Kept::Broken(at, bytes.to_vec()),
        });
        Ok(())
    }

    /// Has the index follow what waits.
    pub(super) fn follow(&mut self, reader: &Reader) -> Result<(), StoreError> {
        let mut draft = Draft::new(reader);
        for kept in self.records.drain(..) {
            match kept {
                Kept::Record(place, record) => match draft.replay(place, &record) {
                    // Whole, and yet not to be understood: it is lost to its task, and to no other.
                    Err(error @ StoreError::Corrupt { .. }) => {
                        tracing::error!("a record of the log is passed over: {error}");
                        draft.lose_record(place, &record)?;
                    }
                    replayed => replayed?,
                },
                Kept::Broken(at, bytes) => draft.lose(at, &bytes)?,
            }
        }
        let tips: Vec<Tip> = draft.changes.tips().cloned().collect();
        reader.index.now().apply(draft.changes, self.end)?;
        tips.into_iter().for_each(|tip| reader.heads.put(tip));
        Ok(())
    }
}
