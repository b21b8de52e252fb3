//! `green-agent check`: reads scenarios and says what is wrong with them.

use super::{Paths, complain};
use crate::scenario::{files::Found, parse};
use bridge_program::{Exit, outln};

pub(super) fn execute(paths: &Paths) -> Exit {
    let found = match paths.collect() {
        Ok(found) => found,
        Err(exit) => return exit,
    };
    let wrong = found.iter().filter(|one| !check(one)).count();
    outln!("{} scenarios read, {wrong} with errors", found.len());
    match wrong {
        0 => Exit::Passed,
        _ => Exit::Unreadable,
    }
}

/// A scenario whose sidecar says that it cannot be read is right as it is.
fn check(found: &Found) -> bool {
    let must_fail = found
        .sidecar
        .as_ref()
        .filter(|it| it.exit == u8::from(Exit::Unreadable));
    match (parse::read(&found.path), must_fail) {
        (Ok(_), None) => true,
        (Ok(_), Some(_)) => {
            complain(&format!(
                "{}: its sidecar says that it cannot be read",
                found.path.display()
            ));
            false
        }
        (Err(errors), Some(sidecar)) if errors.to_string().contains(&sidecar.message) => true,
        (Err(errors), _) => {
            complain(&errors);
            false
        }
    }
}
