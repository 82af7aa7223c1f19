//! The leak canary: markers planted where nothing may come from, and a search of every byte
//! that leaves.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::needle::{self, Haystack, Needle};

/// Proves that nothing leaks: plant markers where nothing may come from (causes, private
/// fields, panics, tokens, refused inputs), call, and feed it every byte that leaves.
///
/// A marker is found as it is, in any case, reversed, cut in half, in JSON or Rust escapes,
/// percent-encoded, as hex, as base64 and as a list of bytes. A clone is the same canary, so
/// that it can move into handlers.
///
/// ```
/// use redress_core::testing::{Canary, Harness};
/// use redress_core::{Fail, Operation, Registry, contract};
/// use redress_core::contract::Caller;
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let canary = Canary::new();
/// let password = canary.plant("the cause of a contained error");
/// let login = contract::OperationDeclaration::query("db.login").with_summary("Log in to the database.");
/// let login = Operation::dynamic(login).with_handler(move |_, _| {
///     let text = format!("cannot log in as admin:{password}");
///     async move { Err(Fail::contain(text)) }
/// });
/// let harness = Harness::new(Registry::builder().add(login).build().unwrap()).as_caller(Caller::new("ada"));
///
/// canary.check("the envelope", harness.call("db.login", json!({})).await.bytes());
/// canary.assert_clean();
/// # });
/// ```
#[derive(Clone, Debug, Default)]
pub struct Canary(Arc<Mutex<CanaryInner>>);

#[derive(Debug, Default)]
struct CanaryInner {
    planted: Vec<Marker>,
    faces: BTreeSet<String>,
    bytes: usize,
    found: BTreeSet<Leak>,
}

#[derive(Debug)]
struct Marker {
    place: String,
    needles: Vec<Needle>,
}

/// A marker that turned up where it must not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leak {
    /// Where the marker had been planted.
    pub place: String,
    /// Where it turned up.
    pub face: String,
    /// In which form.
    pub form: &'static str,
}

/// What a canary has seen so far.
#[derive(Clone, Debug)]
pub struct CanaryReport {
    /// The places where markers were planted, in order.
    pub places: Vec<String>,
    /// The faces that were searched, sorted.
    pub faces: Vec<String>,
    /// How many bytes were searched.
    pub bytes: usize,
    /// What was found, sorted.
    pub found: Vec<Leak>,
}

impl Canary {
    /// A canary with nothing planted.
    pub fn new() -> Canary {
        Canary::default()
    }

    /// A marker for `place`, made of lower-case letters and digits, that nothing else holds.
    #[must_use = "a marker is planted by putting it where nothing may come from"]
    pub fn plant(&self, place: &str) -> String {
        let marker: String = std::iter::repeat_with(fastrand::alphanumeric).take(30).collect();
        let marker = format!("cn{}", marker.to_ascii_lowercase());
        self.add(place, needle::needles(&marker));
        marker
    }

    /// A marker for a place that holds a number: fifteen digits that nothing else holds.
    #[must_use = "a marker is planted by putting it where nothing may come from"]
    pub fn plant_number(&self, place: &str) -> u64 {
        // Every such number is the same as a double, so no reader rounds it.
        let marker = fastrand::u64(100_000_000_000_000..1_000_000_000_000_000);
        self.add(place, needle::number(&marker.to_string()));
        marker
    }

    /// Looks also for `secret`, which the test did not choose itself: a token that was issued, a key that was made. It has
    /// to be long and of letters and digits for the most part, so that nothing else looks like it.
    pub fn watch(&self, place: &str, secret: &str) {
        self.add(place, needle::needles(secret));
    }

    fn add(&self, place: &str, needles: Vec<Needle>) {
        self.inner().planted.push(Marker { place: place.to_owned(), needles });
    }

    /// Searches every byte that `face` let out for every marker planted so far.
    pub fn check(&self, face: &str, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        let haystack = Haystack::new(bytes);
        let mut inner = self.inner();
        let found: Vec<Leak> = inner
            .planted
            .iter()
            .filter_map(|marker| {
                let form = haystack.find(&marker.needles)?;
                Some(Leak { place: marker.place.clone(), face: face.to_owned(), form })
            })
            .collect();
        inner.found.extend(found);
        inner.bytes += bytes.len();
        if !bytes.is_empty() {
            inner.faces.insert(face.to_owned());
        }
    }

    /// What it has seen so far.
    pub fn report(&self) -> CanaryReport {
        let inner = self.inner();
        CanaryReport {
            places: inner.planted.iter().map(|marker| marker.place.clone()).collect(),
            faces: inner.faces.iter().cloned().collect(),
            bytes: inner.bytes,
            found: inner.found.iter().cloned().collect(),
        }
    }

    /// Asserts that markers were planted, that bytes were searched, and that nothing was found.
    ///
    /// # Panics
    ///
    /// When one of the three does not hold.
    #[track_caller]
    pub fn assert_clean(&self) {
        let report = self.report();
        assert!(!report.places.is_empty(), "nothing was planted, so nothing could be found");
        assert!(report.bytes > 0, "nothing was searched, so nothing could be found");
        assert!(report.found.is_empty(), "{report}");
    }

    fn inner(&self) -> MutexGuard<'_, CanaryInner> {
        // A panic of another test thread leaves the lists whole, so poison says nothing here.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for CanaryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CanaryReport { places, faces, bytes, found } = self;
        write!(
            f,
            "{} leaks; {} places planted, {} faces and {bytes} bytes searched",
            found.len(),
            places.len(),
            faces.len()
        )?;
        found.iter().try_for_each(|Leak { place, face, form }| write!(f, "\n  `{place}` is in {face}, {form}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaks(bytes: impl Fn(&str) -> Vec<u8>) -> Vec<Leak> {
        let canary = Canary::new();
        let marker = canary.plant("a secret");
        canary.check("the face", bytes(&marker));
        canary.report().found
    }

    fn escaped(marker: &str, each: impl Fn(u8) -> String) -> Vec<u8> {
        marker.bytes().flat_map(|byte| each(byte).into_bytes()).collect()
    }

    #[test]
    fn a_marker_is_found_in_every_form_that_a_program_writes() {
        type Form = fn(&str) -> Vec<u8>;
        let forms: [(&str, Form); 13] = [
            ("plain", |marker| format!("before {marker} after").into_bytes()),
            ("upper case", |marker| marker.to_uppercase().into_bytes()),
            ("reversed", |marker| marker.bytes().rev().collect()),
            ("head", |marker| marker.as_bytes()[..20].to_vec()),
            ("tail", |marker| marker.as_bytes()[12..].to_vec()),
            ("json escapes", |marker| escaped(marker, |byte| format!("\\u{byte:04X}"))),
            ("rust escapes", |marker| escaped(marker, |byte| format!("\\u{{{byte:x}}}"))),
            ("byte escapes", |marker| escaped(marker, |byte| format!("\\x{byte:02x}"))),
            ("percent", |marker| escaped(marker, |byte| format!("%{byte:02X}"))),
            ("half percent", |marker| format!("%63{}", &marker[1..]).into_bytes()),
            ("hex", |marker| escaped(marker, |byte| format!("{byte:02X}"))),
            ("json bytes", |marker: &str| serde_json::to_vec(marker.as_bytes()).unwrap()),
            ("debug bytes", |marker| format!("{:?}", marker.as_bytes()).into_bytes()),
        ];
        for (name, form) in forms {
            assert_eq!(leaks(form).len(), 1, "{name}");
        }
        assert!(leaks(|_| b"nothing of it".to_vec()).is_empty());
    }

    #[test]
    fn base64_is_found_wherever_the_marker_stands_in_it() {
        // `foobar` with no, one and two bytes before it.
        for written in ["Zm9vYmFy", "eGZvb2Jhcg==", "eHhmb29iYXI="] {
            let found = Haystack::new(written.as_bytes()).find(&needle::number("foobar"));
            assert_eq!(found, Some("as base64"), "{written}");
        }
    }

    #[test]
    fn a_secret_that_was_issued_is_found_like_a_marker() {
        let canary = Canary::new();
        canary.watch("a token", "Zk3xQ_9dLwTn-8sVbR2mYpA7cEuGh");
        canary.check("the log", "token=ZK3XQ_9dlwtn-8s");
        canary.check("the answer", "Zk4xQ_9dLwTm-8s");
        assert_eq!(canary.report().found.iter().map(|leak| leak.face.as_str()).collect::<Vec<_>>(), ["the log"]);
    }

    #[test]
    fn a_number_is_a_marker_too() {
        let canary = Canary::new();
        let number = canary.plant_number("a refused number");
        canary.check("the envelope", format!(r#"{{"near":{number}}}"#));
        assert_eq!(canary.report().found.len(), 1);
    }

    #[test]
    #[should_panic(expected = "nothing was planted")]
    fn a_canary_with_nothing_planted_is_not_clean() {
        let canary = Canary::new();
        canary.check("the face", "bytes");
        canary.assert_clean();
    }

    #[test]
    #[should_panic(expected = "nothing was searched")]
    fn a_canary_that_searched_nothing_is_not_clean() {
        let canary = Canary::new();
        let _marker = canary.plant("a secret");
        canary.check("the face", "");
        canary.assert_clean();
    }

    #[test]
    #[should_panic(expected = "`a secret` is in the face, as it is")]
    fn a_leak_is_told_with_its_place_and_face() {
        let canary = Canary::new();
        let marker = canary.plant("a secret");
        canary.check("the face", marker);
        canary.assert_clean();
    }
}
