//! Reads and writes a copy as a file, with a line of JSON for each append and each record.
//!
//! The first line identifies the format. The last line has the counts of the content and a digest of all lines before it,
//! so that a truncated or changed file is refused before any of its content is used. Only its owner can read the file.

use std::{
    fs::{self, File},
    io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bridge_program::system;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Item, TransferError, TransferReport};
use crate::{Append, Event, RecordEntry, RecordKey, Seq, caller::Caller, millis, private};

/// The format of the files.
const FORMAT: u32 = 1;

/// The largest size of a line in bytes. An append has at most 64 MiB.
const MAX_LINE: u64 = 80 << 20;

/// A line of a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Line {
    /// The first line.
    BridgeStore { format: u32 },
    Record {
        owner: Caller,
        kind: String,
        scope: String,
        id: String,
        /// In base64.
        value: String,
    },
    Append {
        owner: Caller,
        task: Arc<str>,
        expected: Seq,
        #[serde(with = "millis")]
        time: Timestamp,
        events: Vec<Event>,
    },
    /// The last line.
    End { report: TransferReport, sha256: String },
}

/// A file to which a copy is written. It gets its name when it is complete.
#[derive(Debug)]
pub struct FileTarget {
    path: PathBuf,
    partial: PathBuf,
    file: BufWriter<File>,
    digest: Sha256,
}

impl FileTarget {
    /// Creates a new file.
    ///
    /// # Errors
    /// If there is a file with that name, or the file cannot be written.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, TransferError> {
        let path = path.into();
        if path.exists() {
            let reason = "it exists already: name a file that does not";
            let error = io::Error::new(io::ErrorKind::AlreadyExists, reason);
            return Err(file_error(&path, error));
        }
        let mut partial = path.clone().into_os_string();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let mut options = system::private_file();
        let file = options.write(true).create(true).truncate(true).open(&partial);
        let mut target = Self {
            file: BufWriter::new(file.map_err(|error| file_error(&partial, error))?),
            path,
            partial,
            digest: Sha256::new(),
        };
        target.write(&Line::BridgeStore { format: FORMAT })?;
        Ok(target)
    }

    pub(super) fn put(&mut self, item: Item) -> Result<(), TransferError> {
        self.write(&match item {
            // The report lists the damaged tasks.
            Item::Damaged(..) => return Ok(()),
            Item::Record(RecordEntry { owner, key, value }) => {
                let RecordKey { kind, scope, id } = key;
                Line::Record { owner, kind, scope, id, value: STANDARD.encode(value) }
            }
            Item::Append(owner, Append { task, expected, time, events }) => {
                Line::Append { owner, task, expected, time, events }
            }
        })
    }

    pub(super) fn finish(&mut self, report: &TransferReport) -> Result<(), TransferError> {
        let end = Line::End {
            report: report.clone(),
            sha256: format!("{:x}", self.digest.clone().finalize()),
        };
        self.write(&end)?;
        let synced = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        synced.map_err(|error| file_error(&self.path, error))?;
        // The file is read and checked before it gets its name.
        FileSource::open(&self.partial)?;
        let named = fs::rename(&self.partial, &self.path);
        named
            .and_then(|()| private::sync_name(&self.path))
            .map_err(|error| file_error(&self.path, error))
    }

    fn write(&mut self, line: &Line) -> Result<(), TransferError> {
        let mut text = serde_json::to_vec(line)
            .map_err(|error| file_error(&self.path, io::Error::other(error)))?;
        text.push(b'\n');
        self.digest.update(&text);
        let written = self.file.write_all(&text);
        written.map_err(|error| file_error(&self.path, error))
    }
}

/// A file from which a copy is read.
#[derive(Debug)]
pub struct FileSource {
    path: PathBuf,
    file: BufReader<File>,
    /// The number of the last line that was read.
    line: usize,
}

impl FileSource {
    /// Opens a file, and checks its whole content.
    ///
    /// # Errors
    /// `File`, and `Content` if it is not such a file, or was truncated or changed.
    pub fn open(path: &Path) -> Result<Self, TransferError> {
        let mut file = Self::open_unchecked(path)?;
        let mut digest = Sha256::new();
        loop {
            let Some((line, text)) = file.next_line()? else {
                return Err(file.content_error("expected more lines: the file is cut off"));
            };
            match line {
                Line::BridgeStore { format: FORMAT } if file.line == 1 => {}
                Line::BridgeStore { format } if file.line == 1 => {
                    let reason =
                        format!("the file has format {format}, this program knows {FORMAT}");
                    return Err(file.content_error(&reason));
                }
                _ if file.line == 1 => {
                    return Err(file.content_error("expected the beginning of a backup"));
                }
                Line::End { sha256, .. } => {
                    if sha256 != format!("{:x}", digest.finalize()) {
                        return Err(file.content_error("the lines before this one were changed"));
                    }
                    break;
                }
                Line::BridgeStore { .. } | Line::Record { .. } | Line::Append { .. } => {}
            }
            digest.update(&text);
        }
        if file.next_line()?.is_some() {
            return Err(file.content_error("expected no more lines"));
        }
        Self::open_unchecked(path)
    }

    fn open_unchecked(path: &Path) -> Result<Self, TransferError> {
        let file = File::open(path).map_err(|error| file_error(path, error))?;
        Ok(Self { path: path.to_owned(), file: BufReader::new(file), line: 0 })
    }

    pub(super) fn next(&mut self) -> Result<Option<Item>, TransferError> {
        loop {
            return Ok(match self.next_line()?.map(|(line, _)| line) {
                Some(Line::BridgeStore { .. }) => continue,
                Some(Line::End { .. }) | None => None,
                Some(Line::Record { owner, kind, scope, id, value }) => {
                    let value = STANDARD.decode(value);
                    let value = value.map_err(|error| self.content_error(&error.to_string()))?;
                    let key = RecordKey { kind, scope, id };
                    Some(Item::Record(RecordEntry { owner, key, value }))
                }
                Some(Line::Append { owner, task, expected, time, events }) => {
                    Some(Item::Append(owner, Append { task, expected, time, events }))
                }
            });
        }
    }

    /// Returns the next line with its text.
    fn next_line(&mut self) -> Result<Option<(Line, Vec<u8>)>, TransferError> {
        let mut text = Vec::new();
        let mut line = (&mut self.file).take(MAX_LINE);
        let read = line.read_until(b'\n', &mut text);
        if read.map_err(|error| file_error(&self.path, error))? == 0 {
            return Ok(None);
        }
        self.line += 1;
        if text.last() != Some(&b'\n') {
            return Err(self.content_error("the line has no end"));
        }
        let line = serde_json::from_slice(&text)
            .map_err(|error| self.content_error(&error.to_string()))?;
        Ok(Some((line, text)))
    }

    fn content_error(&self, reason: &str) -> TransferError {
        TransferError::Content {
            path: self.path.clone(),
            line: self.line,
            reason: reason.to_owned(),
        }
    }
}

fn file_error(path: &Path, error: io::Error) -> TransferError {
    TransferError::File { path: path.to_owned(), error }
}
