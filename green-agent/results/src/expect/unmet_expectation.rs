//! Formats expectations that are not met.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    place::Node,
    shown::{positions, shown},
};

/// The most values that a report shows of several.
pub(super) const LISTED: usize = 3;

/// An expectation that is not met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnmetExpectation {
    /// Line of the scenario file on which the expectation begins, from 1.
    pub line: usize,
    /// The expectation as it would be written in the file.
    pub expectation: String,
    /// The expected value, for a person.
    pub expected: String,
    /// The actual value, for a person; cut after about 400 characters.
    pub actual: String,
    /// The `seq` of the transcript entries that show it; empty if no entry does.
    pub at: Vec<u64>,
}

/// The text begins with the line number, so that the file's name can be put before it.
impl fmt::Display for UnmetExpectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indented = |text: &str| text.replace('\n', "\n            ");
        writeln!(f, "{}: {}", self.line, self.expectation)?;
        writeln!(f, "  expected: {}", indented(&self.expected))?;
        write!(f, "  actual:   {}", indented(&self.actual))?;
        if !self.at.is_empty() {
            write!(f, "\n  seen at:  {}", positions(&self.at))?;
        }
        Ok(())
    }
}

/// Returns the first of the selected values; of several, each with its place.
pub(super) fn listed(nodes: &[Node<'_>]) -> String {
    if let [only] = nodes {
        return shown(only.value);
    }
    let first = nodes.iter().take(LISTED);
    let mut lines: Vec<String> =
        first.map(|node| format!("{}: {}", node.place, shown(node.value))).collect();
    if nodes.len() > LISTED {
        lines.push(format!("and {} more", nodes.len() - LISTED));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_well() {
        let unmet = UnmetExpectation {
            line: 14,
            expectation: r#"on = "artifact:Result", path = "/score", ge = 1.0"#.to_owned(),
            expected: "a number of at least 1.0 at /score".to_owned(),
            actual: "0.5\nand more".to_owned(),
            at: vec![17, 23],
        };
        insta::assert_snapshot!(unmet, @r#"
        14: on = "artifact:Result", path = "/score", ge = 1.0
          expected: a number of at least 1.0 at /score
          actual:   0.5
                    and more
          seen at:  17, 23
        "#);
    }
}
