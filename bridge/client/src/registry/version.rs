//! Orders tags by version.

use semver::Version;

/// Returns the version that a tag names: `1.2.3`, also `v1` and `1.2`, where missing numbers are zero.
pub(super) fn of_tag(tag: &str) -> Option<Version> {
    let tag = tag.strip_prefix(['v', 'V']).unwrap_or(tag);
    let end = tag.find(['-', '+']).unwrap_or(tag.len());
    let (numbers, rest) = tag.split_at(end);
    let padded = match numbers.split('.').count() {
        1 => format!("{numbers}.0.0{rest}"),
        2 => format!("{numbers}.0{rest}"),
        _ => format!("{numbers}{rest}"),
    };
    Version::parse(&padded).ok()
}

/// Returns the tags to read: versions with the newest first, or if there are none, all tags with `latest` first.
pub(super) fn newest(tags: Vec<String>, at_most: usize) -> Vec<String> {
    let (mut versions, mut others): (Vec<_>, Vec<_>) =
        tags.into_iter().partition(|tag| of_tag(tag).is_some());
    versions.sort_by_key(|tag| std::cmp::Reverse(of_tag(tag)));
    others.sort_by_key(|tag| (tag != "latest", tag.clone()));
    let mut chosen = if versions.is_empty() { others } else { versions };
    chosen.truncate(at_most);
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_people_write_them() {
        for (tag, version) in [
            ("1.2.3", Some("1.2.3")),
            ("v1", Some("1.0.0")),
            ("V2.1", Some("2.1.0")),
            ("v1-rc.1", Some("1.0.0-rc.1")),
            ("1.0.0+build", Some("1.0.0+build")),
            ("latest", None),
            ("2026_11", None),
            ("1.2.3.4", None),
        ] {
            assert_eq!(of_tag(tag).map(|found| found.to_string()).as_deref(), version, "{tag}");
        }
    }

    #[test]
    fn the_newest_comes_first() {
        for (tags, chosen) in [
            (vec!["v1", "v10", "v2", "latest"], vec!["v10", "v2"]),
            (vec!["v1", "v1-rc.1"], vec!["v1", "v1-rc.1"]),
            (vec!["b", "latest", "a"], vec!["latest", "a"]),
        ] {
            let tags = tags.into_iter().map(String::from).collect();
            assert_eq!(newest(tags, 2), chosen);
        }
    }
}
