//! A service that has something to hide wherever an operation can hide it. Its tests plant markers there (the file that
//! `CANARY_MARKERS` names) and search every byte that leaves.

use std::{env, fs, process::ExitCode, time::Duration};

use futures_util::stream;
use redress_core::{
    DynamicFailure, Events, Fail, InFlight, Operation, Registry, consent_grant, consent_list, consent_revoke,
    contract::{self, Access, Effect, FailureDeclaration, Kind, Recovery},
};
use serde_json::{Value, json};

/// How many calls may run at once.
const ROOM: usize = 8;

fn main() -> ExitCode {
    let markers = env::var_os("CANARY_MARKERS").and_then(|path| fs::read(path).ok());
    let markers: Value = markers.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    let mark = move |name: &str| markers[name].as_str().unwrap_or_default().to_owned();
    match registry(mark) {
        Ok(registry) => redress_cli::main(registry),
        Err(error) => {
            let _ = fs::write("canary.error", error.to_string());
            ExitCode::FAILURE
        }
    }
}

fn declared(operation: contract::OperationDeclaration) -> contract::OperationDeclaration {
    let text = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    operation.with_summary("Hide something.").with_access(Access::caller()).with_input(text)
}

fn refused() -> FailureDeclaration {
    FailureDeclaration::new("HIDE_REFUSED", Kind::Conflict)
        .with_when("It is refused.")
        .with_effect(Effect::None)
        .with_recovery(Recovery::stop("There is nothing left to try here."))
}

fn registry(mark: impl Fn(&str) -> String) -> Result<Registry, redress_core::BuildError> {
    let named = |name: &str| declared(contract::OperationDeclaration::query(name));
    let fine = Operation::dynamic(named("hide.nothing")).with_handler(|_, _| async { Ok(json!({"fine": true})) });
    let fails = Operation::dynamic(named("hide.refusal").fails(refused()))
        .with_handler(|_, _| async { Err(Fail::from(DynamicFailure::new("HIDE_REFUSED", json!({})))) });
    let cause = mark("cause");
    let cause = Operation::dynamic(named("hide.cause")).with_handler(move |_, _| {
        let text = format!("cannot log in as admin:{cause}");
        async move { Err(Fail::contain(text)) }
    });
    // What other systems say, with what they should not say in it: as a contained error, as the cause of what is declared,
    // in a panic and in the middle of a stream.
    let [query, password, row, header, token] = ["query", "password", "row", "header", "token"].map(&mark);
    let foreign = move |begins: &str| {
        format!(
            "{begins}: error sending request for url (https://api.example/v1?key={query}): \
             postgres://ada:{password}@db/shop: Duplicate entry '{row}' for key 'users.email': \
             Key (email)=({row}) already exists: invalid type: string \"{row}\", expected u8: \
             api_token={token}: Authorization: Basic {header}"
        )
    };
    let contained = foreign("it broke");
    let contained = Operation::dynamic(named("hide.foreign")).with_handler(move |_, _| {
        let text = contained.clone();
        async move { Err(Fail::contain(text)) }
    });
    let known = foreign("it is away");
    let known = Operation::dynamic(named("hide.known")).with_handler(move |_, _| {
        let text = known.clone();
        async move { Err(Fail::contain_as(Kind::Unavailable, text)) }
    });
    let caused = foreign(&mark("declared"));
    let caused = Operation::dynamic(named("hide.declared").fails(refused())).with_handler(move |_, _| {
        let text = caused.clone();
        async move { Err(Fail::from(DynamicFailure::new("HIDE_REFUSED", json!({})).caused_by(text))) }
    });
    let panic = foreign(&mark("panic"));
    let panic = Operation::dynamic(named("hide.panic")).with_handler(move |_, _| {
        let text = panic.clone();
        async move { panic!("{text}") }
    });
    let undeclared = mark("undeclared");
    let undeclared = Operation::dynamic(named("hide.undeclared")).with_handler(move |_, _| {
        let details = json!({"inner": undeclared.clone()});
        async move { Err(Fail::from(DynamicFailure::new("NEVER_DECLARED", details))) }
    });
    let output = mark("output");
    let output = Operation::dynamic(named("hide.output").with_output(json!({"type": "integer"})))
        .with_handler(move |_, _| std::future::ready(Ok(json!(output.clone()))));
    let pay = declared(contract::OperationDeclaration::mutation("hide.payment")).with_idempotency_key();
    let pay = Operation::dynamic(pay).with_handler(|_, _| async { Ok(json!({"paid": true})) });
    let agreed = named("hide.agreed").with_access(Access::caller().consent());
    let agreed = Operation::dynamic(agreed).with_handler(|_, _| async { Ok(json!(true)) });
    let scoped = named("hide.scoped").with_access(Access::caller().scope("hide:deep"));
    let scoped = Operation::dynamic(scoped).with_handler(|_, _| async { Ok(json!(true)) });
    let rare = named("hide.rare");
    let rare = Operation::dynamic(rare).with_handler(|_, _| async { Ok(json!(true)) });
    let composed = named("hide.composed").with_call("hide.cause").with_call("hide.refusal");
    let composed = Operation::dynamic(composed).with_handler(|ctx, input: Value| async move {
        // What one of them hides, and what the other says: neither is the caller's.
        let _ = ctx.call_dynamic("hide.refusal", input.clone()).await;
        Ok(ctx.call_dynamic("hide.cause", input).await?)
    });
    let slow = named("hide.slow");
    let slow = Operation::dynamic(slow).with_handler(|_, _| async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        Ok(json!(true))
    });
    let breaks = foreign(&mark("stream"));
    let streams = declared(contract::OperationDeclaration::subscription("hide.stream"));
    let streams = Operation::dynamic(streams).with_stream_handler(move |_, _| {
        let breaks = breaks.clone();
        async move { Ok(Events::new(stream::iter([Ok(json!(1)), Err(Fail::contain(breaks))]))) }
    });
    let all = [
        fine, fails, cause, contained, known, caused, panic, undeclared, output, pay, agreed, scoped, rare, composed,
        slow, streams,
    ];
    let builder = all
        .into_iter()
        .fold(Registry::builder().limit(InFlight::new(ROOM)), |builder, operation| builder.add(operation));
    builder.add(consent_grant()).add(consent_list()).add(consent_revoke()).build()
}
