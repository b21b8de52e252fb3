//! Shortens the long lines of a diff to the place where they differ: a report in a single text of JSON is one line.

/// The most characters of a line that are shown.
const LONGEST: usize = 240;

/// The characters of these that are before the first difference.
const BEFORE: usize = 80;

/// Returns a unified diff with its long lines shortened. A removed line is compared with the added line that replaces it.
pub(super) fn shortened(diff: &str) -> String {
    let lines: Vec<&str> = diff.lines().collect();
    let mut shown = String::new();
    for block in lines.chunk_by(|a, b| is_changed(a) && is_changed(b)) {
        let added = block.iter().position(|line| line.starts_with('+')).unwrap_or(block.len());
        let (removed, added) = block.split_at(added);
        let differ = |at: usize| match (removed.get(at), added.get(at)) {
            (Some(removed), Some(added)) => first_difference(&removed[1..], &added[1..]),
            _ => 0,
        };
        for side in [removed, added] {
            for (at, line) in side.iter().enumerate() {
                shown.push_str(&excerpt(line, differ(at)));
                shown.push('\n');
            }
        }
    }
    shown
}

fn is_changed(line: &str) -> bool {
    line.starts_with(['-', '+'])
}

/// Returns the number of characters with which both lines begin.
fn first_difference(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// Returns the line, or of a long one its sign and the characters around a place.
fn excerpt(line: &str, place: usize) -> String {
    let length = line.chars().count();
    if length <= LONGEST {
        return line.to_owned();
    }
    let from = place.saturating_sub(BEFORE).min(length - LONGEST);
    let sign = line.chars().take(1);
    let before = if from > 0 { "\u{2026}" } else { "" };
    let after = if from + LONGEST < length - 1 { "\u{2026}" } else { "" };
    let middle = line.chars().skip(1 + from).take(LONGEST);
    format!("{}{before}{}{after}", sign.collect::<String>(), middle.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_shown_where_they_differ() {
        let long = |end: &str| format!("{}{end}{}", "a".repeat(5000), "b".repeat(5000));
        let (old, new) = (long("took 181 ms"), long("took 161 ms"));
        let shown = shortened(&format!("@@ -1,2 +1,2 @@\n {old}\n-{old}\n-x\n+{new}\n+y\n"));
        let lines: Vec<&str> = shown.lines().collect();
        let excerpt = |time: &str| format!("{}{time}{}", "a".repeat(74), "b".repeat(155));
        assert_eq!(lines[0], "@@ -1,2 +1,2 @@");
        assert_eq!(lines[1], format!(" {}\u{2026}", "a".repeat(LONGEST)));
        assert_eq!(lines[2], format!("-\u{2026}{}\u{2026}", excerpt("took 181 ms")));
        assert_eq!(lines[3], "-x");
        assert_eq!(lines[4], format!("+\u{2026}{}\u{2026}", excerpt("took 161 ms")));
        assert_eq!(lines[5..], ["+y"]);
    }

    #[test]
    fn a_difference_at_the_end_is_shown_with_what_is_before() {
        let old = "é".repeat(1000);
        let shown = shortened(&format!("-{old}1\n+{old}2\n"));
        for (line, end) in shown.lines().zip(["1", "2"]) {
            assert!(line.ends_with(&format!("é{end}")), "{line}");
            assert!(line.chars().count() < LONGEST + 5, "{line}");
        }
    }

    #[test]
    fn short_lines_stay() {
        let diff = "--- a\n+++ b\n@@ -1 +1 @@\n-1\n+2\n";
        assert_eq!(shortened(diff), diff);
    }
}
