//! What single values cannot tell: whether they make sense together.

use std::collections::BTreeMap;

use super::{AccessTable, HttpTable, JwtTable, LimitsTable, ServeSettings, access::OneOrMany, bounds::BOUNDS};
use crate::{
    error::CliError,
    terminal::output::{harmless, is_harmful},
};

/// What is wrong, and where.
type ConfigMistake = (&'static str, String);

impl ServeSettings {
    /// Refuses values that contradict each other or lack another.
    pub(crate) fn check(&self) -> Result<(), CliError> {
        let wrong = BOUNDS
            .iter()
            .find_map(|bound| bound.wrong(self))
            .or_else(|| self.of_serve())
            .or_else(|| self.access.as_ref().and_then(|access| of_access(access, self.tls.is_some())))
            .or_else(|| of_limits(&self.limits))
            .or_else(|| self.of_both_limits())
            .or_else(|| of_http(&self.http))
            .or_else(|| self.of_telemetry())
            .or_else(|| self.of_tools())
            .or_else(|| self.of_upstreams());
        wrong.map_or(Ok(()), |(key, says)| Err(self.wrong(key, says)))
    }

    fn of_telemetry(&self) -> Option<ConfigMistake> {
        let telemetry = &self.telemetry;
        if telemetry.sample.is_some_and(|part| !(0.0..=1.0).contains(&part)) {
            return Some(("telemetry.sample", "expected a part from 0 to 1".to_owned()));
        }
        if telemetry.service.as_deref().is_some_and(is_no_name) {
            return Some((
                "telemetry.service",
                "`telemetry.service` is no name: write one, or leave it out".to_owned(),
            ));
        }
        if telemetry.metrics == Some(false) && telemetry.metrics_open == Some(true) {
            return Some((
                "telemetry.metrics_open",
                "`metrics_open` means nothing without `metrics`: set that, or leave it out".to_owned(),
            ));
        }
        let Some(url) = telemetry.otlp.as_deref() else {
            let alone = [
                ("telemetry.headers_file", telemetry.headers_file.is_some()),
                ("telemetry.service", telemetry.service.is_some()),
                ("telemetry.sample", telemetry.sample.is_some()),
            ];
            let (key, _) = alone.into_iter().find(|(_, is_set)| *is_set)?;
            return Some((
                key,
                format!("`{key}` means nothing without `telemetry.otlp`: name the collector, or leave it out"),
            ));
        };
        let is_url =
            reqwest::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        (!is_url).then(|| ("telemetry.otlp", "expected a URL such as `http://127.0.0.1:4318`".to_owned()))
    }

    /// The URL goes into headers and documents as it is written.
    fn of_serve(&self) -> Option<ConfigMistake> {
        let text = self.url.as_deref()?;
        let says = match reqwest::Url::parse(text) {
            _ if !text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'<>\\^`{|}".contains(&byte)) => {
                "has characters that no URL has: write them by their numbers (`%20`), a name by its letters (`xn--…`)"
            }
            Ok(url) if !matches!(url.scheme(), "http" | "https") || !url.has_host() => "is none of a server",
            Ok(url) if !url.username().is_empty() || url.password().is_some() => {
                "holds a user, which everybody would read"
            }
            Ok(url) if url.query().is_some() || url.fragment().is_some() => {
                "holds a query or a fragment, which no path can follow"
            }
            Ok(_) => return None,
            Err(_) => "is no URL",
        };
        Some(("serve.url", format!("`serve.url` {says}: expected a URL such as `https://api.example`")))
    }

    /// Limits of one that those of all never let come into force.
    fn of_both_limits(&self) -> Option<ConfigMistake> {
        let limits = &self.limits;
        if let (Some(one), Some(all)) = (limits.per_address, limits.connections)
            && one > all
        {
            let says = format!(
                "`limits.per_address` is {one}, and `limits.connections` lets {all} in of all together: write at most `{all}`"
            );
            return Some(("limits.per_address", says));
        }
        if let (Some(one), Some(all)) = (limits.in_flight, self.max_in_flight)
            && usize::try_from(one.get()).is_ok_and(|one| one > all)
        {
            let says = format!(
                "`limits.in_flight` is {one}, and `serve.max_in_flight` lets {all} run of all together: write at most `{all}`"
            );
            return Some(("limits.in_flight", says));
        }
        let default = redress_serve::ServerLimits::default();
        let (caller, connection) = (limits.answer_bytes_per_caller, limits.answer_bytes_per_connection);
        let all = limits.answer_bytes.map_or(default.answer_bytes, |size| size.0);
        let of_caller = caller.map_or(default.answer_bytes_per_caller.min(all), |size| size.0);
        for (key, part, of, whole) in [
            ("limits.answer_bytes_per_caller", caller, "limits.answer_bytes", all),
            ("limits.answer_bytes_per_connection", connection, "limits.answer_bytes_per_caller", of_caller),
        ] {
            if part.is_some_and(|part| part.0 > whole) {
                return Some((
                    key,
                    format!("`{key}` is more than `{of}`, of which it is a part: write less, or leave it out"),
                ));
            }
        }
        None
    }

    fn of_upstreams(&self) -> Option<ConfigMistake> {
        if let Some(says) = self.upstreams.iter().find_map(|upstream| upstream.wrong()) {
            return Some(("upstream", says));
        }
        let names: Vec<&str> = self.upstreams.iter().map(|upstream| upstream.name.as_str()).collect();
        twice(&names).map(|name| ("upstream", format!("two upstreams are called `{name}`: give one another name")))
    }

    fn of_tools(&self) -> Option<ConfigMistake> {
        if self.tools.host_fields.iter().any(String::is_empty) {
            return Some(("mcp.host_fields", "a name in `mcp.host_fields` is empty: take it out".to_owned()));
        }
        for (name, patterns) in &self.tools.profiles {
            let shown = harmless(name);
            if is_no_name(name) || patterns.is_empty() {
                return Some((
                    "mcp.profiles",
                    format!("the profile `{shown}` names nothing: give it operations, such as `files.*`"),
                ));
            }
            if let Some(twice) = twice(patterns) {
                return Some((
                    "mcp.profiles",
                    format!("the profile `{shown}` names `{}` twice: take one out", harmless(twice)),
                ));
            }
        }
        None
    }
}

/// Whether a text says nothing, or something that cannot be shown.
fn is_no_name(text: &str) -> bool {
    text.trim().is_empty() || text.chars().any(is_harmful)
}

/// What a list names twice.
fn twice<T: PartialEq>(list: &[T]) -> Option<&T> {
    list.iter().enumerate().find_map(|(at, item)| list.iter().take(at).any(|other| other == item).then_some(item))
}

fn of_http(http: &HttpTable) -> Option<ConfigMistake> {
    let origins = http.cors_origins.as_deref().unwrap_or_default();
    if let Some(origin) = twice(origins) {
        return Some((
            "http.cors_origins",
            format!("`http.cors_origins` names `{}` twice: take one out", origin.escape_debug()),
        ));
    }
    if let Some((origin, says)) = origins.iter().find_map(|origin| Some((origin, of_origin(origin)?))) {
        let says = format!("`http.cors_origins` names `{}`, which {says}", origin.escape_debug());
        return Some(("http.cors_origins", says));
    }
    let proxies = http.trusted_proxies.as_deref().unwrap_or_default();
    if let Some(proxy) = twice(proxies) {
        return Some((
            "http.trusted_proxies",
            format!("`http.trusted_proxies` names `{}` twice: take one out", proxy.escape_debug()),
        ));
    }
    let unread = proxies.iter().find_map(|proxy| proxy.parse::<redress_serve::Network>().err());
    unread.map(|error| ("http.trusted_proxies", harmless(&error.to_string())))
}

/// Why no browser sends an origin as it is written.
fn of_origin(text: &str) -> Option<String> {
    const WRITE: &str = "write an origin such as `https://app.example`, or `*` for every one";
    if text == "*" {
        return None;
    }
    if text == "null" {
        return Some(format!("every page without an origin has, and nobody would know whose it is: {WRITE}"));
    }
    let Some((scheme, rest)) = text.trim_end_matches('/').split_once("://") else {
        return Some(format!("is no origin: {WRITE}"));
    };
    if rest.contains('*') {
        return Some(format!("fits no page, since `*` stands for every origin and not for a part of one: {WRITE}"));
    }
    let is_plain = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-._:[]".contains(&byte))
    };
    if !matches!(scheme, "http" | "https") {
        // Browsers know others too, of extensions and of applications.
        return (!is_plain(scheme) || !is_plain(rest)).then(|| format!("is no origin: {WRITE}"));
    }
    match reqwest::Url::parse(text).map(|url| url.origin().ascii_serialization()) {
        Ok(sent) if sent.eq_ignore_ascii_case(text.trim_end_matches('/')) => None,
        Ok(sent) => Some(format!("no browser sends: write `{sent}`")),
        Err(_) => Some(format!("is no origin: {WRITE}")),
    }
}

fn of_access(access: &AccessTable, tls: bool) -> Option<ConfigMistake> {
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
    let scoped = access.hashes.iter().map(|given| ("access.hashes", &given.caller, &given.scopes));
    let certified = access.certificates.iter().flat_map(|table| &table.callers);
    let certified = certified.map(|known| ("access.certificates.callers", &known.caller, &known.scopes));
    if let Some((key, caller, scope)) =
        scoped.chain(certified).find_map(|(key, caller, scopes)| Some((key, caller, twice(scopes)?)))
    {
        return Some((
            key,
            format!(
                "`{key}` gives `{}` the scope `{}` twice: take one out",
                caller.escape_debug(),
                scope.escape_debug()
            ),
        ));
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

fn of_jwt(jwt: &JwtTable) -> Option<ConfigMistake> {
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
    if let Some(algorithm) = jwt.algorithms.as_deref().and_then(twice) {
        return Some(("access.jwt.algorithms", format!("it names {} twice: take one out", algorithm.as_str())));
    }
    if jwt.issuer.as_deref().is_some_and(is_no_name) {
        return Some((
            "access.jwt.issuer",
            "`access.jwt.issuer` is empty, and no token is issued by nobody: name it, or leave it out".to_owned(),
        ));
    }
    let audience = jwt.audience.as_ref().map(OneOrMany::as_slice).unwrap_or_default();
    if audience.iter().any(|name| is_no_name(name)) {
        return Some((
            "access.jwt.audience",
            "`access.jwt.audience` names nobody: name somebody, or leave it out".to_owned(),
        ));
    }
    if let Some(name) = twice(audience) {
        return Some(("access.jwt.audience", format!("it names `{}` twice: take one out", name.escape_debug())));
    }
    if jwt.required_claims.as_ref().is_some_and(BTreeMap::is_empty) {
        return Some((
            "access.jwt.required_claims",
            "`access.jwt.required_claims` requires nothing: name a claim, or leave it out".to_owned(),
        ));
    }
    let claims = [("access.jwt.caller_claim", &jwt.caller_claim), ("access.jwt.scopes_claim", &jwt.scopes_claim)];
    let claims = claims.into_iter().filter_map(|(key, claim)| Some((key, claim.as_ref()?)));
    let required = jwt.required_claims.iter().flatten().map(|(claim, _)| ("access.jwt.required_claims", claim));
    if let Some((key, claim)) = claims.chain(required).find(|(_, claim)| is_no_claim(claim)) {
        let says = format!(
            "`{key}` has `{}`, which no claim can be called: write a name, or a path of names such as `realm.roles`",
            claim.escape_debug()
        );
        return Some((key, says));
    }
    if jwt.clock_skew.is_some_and(|skew| skew.0.subsec_nanos() > 0) {
        return Some((
            "access.jwt.clock_skew",
            "`access.jwt.clock_skew` is counted in whole seconds: write one such as `30s`".to_owned(),
        ));
    }
    of_address(jwt.jwks_url.as_ref()?)
}

#[cfg(feature = "jwt")]
fn of_address(url: &str) -> Option<ConfigMistake> {
    let refused = redress_access::KeySource::JwksUrl(url.to_owned()).check().err();
    refused.map(|error| ("access.jwt.jwks_url", error.to_string()))
}

/// A build without tokens has refused the table that holds it.
#[cfg(not(feature = "jwt"))]
fn of_address(_: &str) -> Option<ConfigMistake> {
    None
}

/// Whether a path of names has a part without one.
fn is_no_claim(path: &str) -> bool {
    path.split('.').any(str::is_empty) || path.chars().any(is_harmful)
}

fn of_limits(limits: &LimitsTable) -> Option<ConfigMistake> {
    if limits.burst.is_some() && limits.rate.is_none() {
        return Some(("limits.burst", "a burst means nothing without its `rate`".to_owned()));
    }
    let is_empty = |names: &Option<Vec<String>>| names.as_ref().is_some_and(Vec::is_empty);
    for (at, rule) in (1..).zip(&limits.rules) {
        let counts = [rule.in_flight, rule.streams];
        let says = if rule.rate.is_none() && rule.quota.is_none() && counts.iter().all(Option::is_none) {
            "sets none of `rate`, `quota`, `in_flight` and `streams`"
        } else if rule.burst.is_some() && rule.rate.is_none() {
            "has a `burst`, which means nothing without its `rate`"
        } else if is_empty(&rule.callers) {
            "is for no caller: name some, or leave `callers` out"
        } else if is_empty(&rule.operations) {
            "is for no operation: name some, or leave `operations` out"
        } else if rule.callers.iter().flatten().any(|caller| is_no_name(caller)) {
            "is for a caller without a name: name one, or take it out"
        } else if rule.callers.as_deref().and_then(twice).is_some() {
            "names a caller twice: take one out"
        } else if rule.operations.as_deref().and_then(twice).is_some() {
            "names an operation twice: take one out"
        } else if limits.rules.iter().take(at - 1).any(|other| other == rule) {
            "is the same as one before it: take it out"
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
        arguments::{BoundsArgs, FolderArgs, ServeArgs},
        config::ConfigDocument,
    };

    fn wrong(text: &str) -> String {
        let document = ConfigDocument { path: "redress.toml".into(), text: text.to_owned() };
        let file = toml::from_str(text).unwrap();
        let held = ServeSettings::of(
            &ServeArgs::default(),
            &FolderArgs::default(),
            &BoundsArgs::default(),
            file,
            Some(document),
        );
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
        insta::assert_snapshot!(wrong("[[limits.rules]]\nrate = \"1/s\"\n\n[[limits.rules]]\ncallers = [\"ada\"]\n"), @"redress.toml, line 1: rule 2 sets none of `rate`, `quota`, `in_flight` and `streams`");
        insta::assert_snapshot!(wrong("[limits]\njson_depth = 128\n"), @"redress.toml, line 2: `limits.json_depth` is 128, which cannot be in force: write at most `127`");
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
