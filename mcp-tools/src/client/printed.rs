//! What a program prints to its standard output beside messages: why it ends, or that it serves HTTP instead.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, ReadBuf};

/// The largest part of a line that is kept, in bytes.
const MAX_LINE: usize = 200;

/// The number of lines that are kept.
const MAX_LINES: usize = 3;

/// The last lines that were no messages; clones share them.
#[derive(Clone, Default)]
pub(super) struct Printed(Arc<Mutex<Vec<String>>>);

impl Printed {
    /// Forgets the lines of a former program.
    pub(super) fn clear(&self) {
        self.lines(Vec::clear);
    }

    /// Returns the last lines, if there are any.
    pub(super) fn text(&self) -> Option<String> {
        let text = self.lines(|lines| lines.join("\n"));
        (!text.is_empty()).then_some(text)
    }

    fn add(&self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let line = line.trim();
        if line.is_empty() || line.starts_with('{') {
            return;
        }
        self.lines(|lines| {
            if lines.len() == MAX_LINES {
                lines.remove(0);
            }
            lines.push(line.to_owned());
        });
    }

    fn lines<T>(&self, work: impl FnOnce(&mut Vec<String>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The standard output of a program.
pub(super) struct Watched<R> {
    output: R,
    /// The beginning of the line that is being read.
    line: Vec<u8>,
    printed: Printed,
}

impl<R> Watched<R> {
    pub(super) fn new(output: R, printed: Printed) -> Self {
        Self { output, line: Vec::new(), printed }
    }

    fn note(&mut self, read: &[u8]) {
        for piece in read.split_inclusive(|byte| *byte == b'\n') {
            let room = MAX_LINE - self.line.len();
            self.line.extend(piece.iter().take(room));
            if piece.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        self.printed.add(&self.line);
        self.line.clear();
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.output).poll_read(context, buffer))?;
        match buffer.filled().get(before..) {
            Some([]) | None => this.end_line(),
            Some(read) => this.note(read),
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn the_last_lines_that_are_no_messages_are_kept() {
        let printed = Printed::default();
        let output = format!("one\ntwo\n{{\"id\":0}}\n\n three\r\n{}", "x".repeat(1000));
        let mut watched = Watched::new(output.as_bytes(), printed.clone());
        let mut read = String::new();
        watched.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, output);
        let expected = format!("two\nthree\n{}", "x".repeat(MAX_LINE));
        assert_eq!(printed.text(), Some(expected));
        printed.clear();
        assert_eq!(printed.text(), None);
    }
}
