//! What an operation says about itself, its schemas and what runs it.

use redress_contract::{Content, ExampleEnding, Finding, OperationDeclaration as Declaration, Shape};
use redress_input::InputShape;

use serde_json::{Value, json};

use super::{Builder, bad_schema, fit::fits};
use crate::{Operation, author::handler::BoundHandler, registry::rules};

pub(super) fn check(builder: &Builder, findings: &mut Vec<Finding>) {
    if builder.settings.deadline.is_zero() {
        let says = "a deadline of zero for every operation lets no call end well";
        findings.push(Finding::new(&rules::ZERO_DEADLINE, "the registry", says, "give calls some time, such as `30s`"));
    }
    for operation in &builder.operations {
        content(builder, &operation.declaration, findings);
        bounds(&operation.declaration, findings);
        access(&operation.declaration, findings);
        checked(operation, findings);
        handler(builder, operation, findings);
        schemas(&operation.declaration, findings);
    }
}

fn content(builder: &Builder, declaration: &Declaration, findings: &mut Vec<Finding>) {
    let Content::Eval { source, language } = declaration.content() else { return };
    let mut say = |rule, says: String, help: String| {
        findings.push(Finding::new(rule, declaration.name().as_str(), says, help));
    };
    if declaration.shape() != Shape::Mutation {
        say(
            &rules::EVAL_QUERY,
            "it runs code it is given, and says that it only reads".to_owned(),
            "make it a mutation: what the code does, nobody can promise".to_owned(),
        );
    }
    if !declaration.input().is_closed() {
        say(
            &rules::EVAL_SOURCE,
            "it runs code it is given, and its input takes members that it does not name".to_owned(),
            "set `additionalProperties` to false: code under another name would pass the guard unseen".to_owned(),
        );
    }
    match declaration.input().property(source) {
        None => say(
            &rules::EVAL_SOURCE,
            format!("it runs code it is given, and its input has no member `{source}` to find the code in"),
            "name the input member that holds the source".to_owned(),
        ),
        // The guard reads text: code that comes as anything else would pass unseen.
        Some(member) if !fits(member, &json!({"type": ["string", "null"]})) => say(
            &rules::EVAL_SOURCE,
            format!("it runs the code in `{source}`, which may be something other than a string"),
            "let the schema of that member accept strings only".to_owned(),
        ),
        Some(_) => {}
    }
    if language.is_empty() {
        say(&rules::EVAL_LANGUAGE, "it runs code in no named language".to_owned(), "name the language".to_owned());
    } else if !builder.content.contains_key(language) {
        say(
            &rules::EVAL_GUARD,
            format!("it runs {language}, and no content guard for {language} is installed"),
            format!("install one with `.content_guard(…)`; without it nothing looks at the {language} it runs"),
        );
    }
}

fn bounds(declaration: &Declaration, findings: &mut Vec<Finding>) {
    let mut say = |rule, says: &str, help: &str| {
        findings.push(Finding::new(rule, declaration.name().as_str(), says, help));
    };
    if declaration.deadline().is_some_and(|deadline| deadline.is_zero()) {
        say(&rules::ZERO_DEADLINE, "a deadline of zero lets no call end well", "give it some time, such as `5s`");
    }
    if declaration.takes_idempotency_key() && declaration.shape() != Shape::Mutation {
        say(&rules::NEEDLESS_KEY, "only a mutation needs an idempotency key", "remove the key, or make it a mutation");
    }
    match (declaration.shape(), declaration.streaming()) {
        (Shape::Subscription, Some(streaming)) if streaming.buffer == 0 => {
            say(&rules::ZERO_BUFFER, "a stream with no buffer carries nothing", "give it room for one item or more");
        }
        (Shape::Query | Shape::Mutation, Some(_)) => {
            say(
                &rules::BAD_SHAPE,
                "only a subscription has a stream",
                "make it a subscription, or remove the stream's options",
            );
        }
        (Shape::Subscription, Some(_) | None) | (Shape::Query | Shape::Mutation, None) => {}
    }
}

fn access(declaration: &Declaration, findings: &mut Vec<Finding>) {
    if declaration.access().is_contradictory() {
        findings.push(Finding::new(
            &rules::BAD_ACCESS,
            declaration.name().as_str(),
            "it is open to anyone, and asks for scopes or consent that only a known caller has",
            "remove `anyone`, or the scopes and the consent",
        ));
    }
}

fn checked(operation: &Operation, findings: &mut Vec<Finding>) {
    let declaration = &operation.declaration;
    let mut say = |says: String, help: &str| {
        findings.push(Finding::new(&rules::BAD_CHECK, declaration.name().as_str(), says, help));
    };
    let Some(check) = &operation.check else {
        if declaration.access().is_checked() {
            say(
                "its access says that a check decides, and none is bound".to_owned(),
                "bind one with `.with_check(…)`, or take `check` out of its access",
            );
        }
        return;
    };
    if check.typed != operation.typed {
        say(
            "its function takes a type, and its check reads JSON values".to_owned(),
            "name the check in the attribute: `access(check = …)`",
        );
    }
    for code in check.codes.iter().filter(|code| declaration.failure(code).is_none()) {
        say(
            format!("its check may end with `{code}`, which the operation does not declare"),
            "declare the failure for the operation too, or let the check end with FORBIDDEN",
        );
    }
}

fn handler(builder: &Builder, operation: &Operation, findings: &mut Vec<Finding>) {
    let declaration = &operation.declaration;
    let mut say = |rule, says: String, help: String| {
        findings.push(Finding::new(rule, declaration.name().as_str(), says, help));
    };
    match (&operation.bound, declaration.shape()) {
        (BoundHandler::Nothing, _) => say(
            &rules::UNBOUND_HANDLER,
            "nothing runs it".to_owned(),
            "bind a function with `.with_handler(…)`, or do not register it".to_owned(),
        ),
        (BoundHandler::Once(_), Shape::Subscription) => say(
            &rules::BAD_SHAPE,
            "it is a subscription, and its handler answers once".to_owned(),
            "bind a function that returns `Events`".to_owned(),
        ),
        (BoundHandler::Stream(_), Shape::Query | Shape::Mutation) => say(
            &rules::BAD_SHAPE,
            "its handler answers with a stream, and it is no subscription".to_owned(),
            "make it a subscription".to_owned(),
        ),
        (BoundHandler::Once(_), Shape::Query | Shape::Mutation) | (BoundHandler::Stream(_), Shape::Subscription) => {}
    }
    for (id, type_name) in &operation.needs {
        if !builder.state.contains_key(id) {
            say(
                &rules::NO_STATE,
                format!("it takes `State<{type_name}>`, and the registry has no such state"),
                "add it with `.state(…)`".to_owned(),
            );
        }
    }
}

fn schemas(declaration: &Declaration, findings: &mut Vec<Finding>) {
    let compiled = |which, schema: &redress_contract::Schema, findings: &mut Vec<Finding>| match InputShape::dynamic(
        schema.as_value().clone(),
    ) {
        Ok(shape) => Some(shape),
        Err(error) => {
            findings.push(bad_schema(declaration.name(), which, &error));
            None
        }
    };
    let takes = compiled("input", declaration.input(), findings);
    let gives = compiled("output", declaration.output(), findings);
    for (place, example) in declaration.examples().iter().enumerate() {
        let mut say = |says: String| {
            let help = "make the example what really happens: it is documentation, test and drill data";
            findings.push(Finding::new(&rules::BAD_EXAMPLE, declaration.name().as_str(), says, help));
        };
        let number = place + 1;
        if let Some(place) = takes.as_ref().and_then(|shape| broken_at(shape, &example.input)) {
            say(format!("the input of example {number} breaks the input schema {place}"));
        }
        match &example.ending {
            ExampleEnding::Output(output) => {
                if let Some(place) = gives.as_ref().and_then(|shape| broken_at(shape, output)) {
                    say(format!("the output of example {number} breaks the output schema {place}"));
                }
            }
            ExampleEnding::Failure(code) if declaration.failure(code).is_none() => {
                say(format!("example {number} ends with `{code}`, which the operation does not declare"));
            }
            ExampleEnding::Failure(_) => {}
        }
    }
}

/// Where a value is not what the schema says, and what of the schema says so.
fn broken_at(shape: &InputShape, value: &Value) -> Option<String> {
    let (pointer, rule) = shape.first_error(value)?;
    Some(if pointer.is_empty() { format!("(`{rule}`)") } else { format!("at `{pointer}` (`{rule}`)") })
}
