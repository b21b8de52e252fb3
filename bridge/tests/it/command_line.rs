//! Tests of all programs' command lines: help texts, and readers that close the pipe.

use std::{
    io::Read as _,
    process::{Command, Stdio},
};

/// The largest width of help texts.
const COLUMNS: usize = 100;

/// Returns the help of a program and of each of its subcommands, with the words that it is asked by.
fn helps(program: &str, words: &[String]) -> Vec<(String, String)> {
    let output = Command::new(program)
        .args(words)
        .arg("--help")
        .env("COLUMNS", COLUMNS.to_string())
        .output()
        .unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{words:?}");
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help");
    let below: Vec<_> =
        names.flat_map(|name| helps(program, &[words, &[name.to_owned()]].concat())).collect();
    let own = (words.join(" "), help);
    std::iter::once(own).chain(below).collect()
}

/// Checks that no line of the help texts is too wide and none ends early: a paragraph is wrapped once, by the program.
pub(crate) fn helps_wrap_evenly(program: &str) {
    let helps = helps(program, &[]);
    assert!(helps.len() > 2, "{program} has subcommands");
    for (words, help) in helps {
        let lines: Vec<&str> = help.lines().collect();
        for line in &lines {
            assert!(line.chars().count() <= COLUMNS, "{words}: {line}");
        }
        for example in examples(&lines) {
            let is_whole = COMMANDS.iter().any(|command| example.trim_start().starts_with(command));
            assert!(
                is_whole || example.starts_with("    "),
                "{words}: a broken example: {example}"
            );
        }
        for pair in lines.windows(2) {
            let ends_early = is_one_paragraph(pair[0], pair[1]) && would_fit(pair[0], pair[1]);
            assert!(!ends_early, "{words}: {pair:#?}");
        }
    }
}

/// How examples begin, besides the second line of a command that is written on two.
const COMMANDS: [&str; 5] =
    ["bridge ", "green-agent ", "purple-agent ", "mcp-tools ", "MCP_TOKEN="];

/// Returns the lines below the word "Examples:". A command that is broken into two lines cannot be copied.
fn examples<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let begin = lines.iter().position(|line| ["Examples:", "Example:"].contains(line));
    let all = lines.iter().skip(begin.map_or(lines.len(), |at| at + 1));
    all.take_while(|line| line.starts_with("  ")).copied().collect()
}

fn is_one_paragraph(line: &str, next: &str) -> bool {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let is_prose = |line: &str| {
        let text = line.trim();
        let is_item = ["- ", "[", "/"].iter().any(|begin| text.starts_with(begin));
        !text.is_empty() && !text.contains("  ") && !is_item && !text.ends_with(':')
    };
    let is_example = indent(line) == 2;
    indent(line) == indent(next) && is_prose(line) && is_prose(next) && !is_example
}

fn would_fit(line: &str, next: &str) -> bool {
    let word = next.split_whitespace().next().unwrap_or_default();
    line.trim_end().chars().count() + 1 + word.chars().count() <= COLUMNS
}

/// Checks that a program ends without an error when its reader leaves after the first bytes, as `head` does.
pub(crate) fn ends_quietly(command: &mut Command) {
    let shown = format!("{command:?}");
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Closed before anything is written, since what is short would all fit into the pipe.
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    let status = child.wait().unwrap();
    assert!(!said.contains("panicked"), "{shown}: {said}");
    assert!(status.code() != Some(101), "{shown}: {status}: {said}");
}
