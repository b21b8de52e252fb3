//! Stores agent cards in an OCI registry: pushes, lists and pulls them, and finds agents by skill.
//!
//! A card is an artifact by the conventions of `oras` (OCI image specification 1.1, "Guidelines for artifact
//! usage"): a manifest whose one layer is the card's JSON. Cards are pushed with
//!
//! | | |
//! |-|-|
//! | `artifactType` | [`ARTIFACT_TYPE`] |
//! | `config` | `{}` of type `application/vnd.oci.empty.v1+json` |
//! | layer | `application/json`, annotated `org.opencontainers.image.title: agent-card.json` |
//! | annotations | `org.opencontainers.image.title`, `.description` and `.version` of the card |
//!
//! so that `oras pull HOST/agents/plan:v1` writes `agent-card.json`. Artifacts pushed with
//! `oras push HOST/agents/plan:v1 FILE.json` are read too, whatever their types: see `artifact`.
//!
//! - [`Registry`]: one registry, with a cache of its cards
//! - [`Registry::find`]: finds the newest reachable agent with a skill
//! - [`CardReference`]: `HOST/REPOSITORY:TAG` or `HOST/REPOSITORY@DIGEST`
//! - [`RegistryOptions`], [`RegistryAuth`]: limits and credentials
//! - [`RegistryError`]: the errors
//!
//! Registries are not trusted: all reads have limits of time and size, lists also of length, and content is
//! checked against its digest.

mod artifact;
mod cache;
mod challenge;
mod client;
mod digest;
mod error;
mod find;
mod http;
mod options;
mod pull;
mod reference;
mod version;

pub use artifact::ARTIFACT_TYPE;
pub use client::Registry;
pub use error::{RegistryError, Result, listed};
pub use find::RegistryAgent;
pub use options::{RegistryAuth, RegistryOptions};
pub use pull::PulledCard;
pub use reference::CardReference;
