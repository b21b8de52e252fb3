//! Agent cards in an OCI registry: pushed, listed, pulled, and agents found by what they can do.
//!
//! A card is an artifact by the conventions of `oras` (OCI image specification 1.1, "Guidelines for artifact
//! usage"): a manifest whose one layer is the card's JSON. What is pushed here has
//!
//! | | |
//! |-|-|
//! | `artifactType` | [`ARTIFACT_TYPE`] |
//! | `config` | `{}` of type `application/vnd.oci.empty.v1+json` |
//! | layer | `application/json`, annotated `org.opencontainers.image.title: agent-card.json` |
//! | annotations | `org.opencontainers.image.title`, `.description` and `.version` of the card |
//!
//! so that `oras pull HOST/agents/plan:v1` writes `agent-card.json`. Read is what anybody pushed with `oras
//! push HOST/agents/plan:v1 FILE.json`, whatever the types: see `artifact`.
//!
//! - [`Registry`]: one registry, with a cache of its cards
//! - [`Registry::find`]: the agent that has a skill: the newest version that is healthy
//! - [`CardReference`]: `HOST/REPOSITORY:TAG` or `HOST/REPOSITORY@DIGEST`
//! - [`RegistryOptions`], [`RegistryAuth`]: limits, and who asks
//! - [`RegistryError`]: what can go wrong
//!
//! A registry is somebody else's: all that is read of one has a limit of time and of size, lists have one of
//! length, and what has a digest is checked against it.

mod artifact;
mod challenge;
mod client;
mod digest;
mod error;
mod find;
mod options;
mod pages;
mod pull;
mod reader;
mod reference;
mod shelf;
mod version;

pub use artifact::ARTIFACT_TYPE;
pub use client::Registry;
pub use error::RegistryError;
pub use find::Found;
pub use oci_client::secrets::RegistryAuth;
pub use options::RegistryOptions;
pub use pull::Pulled;
pub use reference::CardReference;
