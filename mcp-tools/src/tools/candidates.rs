//! Which connection details are tried, and in which order.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
};

use crate::{
    connection::{self, ConnectionDetails, DetailsError, Transport},
    context::AgentContext,
    inbox::Received,
    secret::Secret,
};

/// Details, and where they were found.
pub(super) struct Candidate {
    pub(super) source: String,
    pub(super) details: Result<ConnectionDetails, DetailsError>,
}

/// Headers that came without a URL.
struct LooseHeaders {
    from: String,
    number: u64,
    headers: BTreeMap<String, Secret>,
}

/// The best first: what was set beforehand, then messages from the newest to the oldest, in each the last
/// first, and what is marked as an example after the others. A URL without headers is tried with the newest headers
/// that its sender gave by themselves before it is tried without any. The same details come once.
pub(super) fn candidates(context: &AgentContext) -> VecDeque<Candidate> {
    let received = context.incoming_messages().history();
    let loose: Vec<LooseHeaders> = received.iter().rev().filter_map(loose).collect();
    let preset = context.mcp_connection_details().map(|details| Candidate {
        source: "pre-set details".to_owned(),
        details: Ok(details),
    });
    let told = received.iter().rev().flat_map(|one| told(one, &loose));
    let mut all = VecDeque::<Candidate>::new();
    for candidate in preset.into_iter().chain(told) {
        let known = |one: &Candidate| one.details.is_ok() && one.details == candidate.details;
        if !all.iter().any(known) {
            all.push_back(candidate);
        }
    }
    all
}

fn loose(received: &Received) -> Option<LooseHeaders> {
    Some(LooseHeaders {
        from: received.from.clone(),
        number: received.number,
        headers: connection::loose_headers(&received.message)?,
    })
}

/// What a message tells of, the best first.
fn told(received: &Received, loose: &[LooseHeaders]) -> Vec<Candidate> {
    let newest = loose.iter().find(|loose| loose.from == received.from);
    let found = connection::find(&received.message).into_iter().rev();
    found
        .flat_map(|details| {
            let opened = newest.and_then(|loose| opened(received, details.as_ref().ok()?, loose));
            let plain = Candidate {
                source: format!("message {}", received.number),
                details,
            };
            opened.into_iter().chain([plain])
        })
        .collect()
}

/// Details over HTTP that have no headers, with those of another message.
fn opened(
    received: &Received,
    details: &ConnectionDetails,
    loose: &LooseHeaders,
) -> Option<Candidate> {
    let mut details = details.clone();
    match &mut details.transport {
        Transport::Http { headers, .. } if headers.is_empty() => {
            headers.clone_from(&loose.headers);
        }
        Transport::Http { .. } | Transport::Stdio { .. } => return None,
    }
    let (number, other) = (received.number, loose.number);
    let source = match number == other {
        true => format!("message {number} with its headers"),
        false => format!("message {number} with the headers of message {other}"),
    };
    Some(Candidate {
        source,
        details: Ok(details),
    })
}

impl fmt::Display for Candidate {
    /// Where they were found, and of which server they are where a message tells of several.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.details {
            Ok(details) if details.name != connection::DEFAULT_NAME => {
                write!(f, "{}, server {:?}", self.source, details.name)
            }
            Ok(_) | Err(_) => self.source.fmt(f),
        }
    }
}
