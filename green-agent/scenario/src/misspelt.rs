//! Finds texts that look like misspelled placeholders, such as `{rwo.input}`. They are no mistakes: they are sent as
//! they are.

use std::path::Path;

use super::{fill::ROOTS, reader::nearest};

/// Returns a note about each text of a file that is almost a placeholder, outside of comments.
pub(super) fn placeholders(path: &Path, text: &str) -> Vec<String> {
    let path = &path.display();
    let lines = (1..).zip(text.lines());
    let code = lines.filter(|(_, line)| !line.trim_start().starts_with('#'));
    let found = code.flat_map(|(number, line)| {
        let written = braces(line).filter_map(|(column, text)| Some((column, text, meant(text)?)));
        written.map(move |(column, text, meant)| {
            format!(
                "{path}:{number}:{column}: {{{text}}} is no placeholder and stays as it is written; did you mean {{{meant}}}?"
            )
        })
    });
    found.collect()
}

/// Returns the texts in braces on a line, each with the column of its brace. `${NAME}` is a variable.
fn braces(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let opened = line.match_indices('{');
    let opened = opened.filter(|(at, _)| !line[..*at].ends_with('$'));
    opened.filter_map(|(at, _)| {
        let inside = &line[at + 1..];
        let end = inside.find(['{', '}', '"', ' '])?;
        let closes = inside[end..].starts_with('}');
        closes.then(|| (line[..at].chars().count() + 1, &inside[..end]))
    })
}

/// Returns the placeholder that was probably meant by a text whose first word is almost one of the known ones.
fn meant(written: &str) -> Option<String> {
    let (root, rest) = written.split_once('.')?;
    if ROOTS.contains(&root) || rest.is_empty() {
        return None;
    }
    Some(format!("{}.{rest}", nearest(root, &ROOTS)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_placeholder_is_found_with_its_place() {
        let text = "# {rwo.x}\ntext = 'ä {rwo.input}, {row.target} ${rwo.x}'\n\
                    cmd = 'a --mode {mtrix.mode} --x {plan.result} {agent} { row.x }'\n";
        assert_eq!(
            placeholders(Path::new("a.toml"), text),
            [
                "a.toml:2:11: {rwo.input} is no placeholder and stays as it is written; did you mean {row.input}?",
                "a.toml:3:17: {mtrix.mode} is no placeholder and stays as it is written; did you mean {matrix.mode}?",
            ]
        );
    }
}
