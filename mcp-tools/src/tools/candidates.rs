//! Chooses the connection details to try, and their order.

use std::{collections::BTreeMap, fmt};

use crate::{
    connection::{self, ConnectionDetails, DetailsError, Transport},
    context::AgentContext,
    inbox::Received,
    secret::Secret,
};

/// Connection details and the place where they were found.
pub(super) struct Candidate {
    pub(super) source: String,
    pub(super) details: Result<ConnectionDetails, DetailsError>,
}

/// A message, and headers in it that belong to no URL there.
type SeparateHeaders<'a> = (&'a Received, BTreeMap<String, Secret>);

/// Returns the candidates, the best first: details that were set beforehand, then those in messages from the
/// newest message to the oldest. Within a message the last details come first, and examples follow the others.
/// Details of a URL without headers are tried with the newest headers from a separate message of the same sender
/// before they are tried without headers. Duplicates are removed.
pub(super) fn candidates(context: &AgentContext) -> Vec<Candidate> {
    let received = context.incoming_messages().history();
    let separate_headers: Vec<SeparateHeaders<'_>> = (received.iter().rev())
        .filter_map(|one| Some((one, connection::separate_headers(&one.message)?)))
        .collect();
    let preset = context
        .mcp_connection_details()
        .map(|details| Candidate { source: "pre-set details".to_owned(), details: Ok(details) });
    let from_messages = received.iter().rev().flat_map(|one| candidates_in(one, &separate_headers));
    let mut all = Vec::<Candidate>::new();
    for candidate in preset.into_iter().chain(from_messages) {
        let known = |one: &Candidate| one.details.is_ok() && one.details == candidate.details;
        if !all.iter().any(known) {
            all.push(candidate);
        }
    }
    all
}

/// Returns the candidates in a message, the best first.
fn candidates_in(received: &Received, separate_headers: &[SeparateHeaders<'_>]) -> Vec<Candidate> {
    let newest = separate_headers.iter().find(|(other, _)| other.from == received.from);
    let found = connection::find(&received.message).into_iter().rev();
    found
        .flat_map(|details| {
            let opened = newest
                .and_then(|headers| with_headers_of(received, details.as_ref().ok()?, headers));
            let plain = Candidate { source: format!("message {}", received.number), details };
            opened.into_iter().chain([plain])
        })
        .collect()
}

/// Adds the headers of another message to HTTP details that have none.
fn with_headers_of(
    received: &Received,
    details: &ConnectionDetails,
    (other, separate_headers): &SeparateHeaders<'_>,
) -> Option<Candidate> {
    let mut details = details.clone();
    match &mut details.transport {
        Transport::Http { headers, .. } if headers.is_empty() => {
            headers.clone_from(separate_headers);
        }
        Transport::Http { .. } | Transport::Stdio { .. } => return None,
    }
    let (number, other) = (received.number, other.number);
    let source = match number == other {
        true => format!("message {number} with its headers"),
        false => format!("message {number} with the headers of message {other}"),
    };
    Some(Candidate { source, details: Ok(details) })
}

impl fmt::Display for Candidate {
    /// Writes where the details were found, and the server's name if a message has details of several servers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.details {
            Ok(details) if details.name != connection::DEFAULT_NAME => {
                write!(f, "{}, server {:?}", self.source, details.name)
            }
            Ok(_) | Err(_) => self.source.fmt(f),
        }
    }
}
