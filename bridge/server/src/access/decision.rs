//! The access rule, without HTTP: one requirement of the list is enough, and it needs all its schemes with
//! every scope (specification 4.5, as in OpenAPI).

use std::collections::{BTreeMap, BTreeSet};

use crate::caller::Caller;

/// Schemes that are required together, each with its scopes. Without any scheme no credentials are required.
pub(super) type Requirement = BTreeMap<String, Vec<String>>;

/// The credentials of a request, by the scheme's name.
pub(super) type CheckResults = BTreeMap<String, CheckResult>;

/// The result of checking a request's credential for one scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CheckResult {
    /// No credential.
    Nothing,
    /// A valid credential.
    Verified(Verified),
    /// An invalid credential, with the reason.
    Wrong(String),
    /// A credential that cannot be checked now, which is not the caller's fault.
    Unchecked,
}

impl CheckResult {
    fn verified(&self) -> Option<&Verified> {
        match self {
            Self::Verified(verified) => Some(verified),
            Self::Nothing | Self::Wrong(_) | Self::Unchecked => None,
        }
    }
}

/// The identity behind a valid credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verified {
    pub(super) caller: Caller,
    pub(super) scopes: BTreeSet<String>,
    /// Whether it is a token, which identifies the user; keys and certificates rather identify the calling
    /// program.
    pub(super) is_token: bool,
}

/// The decision about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The request is allowed, on behalf of this caller.
    Granted(Caller),
    /// The caller is not authenticated. If a credential is invalid, the name of its scheme and the reason.
    Unauthenticated(Option<(String, String)>),
    /// The caller is authenticated but lacks a permission.
    Forbidden(MissingPermission),
    /// The credential for this scheme cannot be checked now.
    Unavailable(String),
}

/// The missing permission of an authenticated caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MissingPermission {
    /// Scopes of the token for a scheme.
    Scopes { scheme: String, required: Vec<String>, missing: Vec<String> },
    /// Credentials for further schemes.
    Credentials,
}

/// Decides about a request with these credentials. Without requirements all requests are allowed, but an
/// invalid credential is refused rather than treated as anonymous.
pub(super) fn decide(requirements: &[Requirement], shown: &CheckResults) -> Decision {
    let met = requirements.iter().filter(|one| !one.is_empty());
    let met = met.filter_map(|one| proofs(one, shown).map(|proofs| (one, proofs)));
    let mut forbidden = None;
    for (requirement, proofs) in met {
        match lacking(requirement, &proofs) {
            None => return Decision::Granted(caller(&proofs)),
            Some(lack) => forbidden = forbidden.or(Some(lack)),
        }
    }
    let is_open = requirements.is_empty() || requirements.iter().any(Requirement::is_empty);
    match (is_open, forbidden) {
        (true, _) => open(shown),
        (false, Some(lack)) => Decision::Forbidden(lack),
        (false, None) => refuse(shown),
    }
}

/// Decides about further requirements for an admitted caller. The caller's identity does not change, because
/// tasks belong to it, whatever other credentials are presented.
pub(super) fn decide_beyond(
    requirements: &[Requirement],
    shown: &CheckResults,
    caller: &Caller,
) -> Decision {
    match decide(requirements, shown) {
        Decision::Granted(_) => Decision::Granted(caller.clone()),
        Decision::Unauthenticated(None) if !caller.is_anonymous() => {
            Decision::Forbidden(MissingPermission::Credentials)
        }
        refused => refused,
    }
}

/// Returns the identities for all schemes of a requirement, in its order, if all are present.
fn proofs<'a>(requirement: &Requirement, shown: &'a CheckResults) -> Option<Vec<&'a Verified>> {
    requirement.keys().map(|name| shown.get(name).and_then(CheckResult::verified)).collect()
}

/// Returns the first scheme whose token lacks scopes, with those scopes.
fn lacking(requirement: &Requirement, proofs: &[&Verified]) -> Option<MissingPermission> {
    requirement.iter().zip(proofs).find_map(|((name, scopes), proof)| {
        let missing = scopes.iter().filter(|one| !proof.scopes.contains(*one));
        let missing: Vec<String> = missing.cloned().collect();
        (!missing.is_empty()).then(|| MissingPermission::Scopes {
            scheme: name.clone(),
            required: scopes.clone(),
            missing,
        })
    })
}

/// Returns the caller of several identities: that of a token, else that of the first scheme.
fn caller(proofs: &[&Verified]) -> Caller {
    let token = proofs.iter().find(|proof| proof.is_token);
    let chosen = token.or(proofs.first());
    chosen.map_or_else(Caller::anonymous, |proof| proof.caller.clone())
}

/// Decides about a request for which nothing is required.
fn open(shown: &CheckResults) -> Decision {
    let proofs: Vec<&Verified> = shown.values().filter_map(CheckResult::verified).collect();
    let is_silent = shown.values().all(|one| *one == CheckResult::Nothing);
    if proofs.is_empty() && !is_silent { refuse(shown) } else { Decision::Granted(caller(&proofs)) }
}

fn refuse(shown: &CheckResults) -> Decision {
    let unchecked = shown.iter().find(|(_, one)| **one == CheckResult::Unchecked);
    if let Some((scheme, _)) = unchecked {
        return Decision::Unavailable(scheme.clone());
    }
    let wrong = shown.iter().find_map(|(name, one)| match one {
        CheckResult::Wrong(why) => Some((name.clone(), why.clone())),
        CheckResult::Nothing | CheckResult::Verified(_) | CheckResult::Unchecked => None,
    });
    Decision::Unauthenticated(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof(id: &str, scopes: &[&str], is_token: bool) -> CheckResult {
        CheckResult::Verified(Verified {
            caller: Caller::new(id),
            scopes: scopes.iter().map(|one| (*one).to_owned()).collect(),
            is_token,
        })
    }

    fn requirement(schemes: &[(&str, &[&str])]) -> Requirement {
        let scopes = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect();
        schemes.iter().map(|(name, list)| ((*name).to_owned(), scopes(list))).collect()
    }

    fn granted(id: &str) -> Decision {
        Decision::Granted(Caller::new(id))
    }

    #[test]
    fn any_of_the_list_all_of_one_and_every_scope() {
        let wrong = || CheckResult::Wrong("why".to_owned());
        let refused = || Decision::Unauthenticated(Some(("b".to_owned(), "why".to_owned())));
        let either = [requirement(&[("a", &[])]), requirement(&[("b", &["read", "write"])])];
        let both = [requirement(&[("a", &[]), ("b", &["read"])])];
        let open = [Requirement::new(), requirement(&[("b", &[])])];
        let lacks = |required: &[&str], missing: &[&str]| {
            let owned = |scopes: &[&str]| scopes.iter().map(|one| (*one).to_owned()).collect();
            Decision::Forbidden(MissingPermission::Scopes {
                scheme: "b".to_owned(),
                required: owned(required),
                missing: owned(missing),
            })
        };
        type Case<'a> = (&'a [Requirement], [CheckResult; 2], Decision);
        let cases: Vec<Case<'_>> = vec![
            (
                &either,
                [CheckResult::Nothing, CheckResult::Nothing],
                Decision::Unauthenticated(None),
            ),
            (&either, [proof("x", &[], false), wrong()], granted("x")),
            (&either, [CheckResult::Nothing, proof("y", &["write", "read"], true)], granted("y")),
            (
                &either,
                [CheckResult::Nothing, proof("y", &["read"], true)],
                lacks(&["read", "write"], &["write"]),
            ),
            (&either, [CheckResult::Nothing, wrong()], refused()),
            (&either, [CheckResult::Unchecked, wrong()], Decision::Unavailable("a".to_owned())),
            (
                &both,
                [proof("x", &[], false), CheckResult::Nothing],
                Decision::Unauthenticated(None),
            ),
            (&both, [proof("x", &[], false), wrong()], refused()),
            (&both, [proof("x", &[], false), proof("y", &["read"], true)], granted("y")),
            (&both, [proof("x", &[], false), proof("y", &["read"], false)], granted("x")),
            (&both, [proof("x", &[], false), proof("y", &[], true)], lacks(&["read"], &["read"])),
            (&open, [CheckResult::Nothing, CheckResult::Nothing], granted("")),
            (&open, [CheckResult::Nothing, wrong()], refused()),
            (&open, [CheckResult::Nothing, proof("y", &[], true)], granted("y")),
            (&[], [CheckResult::Nothing, CheckResult::Nothing], granted("")),
            (&[], [CheckResult::Nothing, wrong()], refused()),
            (&[], [proof("x", &[], false), wrong()], granted("x")),
        ];
        for (number, (requirements, [a, b], expected)) in cases.into_iter().enumerate() {
            let shown = BTreeMap::from([("a".to_owned(), a), ("b".to_owned(), b)]);
            assert_eq!(decide(requirements, &shown), expected, "case {number}");
        }
    }

    #[test]
    fn additional_requirements_do_not_change_the_caller() {
        let needs = [requirement(&[("b", &["write"])])];
        let wrong = || CheckResult::Wrong("why".to_owned());
        let (known, nobody) = (Caller::new("x"), Caller::anonymous());
        let lack = Decision::Forbidden(MissingPermission::Scopes {
            scheme: "b".to_owned(),
            required: vec!["write".to_owned()],
            missing: vec!["write".to_owned()],
        });
        let refused = |wrong: Option<&str>| {
            Decision::Unauthenticated(wrong.map(|why| ("b".to_owned(), why.to_owned())))
        };
        let key = || proof("x", &[], false);
        for (caller, shown, expected) in [
            (&known, [key(), proof("y", &["write"], true)], granted("x")),
            (&known, [key(), proof("y", &[], true)], lack),
            (
                &known,
                [key(), CheckResult::Nothing],
                Decision::Forbidden(MissingPermission::Credentials),
            ),
            (&known, [key(), wrong()], refused(Some("why"))),
            (&nobody, [CheckResult::Nothing, CheckResult::Nothing], refused(None)),
            (
                &nobody,
                [CheckResult::Nothing, CheckResult::Unchecked],
                Decision::Unavailable("b".to_owned()),
            ),
        ] {
            let [a, b] = shown;
            let shown = BTreeMap::from([("a".to_owned(), a), ("b".to_owned(), b)]);
            let decided = decide_beyond(&needs, &shown, caller);
            assert_eq!(decided, expected, "{shown:?}");
        }
    }
}
