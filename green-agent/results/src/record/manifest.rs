//! The manifest of a run: its scenarios and settings.

use std::{fmt, fs, io, path::Path, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    MANIFEST, RecordError, VERSION,
    reader::{Versioned, check_version},
};
use green_agent_scenario::{ExpectedFailure, gate::Gates};
use green_agent_transcript::replace_file;

/// The scenarios and settings of a run, as in `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// The version of this form. A program refuses a later one than its own.
    pub version: u32,
    /// The version of the program that began the run.
    pub program: String,
    /// The start of the run: RFC 3339 in UTC.
    pub started: String,
    /// The scenarios, in the order of the run.
    pub scenarios: Vec<ManifestScenario>,
    /// The settings of the command line that determine the results.
    pub settings: RunSettings,
    /// The other flags of the command line.
    #[serde(default, skip_serializing_if = "RunFlags::is_none")]
    pub flags: RunFlags,
    /// The folders of the runs of which this one was merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<String>,
    /// The parts that none of these runs has: their trials are missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Shard>,
}

/// One scenario of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ManifestScenario {
    /// Its name.
    pub name: String,
    /// Its file, relative to the folder in which the run was started if the file is below it.
    pub path: String,
    /// The digest of the scenario as read, without addresses and paths: `sha256:...`. Absent if it could not
    /// be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The expected failure, if the scenario has a sidecar. It then passes if each of its trials fails in this way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub must_fail: Option<ExpectedFailure>,
    /// The number of its trials in this run, or in this part of one. Absent if it could not be read, and for parts that
    /// were joined without all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trials: Option<usize>,
    /// The demands on its figures.
    #[serde(default, skip_serializing_if = "Gates::is_empty")]
    pub gate: Gates,
}

/// The settings of the command line that determine a run. A resumed run has the same ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RunSettings {
    /// The number of trials, which replaces that of the scenarios.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trials: Option<u32>,
    /// The seed, which replaces that of the scenarios.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The part of the trials that this run has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The mode of snapshots: `check`, `accept` or `off`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshots: Option<String>,
    /// The commands and URLs of agents: `ROLE=CMD` or `ROLE=URL`, with secrets masked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// The overlay file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlay: Option<String>,
    /// Whether all addresses in cards are rewritten.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rewrite_cards: bool,
    /// The file of further certificates that are trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// The files of the certificate that is shown to agents, and of its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_certificate: Option<[String; 2]>,
}

/// The flags of the command line that do not change what the trials are. A resumed run has the same ones, unless its own
/// command line has others; parts of a run may differ in them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RunFlags {
    /// The number of trials that run at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u16>,
    /// Whether requirements are installed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub install: bool,
    /// The folder for installed requirements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
    /// Whether the output of agents is shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub show_logs: bool,
    /// Whether the run becomes the baseline of its gates.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub accept_baseline: bool,
    /// The reports that are written at the end: `KIND=FILE`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<String>,
}

impl RunFlags {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns these flags, with `earlier` ones where there are none.
    #[must_use]
    pub fn or(self, earlier: Self) -> Self {
        Self {
            jobs: self.jobs.or(earlier.jobs),
            install: self.install || earlier.install,
            cache: self.cache.or(earlier.cache),
            show_logs: self.show_logs || earlier.show_logs,
            accept_baseline: self.accept_baseline || earlier.accept_baseline,
            reports: if self.reports.is_empty() { earlier.reports } else { self.reports },
        }
    }
}

/// A part of the trials of a run: `3/8` is the third of eight.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(into = "String", try_from = "String")]
pub struct Shard {
    /// The number of the part, from 1.
    number: u32,
    /// The number of parts.
    of: u32,
}

impl Shard {
    /// Returns all parts of the same run.
    pub(super) fn all(self) -> impl Iterator<Item = Self> {
        (1..=self.of).map(move |number| Self { number, ..self })
    }

    /// Returns whether a trial is in this part. Each key is in exactly one part, which does not depend on the other
    /// trials.
    pub fn has(self, key: &str) -> bool {
        // The key is a digest, so its first digits are evenly distributed.
        let digits = key.get(..16).unwrap_or(key);
        let place = u64::from_str_radix(digits, 16).unwrap_or_default();
        place % u64::from(self.of) == u64::from(self.number - 1)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (number, of) = text.split_once('/')?;
            let (number, of) = (number.parse().ok()?, of.parse().ok()?);
            (1..=of).contains(&number).then_some(Self { number, of })
        };
        read().ok_or_else(|| format!("expected NUMBER/COUNT such as 3/8, found {text:?}"))
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl Manifest {
    /// Reads the manifest of a run's folder.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub fn read(folder: &Path) -> Result<Self, RecordError> {
        let path = folder.join(MANIFEST);
        let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                RecordError::NotARun(folder.to_owned())
            }
            _ => RecordError::Read { path: path.clone(), error },
        })?;
        let wrong = |error| RecordError::Manifest { path: path.clone(), error };
        let found = serde_json::from_str::<Versioned>(&text).map_err(wrong)?.version;
        check_version(&path, 1, found)?;
        serde_json::from_str(&text).map_err(wrong)
    }

    /// Writes the manifest into a run's folder, whole or not at all.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), RecordError> {
        let path = folder.join(MANIFEST);
        let text = serde_json::to_string_pretty(self).map_err(io::Error::from);
        let written = text.and_then(|text| replace_file(&path, (text + "\n").as_bytes()));
        written.map_err(|error| RecordError::Write { path, error })
    }

    /// Returns the number of trials of all scenarios; `None` if it is not known.
    pub fn trials(&self) -> Option<usize> {
        self.scenarios.iter().map(|one| one.trials).sum()
    }

    /// Returns the manifest of a run that begins now, without scenarios and settings.
    pub fn begun(started: String) -> Self {
        Self {
            version: VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            started,
            scenarios: Vec::new(),
            settings: RunSettings::default(),
            flags: RunFlags::default(),
            merged: Vec::new(),
            missing: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_in_exactly_one_shard() {
        let shards: Vec<Shard> =
            (1..=8).map(|number| format!("{number}/8").parse().unwrap()).collect();
        for at in 0..100_u64 {
            let key = format!("{:016x}{:016x}", at.wrapping_mul(0x9e37_79b9_7f4a_7c15), 0);
            let count = shards.iter().filter(|shard| shard.has(&key)).count();
            assert_eq!(count, 1, "{key}");
        }
    }

    #[test]
    fn a_shard_is_a_number_up_to_a_count() {
        for wrong in ["", "3", "0/8", "9/8", "3/0", "a/b", "-1/8"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
        assert_eq!("3/8".parse::<Shard>().unwrap().to_string(), "3/8");
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let error = Manifest::read(folder.path()).unwrap_err();
        assert!(matches!(error, RecordError::NotARun(_)), "{error}");
        let mut manifest = Manifest::begun("2026-01-01T00:00:00Z".to_owned());
        manifest.settings.shard = "3/8".parse().ok();
        manifest.settings.agents = vec!["purple=http://127.0.0.1:1".to_owned()];
        manifest.write(folder.path()).unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), manifest);
    }

    #[test]
    fn a_later_version_is_refused_by_its_number() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(MANIFEST), "{\"version\": 7, \"what\": \"ever\"}").unwrap();
        let error = Manifest::read(folder.path()).unwrap_err();
        assert!(matches!(error, RecordError::Newer { found: 7, .. }), "{error}");
    }
}
