//! The snapshot form of a transcript: text that is the same for the same behaviour and diffs well.
//!
//! ```text
//! ## runner -> green
//!
//! card /.well-known/agent-card.json
//! { "name": "Judge", "url": "http://<green>/", "version": "1.0.0" }
//!
//! > message/stream
//! { "message": { "messageId": "<message-1>", "parts": [{ "kind": "text", "text": "Hello" }] } }
//! < task:submitted
//! { "contextId": "<context-1>", "id": "<task-1>", "status": { "state": "submitted" } }
//! < status:completed
//! { "final": true, "status": { "state": "completed" }, "taskId": "<task-1>" }
//! < end
//! ```
//!
//! Order is kept per hop: those to the evaluator first, the runner's before others, then the evaluator's
//! to the participants as the scenario lists them, then others by name; in a hop the exchanges in order of
//! their requests, each with its answers. The interleaving of hops and exchanges is not shown.
//! A card is shown when it is first fetched, and later only its changes (`card`). Polls collapse while a task is
//! running, as do keep-alives (`exchange`), MCP's handshakes (`mcp`) and repeated reads from a registry (`registry`).
//! Ids, times, ports and tokens become names (`rename`), numbered as they appear; headers and stream ids are left out.

mod card;
mod exchange;
mod line;
mod mcp;
mod redact;
mod registry;
mod rename;
mod text;

use std::collections::BTreeMap;

use self::{
    exchange::Exchange,
    line::{Line, ShownBody},
    mcp::SnapshotItem,
    rename::Renamer,
};
use super::{Entry, Hop, layout::layout};

/// The names of a run's agents.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Roles by origin, such as `http://127.0.0.1:4711` to `green`, without a trailing slash. An agent may
    /// have several origins: its own and the recorder's in front of it.
    pub origins: BTreeMap<String, String>,
    /// The participants' roles, in the scenario's order.
    pub roles: Vec<String>,
}

/// The settings of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotSettings {
    /// JSON pointers to the values in bodies that are replaced by `<redacted>`. `*` matches any one segment.
    pub redact: Vec<String>,
}

/// Returns the snapshot form of a transcript. It ends with a newline unless it is empty.
pub fn canonical(entries: &[Entry], names: &Names, settings: &SnapshotSettings) -> String {
    let sections = sections(entries, names, settings);
    let mut renamer = Renamer::new(&names.origins);
    for section in &sections {
        section.learn(&mut renamer);
    }
    renamer.finish_learning();
    let written: Vec<String> = sections.iter().map(|section| section.write(&mut renamer)).collect();
    written.join("\n")
}

/// One hop in the form in which it is written.
struct Section {
    hop: Hop,
    /// The results of card fetches, if there were any.
    cards: Vec<card::CardSection>,
    exchanges: Vec<Vec<Line>>,
}

fn sections(entries: &[Entry], names: &Names, settings: &SnapshotSettings) -> Vec<Section> {
    let mut hops: BTreeMap<&Hop, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        hops.entry(&entry.hop).or_default().push(entry);
    }
    let mut sections: Vec<Section> =
        hops.into_iter().map(|(hop, entries)| section(hop, &entries, names, settings)).collect();
    sections.sort_by_cached_key(|section| rank(&section.hop, names));
    sections
}

fn section(hop: &Hop, entries: &[&Entry], names: &Names, settings: &SnapshotSettings) -> Section {
    let (cards, exchanges) = exchange::collapse(exchange::group(entries));
    let exchanges = registry::tidy(exchanges, &names.origins);
    let blocks = mcp::fold(exchanges).into_iter();
    Section {
        hop: hop.clone(),
        cards: card::blocks(&cards, &settings.redact),
        exchanges: blocks.map(|block| lines(block, settings)).collect(),
    }
}

fn lines(item: SnapshotItem<'_>, settings: &SnapshotSettings) -> Vec<Line> {
    let of = |exchange: &Exchange<'_>| line::lines(exchange, &settings.redact);
    match item {
        SnapshotItem::Connect(trouble) => mcp::connect_lines(trouble),
        SnapshotItem::Exchange(exchange) if mcp::method(&exchange).is_some() => {
            mcp::without_transport(of(&exchange))
        }
        SnapshotItem::Exchange(exchange) => of(&exchange),
    }
}

/// Returns a hop's sort key: lower ones come first, equal ones are sorted by name.
fn rank(hop: &Hop, names: &Names) -> (usize, Hop) {
    let role = names.roles.iter().position(|role| *role == hop.to);
    let place = match (hop.from.as_str(), hop.to.as_str(), role) {
        ("runner", "green", _) => 0,
        (_, "green", _) => 1,
        ("green", _, Some(index)) => 2 + index,
        _ => 2 + names.roles.len(),
    };
    (place, hop.clone())
}

impl Section {
    fn learn(&self, renamer: &mut Renamer<'_>) {
        let lines = || self.exchanges.iter().flatten();
        for (kind, id) in lines().flat_map(|line| &line.ids) {
            renamer.learn_id(*kind, id);
        }
        let of_cards = self.cards.iter().map(|card| &card.shown);
        for shown in of_cards.chain(lines().map(|line| &line.shown)) {
            if let Some(ShownBody::Json(value)) = shown {
                renamer.learn(value);
            }
        }
    }

    fn write(&self, renamer: &mut Renamer<'_>) -> String {
        renamer.enter(&self.hop);
        let mut blocks = vec![format!("## {}\n", self.hop)];
        let cards = self.cards.iter();
        blocks.extend(cards.map(|card| write(&card.title, card.shown.as_ref(), renamer)));
        for lines in &self.exchanges {
            let lines = lines.iter();
            let written = lines.map(|Line { arrow, title, shown, .. }| {
                write(&format!("{arrow} {title}"), shown.as_ref(), renamer)
            });
            blocks.push(written.collect());
        }
        blocks.join("\n")
    }
}

/// Returns the text for a title and the body below it.
fn write(title: &str, shown: Option<&ShownBody>, renamer: &mut Renamer<'_>) -> String {
    let head = format!("{}\n", renamer.text(title));
    match shown {
        None => head,
        Some(ShownBody::Text(text)) => format!("{head}{}\n", renamer.text(text).trim_end()),
        Some(ShownBody::Json(value)) => format!("{head}{}\n", layout(&renamer.value(value))),
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
