//! Reports the validity of the certificate in the log, in the metrics and in checks.

use jiff::{SignedDuration, Timestamp};

use crate::{clock, config::Config, metrics::Metrics};

/// The time before its end at which warnings about a certificate begin.
const SOON: SignedDuration = SignedDuration::from_hours(14 * 24);

/// The time span in which a certificate is valid.
struct Validity {
    file: String,
    from: Timestamp,
    until: Timestamp,
}

/// Records the end of the certificate that is now in use, and warns if clients refuse it now or soon.
pub(super) fn note(config: &Config, metrics: &Metrics) {
    if let Some(Validity { file, until, .. }) = validity(config) {
        metrics.certificate_end(file, until.as_second());
    }
    if let Some(concern) = concern(config) {
        tracing::warn!("{concern}");
    }
}

/// Returns the reason why clients refuse the certificate, now or soon.
pub(in crate::cli) fn concern(config: &Config) -> Option<String> {
    validity(config)?.concern(clock::now())
}

impl Validity {
    fn concern(&self, now: Timestamp) -> Option<String> {
        let Self { file, from, until } = self;
        let state = match () {
            () if now < *from => format!("is not valid before {from}"),
            () if now > *until => format!("has expired at {until}"),
            () if now > *until - SOON => format!("expires at {until}"),
            () => return None,
        };
        Some(format!(
            "the certificate {file} {state}: renew it; a running bridge reads it again on SIGHUP"
        ))
    }
}

/// Returns `None` if there is no certificate, or it has no valid times.
#[cfg(feature = "tls")]
fn validity(config: &Config) -> Option<Validity> {
    let file = &config.tls.as_ref()?.certificate;
    let (from, until) = crate::tls::validity(file)?;
    Some(Validity { file: file.display().to_string(), from, until })
}

#[cfg(not(feature = "tls"))]
fn validity(_: &Config) -> Option<Validity> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_warned_of_before_its_end() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let validity = Validity {
            file: "a.pem".to_owned(),
            from: at("2026-01-01T00:00:00Z"),
            until: at("2026-04-01T00:00:00Z"),
        };
        for (now, told) in [
            ("2025-12-31T23:59:59Z", Some("is not valid before 2026-01-01T00:00:00Z")),
            ("2026-01-02T00:00:00Z", None),
            ("2026-03-17T23:00:00Z", None),
            ("2026-03-18T01:00:00Z", Some("expires at 2026-04-01T00:00:00Z")),
            ("2026-04-01T00:00:01Z", Some("has expired at 2026-04-01T00:00:00Z")),
        ] {
            let expected = told.map(|told| {
                format!(
                    "the certificate a.pem {told}: renew it; a running bridge reads it again on SIGHUP"
                )
            });
            assert_eq!(validity.concern(at(now)), expected, "{now}");
        }
    }
}
