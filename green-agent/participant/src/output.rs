//! Reads an agent's output line by line, writes it to the log, keeps the last lines, and passes lines on if
//! they are to be shown.

use std::{
    borrow::Cow,
    collections::VecDeque,
    fs::File,
    io::{self, Write},
    path::Path,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use anstream::adapter::strip_str;
use bridge_program::lock;
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader, ReadBuf},
    sync::mpsc,
    time::Instant,
};

/// Masks the secrets in a line.
pub type Mask = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Called with each line that an agent prints, and with what comes of a line that takes long to end. Returns whether the text
/// says anything about the agent's work.
pub type ActivityListener = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// The most bytes of a line that are read; the rest of the line is skipped.
const LINE_LIMIT: u64 = 64 * 1024;

/// The bytes that are removed from the end of a line that was cut: a secret may have been cut in half there,
/// and the mask would not recognize it.
const RAGGED_END: usize = 4 * 1024;

/// The most bytes that are written to a log, so that an agent in a loop does not fill the disk.
const LOG_LIMIT: u64 = 64 * 1024 * 1024;

/// The time after which a line without an end counts as a sign of life. A younger one may be the first piece of a poll's line,
/// which does not count.
const UNFINISHED: Duration = Duration::from_secs(1);

/// The number of lines that are kept for failure messages.
const TAIL: usize = 20;

/// The number of frames of a stack trace that are kept one after the other: in most languages the error is in front of them.
const FRAMES: usize = 3;

/// One line of an agent's output, masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentLine {
    /// The role of the agent that printed it.
    pub role: String,
    /// The line without its end.
    pub text: String,
}

/// The destinations of one agent's output.
pub struct Output {
    role: String,
    mask: Mask,
    on_activity: ActivityListener,
    sink: Option<mpsc::Sender<AgentLine>>,
    not_shown: AtomicU64,
    read: AtomicU64,
    kept: Mutex<OutputLog>,
}

struct OutputLog {
    log: File,
    written: u64,
    tail: VecDeque<String>,
    /// The number of frames in the lines since the last one that is none.
    frames: usize,
}

impl Output {
    /// Appends to the file `log` and creates its folder if needed. Lines for which `sink` has no room are
    /// dropped, and a line with their number follows.
    ///
    /// # Errors
    /// If the log or its folder cannot be opened or created.
    pub fn open(
        role: &str,
        log: &Path,
        mask: Mask,
        on_activity: ActivityListener,
        sink: Option<mpsc::Sender<AgentLine>>,
    ) -> io::Result<Self> {
        let kept = OutputLog::open(log)?;
        Ok(Self {
            role: role.to_owned(),
            mask,
            on_activity,
            sink,
            not_shown: AtomicU64::new(0),
            read: AtomicU64::new(0),
            kept: Mutex::new(kept),
        })
    }

    /// Switches to another log: later output is written there, and no earlier line is among the last ones.
    ///
    /// # Errors
    /// If the log or its folder cannot be opened or created; the former log stays in use then.
    pub fn switch(&self, log: &Path) -> io::Result<()> {
        let new = OutputLog::open(log)?;
        *lock(&self.kept) = new;
        Ok(())
    }

    /// Returns the number of lines that were read.
    pub fn lines_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Returns the last lines that say anything about the agent's work, at most 20, oldest first.
    /// Only the first frames of a stack trace are kept, so that the error in front of them is, too.
    pub fn last_lines(&self) -> Vec<String> {
        lock(&self.kept).tail.iter().cloned().collect()
    }

    /// Returns the number of lines that were dropped because the sink was full, and of which nothing was shown.
    pub fn lines_not_shown(&self) -> u64 {
        self.not_shown.load(Ordering::Relaxed)
    }

    /// Reads to the end, even if writing fails, so that the agent never blocks on a full pipe.
    pub async fn drain(&self, from: impl AsyncRead + Unpin) {
        let on_activity = &self.on_activity;
        let mut from = BufReader::new(ReadNotifier { from, on_activity, begun: None });
        // A read error counts as the end of the output.
        while let Ok(Some((line, cut))) = next_line(&mut from).await {
            self.take(&line, cut);
        }
        self.has_told_missed();
    }

    fn take(&self, line: &[u8], cut: bool) {
        let line = String::from_utf8_lossy(line);
        let mut text = (self.mask)(&without_escape_codes(&line));
        if cut {
            drop_ragged_end(&mut text);
            text.push_str(" [the rest of this line is not stored: it is too long]");
        }
        self.keep(&text);
        self.show(text);
    }

    fn keep(&self, text: &str) {
        self.read.fetch_add(1, Ordering::Relaxed);
        let says_anything = (self.on_activity)(text);
        let mut kept = lock(&self.kept);
        kept.write(text);
        kept.frames = if is_frame(text) { kept.frames + 1 } else { 0 };
        if !says_anything || kept.frames > FRAMES {
            return;
        }
        if kept.tail.len() == TAIL {
            kept.tail.pop_front();
        }
        kept.tail.push_back(text.to_owned());
    }

    fn show(&self, text: String) {
        if !(self.has_told_missed() && self.is_shown(text)) {
            self.not_shown.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Shows how many lines were dropped, once the sink is half empty: otherwise a flood would become nothing but such lines.
    /// Returns whether no line was dropped of which nothing was shown.
    fn has_told_missed(&self) -> bool {
        let missed = self.not_shown.swap(0, Ordering::Relaxed);
        let is_free = |sink: &mpsc::Sender<AgentLine>| sink.capacity() > sink.max_capacity() / 2;
        let told = || self.is_shown(format!("[{missed} lines are not shown; the log has them]"));
        if missed == 0 || self.sink.as_ref().is_some_and(is_free) && told() {
            return true;
        }
        self.not_shown.fetch_add(missed, Ordering::Relaxed);
        false
    }

    /// Returns whether the sink took a line, or whether there is none.
    fn is_shown(&self, text: String) -> bool {
        let Some(sink) = &self.sink else { return true };
        let role = self.role.clone();
        sink.try_send(AgentLine { role, text }).is_ok()
    }
}

impl OutputLog {
    /// Appends to a file and creates its folder if needed.
    fn open(log: &Path) -> io::Result<Self> {
        if let Some(folder) = log.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let log = File::options().create(true).append(true).open(log)?;
        let tail = VecDeque::with_capacity(TAIL);
        Ok(Self { written: log.metadata()?.len(), log, tail, frames: 0 })
    }

    /// Appends to the log. A log that cannot be written does not stop the agent; the error is logged once.
    fn write(&mut self, text: &str) {
        if self.written > LOG_LIMIT {
            return;
        }
        self.written += text.len() as u64 + 1;
        let last = if self.written > LOG_LIMIT {
            "[the log is full: the rest is not stored]"
        } else {
            text
        };
        if let Err(error) = writeln!(self.log, "{last}") {
            tracing::warn!(%error, "failed to write an agent's log");
            self.written = LOG_LIMIT + 1;
        }
    }
}

/// Returns whether a line is of a frame as Rust (`12: function`, `at file:1:2`), JavaScript, Java and .NET (`at function`) print it.
fn is_frame(line: &str) -> bool {
    let text = line.trim_start();
    let rest = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let is_numbered = rest.len() < text.len() && rest.starts_with(": ");
    text.len() < line.len() && (is_numbered || text.starts_with("at "))
}

/// Reports what comes of a line that takes long to end, because an agent may print for a long time without ending a line.
struct ReadNotifier<'a, R> {
    from: R,
    on_activity: &'a ActivityListener,
    /// The time at which the current line began, if there is one.
    begun: Option<Instant>,
}

impl<R: AsyncRead + Unpin> AsyncRead for ReadNotifier<'_, R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.from).poll_read(context, into);
        match into.filled().get(before..) {
            Some([.., b'\n']) => self.begun = None,
            Some(new) if new.contains(&b'\n') => self.begun = Some(Instant::now()),
            Some(new @ [_, ..]) => {
                let begun = *self.begun.get_or_insert_with(Instant::now);
                if begun.elapsed() >= UNFINISHED {
                    (self.on_activity)(&String::from_utf8_lossy(new));
                }
            }
            Some([]) | None => {}
        }
        read
    }
}

fn drop_ragged_end(text: &mut String) {
    let longest = text.len().saturating_sub(RAGGED_END);
    text.truncate(text.floor_char_boundary(longest));
}

/// Returns the next line without its line end, and whether it was cut; `None` at the end.
async fn next_line(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<(Vec<u8>, bool)>> {
    let mut line = Vec::new();
    if from.take(LINE_LIMIT).read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    let whole = line.pop_if(|last| *last == b'\n').is_some();
    let cut = !whole && line.len() as u64 == LINE_LIMIT;
    if cut {
        skip_line(from).await?;
    }
    line.pop_if(|last| *last == b'\r');
    Ok(Some((line, cut)))
}

async fn skip_line(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<()> {
    loop {
        let ahead = from.fill_buf().await?;
        if ahead.is_empty() {
            return Ok(());
        }
        let end = ahead.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(ahead.len(), |at| at + 1);
        from.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

/// Returns a line without the codes by which programs colour their output for terminals: in logs and messages they only disturb.
fn without_escape_codes(line: &str) -> Cow<'_, str> {
    if line.contains('\u{1b}') { strip_str(line).to_string().into() } else { line.into() }
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncWriteExt as _, time::sleep};

    use super::*;

    fn output(dir: &Path, sink: Option<mpsc::Sender<AgentLine>>) -> Output {
        let mask: Mask = Arc::new(|line| line.replace("hunter2", "***"));
        let log = dir.join("logs/purple.log");
        Output::open("purple", &log, mask, Arc::new(|text| text != "poll"), sink).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_that_takes_long_to_end_is_a_sign_of_life() {
        let dir = tempfile::tempdir().unwrap();
        let (told, mut tells) = mpsc::unbounded_channel();
        let output = Output {
            on_activity: Arc::new(move |text| told.send(text.to_owned()).is_ok()),
            ..output(dir.path(), None)
        };
        let (mut agent, printed) = tokio::io::duplex(64);
        let drain = tokio::spawn(async move { output.drain(printed).await });
        for piece in ["POST", " /\nGET", " /\n", "12"] {
            agent.write_all(piece.as_bytes()).await.unwrap();
            // On the paused clock, this lets the reader take the piece.
            sleep(Duration::from_millis(1)).await;
        }
        for _ in 0..3 {
            sleep(UNFINISHED).await;
            agent.write_all(b".").await.unwrap();
        }
        sleep(Duration::from_millis(1)).await;
        assert!(!drain.is_finished());
        drop(agent);
        drain.await.unwrap();
        let mut all = Vec::new();
        while let Ok(text) = tells.try_recv() {
            all.push(text);
        }
        assert_eq!(all, ["POST /", "GET /", ".", ".", ".", "12..."]);
    }

    fn log(dir: &Path) -> String {
        std::fs::read_to_string(dir.join("logs/purple.log")).unwrap()
    }

    #[tokio::test]
    async fn lines_are_masked_logged_kept_and_shown() {
        let dir = tempfile::tempdir().unwrap();
        let (sender, mut shown) = mpsc::channel(2);
        let output = output(dir.path(), Some(sender));
        let printed: &[u8] = b"one\r\nkey hunter2\n\xff\nunfinished";
        output.drain(printed).await;

        let expected = ["one", "key ***", "\u{fffd}", "unfinished"];
        assert_eq!(log(dir.path()).lines().collect::<Vec<_>>(), expected);
        assert_eq!(output.last_lines(), expected);
        assert_eq!(shown.try_recv().unwrap().text, "one");
        assert_eq!(shown.try_recv().unwrap().role, "purple");
        assert_eq!(output.lines_not_shown(), 2);
        output.take(b"more", false);
        let missed = "[2 lines are not shown; the log has them]";
        assert_eq!(shown.try_recv().unwrap().text, missed);
        assert_eq!(shown.try_recv().unwrap().text, "more");
        assert_eq!(output.lines_not_shown(), 0);
    }

    #[tokio::test]
    async fn after_a_switch_lines_go_to_another_log() {
        let dir = tempfile::tempdir().unwrap();
        let output = output(dir.path(), None);
        output.drain(&b"one\n"[..]).await;
        let other = dir.path().join("next/purple.log");
        output.switch(&other).unwrap();
        output.drain(&b"two\n"[..]).await;
        assert_eq!(log(dir.path()), "one\n");
        assert_eq!(std::fs::read_to_string(other).unwrap(), "two\n");
        assert_eq!(output.last_lines(), ["two"]);
        assert_eq!(output.lines_read(), 2);
    }

    #[tokio::test]
    async fn only_the_last_lines_are_kept_at_hand() {
        let dir = tempfile::tempdir().unwrap();
        let output = output(dir.path(), None);
        let printed: String = (0..50).map(|n| format!("{n}\n")).collect();
        output.drain(printed.as_bytes()).await;
        assert_eq!(output.last_lines().len(), TAIL);
        assert_eq!(output.last_lines()[0], "30");
        assert_eq!(log(dir.path()).lines().count(), 50);
        output.drain(&b"poll\npoll\n"[..]).await;
        assert_eq!((output.last_lines().len(), output.last_lines()[19].as_str()), (TAIL, "49"));
        assert_eq!(log(dir.path()).lines().count(), 52);
    }

    /// `RUST_BACKTRACE=1`, and a trace of Java or Node, have more lines than are kept.
    #[tokio::test]
    async fn an_error_is_kept_in_front_of_its_trace() {
        let dir = tempfile::tempdir().unwrap();
        let output = output(dir.path(), None);
        let frames: String =
            (0..TAIL).map(|n| format!("  {n:2}: run\n             at ./m.rs:1\n")).collect();
        let printed = format!(
            "Error: port taken\n\n{frames}Caused by: x\n\tat a.B.c(B.java:3)\n\t... 9 more\n"
        );
        output.drain(printed.as_bytes()).await;
        let kept = [
            "Error: port taken",
            "",
            "   0: run",
            "             at ./m.rs:1",
            "   1: run",
            "Caused by: x",
            "\tat a.B.c(B.java:3)",
            "\t... 9 more",
        ];
        assert_eq!(output.last_lines(), kept);
        assert_eq!(log(dir.path()).lines().count(), 5 + 2 * TAIL);
    }

    #[tokio::test]
    async fn an_endless_line_is_cut_without_showing_half_a_secret() {
        let dir = tempfile::tempdir().unwrap();
        let output = output(dir.path(), None);
        let filler = "x".repeat(LINE_LIMIT as usize - 3);
        let printed = format!("{filler}hunter2{filler}{filler}\nnext\n");
        output.drain(printed.as_bytes()).await;
        let lines = output.last_lines();
        assert_eq!(lines[1], "next");
        assert!(lines[0].len() < LINE_LIMIT as usize && !lines[0].contains("hun"));
    }

    #[test]
    fn only_the_text_of_a_coloured_line_is_left() {
        for (line, expected) in [
            ("plain [0m text", "plain [0m text"),
            (
                "\u{1b}[2m12:00\u{1b}[0m [\u{1b}[32m\u{1b}[1minfo \u{1b}[0m] über",
                "12:00 [info ] über",
            ),
            ("\u{1b}[38;5;196mred\u{1b}[39m\u{1b}[K", "red"),
            ("\u{1b}]8;;https://a.example\u{1b}\\link\u{1b}]8;;\u{7} end", "link end"),
            ("\u{1b}Mup \u{1b}", "up "),
            ("cut \u{1b}[3", "cut "),
        ] {
            assert_eq!(without_escape_codes(line), expected);
        }
    }
}
