//! Paths to a value in JSON.

/// A path to a value, written as `/a/0/b` or as `$.a[0].b`.
#[derive(Clone, Debug)]
pub enum ValuePath {
    /// A JSON pointer (RFC 6901).
    Pointer(String),
    /// A JSONPath (RFC 9535), which may select several nodes.
    JsonPath(Box<serde_json_path::JsonPath>),
}

/// Returns the first name on the path of a pointer or a JSONPath; `None` if it begins with anything else.
pub fn first_name(path: &ValuePath) -> Option<String> {
    match path {
        ValuePath::Pointer(pointer) => {
            let first = pointer.strip_prefix('/')?.split('/').next()?;
            Some(first.replace("~1", "/").replace("~0", "~"))
        }
        ValuePath::JsonPath(path) => {
            // In normal form, a name is in brackets and quotes, or after a dot.
            let text = path.to_string();
            let rest = text.strip_prefix('$')?;
            let quoted = rest.strip_prefix("['").or_else(|| rest.strip_prefix("[\""));
            let (name, end) = match quoted {
                Some(name) => (name, &['\'', '"'][..]),
                None => (rest.strip_prefix('.')?, &['.', '['][..]),
            };
            let name = name.split(end).next()?;
            (!name.is_empty() && name != "*").then(|| name.to_owned())
        }
    }
}

/// Returns whether a JSONPath can select one node at most: names and indices, without wildcards, slices, filters.
pub(super) fn selects_one(path: &str) -> bool {
    let mut quote = None;
    let mut last = ' ';
    for c in path.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None if matches!(c, '*' | '?' | ',' | ':') || (c == '.' && last == '.') => {
                return false;
            }
            None => {}
        }
        last = c;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::fixture::path;

    #[test]
    fn the_first_name_says_whose_output_is_meant() {
        for (text, expected) in [
            ("/plan/steps/0", Some("plan")),
            ("/a~1b", Some("a/b")),
            ("", None),
            ("$.plan.steps[0]", Some("plan")),
            ("$['plan']['steps']", Some("plan")),
            ("$.plan", Some("plan")),
            ("$[\"plan\"][*]", Some("plan")),
            ("$..plan", None),
            ("$.*", None),
            ("$", None),
        ] {
            assert_eq!(first_name(&path(text)).as_deref(), expected, "{text}");
        }
    }
}
