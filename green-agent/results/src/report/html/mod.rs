//! One HTML file that shows a run, or two runs side by side, without a network.
//!
//! - `page`: the parts of the file and its content security policy
//! - `block`: compressed data in the page, read by its script when it is shown
//! - `run_block`: all trials as a table; `trial_blocks`: one trial's transcript and logs
//! - `comparison`: the differences between two runs
//! - `live`: serves the page while the run is running
//! - `message`: the columns of the list of messages for one transcript entry
//!
//! The script and the style are in files of their own, `js/` and `page.css`. No text of a run becomes markup: the
//! data is in base64, and the script shows it as text only.

mod block;
mod comparison;
mod departures;
mod live;
mod message;
mod page;
mod run_block;
mod trial_blocks;

use std::{
    fs,
    io::{self, BufWriter, Write as _},
    path::Path,
};

pub use self::live::router as live;

use self::block::Blocks;
use super::source::ReportSource;

/// The largest size of transcripts and logs in a page, in bytes as written. Trials that did not pass come first.
const MOST_BYTES: u64 = 160 * 1024 * 1024;

/// Writes the page of a run, and compares it with the other run if there is one.
///
/// # Errors
/// If the file cannot be written. Its old content then remains.
pub fn write(run: &ReportSource, other: Option<&ReportSource>, path: &Path) -> io::Result<()> {
    // The file that a link names is replaced, and neither a device nor a pipe is.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return Err(io::Error::other("expected a file"));
    }
    let new = path.with_extension("html.new");
    let spool = path.with_extension("html.trials");
    let written = write_new(run, other, &new, &spool).and_then(|()| fs::rename(&new, path));
    let _ = fs::remove_file(&spool);
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

/// Writes the transcripts first, into a file beside the page: only then it is known which of them fit, and the table of
/// trials at the top of the page contains that.
fn write_new(
    run: &ReportSource,
    other: Option<&ReportSource>,
    new: &Path,
    spool: &Path,
) -> io::Result<()> {
    let mut trials = Blocks::new(BufWriter::new(fs::File::create(spool)?), MOST_BYTES);
    let in_page = trial_blocks::write(run, "t", &mut trials)?;
    let other_in_page = other.map(|other| trial_blocks::write(other, "o", &mut trials));
    let other_in_page = other_in_page.transpose()?.unwrap_or_default();
    trials.into_inner().flush()?;
    let compared = other.map(|other| comparison::of(run, other));
    let run_table = run_block::of(run, &in_page, compared.as_ref());

    let mut page = BufWriter::new(fs::File::create(new)?);
    page::begin(&mut page, &run.name, page::Source::File)?;
    let mut tables = Blocks::new(&mut page, u64::MAX);
    tables.json("run", &run_table)?;
    if let Some(other) = other {
        tables.json("other", &run_block::of(other, &other_in_page, None))?;
    }
    page::script(&mut page)?;
    io::copy(&mut fs::File::open(spool)?, &mut page)?;
    page::end(&mut page)?;
    page.flush()
}
