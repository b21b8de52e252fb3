//! Opening a store: locks, formats, and what a crash left behind.

use std::{
    fs::{self, File, TryLockError},
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    draft::Draft,
    error::sled_error,
    heads::{Heads, Tip},
    index::{Index, Indexer},
    log::{self, End, Log, Place, sync_folder},
    private,
    reader::Reader,
};
use crate::store::StoreError;

/// Small values stay out of sled's own blob files, which it never fsyncs.
const SEGMENT: usize = 8 << 20;

/// A bridge that was just stopped may need so long to let go of the folder.
const PATIENCE: Duration = Duration::from_secs(1);

/// The bytes of the index that may wait in memory to be written, twice.
const ROOM: usize = 32 << 20;

/// So many records of the log go to the index together.
const TOGETHER: usize = 256;

/// Where the store is and what memory it may take.
#[derive(Clone, Debug)]
pub struct SledSettings {
    /// The folder, which is made if need be.
    pub folder: PathBuf,
    /// The bytes that sled keeps of the index.
    pub page_cache: u64,
    /// The bytes of events, as they are in the log, whose tasks are kept ready to be shown.
    pub task_cache: usize,
}

impl SledSettings {
    /// The settings that suit most: 64 MiB of the index, 32 MiB of tasks.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            page_cache: 64 << 20,
            task_cache: 32 << 20,
        }
    }
}

/// What an open store consists of.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) reader: Reader,
    pub(super) log: log::Writer,
    pub(super) indexer: Indexer,
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
    let (index, file) = open_index(settings)?;
    let index = Arc::new(index);
    let indexer = Indexer::start(Arc::clone(&index), file)?;
    let (log, reader) = catch_up(&logs, &index, &lock)?;
    Ok(Opened {
        reader,
        log,
        indexer,
    })
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

/// Opens the index, and the file that sled writes to. One that cannot be read is thrown away: all of it
/// follows from the log.
fn open_index(settings: &SledSettings) -> Result<(Index, File), StoreError> {
    let folder = settings.folder.join("index");
    let open = || {
        // sled panics at some of what it finds broken.
        let opened = catch_unwind(AssertUnwindSafe(|| try_open_index(&folder, settings)));
        opened.unwrap_or_else(|_| Err(StoreError::corrupt("the index", "sled cannot read it")))
    };
    match open() {
        Err(error @ StoreError::Corrupt { .. }) => {
            tracing::warn!("the index is made anew from the log, which takes a while: {error}");
            let failed = |error| StoreError::io(format!("removing {}", folder.display()), error);
            fs::remove_dir_all(&folder).map_err(failed)?;
            open()
        }
        opened => opened,
    }
}

fn try_open_index(folder: &Path, settings: &SledSettings) -> Result<(Index, File), StoreError> {
    let failed = |error| StoreError::io(format!("opening {}", folder.display()), error);
    private::own_folder(folder).map_err(failed)?;
    let config = sled::Config::new()
        .path(folder)
        .cache_capacity(settings.page_cache)
        .segment_size(SEGMENT)
        .flush_every_ms(None);
    let db = open_database(&config)?;
    let file = File::open(folder.join("db")).map_err(failed)?;
    Ok((Index::open(db, ROOM)?, file))
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

/// Has the index follow the log to its end.
fn catch_up(
    folder: &Path,
    index: &Arc<Index>,
    lock: &Arc<File>,
) -> Result<(log::Writer, Reader), StoreError> {
    let heads = Arc::new(Heads::default());
    let mut waiting = Waiting {
        end: index.end(),
        records: Vec::new(),
    };
    let reader = |log: &Arc<Log>| Reader {
        index: Arc::clone(index),
        log: Arc::clone(log),
        heads: Arc::clone(&heads),
        _lock: Arc::clone(lock),
    };
    let mut visit = |log: &Arc<Log>, place: Place, record: &[u8], end: End| {
        if end != waiting.end && waiting.records.len() >= TOGETHER {
            waiting.follow(&reader(log))?;
        }
        waiting.end = end;
        waiting.records.push((place, record.to_vec()));
        Ok(())
    };
    let (log, writer) = log::replay(folder, index.end(), &mut visit)?;
    let reader = reader(&log);
    waiting.follow(&reader)?;
    Ok((writer, reader))
}

/// Whole batches of the log on their way to the index.
struct Waiting {
    end: End,
    records: Vec<(Place, Vec<u8>)>,
}

impl Waiting {
    fn follow(&mut self, reader: &Reader) -> Result<(), StoreError> {
        let mut draft = Draft::new(reader);
        for (place, record) in self.records.drain(..) {
            draft.replay(place, &record)?;
        }
        let tips: Vec<Tip> = draft.changes.tips().cloned().collect();
        reader.index.apply(draft.changes, self.end)?;
        tips.into_iter().for_each(|tip| reader.heads.put(tip));
        Ok(())
    }
}
