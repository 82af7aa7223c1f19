//! How long a certificate still holds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use x509_parser::{certificate::X509Certificate, prelude::FromDer as _};

use super::DoctorCheck;
use crate::config::moment::day;

/// Below this, a certificate should be renewed now.
const SOON: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// What is to be said of a certificate in DER.
pub(super) fn held(check: &'static str, der: &[u8], now: SystemTime) -> DoctorCheck {
    let renew = "renew the certificate, and put it in the place of the old one";
    let Ok((_, certificate)) = X509Certificate::from_der(der) else {
        return DoctorCheck::fail(check, "the certificate cannot be read", renew);
    };
    let time = |seconds: i64| {
        let since = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
    };
    let (from, until) =
        (time(certificate.validity().not_before.timestamp()), time(certificate.validity().not_after.timestamp()));
    if now < from {
        return DoctorCheck::fail(check, format!("the certificate holds only from {}", day(from)), renew);
    }
    match until.duration_since(now) {
        Err(_) => DoctorCheck::fail(check, format!("the certificate ended on {}", day(until)), renew),
        Ok(left) if left < SOON => DoctorCheck::warn(check, format!("the certificate ends on {}", day(until)), renew),
        Ok(_) => DoctorCheck::ok(check, format!("the certificate holds until {}", day(until))),
    }
}
