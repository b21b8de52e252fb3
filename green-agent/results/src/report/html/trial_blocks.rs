//! The blocks of each trial: a head, the index of its messages in parts, the transcript's lines in chunks, and the
//! agents' logs. The page reads only the blocks that it shows.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{
    block::{Block, Blocks},
    message::{Message, Messages},
};
use crate::{
    record::{TrialRecord, Usage},
    report::source::ReportSource,
};
use green_agent_transcript::Entry;

/// The messages of one part of an index.
const PART: usize = 8_000;

/// The bytes after which a chunk of lines ends.
const CHUNK: usize = 256 * 1024;

/// The most lines of a chunk.
const CHUNK_LINES: usize = 2_000;

/// The largest part of an agent's log that is shown, from its end, in bytes.
const LOG: u64 = 1024 * 1024;

/// The most bytes of one trial's transcript.
const TRANSCRIPT: u64 = 512 * 1024 * 1024;

/// Writes the blocks of the trials for which there is room, those that did not pass first. Returns the name of each trial's
/// blocks, in the order of the records.
pub(super) fn write<W: Write>(
    run: &ReportSource,
    prefix: &str,
    blocks: &mut Blocks<W>,
) -> io::Result<Vec<Option<String>>> {
    let records = &run.folder.records;
    let mut names = vec![None; records.len()];
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|at| records[*at].problems.is_empty());
    for at in order {
        let record = &records[at];
        let Some(folder) = run.folder_of(record) else {
            continue;
        };
        let name = format!("{prefix}{at}");
        if let Some(all) = of_trial(record, &folder, &name)?
            && blocks.write(&all)?
        {
            names[at] = Some(name);
        }
    }
    Ok(names)
}

/// The data that a trial's view shows beside its messages.
#[derive(Serialize)]
struct Head<'a> {
    problems: Vec<ShownProblem<'a>>,
    /// What the scenario's author should know of a trial that passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'a str>,
    metrics: &'a BTreeMap<String, f64>,
    results: &'a [serde_json::Value],
    usage: Option<&'a Usage>,
    phases: &'a BTreeMap<String, f64>,
    folder: Option<&'a str>,
    /// The parties, in the order in which they appear.
    roles: Vec<String>,
    hops: Vec<String>,
    /// The number of messages.
    events: usize,
    /// The number of parts of the index.
    parts: usize,
    /// The number of lines of each chunk.
    chunks: Vec<usize>,
    logs: Vec<LogHead>,
    /// The reason why the list of messages is incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Serialize)]
struct ShownProblem<'a> {
    title: Cow<'static, str>,
    owner: crate::problem::Owner,
    message: &'a str,
}

#[derive(Serialize)]
struct LogHead {
    name: String,
    bytes: u64,
    chunks: usize,
    /// Whether its beginning is left out.
    cut: bool,
}

/// Columns of messages. Times are in microseconds.
#[derive(Default, Serialize)]
struct Part {
    time: Vec<u64>,
    hop: Vec<usize>,
    exchange: Vec<u64>,
    kind: Vec<u8>,
    protocol: Vec<u8>,
    flags: Vec<u8>,
    bytes: Vec<usize>,
    label: Vec<usize>,
    labels: Vec<String>,
    gist: Vec<String>,
    #[serde(skip)]
    label_numbers: BTreeMap<String, usize>,
}

/// Returns the blocks of a trial; `None` if it has no transcript.
pub(super) fn of_trial(
    record: &TrialRecord,
    folder: &Path,
    name: &str,
) -> io::Result<Option<Vec<Block>>> {
    let Ok(file) = File::open(folder.join("transcript.jsonl")) else {
        return Ok(None);
    };
    let mut reading = Reading { name, ..Reading::default() };
    let note = reading.read(BufReader::new(file.take(TRANSCRIPT)))?;
    let logs = logs(folder, name, &mut reading.blocks)?;
    let problems = record.problems.iter().map(|problem| ShownProblem {
        title: problem.title(),
        owner: problem.owner,
        message: &problem.message,
    });
    let head = Head {
        problems: problems.collect(),
        about: record.note.as_deref(),
        metrics: &record.metrics,
        results: &record.results,
        usage: record.usage.as_ref(),
        phases: &record.phases,
        folder: record.folder.as_deref(),
        roles: in_order(reading.roles),
        hops: reading.hops,
        events: reading.events,
        parts: reading.parts,
        chunks: reading.chunks,
        logs,
        note,
    };
    let mut blocks = vec![Block::json(name.to_owned(), &head)?];
    blocks.append(&mut reading.blocks);
    Ok(Some(blocks))
}

/// The state of reading a transcript.
#[derive(Default)]
struct Reading<'a> {
    name: &'a str,
    blocks: Vec<Block>,
    messages: Messages,
    roles: Vec<String>,
    hops: Vec<String>,
    events: usize,
    part: Part,
    parts: usize,
    chunk: Vec<u8>,
    chunk_lines: usize,
    chunks: Vec<usize>,
}

impl Reading<'_> {
    /// Reads all lines. Returns the reason if it stopped before the end: a line that is no entry, or the limit.
    fn read(&mut self, mut file: impl BufRead) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        let mut note = None;
        loop {
            line.clear();
            let read = file.read_until(b'\n', &mut line);
            if matches!(read, Ok(0)) {
                break;
            }
            match read.and_then(|_| Ok(serde_json::from_slice::<Entry>(&line)?)) {
                Ok(entry) => self.add(&entry, &line)?,
                Err(error) => {
                    note = Some(format!(
                        "the transcript cannot be read from line {} on: {error}",
                        self.events + 1
                    ));
                    break;
                }
            }
        }
        self.end_part()?;
        self.end_chunk();
        Ok(note)
    }

    fn add(&mut self, entry: &Entry, line: &[u8]) -> io::Result<()> {
        let message = self.messages.read(entry);
        for role in [&entry.hop.from, &entry.hop.to] {
            position(&mut self.roles, role);
        }
        let hop = position(&mut self.hops, &entry.hop.to_string());
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        self.part.add(entry, message, hop, line.len());
        self.events += 1;
        if self.part.time.len() >= PART {
            self.end_part()?;
        }
        self.chunk.extend_from_slice(line);
        self.chunk.push(b'\n');
        self.chunk_lines += 1;
        if self.chunk.len() >= CHUNK || self.chunk_lines >= CHUNK_LINES {
            self.end_chunk();
        }
        Ok(())
    }

    fn end_part(&mut self) -> io::Result<()> {
        if !self.part.time.is_empty() {
            let part = std::mem::take(&mut self.part);
            let block = Block::json(format!("{}.i{}", self.name, self.parts), &part)?;
            self.blocks.push(block);
            self.parts += 1;
        }
        Ok(())
    }

    fn end_chunk(&mut self) {
        if self.chunk_lines > 0 {
            let name = format!("{}.c{}", self.name, self.chunks.len());
            self.blocks.push(Block::new(name, &self.chunk));
            self.chunks.push(self.chunk_lines);
            self.chunk.clear();
            self.chunk_lines = 0;
        }
    }
}

impl Part {
    fn add(&mut self, entry: &Entry, message: Message, hop: usize, bytes: usize) {
        self.time.push((entry.time * 1e6) as u64);
        self.hop.push(hop);
        self.exchange.push(entry.exchange);
        self.kind.push(message.kind);
        self.protocol.push(message.protocol as u8);
        self.flags.push(message.flags);
        self.bytes.push(bytes);
        let next = self.labels.len();
        let number = *self.label_numbers.entry(message.label).or_insert_with_key(|label| {
            self.labels.push(label.clone());
            next
        });
        self.label.push(number);
        self.gist.push(message.gist);
    }
}

/// Returns the parties from left to right: the party that asks for the evaluation, the evaluator, then the others in
/// order of appearance.
fn in_order(mut roles: Vec<String>) -> Vec<String> {
    roles.sort_by_key(|role| match role.as_str() {
        "runner" => 0,
        "green" => 1,
        _ => 2,
    });
    roles
}

/// Returns the position of a name in a list, to which it is added if it is new.
fn position(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|one| one == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

/// Adds the blocks of the agents' logs; of long logs, their ends.
fn logs(folder: &Path, name: &str, blocks: &mut Vec<Block>) -> io::Result<Vec<LogHead>> {
    let mut files: Vec<PathBuf> = folder.read_dir()?.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "log"));
    files.sort();
    let mut heads = Vec::new();
    for file in files {
        let unreadable = |error: io::Error| (format!("cannot be read: {error}"), false);
        let (text, cut) = end_of(&file).unwrap_or_else(unreadable);
        let at = heads.len();
        let pieces = pieces(&text);
        for (number, piece) in pieces.iter().enumerate() {
            blocks.push(Block::new(format!("{name}.l{at}.{number}"), piece.as_bytes()));
        }
        let stem = file.file_stem().unwrap_or_default();
        heads.push(LogHead {
            name: stem.to_string_lossy().into_owned(),
            bytes: text.len() as u64,
            chunks: pieces.len(),
            cut,
        });
    }
    Ok(heads)
}

/// Returns the end of a file as text, and whether its beginning is missing.
fn end_of(file: &Path) -> io::Result<(String, bool)> {
    let mut file = File::open(file)?;
    let length = file.metadata()?.len();
    let cut = length > LOG;
    file.seek(SeekFrom::Start(length.saturating_sub(LOG)))?;
    let mut bytes = Vec::new();
    file.take(LOG).read_to_end(&mut bytes)?;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), cut))
}

/// Cuts a text into pieces of about a chunk, between characters, because the page joins the pieces as texts.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(rest.ceil_char_boundary(CHUNK));
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::record::tests::record;

    #[test]
    fn files_that_cannot_be_read_do_not_end_the_page() {
        let folder = tempfile::tempdir().unwrap();
        // No program can read a folder as a file.
        fs::create_dir(folder.path().join("transcript.jsonl")).unwrap();
        fs::create_dir(folder.path().join("purple.log")).unwrap();
        let blocks = of_trial(&record("a", 1), folder.path(), "t").unwrap().unwrap();
        let names: Vec<String> = blocks.into_iter().map(|block| block.into_parts().0).collect();
        assert_eq!(names, ["t", "t.l0.0"]);
    }
}
