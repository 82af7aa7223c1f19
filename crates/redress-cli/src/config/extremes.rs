//! Every setting at its extremes: in force, or refused with what is wrong and what to write. Nothing is taken in silence.

use super::{ConfigDocument, File, ServeSettings, catalogue::SETTINGS};
use crate::arguments::{BoundsArgs, FolderArgs, ServeArgs};

/// What becomes of a value.
enum Becomes {
    Holds,
    /// It is refused, and this is part of what is said.
    Refused(&'static str),
}
use Becomes::{Holds, Refused};

/// A key, what else has to be written, and what becomes of values.
type ExtremesRow = (&'static str, &'static str, &'static [(&'static str, Becomes)]);

const TIME: Becomes = Refused("expected a time longer than nothing, such as `5s`");
const COUNT: Becomes = Refused("expected a whole number");
const TYPE: Becomes = Refused("invalid type");
const NEGATIVE: Becomes = Refused("invalid value: integer `-1`");
const BYTES: Becomes = Refused("expected a number of bytes");
const PART: Becomes = Refused("of which it is a part");
const EMPTY: Becomes = Refused("is empty: write a path, or leave it out");
const VARIANT: Becomes = Refused("unknown variant");
const TLS: &str = "tls.certificate = \"c\"\ntls.key = \"k\"\naccess.certificates.ca = \"a\"\n";
const JWT: &str = "access.jwt.key_file = \"k\"\n";

#[rustfmt::skip]
const ROWS: &[ExtremesRow] = &[
    ("serve.listen", "", &[("\"127.0.0.1:0\"", Holds), ("\"\"", Refused("expected an address")), ("\"unix:\"", Refused("expected an address")), ("1", TYPE)]),
    ("serve.url", "", &[
        ("\"https://api.example\"", Holds), ("\"http://127.0.0.1:1/base/\"", Holds), ("\"https://api.example/a%20b\"", Holds),
        ("\"\"", Refused("`serve.url`")), ("\"api.example\"", Refused("`serve.url`")), ("\"ftp://a\"", Refused("is none of a server")),
        ("\"https://\"", Refused("is no URL")), ("'https://a\"b'", Refused("has characters that no URL has")),
        ("\"https://a\\r\\nX: y\"", Refused("has characters")), ("\"https://a b\"", Refused("has characters")), ("\"https://bücher.example\"", Refused("xn--")),
        ("\"https://us:er@a\"", Refused("holds a user")), ("\"https://a?q=1\"", Refused("holds a query")), ("\"https://a#f\"", Refused("holds a query")),
    ]),
    ("serve.root", "", &[("\".\"", Holds), ("\"\"", EMPTY), ("1", TYPE)]),
    ("serve.write", "", &[("true", Holds), ("false", Holds), ("\"yes\"", TYPE), ("1", TYPE)]),
    ("serve.max_body", "", &[
        ("\"1KiB\"", Holds), ("\"1GiB\"", Holds), ("0", Refused("expected a number of bytes")), ("1", Refused("write at least `1KiB`")),
        ("-1", Refused("expected a number of bytes")), ("\"2TiB\"", Refused("expected a number of bytes")), ("\"99999999999GiB\"", Refused("expected a number of bytes")),
        ("\"2GiB\"", Refused("write at most `1024MiB`")), ("\"5s\"", Refused("expected a number of bytes")), ("\"\"", Refused("expected a number of bytes")),
    ]),
    ("serve.shutdown_grace", "", &[("\"1ms\"", Holds), ("\"1h\"", Holds), ("\"1ns\"", Refused("write at least `1ms`")), ("\"2h\"", Refused("write at most `1h`")), ("\"0s\"", TIME), ("\"\"", TIME), ("\"5\"", TIME), ("\"5MiB\"", TIME), ("5", TYPE)]),
    ("serve.max_in_flight", "", &[("1", Holds), ("1000000", Holds), ("0", Refused("write at least `1`")), ("-1", NEGATIVE), ("9223372036854775807", Refused("write at most `1000000`")), ("\"many\"", TYPE), ("1.5", TYPE)]),
    ("serve.deadline", "", &[("\"1ms\"", Holds), ("\"24h\"", Holds), ("\"1us\"", Refused("write at least `1ms`")), ("\"584542046090y\"", Refused("write at most `1day`")), ("\"0s\"", TIME), ("\"-5s\"", TIME), ("\"99999999999999999999s\"", TIME), ("5", TYPE)]),
    ("serve.check_outputs", "", &[("true", Holds), ("false", Holds), ("1", TYPE), ("\"yes\"", TYPE)]),
    ("access.tokens", "", &[("\"t\"", Holds), ("\"\"", EMPTY), ("[]", TYPE)]),
    ("access.hashes", "", &[
        ("[{caller=\"a\", sha256=\"b\", scopes=[\"x\", \"x\"]}]", Refused("twice")), ("[{caller=\"a\", sha256=\"b\"}]", Holds), ("[]", Refused("it says how nobody is known")),
        ("[{caller=\"a\"}]", Refused("missing field `sha256`")), ("[{caller=\"a\", sha256=\"b\", expires=\"soon\"}]", Refused("expected a time such as")),
        ("[{caller=\"a\", sha256=\"b\", expires=\"10000-01-01\"}]", Refused("expected a time such as")), ("[{caller=\"a\", sha256=\"b\", expires=\"9999-12-31\"}]", Holds),
        ("[{caller=\"a\", sha256=\"b\", expires=\"0000-01-01\"}]", Refused("expected a time such as")),
    ]),
    ("access.jwt.issuer", JWT, &[("\"i\"", Holds), ("\"\"", Refused("`access.jwt.issuer` is empty")), ("\" \"", Refused("is empty")), ("1", TYPE)]),
    ("access.jwt.audience", JWT, &[("\"a\"", Holds), ("[\"a\", \"b\"]", Holds), ("[]", Refused("it names nobody")), ("\"\"", Refused("names nobody")), ("[\"a\", \"a\"]", Refused("twice")), ("1", Refused("expected a text, or a list of texts"))]),
    ("access.jwt.jwks_url", "", &[("\"https://i/keys\"", Holds), ("\"http://127.0.0.1/k\"", Holds), ("\"http://i/keys\"", Refused("keys are taken by `https`")), ("\"\"", Refused("no URL")), ("\"https://\"", Refused("no URL")), ("\"file:///etc/keys\"", Refused("no URL"))]),
    ("access.jwt.jwks_file", "", &[("\"k\"", Holds), ("\"\"", EMPTY)]),
    ("access.jwt.secret_file", "", &[("\"k\"", Holds), ("\"\"", EMPTY)]),
    ("access.jwt.key_file", "", &[("\"k\"", Holds), ("\"\"", EMPTY), ("\"k\"\naccess.jwt.jwks_file = \"j\"", Refused("one of `jwks_url`"))]),
    ("access.jwt.algorithms", JWT, &[("[\"RS256\"]", Holds), ("[]", Refused("it names no algorithm")), ("[\"none\"]", VARIANT), ("[\"rs256\"]", VARIANT), ("[\"RS256\", \"RS256\"]", Refused("twice"))]),
    ("access.jwt.caller_claim", JWT, &[("\"sub\"", Holds), ("\"a.b\"", Holds), ("\"https://a.example/x\"", Holds), ("\"\"", Refused("which no claim can be called")), ("\".a\"", Refused("which no claim")), ("\"a.\"", Refused("which no claim")), ("1", TYPE)]),
    ("access.jwt.scopes_claim", JWT, &[("\"realm.roles\"", Holds), ("\"a..b\"", Refused("which no claim can be called")), ("\"\"", Refused("which no claim"))]),
    ("access.jwt.required_claims", JWT, &[("{tenant = \"a\"}", Holds), ("{}", Refused("requires nothing")), ("{\"\" = 1}", Refused("which no claim")), ("{\"a..b\" = 1}", Refused("which no claim")), ("[]", TYPE)]),
    ("access.jwt.clock_skew", JWT, &[("\"1s\"", Holds), ("\"10m\"", Holds), ("\"0s\"", TIME), ("\"1ms\"", Refused("write at least `1s`")), ("\"1500ms\"", Refused("whole seconds")), ("\"100000d\"", Refused("write at most `10m`")), ("\"x\"", TIME)]),
    ("access.jwt.cache", JWT, &[("0", Holds), ("10000000", Holds), ("-1", NEGATIVE), ("9223372036854775807", Refused("write at most `10000000`")), ("\"many\"", TYPE)]),
    ("access.certificates.ca", "tls.certificate = \"c\"\ntls.key = \"k\"\naccess.certificates.callers = [{name=\"n\", caller=\"c\"}]\n", &[("\"a\"", Holds), ("\"\"", EMPTY)]),
    ("access.certificates.required", "tls.certificate = \"c\"\ntls.key = \"k\"\naccess.tokens = \"t\"\naccess.certificates.ca = \"a\"\n", &[("true", Holds), ("false", Refused("`callers` must say")), ("1", TYPE)]),
    ("access.certificates.callers", TLS, &[("[{name=\"n\", caller=\"c\"}]", Holds), ("[]", Refused("`callers` must say")), ("[{name=\"n\", caller=\"c\", scopes=[\"x\", \"x\"]}]", Refused("twice")), ("[{name=\"n\"}]", Refused("missing field `caller`"))]),
    ("state", "", &[("\"memory\"", Holds), ("\"disk\"", Refused("expected \"memory\" or a table")), ("\"\"", Refused("expected \"memory\"")), ("1", TYPE)]),
    ("state.folder", "", &[("\"s\"", Holds), ("\"\"", EMPTY), ("1", TYPE)]),
    ("state.sync", "", &[("\"full\"", Holds), ("\"normal\"", Holds), ("\"off\"", VARIANT), ("\"\"", VARIANT)]),
    ("state.keys_last", "", &[("\"1s\"", Holds), ("\"3650d\"", Holds), ("\"1ns\"", Refused("write at least `1s`")), ("\"0s\"", TIME), ("\"584542046090y\"", Refused("write at most")), ("5", TYPE)]),
    ("audit.enabled", "", &[("true", Holds), ("false", Holds), ("1", TYPE), ("true\nstate = \"memory\"", Refused("the state is in memory"))]),
    ("audit.retention", "", &[("\"1m\"", Holds), ("\"36500d\"", Holds), ("\"1s\"", Refused("write at least `1m`")), ("\"584542046090y\"", Refused("write at most")), ("\"9d\"\nstate = \"memory\"", Refused("the state is in memory"))]),
    ("limits.rate", "", &[("\"1/h\"", Holds), ("\"4294967295/s\"", Holds), ("\"0/s\"", Refused("would refuse every call")), ("\"1/d\"", Refused("is not a rate")), ("\"\"", Refused("is not a rate")), ("\"-1/s\"", Refused("is not a rate")), ("\"4294967296/s\"", Refused("is not a rate")), ("1", TYPE)]),
    ("limits.burst", "limits.rate = \"1/s\"\n", &[("1", Holds), ("4294967295", Holds), ("0", COUNT), ("-1", COUNT), ("4294967296", COUNT)]),
    ("limits.quota", "", &[
        ("\"1/hour\"", Holds), ("\"4294967295/month\"", Holds), ("[\"1/h\", \"2/d\", \"3/month\"]", Holds), ("\"0/day\"", Refused("would refuse every call")), ("\"1/s\"", Refused("is not a quota")),
        ("\"\"", Refused("is not a quota")), ("\"-1/day\"", Refused("is not a quota")), ("\"4294967296/day\"", Refused("is not a quota")), ("[]", Refused("there is no quota in the list")),
        ("[\"1/d\", \"2/day\"]", Refused("two quotas for the same time")), ("1", Refused("expected a quota such as")), ("\"1/day\"\nstate = \"memory\"", Refused("the state is in memory")),
    ]),
    ("limits.in_flight", "", &[("1", Holds), ("1024", Holds), ("1025", Refused("`serve.max_in_flight` lets 1024 run")), ("0", COUNT), ("-1", COUNT)]),
    ("limits.streams", "", &[("1", Holds), ("4294967295", Holds), ("0", COUNT), ("-1", COUNT), ("\"1\"", TYPE)]),
    ("limits.sockets", "", &[("1", Holds), ("0", COUNT), ("9223372036854775807", Refused("write at most `1000000`"))]),
    ("limits.connections", "", &[("1", Holds), ("0", COUNT), ("9223372036854775807", Refused("write at most `10000000`")), ("10\nlimits.per_address = 11", Refused("`limits.connections` lets 10 in"))]),
    ("limits.per_address", "", &[("1", Holds), ("0", COUNT), ("9223372036854775807", Refused("write at most `10000000`"))]),
    ("limits.shed", "", &[("true", Holds), ("\"\"", TYPE)]),
    ("limits.json_depth", "", &[("1", Holds), ("127", Holds), ("128", Refused("write at most `127`")), ("0", COUNT)]),
    ("limits.json_members", "", &[("1", Holds), ("0", COUNT), ("9223372036854775807", Refused("write at most `100000000`"))]),
    ("limits.max_output", "", &[("\"1KiB\"", Holds), ("\"1GiB\"", Holds), ("1", Refused("write at least `1KiB`")), ("\"2GiB\"", Refused("write at most `1024MiB`")), ("0", BYTES), ("-1", BYTES), ("\"5s\"", BYTES)]),
    ("limits.answer_bytes", "", &[("\"1MiB\"", Holds), ("\"1024GiB\"", Holds), ("0", BYTES), ("1", Refused("write at least `1MiB`")), ("\"2MiB\"\nlimits.answer_bytes_per_connection = \"3MiB\"", PART)]),
    ("limits.answer_bytes_per_caller", "limits.answer_bytes = \"2MiB\"\n", &[("\"2MiB\"", Holds), ("\"3MiB\"", PART), ("1", Refused("write at least `1MiB`")), ("0", BYTES)]),
    ("limits.answer_bytes_per_connection", "limits.answer_bytes_per_caller = \"2MiB\"\n", &[("\"2MiB\"", Holds), ("\"3MiB\"", PART), ("1", Refused("write at least `1MiB`")), ("\"many\"", BYTES)]),
    ("limits.rules", "", &[
        ("[{rate = \"1/s\"}]", Holds), ("[]", Holds), ("[{}]", Refused("rule 1 sets none of")), ("[{burst = 1, in_flight = 1}]", Refused("rule 1 has a `burst`")),
        ("[{rate = \"1/s\", callers = []}]", Refused("rule 1 is for no caller")), ("[{rate = \"1/s\", callers = [\"\"]}]", Refused("rule 1 is for a caller without a name")),
        ("[{rate = \"1/s\", callers = [\"a\", \"a\"]}]", Refused("rule 1 names a caller twice")), ("[{rate = \"1/s\", operations = []}]", Refused("rule 1 is for no operation")),
        ("[{rate = \"1/s\", operations = [\"a.b\", \"a.b\"]}]", Refused("rule 1 names an operation twice")), ("[{rate = \"1/s\"}, {rate = \"1/s\"}]", Refused("rule 2 is the same")),
        ("[{rate = \"0/s\"}]", Refused("would refuse every call")), ("[{in_flight = 0}]", COUNT), ("[{streams = 0}]", COUNT), ("[{quota = \"1/day\"}]", Holds), ("[{quota = \"1/s\"}]", Refused("is not a quota")),
        ("[{quota = \"1/day\"}]\nstate = \"memory\"", Refused("the state is in memory")),
    ]),
    ("tls.certificate", "tls.key = \"k\"\n", &[("\"c\"", Holds), ("\"\"", EMPTY)]),
    ("tls.key", "tls.certificate = \"c\"\n", &[("\"k\"", Holds), ("\"\"", EMPTY)]),
    ("http.compression", "", &[("false", Holds), ("\"gzip\"", TYPE)]),
    ("http.cors_origins", "", &[
        ("[\"https://app.example\"]", Holds), ("[\"https://app.example/\"]", Holds), ("[\"*\"]", Holds), ("[]", Holds), ("[\"http://127.0.0.1:3000\"]", Holds), ("[\"http://[::1]:3000\"]", Holds),
        ("[\"chrome-extension://abcdef\"]", Holds), ("[\"tauri://localhost\"]", Holds), ("[\"*.example\"]", Refused("is no origin")), ("[\"https://*.example\"]", Refused("`*` stands for every origin")),
        ("[\"https://a.example/path\"]", Refused("no browser sends: write `https://a.example`")), ("[\"null\"]", Refused("every page without an origin")), ("[\"\"]", Refused("is no origin")),
        ("[\"https://a.example:443\"]", Refused("write `https://a.example`")), ("[\"https://bücher.example\"]", Refused("write `https://xn--bcher-kva.example`")),
        ("[\"https://us@a.example\"]", Refused("write `https://a.example`")), ("[\"https://a\", \"https://a\"]", Refused("twice")), ("[\"app.example\"]", Refused("is no origin")), ("\"*\"", TYPE),
    ]),
    ("http.trusted_proxies", "", &[("[\"127.0.0.1/32\", \"::1\"]", Holds), ("[]", Holds), ("[\"proxy\"]", Refused("proxy")), ("[\"127.0.0.1/33\"]", Refused("127.0.0.1/33")), ("[\"::1\", \"::1\"]", Refused("twice")), ("[\"\"]", Refused(""))]),
    ("http.handshake_time", "", &[("\"10ms\"", Holds), ("\"1ns\"", Refused("write at least `10ms`")), ("\"9999d\"", Refused("write at most `1day`")), ("\"0s\"", TIME)]),
    ("http.header_time", "", &[("\"10ms\"", Holds), ("\"1ns\"", Refused("write at least `10ms`")), ("\"9999d\"", Refused("write at most `1day`")), ("\"0s\"", TIME)]),
    ("http.body_time", "", &[("\"10ms\"", Holds), ("\"1ns\"", Refused("write at least `10ms`")), ("\"9999d\"", Refused("write at most `1day`")), ("\"0s\"", TIME)]),
    ("http.idle_time", "", &[("\"10ms\"", Holds), ("\"1ns\"", Refused("write at least `10ms`")), ("\"9999d\"", Refused("write at most `1day`")), ("\"0s\"", TIME)]),
    ("http.write_time", "", &[("\"10ms\"", Holds), ("\"1ns\"", Refused("write at least `10ms`")), ("\"9999d\"", Refused("write at most `1day`")), ("\"0s\"", TIME)]),
    ("http.max_headers", "", &[("\"8KiB\"", Holds), ("\"1MiB\"", Holds), ("\"10B\"", Refused("write at least `8KiB`")), ("8191", Refused("write at least `8KiB`")), ("\"2MiB\"", Refused("write at most `1MiB`")), ("0", Refused("expected a number of bytes"))]),
    ("telemetry.metrics", "", &[("true", Holds), ("1", TYPE)]),
    ("telemetry.metrics_open", "", &[("true", Holds), ("true\ntelemetry.metrics = false", Refused("means nothing without `metrics`"))]),
    ("telemetry.otlp", "", &[("\"http://127.0.0.1:4318\"", Holds), ("\"\"", Refused("expected a URL")), ("\"127.0.0.1:4318\"", Refused("expected a URL")), ("\"http://\"", Refused("expected a URL")), ("\"ftp://a\"", Refused("expected a URL"))]),
    ("telemetry.headers_file", "", &[("\"h\"\ntelemetry.otlp = \"http://a\"", Holds), ("\"\"", EMPTY), ("\"h\"", Refused("means nothing without `telemetry.otlp`"))]),
    ("telemetry.service", "", &[("\"s\"\ntelemetry.otlp = \"http://a\"", Holds), ("\"\"", Refused("is no name")), ("\"a\\nb\"", Refused("is no name")), ("\"s\"", Refused("means nothing without `telemetry.otlp`"))]),
    ("telemetry.sample", "telemetry.otlp = \"http://a\"\n", &[("0.0", Holds), ("1.0", Holds), ("1", Holds), ("1.1", Refused("from 0 to 1")), ("-0.1", Refused("from 0 to 1")), ("nan", Refused("from 0 to 1")), ("inf", Refused("from 0 to 1")), ("\"1\"", TYPE)]),
    ("telemetry.access_log", "", &[("\"stderr\"", Holds), ("\"a.log\"", Holds), ("\"\"", Refused("expected `stderr`")), ("\"stdout\"", Refused("the output is not for the log")), ("true", TYPE)]),
    ("log.level", "", &[("\"off\"", Holds), ("\"loud\"", VARIANT), ("\"\"", VARIANT), ("1", Refused(""))]),
    ("log.format", "", &[("\"json\"", Holds), ("\"xml\"", VARIANT), ("\"\"", VARIANT)]),
    // Whether there is such a profile, and such operations, only the registry tells.
    ("mcp.profile", "", &[("\"p\"", Holds), ("1", TYPE)]),
    ("mcp.profiles", "", &[("{p = [\"files.*\"]}", Holds), ("{p = []}", Refused("names nothing")), ("{\"\" = [\"a.b\"]}", Refused("names nothing")), ("{p = [\"a.b\", \"a.b\"]}", Refused("twice")), ("[]", TYPE)]),
    ("mcp.output_schema", "", &[("\"union\"", Holds), ("\"both\"", VARIANT)]),
    ("mcp.envelope", "", &[("\"always\"", Holds), ("\"never\"", VARIANT)]),
    ("mcp.discovery_above", "", &[("0", Holds), ("-1", NEGATIVE), ("9223372036854775807", Refused("write at most `1000000`"))]),
    ("mcp.error_meta", "", &[("true", Holds), ("false", Holds), ("\"yes\"", TYPE)]),
    ("mcp.subscriptions", "", &[("true", Holds), ("false", Holds), ("1", TYPE)]),
    ("mcp.subscription_time", "", &[("\"1ms\"", Holds), ("\"1h\"", Holds), ("\"1ns\"", Refused("write at least `1ms`")), ("\"2h\"", Refused("write at most `1h`")), ("\"0s\"", TIME), ("4", TYPE)]),
    ("mcp.host_fields", "", &[("[]", Holds), ("[\"trace_id\"]", Holds), ("\"trace_id\"", TYPE), ("[1]", TYPE), ("[\"\"]", Refused("is empty"))]),
    ("upstream", "", &[
        ("[]", Holds), ("[{name=\"shop\", openapi=\"shop.yaml\", url=\"https://a.example/v1\", deadline=\"5s\", max_in_flight=8, rate=5, strict=true}]", Holds),
        ("[{name=\"shop\", openapi=\"s\", credentials={key={env=\"KEY\"}}, fails_when=[{pointer=\"/ok\", is=false}]}]", Holds),
        ("[{openapi=\"s\"}]", Refused("needs a `name`")), ("[{name=\"Shop.x\", openapi=\"s\"}]", Refused("has no name that can stand")), ("[{name=\"shop\"}]", EMPTY),
        ("[{name=\"shop\", openapi=\"s\", url=\"ftp://a\"}]", Refused("is none that is called")), ("[{name=\"shop\", openapi=\"s\", deadline=\"2d\"}]", Refused("from `1ms` to `1day`")),
        ("[{name=\"shop\", openapi=\"s\", max_in_flight=0}]", COUNT), ("[{name=\"shop\", openapi=\"s\", rate=0}]", COUNT), ("[{name=\"a\", openapi=\"s\"}, {name=\"a\", openapi=\"t\"}]", Refused("two upstreams are called `a`")),
        ("[{name=\"a\", openapi=\"s\", credentials={key={env=\"K\", file=\"f\"}}}]", Refused("more than one place")), ("[{name=\"a\", openapi=\"s\", credentials={key={}}}]", Refused("must be one of")),
        ("[{name=\"a\", openapi=\"s\", fails_when=[{pointer=\"/ok\"}]}]", Refused("needs one of `is`")), ("[{name=\"a\", openapi=\"https://a.example/openapi.json\", overlays=[\"o.yaml\"]}]", Holds), ("[{name=\"a\", openapi=\"ftp://a.example/x\"}]", Refused("is no address that a document is got from")), ("[{nam=\"a\"}]", Refused("`upstream.nam` is not a setting")), ("1", TYPE),
    ]),
];

fn judged(text: &str) -> Result<(), String> {
    let document = ConfigDocument { path: "redress.toml".into(), text: text.to_owned() };
    let held = File::of(&document).and_then(|file| {
        ServeSettings::of(&ServeArgs::default(), &FolderArgs::default(), &BoundsArgs::default(), file, Some(document))
    });
    held.map(drop).map_err(|trouble| trouble.to_string())
}

#[test]
fn every_value_at_its_extremes_is_in_force_or_refused_with_what_to_write() {
    let mut wrong = Vec::new();
    for (key, around, values) in ROWS {
        for (value, becomes) in *values {
            let text = format!("{around}{key} = {value}\n");
            match (becomes, judged(&text)) {
                (Holds, Ok(())) => {}
                // Every refusal names the line.
                (Refused(says), Err(told)) if told.contains(says) && told.contains("line ") => {}
                (_, told) => wrong.push(format!("{text}{told:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_setting_is_tried_at_its_extremes() {
    let tried: Vec<&str> = ROWS.iter().map(|row| row.0).collect();
    let all: Vec<&str> = SETTINGS.iter().map(|setting| setting.path).collect();
    assert_eq!(tried, all);
    for (key, _, values) in ROWS {
        assert!(values.iter().any(|(_, becomes)| matches!(becomes, Holds)), "{key} can be set");
        assert!(values.iter().any(|(_, becomes)| matches!(becomes, Refused(_))), "{key} has no wrong value");
    }
}

#[test]
fn what_is_typed_is_judged_as_what_is_in_the_file() {
    let held = |args: &ServeArgs, bounds: &BoundsArgs| {
        let held = ServeSettings::of(args, &FolderArgs::default(), bounds, File::default(), None);
        held.map_or_else(|trouble| trouble.to_string(), |_| String::new())
    };
    let none = || BoundsArgs { max_in_flight: None, deadline: None };
    let said = held(&ServeArgs::default(), &BoundsArgs { max_in_flight: Some(0), ..none() });
    assert!(said.contains("`serve.max_in_flight` is 0"), "{said}");
    let said = held(&ServeArgs::default(), &BoundsArgs { deadline: "9999d".parse().ok(), ..none() });
    assert!(said.contains("`serve.deadline`") && said.contains("at most"), "{said}");
    let said = held(&ServeArgs { max_body: "1B".parse().ok(), ..ServeArgs::default() }, &none());
    assert!(said.contains("`serve.max_body` is 1B"), "{said}");
    let said = held(&ServeArgs { shutdown_grace: "1ns".parse().ok(), ..ServeArgs::default() }, &none());
    assert!(said.contains("`serve.shutdown_grace`"), "{said}");
    let kept = crate::arguments::KeptArgs { otlp: Some("collector".to_owned()), ..Default::default() };
    let said = held(&ServeArgs { kept, ..ServeArgs::default() }, &none());
    assert!(said.contains("expected a URL"), "{said}");
}
