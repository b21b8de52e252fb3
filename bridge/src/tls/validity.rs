//! Reads the time span in which a certificate is valid.

use std::path::Path;

use jiff::Timestamp;
use x509_cert::{
    Certificate,
    der::Decode as _,
    time::{Time, Validity},
};

/// Returns the times of the first certificate in a file, which is the server's own. `None` if they cannot be read.
pub(crate) fn validity(path: &Path) -> Option<(Timestamp, Timestamp)> {
    let chain = super::certificates(path).ok()?;
    let certificate = Certificate::from_der(chain.first()?).ok()?;
    let Validity { not_before, not_after } = certificate.tbs_certificate.validity;
    Some((timestamp(not_before)?, timestamp(not_after)?))
}

fn timestamp(time: Time) -> Option<Timestamp> {
    let seconds = time.to_unix_duration().as_secs();
    Timestamp::from_second(i64::try_from(seconds).ok()?).ok()
}
