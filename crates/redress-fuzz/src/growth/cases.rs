//! What is sent: one row for each way in which outside bytes make work.

use super::{MAX_GROWTH, door::Way};

/// One way to make work, in messages of any size.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) way: Way,
    /// The largest message, in bytes, or nearly.
    pub(super) max: usize,
    /// A message of so many bytes, or nearly.
    pub(super) make: fn(usize) -> Vec<u8>,
    /// How much more its largest message may cost than one of a quarter.
    pub(super) growth: f64,
    /// Whether it is here to show that growth is seen.
    pub(super) must_fail: bool,
}

impl Case {
    /// The smallest message, and those of n, 2n and 4n bytes.
    pub(super) fn messages(&self) -> Vec<Vec<u8>> {
        [0, self.max / 4, self.max / 2, self.max].map(self.make).into()
    }

    const fn of(mut self, max: usize) -> Case {
        self.max = max;
        self
    }
}

const fn case(name: &'static str, way: Way, make: fn(usize) -> Vec<u8>) -> Case {
    Case { name, way, max: 12 * 1024, make, growth: MAX_GROWTH, must_fail: false }
}

pub(super) const NOTHING: Case = case("nothing", Way::Nowhere, |_| Vec::new());

/// As large as an input may be, beside what stands around it.
const MAX_SIZE: usize = 1024 * 1024 - 64;
/// As long as the headers of a request may be, beside the others.
const HEADER: usize = 12 * 1024;
/// As long as a document of 120 levels of `{"next":…}` is.
const LEVELS: usize = 120 * 9;

/// Every case, by its name.
pub(super) const CASES: &[Case] = &[
    Case { must_fail: true, ..case("(a quadratic function, to be found)", Way::Quadratic, |n| vec![b'a'; n]).of(4096) },
    case("unknown members", Way::Post("/ops/grow/closed"), members),
    case("unknown members, largest", Way::Post("/ops/grow/closed"), members).of(256 * 1024),
    case("unknown members, 200 known", Way::Post("/ops/grow/closed200"), members),
    case("unknown members, near known ones", Way::Post("/ops/grow/closed200"), near_members),
    case("unknown members, unevaluated", Way::Post("/ops/grow/unevaluated"), members),
    case("unknown members, typed", Way::Post("/ops/demo/search"), members),
    case("unknown members, GET", Way::Query("/ops/grow/flat"), parameters),
    case("unknown members, /call", Way::Post("/call"), |n| {
        wrapped(r#"{"operation":"grow.closed","input":"#, members(n), "}")
    }),
    case("unknown members, /rpc", Way::Post("/rpc"), |n| {
        wrapped(r#"{"jsonrpc":"2.0","id":1,"method":"grow.closed","params":"#, members(n), "}")
    }),
    case("unknown members, /mcp", Way::Post("/mcp"), |n| {
        wrapped(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"grow_closed","arguments":"#,
            members(n),
            "}}",
        )
    }),
    case("unknown members, WebSocket", Way::WebSocket, |n| {
        wrapped(r#"{"type":"call.requested","id":"a","payload":{"operation":"grow.closed","input":"#, members(n), "}}")
    }),
    case("items of a wrong type", Way::Post("/ops/grow/integers"), |n| list(n, r#""a""#)),
    case("items that are numbers in quotes", Way::Post("/ops/grow/integers"), |n| list(n, r#""1""#)),
    case("too many items", Way::Post("/ops/grow/bounded"), |n| list(n, "1")),
    case("items of a wrong type, referred", Way::Post("/ops/grow/references"), |n| list(n, r#""a""#)),
    case("items that fit no branch", Way::Post("/ops/grow/unions"), |n| list(n, r#""a""#)),
    case("objects with a member too many", Way::Post("/ops/grow/objects"), |n| list(n, r#"{"zz":1}"#)),
    case("a union over an array", Way::Post("/ops/grow/union_of_array"), |n| list(n, r#""a""#)),
    case("a union over an object", Way::Post("/ops/grow/union_of_object"), |n| under_v(members(n))),
    case("a union of 20 by a tag", Way::Post("/ops/grow/tagged"), |n| under_v(tagged(n))),
    case("names too long", Way::Post("/ops/grow/names"), |n| under_v(members(n))),
    case("names too long, in a union", Way::Post("/ops/grow/names_in_union"), |n| under_v(members(n))),
    case("patterns of names", Way::Post("/ops/grow/patterns"), |n| under_v(members(n))),
    case("members that need others", Way::Post("/ops/grow/dependent"), |n| under_v(members(n))),
    case("recursion by anyOf", Way::Post("/ops/grow/any_of_recursion"), |n| under_v(nested(n))).of(LEVELS),
    case("recursion by oneOf of 24", Way::Post("/ops/grow/one_of_recursion"), |n| under_v(nested(n))).of(LEVELS),
    case("recursion, an unknown leaf", Way::Post("/ops/grow/deep"), |n| under_v(nested(n))).of(LEVELS),
    case("recursion by not", Way::Post("/ops/grow/not"), |n| under_v(nested(n))).of(LEVELS),
    case("deeper than is taken", Way::Post("/ops/grow/echo"), |n| under_v([vec![b'['; n], vec![b']'; n]].concat())),
    case("items twice", Way::Post("/ops/grow/unique"), |n| list(n, "1")),
    case("items once", Way::Post("/ops/grow/unique"), |n| under_v(counted(n, |at| format!(r#""{at}""#)))),
    case("objects once", Way::Post("/ops/grow/unique"), |n| under_v(counted(n, |at| format!(r#"{{"a":{at}}}"#)))),
    case("items that are not there", Way::Post("/ops/grow/contains"), |n| list(n, "1")),
    case("a long word for one of four", Way::Post("/ops/grow/word"), long_text),
    case("a long text for a pattern", Way::Post("/ops/grow/matching"), long_text),
    case("a long text for an address", Way::Post("/ops/grow/mail"), |n| quoted("a.", n, "@")),
    case("a long text for a link", Way::Post("/ops/grow/link"), |n| quoted("/..", n, "")),
    case("a long text for a moment", Way::Post("/ops/grow/moment"), |n| quoted("1", n, "")),
    case("a text that is too long", Way::Post("/ops/grow/short"), long_text),
    case("a number of many digits", Way::Post("/ops/grow/number"), |n| wrapped(r#"{"v":1"#, vec![b'7'; n], "}")),
    case("one member twice among many", Way::Post("/ops/grow/echo"), |n| {
        wrapped("{", [b"\"k0\":1,".to_vec(), inside(&members(n))].concat(), "}")
    }),
    case("the same member again and again", Way::Post("/ops/grow/echo"), |n| {
        wrapped("{", [b"\"k\":1,".repeat(n / 6), b"\"k\":1".to_vec()].concat(), "}")
    }),
    case("one member twice in the last object", Way::Post("/ops/grow/echo"), |n| {
        under_v(wrapped("[", [br#"{"a":1},"#.repeat(n / 8), br#"{"a":1,"a":2}"#.to_vec()].concat(), "]"))
    }),
    case("typed: wrong values of a map", Way::Post("/ops/demo/make"), |n| {
        typed("", &format!(r#","notes":{}"#, wrong(n)))
    }),
    case("typed: wrong lines", Way::Post("/ops/demo/make"), |n| typed(&r#","x""#.repeat(n / 4), "")),
    case("typed: lines with a mistake each", Way::Post("/ops/demo/make"), |n| {
        typed(&r#",{"artikle":"a","count":"2"}"#.repeat(n / 27), "")
    }),
    case("typed: a long name", Way::Post("/ops/demo/make"), |n| {
        wrapped(r#"{"customer":{"name":""#, vec![b'a'; n], r#""},"lines":[],"delivery":{"by":"post"}}"#)
    }),
    case("typed: a long word for one of two", Way::Post("/ops/demo/search"), |n| {
        wrapped(r#"{"text":"a","order":""#, vec![b'a'; n], "\"}")
    }),
    case("typed: a long tag", Way::Post("/ops/demo/make"), |n| {
        wrapped(r#"{"customer":{"name":"Ada"},"lines":[],"delivery":{"by":""#, vec![b'p'; n], "\"}}")
    }),
    case("taken as it is", Way::Post("/ops/grow/echo"), members),
    case("taken as it is, off the workers", Way::Post("/ops/grow/echo"), members).of(128 * 1024),
    case("taken as it is, largest", Way::Post("/ops/grow/echo"), |n| quoted("a", n, "")).of(MAX_SIZE),
    case("no JSON: brackets", Way::Post("/ops/grow/echo"), |n| vec![b'['; n]),
    case("no JSON: an open text", Way::Post("/ops/grow/echo"), |n| wrapped("\"", vec![b'a'; n], "")),
    case("no JSON: backslashes", Way::Post("/ops/grow/echo"), |n| wrapped("\"", vec![b'\\'; n], "")),
    case("no JSON: blanks", Way::Post("/ops/grow/echo"), |n| vec![b' '; n]),
    case("no JSON, typed", Way::Post("/ops/demo/make"), |n| wrapped("{", [members(n), vec![b',']].concat(), "")),
    case("no JSON, /call", Way::Post("/call"), |n| vec![b'{'; n]),
    case("a long name of an operation", Way::Path("/ops/"), |n| wrapped("grow/", vec![b'a'; n], "")),
    case("a long name of an operation, /call", Way::Post("/call"), |n| {
        wrapped(r#"{"operation":"grow."#, vec![b'a'; n], "\"}")
    }),
    case("a long name of a tool", Way::Post("/mcp"), |n| {
        wrapped(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"grow_"#, vec![b'a'; n], "\"}}")
    }),
    case("a long code", Way::Path("/errors/"), |n| vec![b'A'; n]),
    case("a long name to describe", Way::Post("/ops/services/schema"), |n| {
        wrapped(r#"{"name":"grow."#, vec![b'a'; n], "\"}")
    }),
    case("a batch of calls that are refused", Way::Post("/batch"), |n| {
        let max = 100;
        let call = wrapped(r#"{"operation":"grow.closed","input":"#, members(n / max), "}");
        wrapped("[", [call.as_slice(); 100].join(&b','), "]")
    })
    .of(64 * 1024),
    case("a batch of too many", Way::Post("/batch"), |n| {
        wrapped("[", [b"{},".repeat(n / 3), b"{}".to_vec()].concat(), "]")
    }),
    case("a batch of no requests, /rpc", Way::Post("/rpc"), |n| {
        wrapped("[", [b"1,".repeat(n / 2), b"1".to_vec()].concat(), "]")
    }),
    case("a long id, /rpc", Way::Post("/rpc"), |n| {
        wrapped(r#"{"jsonrpc":"2.0","method":"grow.echo","id":""#, vec![b'a'; n], "\"}")
    }),
    case("unknown members of a message, /mcp", Way::Post("/mcp"), |n| {
        wrapped(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":"#, members(n), "}")
    }),
    case("a long cursor, /mcp", Way::Post("/mcp"), |n| {
        wrapped(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":""#, vec![b'a'; n], "\"}}")
    }),
    case("an input taken by /mcp", Way::Post("/mcp"), |n| {
        wrapped(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"grow_echo","arguments":"#,
            members(n),
            "}}",
        )
    }),
    case("no message, WebSocket", Way::WebSocket, |n| vec![b'{'; n]),
    case("a deep message, WebSocket", Way::WebSocket, |n| wrapped("", b"[".repeat(n), "")),
    case("the same parameter again and again", Way::Query("/ops/grow/flat"), |n| b"a=1&".repeat(n / 4)),
    case("escapes in a parameter", Way::Query("/ops/grow/flat"), |n| wrapped("a=", b"%41".repeat(n / 3), "")),
    case("a long token", Way::Header("authorization"), |n| wrapped("Bearer ", vec![b'a'; n], "")).of(HEADER),
    case("a long Basic", Way::Header("authorization"), |n| wrapped("Basic ", vec![b'='; n], "")).of(HEADER),
    case("a long traceparent", Way::Header("traceparent"), |n| wrapped("00-", vec![b'a'; n], "")).of(HEADER),
    case("a long tracestate", Way::Header("tracestate"), |n| [b"a=b,".repeat(n / 4), b"c=d".to_vec()].concat())
        .of(HEADER),
    case("a chain of Forwarded", Way::Header("forwarded"), |n| {
        [b"for=10.0.0.1;by=\"[::1]\", ".repeat(n / 25), b"for=10.0.0.1".to_vec()].concat()
    })
    .of(HEADER),
    case("a chain of X-Forwarded-For", Way::Header("x-forwarded-for"), |n| {
        [b"10.0.0.1, ".repeat(n / 10), b"10.0.0.1".to_vec()].concat()
    })
    .of(HEADER),
    case("a list of Accept", Way::Header("accept"), |n| [b"a/b;q=0.1,".repeat(n / 10), b"*/*".to_vec()].concat())
        .of(HEADER),
    case("a list of Accept-Encoding", Way::Header("accept-encoding"), |n| {
        [b"br;q=0.1,".repeat(n / 9), b"gzip".to_vec()].concat()
    })
    .of(HEADER),
    case("a long request id", Way::Header("x-request-id"), |n| vec![b'a'; n.max(1)]).of(HEADER),
    case("a long idempotency key", Way::Header("idempotency-key"), |n| vec![b'a'; n.max(1)]).of(HEADER),
    case("a long Origin", Way::Header("origin"), |n| wrapped("http://", vec![b'a'; n.max(1)], "")).of(HEADER),
    case("a long Cookie", Way::Header("cookie"), |n| [b"a=b; ".repeat(n / 5), b"c=d".to_vec()].concat()).of(HEADER),
    case("globs of files", Way::Files("globs"), |n| [b"*a".repeat(n / 2), b"?".to_vec()].concat()).of(1024),
    case("alternatives of globs", Way::Files("globs"), |n| {
        wrapped("{", [b"a*,".repeat(n / 3), b"b".to_vec()].concat(), "}")
    })
    .of(1024),
    case("an old text that no file holds", Way::Files("old"), |n| b" \ta b\r\n".repeat(n / 8 + 1)).of(256 * 1024),
    case("an old text that is nearly there", Way::Files("old"), |n| [b"one\n".to_vec(), vec![b' '; n]].concat())
        .of(256 * 1024),
    case("a path that is not there", Way::Files("path"), |n| b"a.mdx/".repeat(n / 6 + 1)).of(360),
    // What is compiled is bounded by 4,096 characters and by the size of what comes out, and grows up to there.
    Case {
        growth: 16.0,
        ..case("a pattern of files", Way::Files("pattern"), |n| [b"(a|b)".repeat(n / 5), b"c".to_vec()].concat())
            .of(2048)
    },
];

fn wrapped(before: &str, inside: Vec<u8>, after: &str) -> Vec<u8> {
    [before.as_bytes(), &inside, after.as_bytes()].concat()
}

fn under_v(value: Vec<u8>) -> Vec<u8> {
    wrapped(r#"{"v":"#, value, "}")
}

/// An object of members that are all different.
fn members(n: usize) -> Vec<u8> {
    object(n, |at| format!(r#""k{at:x}":1"#))
}

/// The same with names that are nearly known.
fn near_members(n: usize) -> Vec<u8> {
    object(n, |at| format!(r#""knwon_field_{at}":1"#))
}

/// A map whose values should be numbers.
fn wrong(n: usize) -> String {
    String::from_utf8(object(n, |at| format!(r#""k{at:x}":"a""#))).expect("it is written as text")
}

fn object(n: usize, member: fn(usize) -> String) -> Vec<u8> {
    wrapped("{", listed(n, member), "}")
}

fn counted(n: usize, item: fn(usize) -> String) -> Vec<u8> {
    wrapped("[", listed(n, item), "]")
}

fn listed(n: usize, item: fn(usize) -> String) -> Vec<u8> {
    let mut all = item(0);
    let mut at = 1;
    while all.len() < n {
        all.push(',');
        all.push_str(&item(at));
        at += 1;
    }
    all.into_bytes()
}

/// What stands between the braces.
fn inside(object: &[u8]) -> Vec<u8> {
    object.get(1..object.len() - 1).unwrap_or_default().to_vec()
}

fn parameters(n: usize) -> Vec<u8> {
    let mut all = String::from("a=1");
    let mut at = 0;
    while all.len() < n {
        all.push_str(&format!("&k{at:x}=1"));
        at += 1;
    }
    all.into_bytes()
}

/// `{"v": [item, …]}`.
fn list(n: usize, item: &str) -> Vec<u8> {
    let count = n / (item.len() + 1);
    under_v(wrapped("[", [format!("{item},").repeat(count), item.to_owned()].concat().into_bytes(), "]"))
}

/// An object that is meant for one of many branches, and says so wrongly.
fn tagged(n: usize) -> Vec<u8> {
    wrapped(r#"{"kind":"kind-x","#, inside(&members(n)), "}")
}

/// `{"next": {"next": … "leaf"}}`.
fn nested(n: usize) -> Vec<u8> {
    let levels = n / 9;
    [br#"{"next":"#.repeat(levels), br#""leaf""#.to_vec(), b"}".repeat(levels)].concat()
}

fn long_text(n: usize) -> Vec<u8> {
    quoted("a", n, "")
}

fn quoted(part: &str, n: usize, end: &str) -> Vec<u8> {
    under_v(wrapped("\"", part.repeat(n / part.len()).into_bytes(), &format!("{end}\"")))
}

/// Something to be made, with these lines and members beside it.
fn typed(lines: &str, beside: &str) -> Vec<u8> {
    let line = r#"{"article":"a","count":1}"#;
    format!(r#"{{"customer":{{"name":"Ada"}},"delivery":{{"by":"pickup"}},"lines":[{line}{lines}]{beside}}}"#)
        .into_bytes()
}
