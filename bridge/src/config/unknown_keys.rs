//! Finds all unknown keys of the file, by its schema. The reader itself stops at the first one of a table.

use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

use super::{Problem, check::Found, schema::schema};

/// The least similarity of a suggested key, from 0 to 1.
const ALIKE: f32 = 0.6;

/// Returns the keys that the schema has not at their place; none if the text is not TOML.
pub(super) fn unknown_keys(text: &str) -> Found {
    let schema = schema();
    let mut search = Search { definitions: &schema["$defs"], found: Found::new() };
    if let Ok(root) = DeTable::parse(text) {
        search.in_table(root.get_ref(), &[&schema]);
    }
    search.found
}

struct Search<'s> {
    definitions: &'s Value,
    found: Found,
}

impl<'s> Search<'s> {
    /// Looks through a value, which has one of these forms.
    fn in_value(&mut self, value: &DeValue<'_>, forms: &[&'s Value]) {
        match value {
            DeValue::Table(table) => self.in_table(table, forms),
            DeValue::Array(list) => {
                let items = self.forms_of(forms.iter().filter_map(|form| form.get("items")));
                list.iter().for_each(|item| self.in_value(item.get_ref(), &items));
            }
            _ => {}
        }
    }

    fn in_table(&mut self, table: &DeTable<'_>, forms: &[&'s Value]) {
        let properties = |form: &&'s Value| form.get("properties")?.as_object();
        let properties: Vec<&Map<String, Value>> = forms.iter().filter_map(properties).collect();
        let others = forms.iter().filter_map(|form| form.get("additionalProperties"));
        let others: Vec<&Value> = others.filter(|others| **others != Value::Bool(false)).collect();
        for (name, value) in table {
            let mut own = properties.iter().filter_map(|one| one.get(&**name.get_ref())).peekable();
            let inside = match own.peek() {
                Some(_) => self.forms_of(own),
                None if properties.is_empty() || !others.is_empty() => {
                    self.forms_of(others.iter().copied())
                }
                None => {
                    let known = properties.iter().flat_map(|one| one.keys());
                    let problem = unknown(name.get_ref(), known.map(String::as_str).collect());
                    self.found.push((name.span().start, problem));
                    continue;
                }
            };
            self.in_value(value.get_ref(), &inside);
        }
    }

    /// Returns the alternatives of these schemas, without references.
    fn forms_of(&self, schemas: impl Iterator<Item = &'s Value>) -> Vec<&'s Value> {
        let mut forms = Vec::new();
        let mut open: Vec<&Value> = schemas.collect();
        while let Some(schema) = open.pop() {
            let alternatives = schema.get("anyOf").or_else(|| schema.get("oneOf"));
            if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
                open.extend(self.definitions.get(name));
            } else if let Some(alternatives) = alternatives.and_then(Value::as_array) {
                open.extend(alternatives);
            } else {
                forms.push(schema);
            }
        }
        forms
    }
}

fn unknown(name: &str, mut known: Vec<&str>) -> Problem {
    known.sort_unstable();
    known.dedup();
    let nearest = similar::get_close_matches(name, &known, 1, ALIKE).first().copied();
    Problem::UnknownKey { nearest: nearest.map(str::to_owned), known: known.join(", ") }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::parse;

    #[test]
    fn all_unknown_keys_are_reported_with_the_nearest_known_one() {
        let text = "lisen = '127.0.0.1:1'\nstoer = 'memory'\nhue = 1\n[store]\nplaec = 'memory'\n\
                    [[agents]]\nnmae = 'a'\nbot = 7\nauth = { isuer = {} }\n\
                    [agents.access.b]\nsecret = { a = 'x' }\n[agents.access.c.token]\nissuers = 'i'\n\
                    [agents.card]\nskils = []\nsecurity_schemes = { s = { httpAuthSecurityScheme = { any = 1 } } }\n";
        let errors = parse(Path::new("a.toml"), text, &[]).unwrap_err().to_string();
        for (expected, nearest) in [
            ("1:1: lisen", Some("listen")),
            ("2:1: stoer", Some("store")),
            ("3:1: hue", None),
            ("5:1: store.plaec", Some("place")),
            ("7:1: agents[0].nmae", Some("name")),
            ("9:10: agents[0].auth.isuer", Some("issuer")),
            ("11:1: agents[0].access.b.secret", Some("secrets")),
            ("13:1: agents[0].access.c.token.issuers", Some("issuer")),
            ("15:1: agents[0].card.skils", Some("skills")),
        ] {
            let expected = match nearest {
                Some(nearest) => format!("a.toml:{expected}: unknown key; did you mean {nearest}?"),
                None => format!("a.toml:{expected}: unknown key; known here: admin, agents, "),
            };
            assert!(errors.contains(&expected), "{expected}\n{errors}");
        }
        assert!(!errors.contains(".any: unknown key"), "{errors}");
        let text = "lisen = 1\n[[agents]]\nnmae = 'a'\nbot = 7\n";
        let errors = parse(Path::new("a.toml"), text, &[]).unwrap_err();
        let keys: Vec<_> = errors.0.iter().map(|error| error.key.as_str()).collect();
        assert_eq!(keys, ["lisen", "agents[0].nmae", "agents[0].bot"], "{errors}");
    }
}
