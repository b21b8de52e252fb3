//! Agent cards as a snapshot shows them: each once, and after that what is different when it is fetched again.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    exchange::Exchange,
    line::{self, Shown},
};
use crate::transcript::{Body, Content, label::labels};

/// A card that was fetched, what changed in it, or what went wrong if none could be fetched.
pub(super) struct Block {
    /// `card PATH`, `card PATH changed`, or `card` and the trouble.
    pub(super) title: String,
    /// The card, or the members that changed.
    pub(super) shown: Option<Shown>,
}

/// What is shown of a hop's card fetches, by path: how often they are repeated is chance, and so is the
/// order in which a caller tries several places. Trouble that another place made good does not show.
pub(super) fn blocks(fetches: &[Exchange<'_>], redact: &[String]) -> Vec<Block> {
    let mut places: BTreeMap<&str, Vec<&Body>> = BTreeMap::new();
    for (path, card) in fetches.iter().filter_map(fetched) {
        let cards = places.entry(path).or_default();
        if cards.last() != Some(&card) {
            cards.push(card);
        }
    }
    if places.is_empty() {
        return trouble(fetches).into_iter().collect();
    }
    let blocks = places
        .iter()
        .flat_map(|(path, cards)| of_place(path, cards, redact));
    blocks.collect()
}

/// Where a card was fetched, and what it was.
fn fetched<'a>(exchange: &Exchange<'a>) -> Option<(&'a str, &'a Body)> {
    let Content::Request { path, .. } = &exchange.request?.content else {
        return None;
    };
    let card = exchange
        .answers
        .iter()
        .find_map(|entry| match &entry.content {
            Content::Reply {
                status: ..400,
                body,
                ..
            } => body.as_ref(),
            Content::Reply { .. }
            | Content::Request { .. }
            | Content::Event { .. }
            | Content::End
            | Content::Failure { .. } => None,
        });
    Some((path, card?))
}

fn of_place(path: &str, cards: &[&Body], redact: &[String]) -> Vec<Block> {
    let first = cards.first().map(|card| Block {
        title: format!("card {path}"),
        shown: line::shown(card, redact),
    });
    let changes = cards.windows(2).filter_map(|pair| {
        let shown = match [pair[0], pair[1]].map(|card| line::shown(card, redact)) {
            [Some(Shown::Json(before)), Some(Shown::Json(after))] if before == after => None?,
            [Some(Shown::Json(before)), Some(Shown::Json(after))] => changed(&before, after),
            [_, after] => after?,
        };
        Some(Block {
            title: format!("card {path} changed"),
            shown: Some(shown),
        })
    });
    first.into_iter().chain(changes).collect()
}

/// The members of a card that are not as before; `null` for those that are gone.
fn changed(before: &Value, after: Value) -> Shown {
    let (Value::Object(before), Value::Object(after)) = (before, &after) else {
        return Shown::Json(after);
    };
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    let gone = gone.map(|key| (key.clone(), Value::Null));
    let new = after
        .iter()
        .filter(|(key, value)| before.get(*key) != Some(*value))
        .map(|(key, value)| (key.clone(), value.clone()));
    Shown::Json(Value::Object(gone.chain(new).collect::<Map<_, _>>()))
}

/// What went wrong the last time.
fn trouble(fetches: &[Exchange<'_>]) -> Option<Block> {
    let last = fetches.last()?;
    let troubles: Vec<String> = last.answers.iter().copied().flat_map(labels).collect();
    Some(Block {
        title: format!("card {}", troubles.join(" ")).trim_end().to_owned(),
        shown: None,
    })
}
