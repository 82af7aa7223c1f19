//! The leak canary over the whole call path: nothing that was not declared leaves.

use std::{error::Error, fmt, future::Future, io, pin::Pin, sync::Arc};

use futures_util::stream;
use redress::{
    Access, Blocked, Caller, ContentGuard, Credentials, DynamicFailure, Events, Extension, Fail, Failure, Guard,
    GuardBroken, GuardedCall, IdentityError, IdentityProvider, Kind, Operation, Outcome, Registry, Request, Secret,
    State, Veto, data, operation,
    testing::{Canary, Harness, assert_failure, assert_ok},
};
use serde_json::{Value, json};

use crate::service::{ends, failure, mutation, query, registry, subscription};

/// Makes a bad ending, fresh for each call.
type Make = Arc<dyn Fn() -> Outcome<Value, DynamicFailure> + Send + Sync>;

/// An error with a text of its own and another error below it.
#[derive(Debug)]
struct Layer {
    text: String,
    below: Option<Box<dyn Error + Send + Sync>>,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for Layer {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.below.as_ref().map(|below| &**below as &(dyn Error + 'static))
    }
}

/// A value that panics with its text when it is dropped.
#[derive(Debug)]
struct Bomb(String);

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("{}", self.0);
        }
    }
}

/// The endings whose every text is a planted marker, each with the name of its place.
fn endings(canary: &Canary) -> Vec<Make> {
    let plant = |place: &str| canary.plant(place);
    let mut endings: Vec<Make> = Vec::new();
    let mut add = |make: Make| endings.push(make);

    let m = plant("the text of a contained string");
    add(Arc::new(move || Err(Fail::contain(m.clone()))));
    let m = plant("the text of a boxed error");
    add(Arc::new(move || {
        let boxed: Box<dyn Error + Send + Sync> = format!("boxed {m}").into();
        Err(Fail::contain(boxed))
    }));
    let m = plant("the text of an io error");
    add(Arc::new(move || Err(io::Error::other(m.clone()))?));
    let m = plant("the path in an io error of a known kind");
    add(Arc::new(move || Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("/home/{m}")))?));
    let m = plant("the text of a json error");
    add(Arc::new(move || Ok(serde_json::from_str::<Value>(&format!("{{\"{m}\": {m}}}"))?)));
    let m = plant("the value in a json type error");
    add(Arc::new(move || {
        serde_json::from_str::<u8>(&format!("\"{m}\""))?;
        Ok(Value::Null)
    }));
    let m = plant("the text of a parse error");
    add(Arc::new(move || {
        m.parse::<u8>().map_err(|error| Layer { text: format!("{m}: {error}"), below: None })?;
        Ok(Value::Null)
    }));
    let m = plant("the host in an error that says timed out");
    add(Arc::new(move || Err(Fail::contain(format!("connection to {m} timed out")))));
    let m = plant("the key in an error that says rate limit");
    add(Arc::new(move || Err(Fail::contain(format!("rate limit exceeded for key {m}")))));
    let [a, b, c] = ["first", "second", "third"].map(|depth| plant(&format!("the {depth} error of a chain")));
    add(Arc::new(move || {
        let third = Layer { text: c.clone(), below: None };
        let second = Layer { text: b.clone(), below: Some(Box::new(third)) };
        Err(Layer { text: a.clone(), below: Some(Box::new(second)) })?
    }));
    let m = plant("a panic with a formatted text");
    add(Arc::new(move || panic!("{m}")));
    let m: &'static str = Box::leak(plant("a panic with a static text").into_boxed_str());
    add(Arc::new(move || std::panic::panic_any(m)));
    let m = plant("a panic with a value");
    add(Arc::new(move || std::panic::panic_any(vec![m.clone()])));
    let m = plant("a panic while an error is dropped");
    add(Arc::new(move || {
        #[derive(Debug)]
        struct Armed {
            bomb: Bomb,
        }
        impl fmt::Display for Armed {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.bomb.0)
            }
        }
        impl Error for Armed {}
        Err(Armed { bomb: Bomb(m.clone()) })?
    }));
    let m = plant("the details of an undeclared failure");
    add(Arc::new(move || Err(DynamicFailure::new("NOT_DECLARED", json!({"secret": m})))?));
    let m = plant("an undeclared code that is no code");
    add(Arc::new(move || Err(DynamicFailure::new(&m, json!({})))?));
    let m = plant("the hint of an undeclared failure");
    add(Arc::new(move || Err(Fail::from(DynamicFailure::new("NOT_DECLARED", json!({}))).with_hint(m.clone()))));
    let m = plant("the next action of an undeclared failure");
    add(Arc::new(move || {
        let fail = Fail::from(DynamicFailure::new("NOT_DECLARED", json!({})));
        Err(fail.with_next_action("files.list", &json!({"path": m}), &m))
    }));
    let m = plant("a similar value of an undeclared failure");
    add(Arc::new(
        move || Err(Fail::from(DynamicFailure::new("NOT_DECLARED", json!({}))).with_similar(&m, [m.clone()])),
    ));
    let m = plant("details that break their schema");
    add(Arc::new(move || Err(DynamicFailure::new("STRICT", json!({"secret": m})))?));
    let m = plant("an output that breaks its schema");
    add(Arc::new(move || Ok(json!({"secret": m}))));
    endings
}

#[tokio::test]
async fn nothing_of_a_bad_ending_leaves() {
    let canary = Canary::new();
    for make in endings(&canary) {
        let strict = failure("STRICT", Kind::Conflict)
            .with_details(json!({"type": "object", "properties": {}, "additionalProperties": false}));
        let declaration = || query("leak.end").with_output(json!({"type": "null"})).fails(strict.clone());
        let (once, again) = (Arc::clone(&make), make);
        let outer = Operation::dynamic(query("leak.outer").with_call("leak.end"))
            .with_handler(|ctx, _| async move { Ok(ctx.call_dynamic("leak.end", json!({})).await?) });
        let streaming = subscription("leak.stream").with_output(json!({"type": "null"})).fails(strict.clone());
        let streaming = Operation::dynamic(streaming).with_stream_handler(move |_, _| {
            let make = Arc::clone(&again);
            async move { Ok(Events::new(stream::once(async move { make() }))) }
        });
        let builder = Registry::builder().add(ends(declaration(), move || once())).add(outer).add(streaming);
        let harness = Harness::new(registry(builder));
        for name in ["leak.end", "leak.outer"] {
            let answer = harness.call(name, json!({})).await;
            assert!(answer.code().is_some());
            canary.check("the envelope of a call", answer.bytes());
            canary.check("the debug text of an envelope", format!("{:?}", answer.envelope()));
        }
        let collected = harness.subscribe("leak.stream", json!({})).await;
        assert!(collected.failed().is_some());
        canary.check("the events of a stream", collected.bytes());
    }
    assert!(canary.report().places.len() >= 20);
    canary.assert_clean();
}

/// What the typed operation below fails with.
#[derive(Debug, Failure)]
enum VaultFailure {
    /// The vault is shut.
    #[failure(kind = conflict, message = "the vault {name} is shut", recover(ask_user, hint = "Ask the keeper to open the vault."))]
    VaultShut {
        name: String,
        #[failure(private)]
        combination: String,
        #[source]
        cause: io::Error,
    },
}

#[data]
struct Open {
    name: String,
}

/// The markers that the typed operation plants.
struct Planted {
    combination: String,
    cause: String,
    #[expect(dead_code, reason = "it is there to be found, should state ever be shown")]
    unused: String,
}

/// Open the vault.
#[operation(query, name = "vault.open", access(anyone))]
async fn open(planted: State<Planted>, input: Open) -> Outcome<u8, VaultFailure> {
    let cause = io::Error::other(planted.cause.clone());
    Err(VaultFailure::VaultShut { name: input.name, combination: planted.combination.clone(), cause })?
}

/// Peek into the vault, without including its failures.
#[operation(query, name = "vault.peek", access(anyone), calls("vault.open"))]
async fn peek(ctx: &redress::Ctx, input: Open) -> Outcome<u8> {
    Ok(ctx.call(&open, input).await?)
}

#[tokio::test]
async fn private_fields_sources_and_state_stay_inside() {
    let canary = Canary::new();
    let planted = Planted {
        combination: canary.plant("a private field"),
        cause: canary.plant("a source"),
        unused: canary.plant("a field of the state"),
    };
    let secret = canary.plant("a public field of a callee whose failures are not included");
    let harness = Harness::new(registry(Registry::builder().state(planted).add(open).add(peek)));
    let answer = harness.call("vault.open", json!({"name": "main"})).await;
    assert_failure!(answer, VAULT_SHUT);
    canary.check("the envelope of a typed failure", answer.bytes());
    let answer = harness.call("vault.peek", json!({"name": secret})).await;
    assert_failure!(answer, INTERNAL);
    canary.check("the envelope of a composed call", answer.bytes());
    canary.check("the debug text of the registry", format!("{:?}", harness.registry()));
    canary.check("the contract", serde_json::to_vec(harness.registry().contract()).unwrap());
    canary.assert_clean();
}

/// Every type of value, refused in every way that a schema can refuse it.
fn refused(canary: &Canary) -> Vec<(Value, Value)> {
    let plant = |place: &str| json!(canary.plant(place));
    let number = |place: &str| json!(canary.plant_number(place));
    vec![
        (json!({"type": "integer"}), plant("a string where an integer belongs")),
        (json!({"type": "boolean"}), plant("a string where a boolean belongs")),
        (json!({"type": "object"}), plant("a string where an object belongs")),
        (json!({"type": "null"}), plant("a string where null belongs")),
        (json!({"enum": ["red", "green"]}), plant("a string that is none of the choices")),
        (json!({"const": "red"}), plant("a string that is not the constant")),
        (json!({"type": "string", "maxLength": 3}), plant("a string that is too long")),
        (json!({"type": "string", "minLength": 300}), plant("a string that is too short")),
        (json!({"type": "string", "pattern": "^[A-Z]+$"}), plant("a string that breaks a pattern")),
        (json!({"type": "string", "format": "date"}), plant("a string that breaks a format")),
        (json!({"oneOf": [{"type": "integer"}, {"type": "boolean"}]}), plant("a string that fits no alternative")),
        (json!({"not": {"type": "string"}}), plant("a string that is excluded")),
        (json!({"type": "integer", "maximum": 10}), number("a number that is too large")),
        (json!({"type": "boolean"}), number("a number where a boolean belongs")),
        (json!({"type": "integer", "multipleOf": 7}), json!(7 * canary.plant_number("seven of a number") + 1)),
        (json!({"type": "integer"}), json!([plant("an item of a list where an integer belongs")])),
        (json!({"type": "array", "items": {"type": "integer"}}), json!([1, plant("an item of the wrong type")])),
        (json!({"type": "array", "uniqueItems": true}), {
            let twice = plant("an item that comes twice");
            json!([twice, twice])
        }),
        (json!({"type": "integer"}), json!({"deep": {"deeper": plant("a nested value")}})),
        (
            json!({"type": "object", "properties": {}, "additionalProperties": false}),
            json!({"unknown": plant("the value of an unknown field")}),
        ),
    ]
}

#[tokio::test]
async fn no_refused_value_comes_back() {
    // What was refused is never repeated to the caller.
    let canary = Canary::new();
    for (schema, value) in refused(&canary) {
        let formats = schema.get("format").is_some();
        let input = json!({
            "type": "object", "properties": {"it": schema}, "required": ["it"], "additionalProperties": false,
        });
        let harness = Harness::new(registry(
            Registry::builder().add(ends(query("strict.take").with_input(input.clone()), || Ok(Value::Null))),
        ));
        let answer = harness.call("strict.take", json!({"it": value})).await;
        // Whether a format is checked is the validator's setting; if it is, it must not tell.
        if !formats {
            assert_eq!(answer.code(), Some("INVALID_INPUT"), "{input}");
        }
        canary.check("the envelope of a refusal", answer.bytes());
    }
    let harness = Harness::new(registry(Registry::builder().add(open).state(Planted {
        combination: String::new(),
        cause: String::new(),
        unused: String::new(),
    })));
    for broken in [format!("{{\"name\": {}", canary.plant("bytes that are not JSON")), canary.plant("a bare word")] {
        let answer = harness.send("vault.open", Request::new(broken.into_bytes())).await;
        assert_failure!(answer, PARSE_ERROR);
        canary.check("the envelope of what is not JSON", answer.bytes());
    }
    for (place, make) in [
        ("a typed value of the wrong type", (|m| json!({"name": {"x": m}})) as fn(String) -> Value),
        ("a typed value of an unknown field", |m| json!({"name": "a", "other": m})),
    ] {
        let answer = harness.call("vault.open", make(canary.plant(place))).await;
        assert_failure!(answer, INVALID_INPUT);
        canary.check("the envelope of a typed refusal", answer.bytes());
    }
    canary.assert_clean();
}

/// A layer in every role, whose every text is a marker.
#[derive(Clone)]
struct Layers {
    veto: String,
    broken: String,
    panics: String,
    how: &'static str,
}

impl Guard for Layers {
    fn name(&self) -> &str {
        "layers"
    }

    fn failures(&self) -> Vec<redress::contract::FailureDeclaration> {
        Vec::new()
    }

    fn check<'a>(
        &'a self,
        _: &'a GuardedCall<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<Option<Veto>, GuardBroken>> + Send + 'a>> {
        Box::pin(async {
            match self.how {
                "veto" => Ok(Some(Veto::new("NOT_DECLARED", json!({"secret": self.veto})))),
                "broken" => Err(GuardBroken(self.broken.clone().into())),
                "panics" => panic!("{}", self.panics),
                _ => Ok(None),
            }
        })
    }
}

impl IdentityProvider for Layers {
    fn identify<'a>(
        &'a self,
        token: &'a Secret,
    ) -> Pin<Box<dyn Future<Output = Result<Caller, IdentityError>> + Send + 'a>> {
        assert_ne!(self.how, "identity panics", "{}", token.expose());
        Box::pin(std::future::ready(Err(IdentityError::Invalid)))
    }
}

impl ContentGuard for Layers {
    fn language(&self) -> &str {
        "toy"
    }

    fn check(&self, source: &str) -> Result<(), Blocked> {
        match self.how {
            "content" => Err(Blocked::Unparsable),
            "content panics" => panic!("{source}"),
            _ => Ok(()),
        }
    }
}

#[tokio::test]
async fn nothing_of_a_layer_leaves() {
    let canary = Canary::new();
    let layers = Layers {
        veto: canary.plant("the details of an undeclared veto"),
        broken: canary.plant("the cause of a broken guard"),
        panics: canary.plant("a panic of a guard"),
        how: "",
    };
    let token = Secret::new(canary.plant("a token"));
    let source = canary.plant("a source that the content guard refused");
    let credential = Secret::new(canary.plant("a credential"));
    let ways = ["veto", "broken", "panics", "content", "content panics", "identity", "identity panics"];
    for how in ways {
        let declaration = mutation("code.run").with_eval("source", "toy").with_input(json!({
            "type": "object", "properties": {"source": {"type": "string"}}, "required": ["source"],
            "additionalProperties": false,
        }));
        let operation =
            ends(declaration, || Ok(json!(1))).with_credentials(Credentials::new().with("api", credential.clone()));
        let layers = Layers { how, ..layers.clone() };
        let builder =
            Registry::builder().add(operation).guard(layers.clone()).content_guard(layers.clone()).identity(layers);
        let harness = Harness::new(registry(builder));
        let mut request = Request::new(json!({"source": source}).to_string().into_bytes());
        if how.starts_with("identity") {
            request = request.with_token(token.clone());
        }
        canary.check("the debug text of a secret", format!("{token:?} {credential:?}"));
        let answer = harness.send("code.run", request).await;
        assert!(answer.code().is_some(), "{how}");
        canary.check("the envelope of a layer's refusal", answer.bytes());
    }
    let credentials = Credentials::new().with("api", credential);
    canary.check("the debug text of credentials", format!("{credentials:?}"));
    let with_token = Request::new(b"{}").with_token(token);
    canary.check("the debug text of a request", format!("{with_token:?}"));
    canary.assert_clean();
}

#[tokio::test]
async fn who_may_not_call_gets_nothing_of_what_was_sent_or_declared() {
    let canary = Canary::new();
    let declared = canary.plant("a choice in the schema of a closed operation");
    let sent = canary.plant("an input to a closed operation");
    let hidden = canary.plant("the name of an internal operation");
    let declaration = query("vault.open")
        .with_access(Access::caller().scope("vault"))
        .with_input(json!({"type": "object", "properties": {"it": {"enum": [declared]}}}));
    let internal = ends(query(&format!("hidden.{hidden}")).internal(), || Ok(json!(1)));
    let builder = Registry::builder().add(ends(declaration, || Ok(json!(1)))).add(internal);
    let harness = Harness::new(registry(builder)).as_caller(Caller::new("ada"));
    for name in ["vault.open", "vault.opn", &format!("hidden.{}", &hidden[..8])] {
        let answer = harness.call(name, json!({"it": sent})).await;
        assert!(answer.code().is_some());
        canary.check("the envelope of a closed door", answer.bytes());
    }
    canary.assert_clean();
}

#[tokio::test]
async fn an_extension_with_a_secret_configuration_keeps_it() {
    let canary = Canary::new();
    let key = canary.plant("the configuration of an extension");
    let operation = ends(query("ext.run"), || Err(DynamicFailure::new("NOT_DECLARED", json!({})))?);
    let extension = Extension::new("ext", "1.0.0")
        .config(json!({"type": "object", "properties": {"key": {"type": "string"}}}))
        .add(operation);
    let started = Registry::builder().extension(extension.clone(), json!({"key": key})).start().await.unwrap();
    let answer = Harness::new(started).call("ext.run", json!({})).await;
    assert_failure!(answer, INTERNAL);
    canary.check("the envelope of an extension", answer.bytes());
    let refused = Registry::builder().extension(extension, json!({"key": [key]})).start().await.unwrap_err();
    canary.check("the findings about a configuration", refused.to_string());
    canary.assert_clean();
}

#[tokio::test]
async fn a_deliberately_leaking_operation_is_caught() {
    let canary = Canary::new();
    let secret = canary.plant("a password in a public field");
    let wrong = failure("WRONG_PASSWORD", Kind::Validation)
        .with_message("{tried} is wrong")
        .with_details(json!({"type": "object", "properties": {"tried": {"type": "string"}}, "required": ["tried"]}));
    let declaration = query("leak.tell").fails(wrong);
    let operation = ends(declaration, move || Err(DynamicFailure::new("WRONG_PASSWORD", json!({"tried": secret})))?);
    let also = canary.plant("a password in an output, as bytes");
    let bytes = ends(query("leak.bytes"), move || Ok(json!(also.as_bytes())));
    let harness = Harness::new(registry(Registry::builder().add(operation).add(bytes)));
    let told = harness.call("leak.tell", json!({})).await;
    assert_failure!(told, WRONG_PASSWORD);
    canary.check("the envelope", told.bytes());
    let given = harness.call("leak.bytes", json!({})).await;
    assert_ok!(given);
    canary.check("the output", given.bytes());
    let found: Vec<_> = canary.report().found.into_iter().map(|leak| (leak.place, leak.form)).collect();
    assert_eq!(
        found,
        [
            ("a password in a public field".to_owned(), "as it is"),
            ("a password in an output, as bytes".to_owned(), "as a list of bytes"),
        ]
    );
    assert!(std::panic::catch_unwind(|| canary.assert_clean()).is_err());
}
