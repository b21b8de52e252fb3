//! Prints text to the terminal and escapes control characters, because much of the text comes from untrusted
//! peers.
//!
//! Control characters can make a terminal clear the screen, change its title, send input in the user's name, or
//! overwrite earlier output. Characters that override the writing direction make a text look like another one
//! (Unicode Technical Report 36, section 2.10). All of these are printed in the form `\u001b`. In JSON that form
//! means the same character, so one filter serves text and JSON.
//!
//! - [`outln!`](crate::outln), [`out!`](crate::out), [`errln!`](crate::errln), [`err!`](crate::err): print
//!   filtered text; they replace the standard library's macros, which a lint forbids in the programs
//! - [`line()`]: filters a text that is inserted into one line
//! - [`lines`]: filters a text of several lines

use std::{
    borrow::Cow,
    fmt::{self, Write as _},
    io::{self, Write},
    sync::atomic::{AtomicBool, Ordering},
};

/// Filters a text of several lines: line feeds and tabs are kept; other control characters and direction overrides
/// are escaped in the form `\u001b`. CR LF becomes a line feed.
pub fn lines(text: &str) -> Cow<'_, str> {
    match text.chars().any(is_filtered) {
        false => Cow::Borrowed(text),
        true => text.replace("\r\n", "\n").chars().fold(String::new(), add).into(),
    }
}

/// Filters a text that is inserted into one line: line breaks and tabs are escaped too, as `\n` and `\t`.
pub fn line(text: &str) -> Cow<'_, str> {
    let one = lines(text);
    match one.contains(['\n', '\t']) {
        false => one,
        true => one.replace('\n', "\\n").replace('\t', "\\t").into(),
    }
}

fn is_filtered(one: char) -> bool {
    match one {
        '\n' | '\t' => false,
        // Line and paragraph separators, embeddings, overrides and isolates.
        '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => one.is_control(),
    }
}

fn add(mut text: String, one: char) -> String {
    match is_filtered(one) {
        false => text.push(one),
        // Writing to a `String` cannot fail.
        true => drop(write!(text, "\\u{:04x}", u32::from(one))),
    }
    text
}

/// A writer that filters its input, for the log. Each write is filtered separately.
#[cfg(any(feature = "log", test))]
pub(crate) struct Filtered<W>(pub(crate) W);

#[cfg(any(feature = "log", test))]
impl<W: Write> Write for Filtered<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(lines(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Prints filtered text to standard output; see [`out!`](crate::out).
#[doc(hidden)]
pub fn to_stdout(text: fmt::Arguments<'_>) {
    print(&mut io::stdout().lock(), text);
}

/// Prints filtered text to standard error; see [`err!`](crate::err).
#[doc(hidden)]
pub fn to_stderr(text: fmt::Arguments<'_>) {
    print(&mut io::stderr().lock(), text);
}

/// Writes filtered text.
fn print(out: &mut impl Write, text: fmt::Arguments<'_>) {
    let text = text.to_string();
    let printed = out.write_all(lines(&text).as_bytes()).and_then(|()| out.flush());
    note_printed(&printed);
}

/// Whether something could not be printed.
static IS_CUT: AtomicBool = AtomicBool::new(false);

/// Takes note of how printing ended. A closed pipe is ignored, because the reader has read what it wanted. Any other error,
/// such as a full disk, is reported once, and a program that would have passed ends with
/// [`Exit::Infrastructure`](crate::Exit::Infrastructure).
pub fn note_printed(printed: &io::Result<()>) {
    if let Err(error) = printed
        && error.kind() != io::ErrorKind::BrokenPipe
        && !IS_CUT.swap(true, Ordering::Relaxed)
    {
        // Standard error may be closed too.
        let _ = writeln!(io::stderr(), "cannot print: {error}");
    }
}

/// Returns whether something could not be printed.
pub(crate) fn is_cut() -> bool {
    IS_CUT.load(Ordering::Relaxed)
}

/// Prints [filtered](crate::terminal) text to standard output.
#[macro_export]
macro_rules! out {
    ($($text:tt)*) => { $crate::terminal::to_stdout(::std::format_args!($($text)*)) };
}

/// Prints a filtered line to standard output; see [`out!`](crate::out).
#[macro_export]
macro_rules! outln {
    () => { $crate::out!("\n") };
    ($($text:tt)*) => { $crate::out!("{}\n", ::std::format_args!($($text)*)) };
}

/// Prints [filtered](crate::terminal) text to standard error.
#[macro_export]
macro_rules! err {
    ($($text:tt)*) => { $crate::terminal::to_stderr(::std::format_args!($($text)*)) };
}

/// Prints a filtered line to standard error.
#[macro_export]
macro_rules! errln {
    () => { $crate::err!("\n") };
    ($($text:tt)*) => { $crate::err!("{}\n", ::std::format_args!($($text)*)) };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// Generates texts with many control characters.
    fn text() -> impl Strategy<Value = String> {
        let nasty = proptest::sample::select(
            &[
                '\u{1b}', '\r', '\n', '\t', '\u{7}', '\u{8}', '\u{7f}', '\u{85}', '\u{9b}',
                '\u{9d}', '\u{202e}', '\u{2066}', '\u{2028}', '\\', '"', 'u',
            ][..],
        );
        let one = prop_oneof![nasty, any::<char>()];
        proptest::collection::vec(one, 0..40).prop_map(String::from_iter)
    }

    fn is_safe(text: &str) -> bool {
        text.chars().all(|one| {
            let is_bidi = matches!(one, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            !is_bidi && (!one.is_control() || matches!(one, '\n' | '\t'))
        })
    }

    proptest! {
        #[test]
        fn nothing_that_a_terminal_obeys_is_left(text in text()) {
            let shown = lines(&text);
            prop_assert!(is_safe(&shown), "{shown:?}");
            prop_assert_eq!(lines(&shown), shown.clone());
            let shown = line(&text);
            prop_assert!(is_safe(&shown) && !shown.contains(['\n', '\t']), "{shown:?}");
        }

        #[test]
        fn printable_text_is_unchanged(text in "[\\PC\n\t]{0,40}") {
            let is_plain = is_safe(&text) && !text.contains(['\u{2028}', '\u{2029}']);
            prop_assert!(!is_plain || matches!(lines(&text), Cow::Borrowed(_)), "{text:?}");
        }

        #[test]
        fn json_means_the_same_as_before(text in text()) {
            let value = serde_json::json!({ text.as_str(): [text] });
            for written in [value.to_string(), format!("{value:#}")] {
                let shown = lines(&written);
                prop_assert!(is_safe(&shown));
                prop_assert_eq!(&serde_json::from_str::<Value>(&shown).unwrap(), &value);
            }
        }

        #[test]
        fn a_log_is_filtered_too(text in text()) {
            let mut written = Vec::new();
            Filtered(&mut written).write_all(text.as_bytes()).unwrap();
            let written = String::from_utf8(written).unwrap();
            prop_assert_eq!(lines(&text), written);
        }
    }

    #[test]
    fn control_characters_are_shown_as_json_escapes() {
        for (text, shown, in_a_line) in [
            ("a\u{1b}[2Jb", "a\\u001b[2Jb", "a\\u001b[2Jb"),
            ("a\r\nb\rc", "a\nb\\u000dc", "a\\nb\\u000dc"),
            ("\u{9d}0;t\u{7}", "\\u009d0;t\\u0007", "\\u009d0;t\\u0007"),
            ("\u{202e}gpj.exe", "\\u202egpj.exe", "\\u202egpj.exe"),
            ("a\tb", "a\tb", "a\\tb"),
            ("שלום é 👩‍🚀", "שלום é 👩‍🚀", "שלום é 👩‍🚀"),
        ] {
            assert_eq!((lines(text), line(text)), (shown.into(), in_a_line.into()));
        }
    }
}
