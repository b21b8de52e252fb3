//! The page around the data: head, style, markup, script, and the policy that lets nothing else run.

use std::io::{self, Write};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest as _, Sha256};

const STYLE: &str = include_str!("page.css");

/// The markup; everything else is made by the script.
const MARKUP: &str = include_str!("page.html");

/// The script. Its files share one scope; the last one begins.
const SCRIPT: &str = concat!(
    "'use strict';\n",
    include_str!("js/text.js"),
    include_str!("js/blocks.js"),
    include_str!("js/live.js"),
    include_str!("js/run.js"),
    include_str!("js/rows.js"),
    include_str!("js/json.js"),
    include_str!("js/viewer.js"),
    include_str!("js/plot.js"),
    include_str!("js/overview.js"),
    include_str!("js/trials.js"),
    include_str!("js/transcript.js"),
    include_str!("js/timeline.js"),
    include_str!("js/sequence.js"),
    include_str!("js/message.js"),
    include_str!("js/pane.js"),
    include_str!("js/trial.js"),
    include_str!("js/compare.js"),
    include_str!("js/main.js"),
);

/// The source of the page's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The page itself.
    File,
    /// The server that served it.
    Server,
}

/// Writes everything before the data.
pub(super) fn begin(out: &mut impl Write, title: &str, source: Source) -> io::Result<()> {
    let (word, connect) = match source {
        Source::File => ("file", "'none'"),
        Source::Server => ("server", "'self'"),
    };
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\" data-source=\"{word}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{MARKUP}",
        policy(connect),
        escaped(title),
    )
}

/// Writes the script, behind the data that the first view needs.
pub(super) fn script(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<script>{SCRIPT}</script>")
}

pub(super) fn end(out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"</body>\n</html>\n")
}

/// Returns the policy: one script and one style, known by their digests; nothing is loaded, sent, framed or embedded.
pub(super) fn policy(connect: &str) -> String {
    format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; connect-src {connect}; base-uri 'none'; form-action 'none'",
        digest(SCRIPT),
        digest(STYLE)
    )
}

fn digest(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

/// Returns a text escaped for markup.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_and_the_style_end_where_they_should() {
        for (text, end) in [(SCRIPT, "</script"), (SCRIPT, "<!--"), (STYLE, "</style")] {
            assert!(!text.to_lowercase().contains(end), "{end}");
        }
    }

    #[test]
    fn the_page_has_one_script_and_no_other_source() {
        let mut page = Vec::new();
        begin(&mut page, "a <b>\"&", Source::File).unwrap();
        script(&mut page).unwrap();
        end(&mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        assert!(page.contains("<title>a &lt;b&gt;&quot;&amp;</title>"));
        assert!(page.contains("default-src 'none'; script-src 'sha256-"));
        assert!(!page.contains("unsafe-"));
        assert_eq!(page.matches("<script").count(), 1);
        // The markup itself has neither handlers nor styles, because the policy would refuse them.
        assert!(!MARKUP.contains(" on") && !MARKUP.contains("style="));
    }
}
