//! What single values cannot tell: whether they make sense together.

use super::{AccessTable, JwtTable, LimitsTable, Settings};
use crate::trouble::Trouble;

/// Where the parser of JSON stops.
const DEEPEST: usize = 127;

/// What is wrong, and where.
type Wrong = (&'static str, String);

impl Settings {
    /// Refuses values that contradict each other or lack another.
    pub(super) fn check(&self) -> Result<(), Trouble> {
        let wrong = self
            .access
            .as_ref()
            .and_then(|access| of_access(access, self.tls.is_some()))
            .or_else(|| of_limits(&self.limits))
            .or_else(|| self.of_telemetry());
        wrong.map_or(Ok(()), |(key, says)| Err(self.wrong(key, says)))
    }

    fn of_telemetry(&self) -> Option<Wrong> {
        let telemetry = &self.telemetry;
        if telemetry.sample.is_some_and(|part| !(0.0..=1.0).contains(&part)) {
            return Some(("telemetry.sample", "expected a part from 0 to 1".to_owned()));
        }
        let url = telemetry.otlp.as_deref()?;
        let is_url = url.starts_with("http://") || url.starts_with("https://");
        (!is_url).then(|| ("telemetry.otlp", "expected a URL such as `http://127.0.0.1:4318`".to_owned()))
    }
}

fn of_access(access: &AccessTable, tls: bool) -> Option<Wrong> {
    if access.is_empty() {
        // Else a table that was left half written would let nobody in, or, worse, everybody.
        return Some((
            "access",
            "it says how nobody is known: set `tokens`, `hashes`, `jwt` or `certificates`".to_owned(),
        ));
    }
    if let Some(wrong) = access.jwt.as_ref().and_then(of_jwt) {
        return Some(wrong);
    }
    let certificates = access.certificates.as_ref()?;
    if certificates.ca.is_none() {
        return Some(("access.certificates", "`ca` must name the file of the authorities".to_owned()));
    }
    if !tls {
        return Some(("access.certificates", "clients show certificates only to a server with `[tls]`".to_owned()));
    }
    // Without callers they can still keep out whoever has none, where something else says who calls.
    let others = access.tokens.is_some() || !access.hashes.is_empty() || access.jwt.is_some();
    let bars = certificates.required == Some(true) && others;
    if certificates.callers.is_empty() && !bars {
        return Some(("access.certificates", "`callers` must say who comes with which certificate".to_owned()));
    }
    None
}

fn of_jwt(jwt: &JwtTable) -> Option<Wrong> {
    if jwt.keys().is_none() {
        let says = "one of `jwks_url`, `jwks_file`, `secret_file` and `key_file` must say where the keys are";
        return Some(("access.jwt", says.to_owned()));
    }
    // Whoever writes an empty list means nothing, and what is left out means everything that suits.
    if jwt.algorithms.as_ref().is_some_and(Vec::is_empty) {
        return Some(("access.jwt.algorithms", "it names no algorithm: name some, or leave it out".to_owned()));
    }
    if jwt.audience.as_ref().is_some_and(|audience| audience.as_slice().is_empty()) {
        return Some(("access.jwt.audience", "it names nobody: name somebody, or leave it out".to_owned()));
    }
    let url = jwt.jwks_url.as_ref().map(|url| redress_access::KeySource::JwksUrl(url.clone()).check());
    url?.err().map(|error| ("access.jwt.jwks_url", error.to_string()))
}

fn of_limits(limits: &LimitsTable) -> Option<Wrong> {
    if limits.burst.is_some() && limits.rate.is_none() {
        return Some(("limits.burst", "a burst means nothing without its `rate`".to_owned()));
    }
    if limits.json_depth.is_some_and(|depth| depth.get() > DEEPEST) {
        return Some(("limits.json_depth", format!("JSON is read to a depth of {DEEPEST}, and no deeper")));
    }
    let is_empty = |names: &Option<Vec<String>>| names.as_ref().is_some_and(Vec::is_empty);
    for (at, rule) in (1..).zip(&limits.rules) {
        let says = if rule.rate.is_none() && rule.in_flight.is_none() && rule.streams.is_none() {
            "sets none of `rate`, `in_flight` and `streams`"
        } else if rule.burst.is_some() && rule.rate.is_none() {
            "has a `burst`, which means nothing without its `rate`"
        } else if is_empty(&rule.callers) {
            "is for no caller: name some, or leave `callers` out"
        } else if is_empty(&rule.operations) {
            "is for no operation: name some, or leave `operations` out"
        } else {
            continue;
        };
        return Some(("limits.rules", format!("rule {at} {says}")));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        arguments::{Bounds, Folder, Serve},
        config::Document,
    };

    fn wrong(text: &str) -> String {
        let document = Document { path: "redress.toml".into(), text: text.to_owned() };
        let file = toml::from_str(text).unwrap();
        let held = Settings::of(&Serve::default(), &Folder::default(), &Bounds::default(), file, Some(document));
        held.map_or_else(|trouble| trouble.to_string(), |_| String::new())
    }

    #[test]
    fn values_that_lack_another_are_refused_with_their_line() {
        insta::assert_snapshot!(wrong("\n[access]\n"), @"redress.toml, line 2: it says how nobody is known: set `tokens`, `hashes`, `jwt` or `certificates`");
        insta::assert_snapshot!(wrong("[access.jwt]\nissuer = \"a\"\n"), @"redress.toml, line 1: one of `jwks_url`, `jwks_file`, `secret_file` and `key_file` must say where the keys are");
        insta::assert_snapshot!(wrong("[access.jwt]\njwks_file = \"a\"\nkey_file = \"b\"\n"), @"redress.toml, line 1: one of `jwks_url`, `jwks_file`, `secret_file` and `key_file` must say where the keys are");
        insta::assert_snapshot!(wrong("[access.jwt]\n\njwks_url = \"http://issuer.example/keys\"\n"), @"redress.toml, line 3: keys are taken by `https`, or by `http` from this machine alone; `http://issuer.example/keys` is neither");
        insta::assert_snapshot!(wrong("[access.certificates]\nrequired = true\n"), @"redress.toml, line 1: `ca` must name the file of the authorities");
        insta::assert_snapshot!(wrong("[access.certificates]\nca = \"ca.pem\"\n"), @"redress.toml, line 1: clients show certificates only to a server with `[tls]`");
        insta::assert_snapshot!(wrong("[tls]\nkey = \"key.pem\"\n"), @"redress.toml, line 1: `tls.key` needs its `tls.certificate`");
        insta::assert_snapshot!(wrong("[limits]\nburst = 5\n"), @"redress.toml, line 2: a burst means nothing without its `rate`");
        insta::assert_snapshot!(wrong("[[limits.rules]]\nrate = \"1/s\"\n\n[[limits.rules]]\ncallers = [\"ada\"]\n"), @"redress.toml, line 1: rule 2 sets none of `rate`, `in_flight` and `streams`");
        insta::assert_snapshot!(wrong("[limits]\njson_depth = 128\n"), @"redress.toml, line 2: JSON is read to a depth of 127, and no deeper");
        insta::assert_snapshot!(wrong("[telemetry]\nsample = 2.0\n"), @"redress.toml, line 2: expected a part from 0 to 1");
        insta::assert_snapshot!(wrong("[telemetry]\notlp = \"collector:4318\"\n"), @"redress.toml, line 2: expected a URL such as `http://127.0.0.1:4318`");
    }

    #[test]
    fn an_empty_list_is_not_taken_for_everything() {
        insta::assert_snapshot!(wrong("[access.jwt]\nkey_file = \"a\"\nalgorithms = []\n"), @"redress.toml, line 3: it names no algorithm: name some, or leave it out");
        insta::assert_snapshot!(wrong("[access.jwt]\nkey_file = \"a\"\naudience = []\n"), @"redress.toml, line 3: it names nobody: name somebody, or leave it out");
        insta::assert_snapshot!(wrong("[limits]\nrules = [{ rate = \"1/s\", callers = [] }]\n"), @"redress.toml, line 2: rule 1 is for no caller: name some, or leave `callers` out");
        insta::assert_snapshot!(wrong("[limits]\nrules = [{ rate = \"1/s\", operations = [] }]\n"), @"redress.toml, line 2: rule 1 is for no operation: name some, or leave `operations` out");
    }

    #[test]
    fn certificates_say_who_calls_or_keep_out_whoever_has_none() {
        let tls = "[tls]\ncertificate = \"a\"\nkey = \"b\"\n";
        let certificates = "[access.certificates]\nca = \"ca.pem\"\n";
        insta::assert_snapshot!(wrong(&format!("{tls}{certificates}")), @"redress.toml, line 4: `callers` must say who comes with which certificate");
        assert_ne!(wrong(&format!("{tls}{certificates}required = true\n")), "", "nobody could call");
        assert_ne!(wrong(&format!("{tls}[access]\ntokens = \"t\"\n{certificates}")), "", "they would change nothing");
        assert_eq!(wrong(&format!("{tls}[access]\ntokens = \"t\"\n{certificates}required = true\n")), "");
        let callers = "callers = [{ name = \"a\", caller = \"b\" }]\n";
        assert_eq!(wrong(&format!("{tls}{certificates}{callers}")), "");
    }

    #[test]
    fn keys_may_come_over_plain_http_from_this_machine_alone() {
        for url in [
            "http://127.0.0.1:9/keys",
            "http://localhost/keys",
            "http://[::1]/keys",
            "http://[::1]:9/keys",
            "https://issuer.example/keys",
        ] {
            assert_eq!(wrong(&format!("[access.jwt]\njwks_url = \"{url}\"\n")), "", "{url}");
        }
        for url in [
            "http://127.0.0.1.example/keys",
            "http://localhost@evil.example/",
            "http://127.0.0.1:80@evil.example/",
            "ftp://localhost/",
            "issuer.example",
        ] {
            assert_ne!(wrong(&format!("[access.jwt]\njwks_url = \"{url}\"\n")), "", "{url}");
        }
    }
}
