//! Asymmetric signature algorithms (RFC 7518, section 3.1).

use core::fmt;

/// A signature algorithm. `none` and the `HS` family are missing: issuer and verifier share no secret, and a
/// public key must never be used as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256, which every SDK accepts.
    Rs256,
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    Rs384,
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    Rs512,
    /// RSASSA-PSS with SHA-256.
    Ps256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// Ed25519 (RFC 8037, section 3.1).
    EdDsa,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Self; 7] =
        [Self::Rs256, Self::Rs384, Self::Rs512, Self::Ps256, Self::Es256, Self::Es384, Self::EdDsa];

    /// Returns the name in a token's header.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
        }
    }

    /// Returns the algorithm with exactly this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_algorithms_with_a_public_key_have_a_name() {
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::named(algorithm.name()), Some(algorithm));
        }
        for name in ["none", "None", "HS256", "HS512", "rs256", "", "RS256 "] {
            assert_eq!(Algorithm::named(name), None, "{name}");
        }
    }
}
