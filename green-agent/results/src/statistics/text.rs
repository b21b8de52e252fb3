//! Figures as text for people.

use std::fmt;

use super::Estimate;

/// Returns a number with at most three digits after the point.
pub fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    match text.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".to_owned(),
        text => text.to_owned(),
    }
}

/// Returns a count with its noun, such as `1 trial` or `2 trials`.
pub fn counted(count: usize, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

impl fmt::Display for Estimate {
    /// Writes the mean with its interval, such as `0.75 (0.6 to 0.86)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(mean) = self.mean else {
            return f.write_str("-");
        };
        f.write_str(&number(mean))?;
        match (self.lower, self.upper) {
            (Some(lower), Some(upper)) => {
                write!(f, " ({} to {})", number(lower), number(upper))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::rate;

    #[test]
    fn figures_are_short() {
        assert_eq!(number(0.5), "0.5");
        assert_eq!(number(-0.0001), "0");
        assert_eq!([counted(1, "trial"), counted(2, "trial")], ["1 trial", "2 trials"]);
        assert_eq!(number(100.0), "100");
        let eight = [vec![true; 8], vec![false; 2]].concat();
        assert_eq!(rate::estimate(&[eight]).to_string(), "0.8 (0.49 to 0.943)");
        assert_eq!(rate::estimate(&[]).to_string(), "-");
    }
}
