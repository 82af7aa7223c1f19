//! What refuses a registry. Each refusal is one test; a macro gathers them, and the last tests
//! hold what they say against the rows of the rules and against their pages.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    time::Duration,
};

use futures_util::future::BoxFuture;
use redress::{
    Access, Blocked, BuildError, Builder, ContentGuard, EngineCode, Events, Guard, GuardBroken, GuardedCall, Kind,
    Operation, Recovery, Registry, State, Veto,
    contract::{self, Effect, Example, ExampleEnding, FailureDeclaration, Rule, RuleLevel, Streaming, Verification},
};
use redress_core::RULES;
use serde_json::{Value, json};

/// Say what is known of a file.
#[redress::operation(query, name = "files.stat")]
async fn stat() -> redress::Outcome<u8> {
    Ok(7)
}

/// An operation that completes what others take.
fn completing(name: &str) -> contract::OperationDeclaration {
    contract::OperationDeclaration::query(name)
        .with_input(json!({"type": "object"}))
        .with_output(json!({"type": "array", "items": {"type": "string"}}))
}

/// A failure that breaks no rule.
fn failure(code: &str) -> FailureDeclaration {
    FailureDeclaration::new(code, Kind::NotFound)
        .with_when("The file does not exist.")
        .with_details(json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "size": {"type": "integer"}, "mode": {"enum": ["r", "w"]}},
        }))
        .with_recovery(Recovery::stop("There is nothing left to try."))
}

/// An operation that takes a path and breaks no rule.
fn query(name: &str) -> contract::OperationDeclaration {
    contract::OperationDeclaration::query(name).with_input(takes("path", json!({"type": "string"})))
}

/// An operation that takes a path, changes something and breaks no rule.
fn mutation(name: &str) -> contract::OperationDeclaration {
    contract::OperationDeclaration::mutation(name).with_input(takes("path", json!({"type": "string"})))
}

/// An operation that breaks no rule by itself, with one failure.
fn failing(failure: FailureDeclaration) -> contract::OperationDeclaration {
    query("files.read").fails(failure)
}

/// An operation whose only failure is recovered from by calling `target`.
fn leading_to(name: &str, target: &str) -> contract::OperationDeclaration {
    contract::OperationDeclaration::query(name).fails(failure("FILE_MISSING").with_recovery(calling(target)))
}

fn calling(target: &str) -> Recovery {
    Recovery::call(target, "Call the other operation, then come back.")
}

/// A failure after which nobody knows what was changed, and that says how to find out.
fn unsure(verification: Verification) -> FailureDeclaration {
    failure("WRITE_UNSURE")
        .with_effect(Effect::Unknown)
        .with_details(json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "note": {"type": "string"}, "size": {"type": "integer"}},
            "required": ["path", "size"],
        }))
        .with_recovery(verification.into())
}

/// How it is found out whether a file was written.
fn verifying(pointer: &str) -> Verification {
    verifying_by("files.check", pointer).is(true).bind("path", "path")
}

fn verifying_by(target: &str, pointer: &str) -> Verification {
    Verification::new(target, pointer, "Look whether it is there, and write it again if not.")
}

/// A query whose answer shows whether a file was written.
fn checking() -> contract::OperationDeclaration {
    query("files.check").with_output(json!({
        "type": "object",
        "properties": {
            "exists": {"type": "boolean"},
            "state": {"type": "string", "enum": ["old", "new"]},
            "since": {"type": "integer"},
        },
        "required": ["exists"],
    }))
}

/// A mutation with one failure that is verified like this, and the query.
fn verified(verification: Verification) -> Builder {
    registry([mutation("files.write").fails(unsure(verification)), checking()])
}

fn takes(member: &str, schema: Value) -> Value {
    json!({"type": "object", "properties": {member: schema}, "required": [member], "additionalProperties": false})
}

fn bound(declaration: contract::OperationDeclaration) -> Operation {
    Operation::dynamic(declaration).with_handler(async |_, _| Ok(Value::Null))
}

fn streaming(declaration: contract::OperationDeclaration) -> Operation {
    Operation::dynamic(declaration).with_stream_handler(async |_, _| Ok(Events::new(futures_util::stream::empty())))
}

fn registry(declarations: impl IntoIterator<Item = contract::OperationDeclaration>) -> Builder {
    declarations.into_iter().fold(Registry::builder(), |builder, declaration| builder.add(bound(declaration)))
}

/// A content guard that lets everything pass.
struct Lua;

impl ContentGuard for Lua {
    fn language(&self) -> &str {
        "lua"
    }

    fn check(&self, _: &str) -> Result<(), Blocked> {
        Ok(())
    }
}

/// A guard that refuses nothing, with one declared failure.
struct Doorman(FailureDeclaration);

impl Guard for Doorman {
    fn name(&self) -> &str {
        "doorman"
    }

    fn failures(&self) -> Vec<FailureDeclaration> {
        vec![self.0.clone()]
    }

    fn check<'a>(&'a self, _: &'a GuardedCall<'a>) -> BoxFuture<'a, Result<Option<Veto>, GuardBroken>> {
        Box::pin(async { Ok(None) })
    }
}

/// A guard of one operation.
struct DoorOf(&'static str, FailureDeclaration);

impl Guard for DoorOf {
    fn name(&self) -> &str {
        "doorman"
    }

    fn failures(&self) -> Vec<FailureDeclaration> {
        vec![self.1.clone()]
    }

    fn covers(&self, operation: &contract::OperationDeclaration) -> bool {
        operation.name().as_str() == self.0
    }

    fn check<'a>(&'a self, _: &'a GuardedCall<'a>) -> BoxFuture<'a, Result<Option<Veto>, GuardBroken>> {
        Box::pin(async { Ok(None) })
    }
}

struct App;

/// Count the files.
#[redress::operation(query, name = "files.count")]
async fn count(_app: State<App>) -> redress::Outcome<u32> {
    Ok(0)
}

#[track_caller]
fn refusal(builder: Builder) -> BuildError {
    builder.build().expect_err("the registry has a mistake in it")
}

fn replacement(by: &str) -> contract::Deprecation {
    contract::Deprecation { since: "2.0.0".into(), replaced_by: Some(by.into()), ..Default::default() }
}

/// An operation on its way out, with another in its place.
fn replaced_by(name: &str, by: &str) -> contract::OperationDeclaration {
    contract::OperationDeclaration::query(name).with_deprecated(replacement(by))
}

/// The rule and the subject of every finding.
fn told(error: &BuildError) -> Vec<(&str, &str)> {
    error.findings().iter().map(|finding| (finding.rule(), finding.subject())).collect()
}

/// Makes one test of each refusal: the registry yields exactly this finding, and its text says
/// what to write.
macro_rules! refusals {
    ($($name:ident: $rule:literal on $subject:literal, $help:literal => $builder:expr;)*) => {
        $(
            #[test]
            fn $name() {
                let error = refusal($builder);
                assert_eq!(told(&error), [($rule, $subject)], "{error}");
                assert!(error.to_string().contains($help), "{error}");
            }
        )*

        /// Every refusal above, for the tests that walk all rules.
        fn refusals() -> Vec<BuildError> {
            vec![$(refusal($builder)),*]
        }
    };
}

refusals! {
    two_operations_of_one_name_are_refused:
        "duplicate-name" on "files.read", "give each operation its own name"
        => registry([query("files.read"), query("files.read")]);
    an_alias_that_is_another_operations_name_is_refused:
        "duplicate-name" on "files.read", "give each operation its own name"
        => registry([query("files.read"), query("files.open").with_alias("files.read")]);
    an_alias_of_two_operations_is_refused:
        "duplicate-name" on "files.old", "give each operation its own name"
        => registry([query("files.read").with_alias("files.old"), query("files.open").with_alias("files.old")]);
    a_hidden_operation_of_the_same_name_is_refused:
        "duplicate-name" on "files.read", "hidden ones count too"
        => registry([query("files.read"), query("files.read").internal()]);
    two_operations_that_would_be_one_tool_are_refused:
        "duplicate-tool" on "fs_read_file", "rename one of them"
        => registry([query("fs.read_file"), query("fs.read.file")]);
    an_alias_that_would_be_anothers_tool_is_refused:
        "duplicate-tool" on "fs_read_file", "rename one of them"
        => registry([query("fs.read_file"), query("fs.open").with_alias("fs.read.file")]);
    two_operations_that_would_be_one_document_are_refused:
        "duplicate-resource" on "files://{path}", "give each of them a URI of its own"
        => registry([query("files.read").resource("files://{path}"), query("files.open").resource("files://{path}")]);
    a_document_at_no_uri_is_refused:
        "bad-resource" on "files.read", "write it as in `notes://{folder}/{name}`"
        => registry([query("files.read").resource("{path}")]);
    a_document_that_changes_something_is_refused:
        "bad-resource" on "files.read", "make it a query"
        => registry([contract::OperationDeclaration::mutation("files.read").resource("files://all")]);
    a_document_whose_variable_is_no_input_is_refused:
        "bad-resource" on "files.read", "a member of that name which takes a text"
        => registry([contract::OperationDeclaration::query("files.read").resource("files://{path}")]);
    a_document_whose_variable_is_a_number_is_refused:
        "bad-resource" on "files.read", "a member of that name which takes a text"
        => registry([contract::OperationDeclaration::query("files.read")
            .with_input(takes("page", json!({"type": "integer"}))).resource("files://{page}")]);
    a_document_that_needs_what_its_uri_does_not_say_is_refused:
        "bad-resource" on "files.read", "put it into the URI as a variable"
        => registry([query("files.read").resource("files://all")]);
    a_prompt_that_gives_no_messages_is_refused:
        "bad-prompt" on "files.review", "let it return `Messages`"
        => registry([query("files.review").prompt()]);
    a_prompt_that_streams_is_refused:
        "bad-prompt" on "files.review", "make it a query"
        => Registry::builder().add(streaming(contract::OperationDeclaration::subscription("files.review").prompt().with_messages()));
    a_prompt_whose_argument_is_no_text_is_refused:
        "bad-prompt" on "files.review", "let the input hold texts only"
        => registry([contract::OperationDeclaration::query("files.review").prompt().with_messages()
            .with_input(takes("pages", json!({"type": "integer"})))]);
    a_completion_of_no_member_is_refused:
        "bad-completion" on "files.read", "name a member of the input"
        => registry([query("files.read").with_completion("name", "files.like"), completing("files.like")]);
    a_completion_by_nobody_is_refused:
        "bad-completion" on "files.read", "register the operation"
        => registry([query("files.read").with_completion("path", "files.like")]);
    a_completion_by_an_operation_that_cannot_is_refused:
        "bad-completion" on "files.read", "gives a list of texts"
        => registry([query("files.read").with_completion("path", "files.like"), query("files.like")]);

    a_namespace_with_two_owners_is_refused:
        "namespace-owner" on "files", "move the other's operations to a namespace of their own"
        => Registry::builder()
            .add(bound(query("files.read")).with_owner("reader"))
            .add(bound(query("files.write")).with_owner("writer"));
    a_namespace_of_two_packages_of_one_program_is_refused:
        "namespace-owner" on "files", "more than one owner: package reader, package redress"
        => Registry::builder().add(stat).add(bound(query("files.read")).of_package(Some("reader")));

    a_code_declared_twice_is_refused:
        "duplicate-code" on "files.read/FILE_MISSING", "remove one of the two"
        => registry([failing(failure("FILE_MISSING")).fails(failure("FILE_MISSING"))]);
    a_failure_that_extends_itself_is_refused:
        "bad-lineage" on "files.read/FILE_MISSING", "name a more general code, or none"
        => registry([failing(failure("FILE_MISSING").extending("FILE_MISSING"))]);
    a_parent_that_is_not_a_code_is_refused:
        "bad-lineage" on "files.read/FILE_MISSING", "name a more general code, or none"
        => registry([failing(failure("FILE_MISSING").extending("missing"))]);
    a_failure_that_does_not_say_when_it_happens_is_refused:
        "no-when" on "files.read/FILE_MISSING", "say in a sentence when it happens"
        => registry([failing(failure("FILE_MISSING").with_when(" "))]);
    a_failure_without_a_recovery_is_refused:
        "no-recovery" on "files.read/FILE_MISSING", "add a recovery: a verb, and a hint of five words or more"
        => registry([failing(FailureDeclaration::new("FILE_MISSING", Kind::NotFound).with_when("The file does not exist."))]);
    a_hint_of_four_words_is_refused:
        "short-hint" on "files.read/FILE_MISSING", "in five words or more"
        => registry([failing(failure("FILE_MISSING").with_recovery(Recovery::stop("Do not try again.")))]);
    a_message_over_what_is_no_public_field_is_refused:
        "bad-message" on "files.read/FILE_MISSING", "name a public field of the failure"
        => registry([failing(failure("FILE_MISSING").with_message("no file at {place}"))]);
    a_message_with_a_lone_brace_is_refused:
        "bad-message" on "files.read/FILE_MISSING", "close every brace, or double it"
        => registry([failing(failure("FILE_MISSING").with_message("no file at {path"))]);
    a_status_below_400_is_refused:
        "bad-status" on "files.read/FILE_MISSING", "use a status from 400 to 599"
        => registry([failing(failure("FILE_MISSING").with_http(399))]);
    a_status_above_599_is_refused:
        "bad-status" on "files.read/FILE_MISSING", "use a status from 400 to 599"
        => registry([failing(failure("FILE_MISSING").with_http(600))]);
    a_time_to_wait_in_no_public_field_is_refused:
        "bad-retry-after" on "files.read/FILE_BUSY", "name a public field that holds milliseconds"
        => registry([failing(failure("FILE_BUSY").with_retryable(true).with_retry_after("wait_ms"))]);
    a_time_to_wait_where_waiting_does_not_help_is_refused:
        "bad-retry-after" on "files.read/FILE_BUSY", "make it retryable, or remove `retry_after`"
        => registry([failing(failure("FILE_BUSY").with_retryable(false).with_retry_after("size"))]);
    a_failure_of_a_guard_is_judged_like_any_other:
        "engine-code" on "files.read/FORBIDDEN", "choose a code that says what failed in your own words"
        => registry([query("files.read")]).guard(Doorman(failure("FORBIDDEN")));

    a_fix_that_points_at_nothing_is_refused:
        "recovery-field" on "files.read/FILE_MISSING", "point at a member that the input of this operation has"
        => registry([failing(
            failure("FILE_MISSING").with_recovery(Recovery::fix_input("/pth", "Give a path that really exists.")),
        )]);
    a_fix_that_points_below_a_string_is_refused:
        "recovery-field" on "files.read/FILE_MISSING", "point at a member that the input of this operation has"
        => registry([failing(
            failure("FILE_MISSING").with_recovery(Recovery::fix_input("/path/0", "Give a path that really exists.")),
        )]);
    a_fix_whose_pointer_lacks_its_slash_is_refused:
        "recovery-field" on "files.read/FILE_MISSING", "point at a member that the input of this operation has"
        => registry([failing(
            failure("FILE_MISSING").with_recovery(Recovery::fix_input("path", "Give a path that really exists.")),
        )]);
    access_to_be_got_without_a_scope_is_refused:
        "recovery-scope" on "files.read/FILE_LOCKED", "name the scope that helps"
        => registry([failing(
            failure("FILE_LOCKED").with_recovery(Recovery::get_access("", "Ask an administrator for this scope.")),
        )]);

    a_recovery_that_calls_nothing_known_names_the_nearest:
        "recovery-unknown" on "files.read/FILE_MISSING", "did you mean `files.list`?"
        => registry([leading_to("files.read", "files.lst"), contract::OperationDeclaration::query("files.list")]);
    a_recovery_that_calls_nothing_known_or_near_is_refused:
        "recovery-unknown" on "files.read/FILE_MISSING", "if `users.invite_many` is declared, add it with `.add(…)`; else name one that is registered"
        => registry([leading_to("files.read", "users.invite_many")]);
    a_recovery_that_calls_nothing_known_is_never_led_back_to_itself:
        "recovery-unknown" on "files.read/FILE_MISSING", "else name one that is registered"
        => registry([leading_to("files.read", "files.reed")]);
    a_recovery_that_calls_a_hidden_operation_is_refused:
        "recovery-hidden" on "files.read/FILE_MISSING", "make `files.list` external, or name another operation"
        => registry([leading_to("files.read", "files.list"), contract::OperationDeclaration::query("files.list").internal()]);
    a_recovery_that_calls_what_asks_for_more_access_is_refused:
        "recovery-access" on "files.read/FILE_MISSING", "ask for the scope `list` in the access of `files.read` too"
        => registry([
            leading_to("files.read", "files.list").with_access(Access::caller().scope("read")),
            contract::OperationDeclaration::query("files.list").with_access(Access::caller().scope("read").scope("list")),
        ]);
    a_recovery_that_calls_a_subscription_is_refused:
        "recovery-shape" on "files.read/FILE_MISSING", "name a query or a mutation"
        => registry([leading_to("files.read", "files.watch")])
            .add(streaming(contract::OperationDeclaration::subscription("files.watch")));
    a_recovery_that_binds_no_public_field_is_refused:
        "recovery-field" on "files.read/FILE_MISSING", "bind a public field"
        => registry([
            failing(failure("FILE_MISSING").with_recovery(calling("files.list").bind("path", "folder"))),
            query("files.list"),
        ]);
    a_recovery_that_binds_a_member_the_other_does_not_take_is_refused:
        "recovery-field" on "files.read/FILE_MISSING", "`files.list` takes: "
        => registry([
            failing(failure("FILE_MISSING").with_recovery(calling("files.list").bind("folder", "path"))),
            contract::OperationDeclaration::query("files.list"),
        ]);
    a_recovery_that_binds_what_does_not_fit_is_refused:
        "recovery-field" on "files.read/FILE_MISSING", "bind a field whose every value the member accepts"
        => registry([
            failing(failure("FILE_MISSING").with_recovery(calling("files.list").bind("path", "size"))),
            query("files.list"),
        ]);
    a_recovery_that_binds_named_values_of_another_type_is_refused:
        "recovery-field" on "files.read/FILE_MISSING", "bind a field whose every value the member accepts"
        => registry([
            failing(failure("FILE_MISSING").with_recovery(calling("files.list").bind("depth", "mode"))),
            contract::OperationDeclaration::query("files.list").with_input(takes("depth", json!({"type": "integer"}))),
        ]);
    a_recovery_that_binds_any_text_to_named_values_is_refused:
        "recovery-field" on "files.read/FILE_MISSING", "bind a field whose every value the member accepts"
        => registry([
            failing(failure("FILE_MISSING").with_recovery(calling("files.list").bind("order", "path"))),
            contract::OperationDeclaration::query("files.list")
                .with_input(takes("order", json!({"oneOf": [{"const": "up"}, {"const": "down"}]}))),
        ]);
    a_recovery_that_leaves_a_required_member_unbound_is_refused:
        "recovery-field" on "files.read/FILE_MISSING", "write `bind(path = …)`"
        => registry([leading_to("files.read", "files.list"), query("files.list")]);
    a_recovery_that_binds_a_member_twice_is_refused:
        "recovery-field" on "files.read/FILE_MISSING", "bind each member once"
        => registry([
            failing(
                failure("FILE_MISSING").with_recovery(calling("files.list").bind("path", "path").bind("path", "path")),
            ),
            query("files.list"),
        ]);
    a_recovery_that_calls_its_own_operation_is_a_circle:
        "recovery-cycle" on "a.a", "let one of them end otherwise"
        => registry([leading_to("a.a", "a.a")]);
    two_operations_that_recover_by_each_other_are_a_circle:
        "recovery-cycle" on "a.a", "in a circle: a.a → a.b → a.a"
        => registry([leading_to("a.a", "a.b"), leading_to("a.b", "a.a")]);
    three_operations_that_recover_by_each_other_are_a_circle:
        "recovery-cycle" on "a.a", "in a circle: a.a → a.b → a.c → a.a"
        => registry([leading_to("a.a", "a.b"), leading_to("a.b", "a.c"), leading_to("a.c", "a.a")]);
    a_circle_through_an_alias_is_a_circle:
        "recovery-cycle" on "a.a", "in a circle: a.a → a.b → a.a"
        => registry([leading_to("a.a", "a.old"), leading_to("a.b", "a.a").with_alias("a.old")]);

    a_verification_by_an_unknown_operation_is_refused:
        "recovery-unknown" on "files.write/WRITE_UNSURE", "did you mean `files.check`?"
        => verified(verifying_by("files.chek", "/exists").is(true).bind("path", "path"));
    a_verification_by_what_the_caller_cannot_see_is_refused:
        "recovery-hidden" on "files.write/WRITE_UNSURE", "make `files.check` external"
        => registry([mutation("files.write").fails(unsure(verifying("/exists"))), checking().internal()]);
    a_verification_by_what_the_caller_may_not_call_is_refused:
        "recovery-access" on "files.write/WRITE_UNSURE", "ask for the scope `files:check` in the access of `files.write` too"
        => registry([
            mutation("files.write").fails(unsure(verifying("/exists"))),
            checking().with_access(Access::caller().scope("files:check")),
        ]);
    a_verification_that_binds_what_does_not_fit_is_refused:
        "recovery-field" on "files.write/WRITE_UNSURE", "bind a field whose every value the member accepts"
        => verified(verifying_by("files.check", "/exists").is(true).bind("path", "size"));
    a_verification_that_binds_what_may_be_missing_is_refused:
        "recovery-field" on "files.write/WRITE_UNSURE", "bind a public field of the failure that is always there"
        => verified(verifying_by("files.check", "/exists").is(true).bind("path", "note"));
    a_verification_that_leaves_a_required_member_unbound_is_refused:
        "recovery-field" on "files.write/WRITE_UNSURE", "write `bind(path = …)`"
        => verified(verifying_by("files.check", "/exists").is(true));
    a_verification_by_a_mutation_is_refused:
        "verify-target" on "files.write/WRITE_UNSURE", "name a query: looking must not change anything"
        => registry([
            mutation("files.write").fails(unsure(verifying("/exists"))),
            mutation("files.check").with_output(checking().output().clone()),
        ]);
    a_verification_by_what_the_answer_does_not_have_is_refused:
        "verify-done" on "files.write/WRITE_UNSURE", "point at what it has: `/exists`, `/since`, `/state`"
        => verified(verifying("/exist"));
    a_verification_by_an_answer_that_says_nothing_of_itself_is_refused:
        "verify-done" on "files.write/WRITE_UNSURE", "name a query whose output has a schema that says what is in it"
        => registry([mutation("files.write").fails(unsure(verifying("/exists"))), query("files.check")]);
    a_verification_by_a_value_of_another_type_is_refused:
        "verify-done" on "files.write/WRITE_UNSURE", "write a value that the schema of the output has there"
        => verified(verifying("/exists").is("yes"));
    a_verification_by_a_value_that_is_not_listed_is_refused:
        "verify-done" on "files.write/WRITE_UNSURE", "`/state` in an answer of `files.check` is never `\"newer\"`"
        => verified(verifying("/state").is("newer"));
    a_verification_by_a_value_that_is_not_compared_is_refused:
        "verify-done" on "files.write/WRITE_UNSURE", "write a string, a whole number, `true` or `false`"
        => verified(verifying("/since").is(Value::Null));
    a_verification_by_what_is_always_there_is_refused:
        "verify-done" on "files.write/WRITE_UNSURE", "say which value shows it: `is = true`"
        => verified(verifying_by("files.check", "/exists").bind("path", "path"));
    a_verification_where_nothing_was_changed_is_refused:
        "verify-needless" on "files.write/WRITE_UNSURE", "say `effect = unknown` or `effect = partial`"
        => registry([
            mutation("files.write").fails(unsure(verifying("/exists")).with_effect(Effect::None)),
            checking(),
        ]);
    a_verification_of_a_query_is_refused:
        "verify-needless" on "files.read/WRITE_UNSURE", "a query changes nothing, so there is nothing to verify"
        => registry([failing(unsure(verifying("/exists"))), checking()]);
    a_verification_of_what_a_guard_refuses_is_refused:
        "verify-needless" on "files.write/WRITE_UNSURE", "`doorman` answers it before the operation has begun"
        => registry([mutation("files.write"), checking()]).guard(DoorOf("files.write", unsure(verifying("/exists"))));
    a_verification_that_leads_back_is_a_circle:
        "recovery-cycle" on "files.check", "in a circle: files.check → files.write → files.check"
        => registry([
            mutation("files.write").fails(unsure(verifying("/exists"))),
            checking().fails(failure("FILE_MISSING").with_details(json!({
                "type": "object", "properties": {"path": {"type": "string"}},
            })).with_recovery(calling("files.write").bind("path", "path"))),
        ]);

    an_operation_verified_by_an_unknown_operation_is_refused:
        "recovery-unknown" on "files.write", "did you mean `files.check`?"
        => registry([
            mutation("files.write").with_verification(verifying_by("files.chek", "/exists").bind("path", "path")),
            checking(),
        ]);
    an_operation_verified_by_what_its_caller_cannot_see_is_refused:
        "recovery-hidden" on "files.write", "make `files.check` external"
        => registry([mutation("files.write").with_verification(verifying("/exists")), checking().internal()]);
    an_operation_verified_by_what_its_caller_may_not_call_is_refused:
        "recovery-access" on "files.write", "or name an operation that asks for no more"
        => registry([
            mutation("files.write").with_verification(verifying("/exists")),
            checking().with_access(Access::caller().scope("files:check")),
        ]);
    an_operation_verified_by_a_member_that_its_input_lacks_is_refused:
        "recovery-field" on "files.write", "bind a member of the input"
        => registry([
            mutation("files.write").with_verification(verifying_by("files.check", "/exists").is(true).bind("path", "to")),
            checking(),
        ]);
    an_operation_verified_by_a_member_that_may_be_missing_is_refused:
        "recovery-field" on "files.write", "bind a member of the input that is always there"
        => registry([
            mutation("files.write")
                .with_input(json!({"type": "object", "properties": {"path": {"type": "string"}}}))
                .with_verification(verifying("/exists")),
            checking(),
        ]);
    an_operation_verified_by_what_the_answer_does_not_have_is_refused:
        "verify-done" on "files.write", "point at what it has"
        => registry([mutation("files.write").with_verification(verifying("/exist")), checking()]);
    an_operation_verified_by_a_mutation_is_refused:
        "verify-target" on "files.write", "name a query: looking must not change anything"
        => registry([
            mutation("files.write")
                .with_output(checking().output().clone())
                .with_verification(verifying_by("files.put", "/exists").is(true).bind("path", "path")),
            mutation("files.put").with_output(checking().output().clone()),
        ]);
    a_query_that_is_verified_is_refused:
        "verify-needless" on "files.read", "a query changes nothing, so there is nothing to verify"
        => registry([query("files.read").with_verification(verifying("/exists")), checking()]);
    an_operation_verified_with_a_short_hint_is_refused:
        "short-hint" on "files.write", "tell the caller in five words or more what to do"
        => registry([
            mutation("files.write")
                .with_verification(Verification::new("files.check", "/exists", "Look first.").is(true).bind("path", "path")),
            checking(),
        ]);
    an_operation_whose_verification_leads_back_is_a_circle:
        "recovery-cycle" on "files.check", "in a circle: files.check → files.write → files.check"
        => registry([
            mutation("files.write").with_verification(verifying("/exists")),
            checking().fails(failure("FILE_MISSING").with_recovery(calling("files.write").bind("path", "path"))),
        ]);

    code_to_be_run_in_no_member_of_the_input_is_refused:
        "eval-source" on "code.run", "name the input member that holds the source"
        => registry([mutation("code.run").with_eval("script", "lua")]).content_guard(Lua);
    code_to_be_run_in_a_member_without_a_name_is_refused:
        "eval-source" on "code.run", "name the input member that holds the source"
        => registry([mutation("code.run").with_eval("", "lua")]).content_guard(Lua);
    code_to_be_run_that_need_not_be_text_is_refused:
        "eval-source" on "code.run", "let the schema of that member accept strings only"
        => registry([mutation("code.run")
            .with_input(takes("path", json!({"type": ["string", "array"]})))
            .with_eval("path", "lua")])
            .content_guard(Lua);
    code_to_be_run_beside_members_without_a_name_is_refused:
        "eval-source" on "code.run", "code under another name would pass the guard unseen"
        => registry([mutation("code.run")
            .with_input(json!({"type": "object", "properties": {"path": {"type": "string"}}}))
            .with_eval("path", "lua")])
            .content_guard(Lua);
    code_to_be_run_beside_members_of_a_pattern_is_refused:
        "eval-source" on "code.run", "code under another name would pass the guard unseen"
        => registry([mutation("code.run")
            .with_input(json!({
                "type": "object",
                "properties": {"path": {"type": "string"}},
                "patternProperties": {"^s": {"type": "string"}},
                "additionalProperties": false,
            }))
            .with_eval("path", "lua")])
            .content_guard(Lua);
    code_that_is_run_by_what_streams_is_refused:
        "eval-query" on "code.run", "make it a mutation"
        => Registry::builder()
            .add(streaming(
                contract::OperationDeclaration::subscription("code.run")
                    .with_input(takes("path", json!({"type": "string"})))
                    .with_eval("path", "lua"),
            ))
            .content_guard(Lua);
    code_that_is_run_by_what_only_reads_is_refused:
        "eval-query" on "code.run", "make it a mutation"
        => registry([query("code.run").with_eval("path", "lua")]).content_guard(Lua);
    code_to_be_run_in_no_language_is_refused:
        "eval-language" on "code.run", "name the language"
        => registry([mutation("code.run").with_eval("path", "")]).content_guard(Lua);
    code_to_be_run_that_no_guard_looks_at_is_refused:
        "eval-guard" on "code.run", "install one with `.content_guard(…)`"
        => registry([mutation("code.run").with_eval("path", "javascript")]).content_guard(Lua);

    a_deadline_of_zero_is_refused:
        "zero-deadline" on "files.read", "give it some time, such as `5s`"
        => registry([query("files.read").with_deadline(Duration::ZERO)]);
    a_deadline_of_zero_for_every_operation_is_refused:
        "zero-deadline" on "the registry", "give calls some time"
        => registry([query("files.read")]).deadline(Duration::ZERO);
    a_stream_with_no_buffer_is_refused:
        "zero-buffer" on "files.watch", "give it room for one item or more"
        => Registry::builder().add(streaming(
            contract::OperationDeclaration::subscription("files.watch")
                .with_streaming(Streaming { buffer: 0, ..Streaming::default() }),
        ));
    a_stream_on_a_query_is_refused:
        "bad-shape" on "files.read", "make it a subscription, or remove the stream's options"
        => registry([query("files.read").with_streaming(Streaming::default())]);
    a_subscription_whose_handler_answers_once_is_refused:
        "bad-shape" on "files.watch", "bind a function that returns `Events`"
        => registry([contract::OperationDeclaration::subscription("files.watch")]);
    a_query_whose_handler_answers_with_a_stream_is_refused:
        "bad-shape" on "files.read", "make it a subscription"
        => Registry::builder().add(streaming(query("files.read")));
    an_operation_that_nothing_runs_is_refused:
        "unbound-handler" on "files.read", "bind a function with `.with_handler(…)`"
        => Registry::builder().add(Operation::dynamic(query("files.read")));
    a_function_whose_state_is_missing_is_refused:
        "no-state" on "files.count", "add it with `.state(…)`"
        => Registry::builder().add(count);
    an_operation_open_to_anyone_that_asks_for_a_scope_is_refused:
        "bad-access" on "files.read", "remove `anyone`, or the scopes and the consent"
        => registry([query("files.read").with_access(Access::anyone().scope("read"))]);
    an_operation_open_to_anyone_that_asks_for_consent_is_refused:
        "bad-access" on "files.read", "remove `anyone`, or the scopes and the consent"
        => registry([query("files.read").with_access(Access::anyone().consent())]);
    a_check_that_ends_with_a_code_that_is_not_declared_is_refused:
        "bad-check" on "files.read", "declare the failure for the operation too, or let the check end with FORBIDDEN"
        => Registry::builder().add(bound(failing(failure("FILE_MISSING"))).with_check(&["FILE_MISSNG"], async |_, _| Ok(true)));
    an_access_that_says_that_a_check_decides_where_there_is_none_is_refused:
        "bad-check" on "files.read", "bind one with `.with_check(…)`, or take `check` out of its access"
        => registry([query("files.read").with_access(Access::caller().check())]);
    a_check_over_json_for_a_function_that_takes_a_type_is_refused:
        "bad-check" on "files.count", "name the check in the attribute: `access(check = …)`"
        => Registry::builder().state(App).add(redress_core::IntoOperation::into_operation(count).with_check(&[], async |_, _| Ok(true)));
    a_declared_call_to_nothing_known_is_refused:
        "reach-unknown" on "files.read", "if `files.open` is declared, add it with `.add(…)`"
        => registry([query("files.read").with_call("files.open")]);
    an_operation_that_is_replaced_by_none_is_refused:
        "deprecated-replacement" on "tickets.find", "add it with `.add(…)`; or did you mean `tickets.search`?"
        => registry([replaced_by("tickets.find", "tickets.serch"), contract::OperationDeclaration::query("tickets.search")]);
    an_operation_that_is_replaced_by_itself_is_refused:
        "deprecated-replacement" on "tickets.find", "leave `replaced_by` out"
        => registry([replaced_by("tickets.find", "tickets.seek").with_alias("tickets.seek")]);
    a_code_that_is_replaced_by_none_of_the_operation_is_refused:
        "deprecated-replacement" on "files.read/FILE_MISSING", "name another code of the same operation"
        => registry([failing(failure("FILE_MISSING").with_deprecated(replacement("FILE_GONE")))]);
    an_input_that_nothing_fits_is_refused:
        "impossible-schema" on "files.read", "let the lower bound be no more than the upper one"
        => registry([contract::OperationDeclaration::query("files.read")
            .with_input(takes("limit", json!({"type": "integer", "minimum": 10, "maximum": 1})))]);
    details_that_nothing_fits_are_refused:
        "impossible-schema" on "files.read/FILE_MISSING", "let the lower bound be no more than the upper one"
        => registry([failing(failure("FILE_MISSING")
            .with_details(takes("path", json!({"type": "string", "minLength": 2, "maxLength": 1}))))]);
    two_states_of_one_type_are_refused:
        "duplicate-state" on "the registry", "wrap one of them in a type of its own"
        => Registry::builder().state(1_u8).state(2_u8);
    a_hint_with_a_place_for_a_field_is_refused:
        "hint-template" on "files.read/FILE_MISSING", "put the field into the message"
        => registry([failing(failure("FILE_MISSING")
            .with_recovery(Recovery::stop("Look near {path}, and then give up.")))]);
    a_hint_of_a_verification_with_a_place_is_refused:
        "hint-template" on "files.write", "say it without the field"
        => registry([
            mutation("files.write").with_verification(
                contract::Verification::new("files.check", "/exists", "Look whether {path} is there now.").is(true).bind("path", "path")),
            checking(),
        ]);
    an_authority_that_is_used_for_nothing_is_refused:
        "needless-authority" on "files.read", "declare what it calls, or remove the authority"
        => registry([query("files.read").with_authority("files:write")]);
    an_authority_of_its_own_beside_its_callers_is_refused:
        "needless-authority" on "files.copy", "keep one of the two"
        => registry([query("files.copy").with_call("files.read").with_callers_authority().with_authority("x"),
            query("files.read")]);
    a_call_of_what_the_authority_does_not_open_is_refused:
        "reach-access" on "files.copy", "add `authority(\"files:read\")`"
        => registry([query("files.copy").with_call("files.read").with_authority("files:list files:stat"),
            query("files.read").with_access(Access::caller().scope("files:read"))]);
    a_call_of_what_asks_for_one_of_several_scopes_is_refused_without_any_of_them:
        "reach-access" on "files.copy", "needs the scope `a` or `b`"
        => registry([query("files.copy").with_call("files.read"),
            query("files.read").with_access(Access::caller().any_scope("a").any_scope("b"))]);
    a_call_as_a_caller_who_may_lack_the_scope_is_refused:
        "reach-access" on "files.copy", "ask for the scope `files:read` in its own access too"
        => registry([query("files.copy").with_call("files.old").with_callers_authority(),
            query("files.read").with_alias("files.old").with_access(Access::caller().scope("files:read"))]);
    a_call_of_what_grants_a_consent_is_refused:
        "reach-consent" on "files.copy", "leave consents to the persons who give them"
        => registry([query("files.copy").with_call("files.agree").with_authority("consent:grant"),
            query("files.agree").with_access(Access::caller().scope("consent:grant"))]);
    a_recovery_that_grants_a_consent_is_refused:
        "recovery-consent" on "files.read/FILE_NOT_FOUND", "let it be `ask_user`"
        => registry([
            query("files.read").with_access(Access::caller().scope("consent:grant").scope("files"))
                .fails(failure("FILE_NOT_FOUND").with_recovery(Recovery::call("files.agree", "Agree to it and call it again."))),
            contract::OperationDeclaration::query("files.agree").with_access(Access::caller().scope("consent:grant"))]);
    a_recovery_that_gets_the_scope_of_a_person_is_refused:
        "recovery-consent" on "files.read/FILE_NOT_FOUND", "let it be `ask_user`"
        => registry([query("files.read").fails(failure("FILE_NOT_FOUND")
            .with_recovery(Recovery::get_access("files:read consent:grant", "Get the scope and call it again.")))]);
    a_call_of_what_needs_a_persons_consent_is_refused:
        "reach-consent" on "files.copy", "ask for consent in `files.copy` itself"
        => registry([query("files.copy").with_call("files.wipe"),
            query("files.wipe").with_access(Access::caller().consent())]);
    a_call_of_a_subscription_is_refused:
        "reach-shape" on "files.copy", "call a query or a mutation"
        => registry([query("files.copy").with_call("files.watch")])
            .add(streaming(contract::OperationDeclaration::subscription("files.watch")));
    a_code_of_two_kinds_is_refused:
        "divergent-code" on "FILE_MISSING", "`files.read` declares it as not_found, 404, not retryable, and `files.write` as conflict, 409, not retryable"
        => registry([failing(failure("FILE_MISSING")),
            query("files.write").fails(FailureDeclaration::new("FILE_MISSING", Kind::Conflict).with_when("It is not there.")
                .with_recovery(Recovery::stop("There is nothing left to try.")))]);
    a_code_of_two_statuses_is_refused:
        "divergent-code" on "FILE_MISSING", "give one of them a code of its own"
        => registry([failing(failure("FILE_MISSING")), query("files.write").fails(failure("FILE_MISSING").with_http(410))]);
    a_code_that_time_heals_in_one_place_alone_is_refused:
        "divergent-code" on "FILE_MISSING", "give one of them a code of its own"
        => registry([failing(failure("FILE_MISSING")),
            query("files.write").fails(failure("FILE_MISSING").with_retryable(true))]);
    a_code_of_a_namespace_that_is_anothers_is_refused:
        "code-namespace" on "files.read/trace.MISSING", "write a code without a namespace"
        => registry([failing(failure("trace.MISSING"))]);
    an_idempotency_key_on_a_query_is_refused:
        "needless-key" on "files.read", "remove the key, or make it a mutation"
        => registry([query("files.read").with_idempotency_key()]);
    an_example_whose_input_breaks_the_schema_is_refused:
        "bad-example" on "files.read", "the input of example 1 breaks the input schema at `/path` (`type`)"
        => registry([query("files.read").with_example(example(json!({"path": 1}), ExampleEnding::Output(json!(1))))]);
    an_example_whose_output_breaks_the_schema_is_refused:
        "bad-example" on "files.read", "the output of example 1 breaks the output schema (`type`)"
        => registry([query("files.read")
            .with_output(json!({"type": "string"}))
            .with_example(example(json!({"path": "a"}), ExampleEnding::Output(json!(1))))]);
    an_example_that_ends_with_an_undeclared_code_is_refused:
        "bad-example" on "files.read", "example 1 ends with `FILE_MISSING`, which the operation does not declare"
        => registry([query("files.read")
            .with_example(example(json!({"path": "a"}), ExampleEnding::Failure("FILE_MISSING".into())))]);
    a_schema_that_does_not_compile_is_refused:
        "bad-schema" on "files.read", "correct the schema; it is JSON Schema, draft 2020-12"
        => registry([query("files.read").with_output(json!({"type": "strnig"}))]);
    a_name_that_is_no_name_is_refused:
        "bad-name" on "read", "write two or more lower-case segments joined by dots, such as `files.read`"
        => registry([query("read")]);
    an_alias_that_is_no_name_is_refused:
        "bad-name" on "Files.Read", "write two or more lower-case segments joined by dots, such as `files.read`"
        => registry([query("files.read").with_alias("Files.Read")]);
    a_code_that_is_no_code_is_refused:
        "bad-code" on "files.read/file-missing", "write `FILE_MISSING`"
        => registry([failing(failure("file-missing"))]);
    an_engine_code_that_is_declared_again_is_refused:
        "engine-code" on "files.read/NOT_FOUND", "choose a code that says what failed in your own words"
        => registry([failing(failure("NOT_FOUND"))]);
}

fn example(input: Value, ending: ExampleEnding) -> Example {
    Example { input, ending }
}

#[test]
fn every_engine_code_is_the_engines_alone() {
    assert_eq!(EngineCode::ALL.len(), 28);
    for code in EngineCode::ALL {
        let error = refusal(registry([failing(failure(code.as_str()))]));
        assert_eq!(told(&error), [("engine-code", format!("files.read/{code}").as_str())]);
    }
}

#[test]
fn every_break_of_the_code_grammar_is_refused() {
    let long = "A".repeat(64);
    for code in ["", "_A", "A_", "A__B", "a", "File", "4XX", "A-B", "x.y.Z", "Ns.CODE", "É", &long] {
        let error = refusal(registry([failing(failure(code))]));
        assert_eq!(told(&error), [("bad-code", format!("files.read/{code}").as_str())]);
    }
}

#[test]
fn every_break_of_the_name_grammar_is_refused() {
    let long = format!("a.{}", "b".repeat(63));
    for name in ["", "read", "files.", ".read", "files.Read", "files/read", "a..b", "a.1b", "a.b-c", &long] {
        let error = refusal(registry([query(name)]));
        assert_eq!(told(&error), [("bad-name", name)]);
    }
}

#[test]
fn a_bad_schema_is_refused_wherever_it_stands() {
    let bad = [
        json!({"type": "string", "pattern": "("}),
        json!({"type": "string", "pattern": "(?=a)b"}),
        json!({"type": 12}),
        json!({"type": "strnig"}),
        json!({"type": "integer", "minimum": "one"}),
        json!({"type": "string", "maxLength": -1}),
        json!({"type": "object", "required": "path"}),
        json!({"type": "object", "properties": []}),
        json!({"enum": 5}),
        json!({"$ref": "https://example.com/schema.json"}),
        json!({"$ref": "#/$defs/nowhere"}),
        json!("string"),
    ];
    for schema in bad {
        let within = json!({"type": "object", "properties": {"member": schema}});
        for schema in [schema, within] {
            let input = query("files.read").with_input(schema.clone());
            let output = query("files.read").with_output(schema.clone());
            let details = failing(failure("FILE_MISSING").with_details(schema.clone()));
            for (declaration, subject, which) in [
                (input, "files.read", "input"),
                (output, "files.read", "output"),
                (details, "files.read/FILE_MISSING", "details"),
            ] {
                let error = refusal(registry([declaration]));
                assert_eq!(told(&error), [("bad-schema", subject)], "{which}: {schema}: {error}");
                assert!(error.to_string().contains(&format!("the {which} schema does not compile")), "{error}");
            }
        }
    }
}

#[test]
fn the_text_of_a_refusal_says_what_is_wrong_and_what_to_write() {
    let lonely =
        refusal(registry([leading_to("files.read", "files.lst"), contract::OperationDeclaration::query("files.list")]));
    insta::assert_snapshot!(lonely, @r"
    the registry has 1 problem(s)
    recovery-unknown: files.read/FILE_MISSING: its recovery calls `files.lst`, and there is no such operation
      help: if `files.lst` is declared, add it with `.add(…)`; or did you mean `files.list`?
    ");
    let message = refusal(registry([failing(failure("FILE_MISSING").with_message("no file at {place} in {path"))]));
    insta::assert_snapshot!(message, @r"
    the registry has 1 problem(s)
    bad-message: files.read/FILE_MISSING: the template `no file at {place} in {path` has a brace without its partner; write `{{` for a brace that is meant as one
      help: close every brace, or double it
    ");
    let circle = refusal(registry([leading_to("a.a", "a.b"), leading_to("a.b", "a.c"), leading_to("a.c", "a.a")]));
    insta::assert_snapshot!(circle, @r"
    the registry has 1 problem(s)
    recovery-cycle: a.a: following the recoveries leads in a circle: a.a → a.b → a.c → a.a
      help: let one of them end otherwise: `fix_input`, `ask_user`, `wait` or `stop`
    ");
    let unseen = refusal(registry([mutation("code.run").with_eval("path", "javascript")]));
    insta::assert_snapshot!(unseen, @r"
    the registry has 1 problem(s)
    eval-guard: code.run: it runs javascript, and no content guard for javascript is installed
      help: install one with `.content_guard(…)`; without it nothing looks at the javascript it runs
    ");
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let error = refusal(
        registry([
            query("files.read").fails(failure("NOT_FOUND")).fails(failure("bad code").with_http(200)),
            query("files.read").with_deadline(Duration::ZERO),
            query("Files").with_authority("files:write"),
            query("fs.read_file").with_idempotency_key().with_call("fs.opne"),
            query("fs.read.file").with_access(Access::anyone().consent()),
            leading_to("a.a", "a.b"),
            leading_to("a.b", "a.a"),
            leading_to("a.c", "a.nowhere_at_all"),
            mutation("code.run").with_eval("script", ""),
            query("x.y").with_input(json!({"type": 12})),
            query("x.z").fails(FailureDeclaration::new("EMPTY", Kind::Internal)),
        ])
        .add(Operation::dynamic(query("x.unbound")))
        .add(streaming(query("x.stream"))),
    );
    let rules: BTreeSet<&str> = error.findings().iter().map(redress::contract::Finding::rule).collect();
    let expected = [
        "bad-access",
        "bad-code",
        "bad-name",
        "bad-schema",
        "bad-shape",
        "bad-status",
        "duplicate-name",
        "duplicate-tool",
        "engine-code",
        "eval-language",
        "eval-source",
        "needless-authority",
        "needless-key",
        "no-recovery",
        "no-when",
        "reach-unknown",
        "recovery-cycle",
        "recovery-unknown",
        "unbound-handler",
        "zero-deadline",
    ];
    assert_eq!(rules, BTreeSet::from(expected), "{error}");
    assert!(error.findings().is_sorted(), "the findings come in an order that does not change");
}

#[test]
fn a_registry_without_a_mistake_is_built() {
    let built = registry([
        query("files.read")
            .fails(
                failure("FILE_MISSING")
                    .with_message("no file at {path}")
                    .with_recovery(calling("files.list").bind("path", "path").why("see what is there")),
            )
            .fails(
                failure("FILE_BUSY")
                    .with_retryable(true)
                    .with_retry_after("size")
                    .with_recovery(Recovery::wait("Wait until the other writer is done.")),
            )
            .fails(
                failure("PATH_OUTSIDE")
                    .extending("PATH_REFUSED")
                    .with_recovery(Recovery::fix_input("/path", "Give a path inside the workspace.")),
            )
            .with_alias("files.open")
            .with_call("files.list")
            .with_authority("files:list")
            .with_example(example(json!({"path": "a"}), ExampleEnding::Failure("FILE_MISSING".into()))),
        query("files.list"),
        contract::OperationDeclaration::mutation("files.write").with_idempotency_key(),
    ])
    .add(streaming(contract::OperationDeclaration::subscription("files.watch")))
    .add(count)
    .state(App)
    .guard(Doorman(failure("DOOR_CLOSED")))
    .build()
    .unwrap();
    assert_eq!(built.contract().operations().len(), 5);
    let read = built.operation("/files/open").unwrap();
    assert_eq!(*read.name(), "files.read");
    assert_eq!(read.failure("DOOR_CLOSED").unwrap().layer(), Some("doorman"));
}

#[test]
fn packages_share_a_namespace_where_one_owner_is_named_and_what_is_data_is_of_any_package() {
    let stat = || redress_core::IntoOperation::into_operation(stat);
    let read = || bound(query("files.read")).of_package(Some("reader"));
    let shared = Registry::builder().add(stat().with_owner("files team")).add(read().with_owner("files team"));
    assert!(shared.build().is_ok());
    assert!(Registry::builder().add(stat()).add(bound(query("files.read"))).build().is_ok());
}

#[test]
fn an_authority_of_several_scopes_in_one_text_opens_what_each_of_them_opens() {
    let needs = |name: &str, scope: &str| query(name).with_access(Access::caller().scope(scope));
    let copy = query("files.copy").with_call("files.read").with_call("files.list").with_authority(" a  b ");
    assert_eq!(copy.authority(), ["a", "b"]);
    registry([copy, needs("files.read", "a"), needs("files.list", "b")]).build().unwrap();
    let copy = needs("files.copy", "a").with_call("files.read").with_callers_authority();
    registry([copy, needs("files.read", "a")]).build().unwrap();
}

#[test]
fn an_operation_that_runs_code_registers_once_its_guard_is_installed() {
    let run = mutation("code.run").with_eval("path", "lua");
    assert!(registry([run.clone()]).build().is_err());
    registry([run]).content_guard(Lua).build().unwrap();
    let optional =
        json!({"type": "object", "properties": {"path": {"type": ["string", "null"]}}, "additionalProperties": false});
    registry([mutation("code.run").with_input(optional).with_eval("path", "lua")]).content_guard(Lua).build().unwrap();
}

#[test]
fn recoveries_that_meet_again_without_leading_back_are_no_circle() {
    let fork = leading_to("a.a", "a.b").fails(failure("ELSEWHERE").with_recovery(calling("a.c")));
    registry([fork, leading_to("a.b", "a.d"), leading_to("a.c", "a.d"), contract::OperationDeclaration::query("a.d")])
        .build()
        .unwrap();
}

#[test]
fn a_recovery_may_call_what_asks_for_no_more_access_by_name_or_alias() {
    registry([
        leading_to("files.read", "files.all").with_access(Access::caller().scope("read").scope("list")),
        contract::OperationDeclaration::query("files.list")
            .with_alias("files.all")
            .with_access(Access::caller().scope("list")),
        leading_to("files.stat", "files.ping").internal(),
        contract::OperationDeclaration::query("files.ping").internal(),
    ])
    .build()
    .unwrap();
}

#[test]
fn a_recovery_may_bind_a_field_that_always_fits() {
    let details = json!({"type": "object", "properties": {
        "order": {"oneOf": [{"type": "string", "const": "up"}, {"type": "string", "const": "down"}]},
        "depth": {"type": "integer"},
    }});
    let recovery = calling("files.list").bind("order", "order").bind("depth", "depth");
    let input = json!({"type": "object", "properties": {"order": {"type": "string"}, "depth": {"type": "number"}}});
    registry([
        failing(failure("FILE_MISSING").with_details(details).with_recovery(recovery)),
        contract::OperationDeclaration::query("files.list").with_input(input),
    ])
    .build()
    .unwrap();
}

#[test]
fn an_operation_may_share_a_tool_name_with_its_own_alias() {
    let built = registry([query("fs.read_file").with_alias("fs.read.file")]).build().unwrap();
    assert_eq!(*built.operation("fs.read.file").unwrap().name(), "fs.read_file");
}

#[test]
fn a_fix_may_point_at_the_whole_input_a_member_or_what_the_schema_leaves_open() {
    let input = json!({"type": "object", "properties": {"a/b": {}, "rows": {"type": "array", "items": {}}}});
    for pointer in ["", "/a~1b", "/rows/0", "/unheard_of"] {
        let recovery = Recovery::fix_input(pointer, "Give a path that really exists.");
        registry([failing(failure("FILE_MISSING").with_recovery(recovery)).with_input(input.clone())]).build().unwrap();
    }
}

/// The workspace, seen from the folder of this crate.
fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// What each rule has said in the refusals of this file and of `extensions`.
async fn fired() -> BTreeMap<&'static str, Vec<String>> {
    let refusals = refusals().into_iter().chain(crate::extensions::refusals().await);
    let mut fired: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for finding in refusals.flat_map(|error| error.findings().to_vec()) {
        // What is only so in this test and at this version is told as the pages tell it.
        let told = finding.to_string().replace(module_path!(), "app").replace(env!("CARGO_PKG_VERSION"), "0.1.0");
        fired.entry(finding.rule()).or_default().push(told);
    }
    fired
}

#[tokio::test]
async fn every_rule_is_fired_by_a_test() {
    let fired: Vec<&str> = fired().await.into_keys().collect();
    let rules: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(rules, fired, "left: the rows, in the order of their ids; right: what the refusals of these tests say");
}

#[tokio::test]
async fn every_rule_has_one_page_and_every_page_one_rule() {
    let fired = fired().await;
    for rule in RULES {
        let Rule { id, since, level: RuleLevel::Deny, page } = rule else { panic!("{rule:?}: a registry refuses") };
        assert!(semver(since), "{id}: since {since}");
        assert!(page.starts_with(&format!("# {id}\n")), "{id}: the page opens with its rule");
        let headings: Vec<&str> = page.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(headings, ["## What it means", "## Why it matters", "## Example", "## What to do"], "{id}");
        assert!((12..=30).contains(&page.lines().count()), "{id} has {} lines", page.lines().count());
        let shown = fired[id].iter().any(|finding| page.contains(finding));
        assert!(shown, "{id}: the example shows what the rule says, such as\n{}", fired[id][0]);
    }
    let pages: BTreeSet<String> = fs::read_dir(workspace().join("docs/rules"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap().trim_end_matches(".md").to_owned())
        .filter(|page| page != "README")
        .collect();
    let rules: BTreeSet<String> = RULES.iter().map(|rule| rule.id.to_owned()).collect();
    assert_eq!(pages, rules, "left: the pages in docs/rules; right: the rows");
}

fn semver(version: &str) -> bool {
    let parts: Vec<&str> = version.split('.').collect();
    parts.len() == 3 && parts.iter().all(|part| part.parse::<u32>().is_ok())
}

#[test]
fn the_index_of_the_rules_is_made_from_their_rows() {
    let mut index = "\
# Rules

What refuses a registry when it is built, and where `redress explain ID` has the page. This list is made from the rows in
`crates/redress-core/src/registry/rules.rs` by a test.

| rule | since | level | what it means |
|---|---|---|---|
"
    .to_owned();
    for Rule { id, since, level, page } in RULES {
        let meaning = page.split_once("## What it means\n").map(|(_, rest)| rest.trim_start()).unwrap_or_default();
        let paragraph: Vec<&str> = meaning.lines().take_while(|line| !line.is_empty()).collect();
        let paragraph = paragraph.join(" ");
        let sentence = paragraph.split_once(". ").map_or(paragraph.as_str(), |(sentence, _)| sentence);
        let sentence = sentence.trim_end_matches('.');
        index += &format!("| [{id}]({id}.md) | {since} | {} | {sentence}. |\n", level.as_str());
    }
    let kept = workspace().join("docs/rules/README.md");
    if std::env::var_os("REDRESS_BLESS").is_some() {
        return fs::write(kept, index).expect("the folder of the pages is part of the repository");
    }
    let stale =
        "docs/rules/README.md is stale; run `REDRESS_BLESS=1 cargo test -p redress --test it index_of_the_rules`";
    assert!(fs::read_to_string(kept).unwrap_or_default() == index, "{stale}");
}
