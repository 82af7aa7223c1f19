//! What may be asked for, declared.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    Access, Content, Deprecation, Example, FailureDeclaration, Gives, Name, Origin, OutputBreach, Role, Schema, Shape,
    Streaming, Verification, Visibility,
};

/// What may be asked for: what it takes, what it gives, and every way it can fail.
///
/// Built freely and judged later: what is wrong in a declaration is found when a
/// registry is built from it, together with everything else that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationDeclaration {
    name: Name,
    shape: Shape,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    summary: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    description: String,
    content: Content,
    visibility: Visibility,
    input: Schema,
    output: Schema,
    #[serde(default, skip_serializing_if = "OutputBreach::is_invalid")]
    output_breach: OutputBreach,
    failures: Vec<FailureDeclaration>,
    access: Access,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_input: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_output: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_output_agents: Option<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    narrowing: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    idempotency_key: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verify: Option<Verification>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deprecated: Option<Deprecation>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<Name>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    examples: Vec<Example>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    calls: Vec<Name>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    authority: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    calls_as_caller: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    streaming: Option<Streaming>,
    #[serde(default, skip_serializing_if = "Role::is_plain")]
    pub(crate) role: Role,
    #[serde(default, skip_serializing_if = "Gives::is_json")]
    pub(crate) gives: Gives,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) completions: BTreeMap<String, Name>,
    origin: Origin,
}

impl OperationDeclaration {
    /// An operation of this shape that takes and gives nothing, and cannot fail.
    pub fn new(name: &str, shape: Shape) -> OperationDeclaration {
        OperationDeclaration {
            name: Name::unchecked(name),
            shape,
            summary: String::new(),
            description: String::new(),
            content: Content::Plain,
            visibility: Visibility::External,
            input: Schema::nothing(),
            output: Schema::anything(),
            output_breach: OutputBreach::Invalid,
            failures: Vec::new(),
            access: Access::default(),
            deadline_ms: None,
            max_input: None,
            max_output: None,
            max_output_agents: None,
            narrowing: Vec::new(),
            idempotency_key: false,
            verify: None,
            tags: Vec::new(),
            since: None,
            deprecated: None,
            aliases: Vec::new(),
            examples: Vec::new(),
            calls: Vec::new(),
            authority: Vec::new(),
            calls_as_caller: false,
            streaming: (shape == Shape::Subscription).then(Streaming::default),
            role: Role::Plain,
            gives: Gives::Json,
            completions: BTreeMap::new(),
            origin: Origin::Local,
        }
    }

    /// An operation that reads.
    pub fn query(name: &str) -> OperationDeclaration {
        OperationDeclaration::new(name, Shape::Query)
    }

    /// An operation that changes something.
    pub fn mutation(name: &str) -> OperationDeclaration {
        OperationDeclaration::new(name, Shape::Mutation)
    }

    /// An operation that answers with a stream.
    pub fn subscription(name: &str) -> OperationDeclaration {
        OperationDeclaration::new(name, Shape::Subscription)
    }

    /// Adds a failure.
    #[must_use]
    pub fn fails(mut self, failure: FailureDeclaration) -> OperationDeclaration {
        self.failures.push(failure);
        self
    }

    /// Adds failures.
    #[must_use]
    pub fn with_failures(mut self, failures: impl IntoIterator<Item = FailureDeclaration>) -> OperationDeclaration {
        self.failures.extend(failures);
        self
    }

    /// Takes every failure away.
    #[must_use]
    pub fn without_failures(mut self) -> OperationDeclaration {
        self.failures.clear();
        self
    }

    /// Says in one line what it does.
    #[must_use]
    pub fn with_summary(mut self, text: impl Into<String>) -> OperationDeclaration {
        self.summary = text.into();
        self
    }

    /// Says at length what it does.
    #[must_use]
    pub fn with_description(mut self, text: impl Into<String>) -> OperationDeclaration {
        self.description = text.into();
        self
    }

    /// Says that it runs the code it is given in the input's member `source`.
    #[must_use]
    pub fn with_eval(mut self, source: impl Into<String>, language: impl Into<String>) -> OperationDeclaration {
        self.content = Content::Eval { source: source.into(), language: language.into() };
        self
    }

    /// Hides it from the outside.
    #[must_use]
    pub fn internal(mut self) -> OperationDeclaration {
        self.visibility = Visibility::Internal;
        self
    }

    /// Sets what it takes.
    #[must_use]
    pub fn with_input(mut self, schema: impl Into<Schema>) -> OperationDeclaration {
        self.input = schema.into();
        self
    }

    /// Sets what it gives: for a subscription, each item of the stream.
    #[must_use]
    pub fn with_output(mut self, schema: impl Into<Schema>) -> OperationDeclaration {
        self.output = schema.into();
        self
    }

    /// Says what becomes of an output that breaks its schema.
    #[must_use]
    pub fn with_output_breach(mut self, becomes: OutputBreach) -> OperationDeclaration {
        self.output_breach = becomes;
        self
    }

    /// The same operation with every schema [bundled](Schema::bundled), which is how documents show it. A
    /// schema that cannot be bundled stays as it is; a registry refuses it.
    #[must_use]
    pub fn bundled(mut self) -> OperationDeclaration {
        for schema in [&mut self.input, &mut self.output] {
            if let Ok(bundled) = schema.bundled() {
                *schema = bundled;
            }
        }
        self.failures = self.failures.into_iter().map(FailureDeclaration::bundled).collect();
        self
    }

    /// Sets who may call it.
    #[must_use]
    pub fn with_access(mut self, access: Access) -> OperationDeclaration {
        self.access = access;
        self
    }

    /// Sets how long one call may take.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> OperationDeclaration {
        self.deadline_ms = Some(u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Sets how many bytes of input it takes.
    #[must_use]
    pub fn with_max_input(mut self, bytes: usize) -> OperationDeclaration {
        self.max_input = Some(bytes);
        self
    }

    /// Sets how many bytes of output it may give at once.
    #[must_use]
    pub fn with_max_output(mut self, bytes: usize) -> OperationDeclaration {
        self.max_output = Some(bytes);
        self
    }

    /// Sets how many bytes of output it may give at once to an agent, whose context is small.
    #[must_use]
    pub fn with_max_output_for_agents(mut self, bytes: usize) -> OperationDeclaration {
        self.max_output_agents = Some(bytes);
        self
    }

    /// Names the members of the input by which a caller asks for less: a page, a maximum, the fields that are wanted. They
    /// are told to a caller whose answer was too large.
    #[must_use]
    pub fn with_narrowing<S: Into<String>>(mut self, members: impl IntoIterator<Item = S>) -> OperationDeclaration {
        self.narrowing = members.into_iter().map(Into::into).collect();
        self
    }

    /// Lets callers send an idempotency key.
    #[must_use]
    pub fn with_idempotency_key(mut self) -> OperationDeclaration {
        self.idempotency_key = true;
        self
    }

    /// Says how a caller finds out whether it took place, where a call ended without saying so.
    #[must_use]
    pub fn with_verification(mut self, verification: Verification) -> OperationDeclaration {
        self.verify = Some(verification);
        self
    }

    /// The same without a word on how to find out whether it took place.
    pub(crate) fn without_verification(mut self) -> OperationDeclaration {
        self.verify = None;
        self
    }

    /// Adds a tag.
    #[must_use]
    pub fn with_tag(mut self, tag: impl Into<String>) -> OperationDeclaration {
        self.tags.push(tag.into());
        self
    }

    /// Says since which version it exists.
    #[must_use]
    pub fn with_since(mut self, version: impl Into<String>) -> OperationDeclaration {
        self.since = Some(version.into());
        self
    }

    /// Marks it as on its way out.
    #[must_use]
    pub fn with_deprecated(mut self, deprecation: Deprecation) -> OperationDeclaration {
        self.deprecated = Some(deprecation);
        self
    }

    /// Adds a name that it is also found by.
    #[must_use]
    pub fn with_alias(mut self, name: &str) -> OperationDeclaration {
        self.aliases.push(Name::unchecked(name));
        self
    }

    /// Adds an example.
    #[must_use]
    pub fn with_example(mut self, example: Example) -> OperationDeclaration {
        self.examples.push(example);
        self
    }

    /// Takes every example away.
    #[must_use]
    pub fn without_examples(mut self) -> OperationDeclaration {
        self.examples.clear();
        self
    }

    /// Declares that it calls another operation.
    #[must_use]
    pub fn with_call(mut self, name: &str) -> OperationDeclaration {
        self.calls.push(Name::unchecked(name));
        self
    }

    /// Declares a scope with which it calls others, or several with spaces between them.
    #[must_use]
    pub fn with_authority(mut self, scopes: impl AsRef<str>) -> OperationDeclaration {
        self.authority.extend(scopes.as_ref().split_whitespace().map(str::to_owned));
        self
    }

    /// Declares that it calls others as its own caller, with no scopes of its own.
    #[must_use]
    pub fn with_callers_authority(mut self) -> OperationDeclaration {
        self.calls_as_caller = true;
        self
    }

    /// Takes away what it is made of inside: what it calls, with which authority, and what completes its arguments.
    pub(crate) fn without_internals(mut self) -> OperationDeclaration {
        self.calls.clear();
        self.authority.clear();
        self.calls_as_caller = false;
        self.completions.clear();
        self
    }

    /// Sets how its stream is carried.
    #[must_use]
    pub fn with_streaming(mut self, streaming: Streaming) -> OperationDeclaration {
        self.streaming = Some(streaming);
        self
    }

    /// Says where the declaration came from.
    #[must_use]
    pub fn with_origin(mut self, origin: Origin) -> OperationDeclaration {
        self.origin = origin;
        self
    }

    /// Its name.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Its name as an MCP tool.
    pub fn tool_name(&self) -> String {
        self.name.tool()
    }

    /// How it is asked for and answered.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// What it does, in one line.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// What it does, at length.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Whether it runs code that it is given.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Whether the outside can call it.
    pub fn is_external(&self) -> bool {
        self.visibility == Visibility::External
    }

    /// What it takes.
    pub fn input(&self) -> &Schema {
        &self.input
    }

    /// What it gives: for a subscription, each item of the stream.
    pub fn output(&self) -> &Schema {
        &self.output
    }

    /// What becomes of an output that breaks its schema.
    pub fn output_breach(&self) -> OutputBreach {
        self.output_breach
    }

    /// Every way it can fail, the engine's own not counted.
    pub fn failures(&self) -> &[FailureDeclaration] {
        &self.failures
    }

    /// The failure of this code.
    pub fn failure(&self, code: &str) -> Option<&FailureDeclaration> {
        self.failures.iter().find(|failure| *failure.code() == *code)
    }

    /// Who may call it.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// How long one call may take.
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline_ms.map(Duration::from_millis)
    }

    /// How many bytes of input it takes.
    pub fn max_input(&self) -> Option<usize> {
        self.max_input
    }

    /// How many bytes of output it may give at once.
    pub fn max_output(&self) -> Option<usize> {
        self.max_output
    }

    /// How many bytes of output it may give at once to an agent, where that is less than to others.
    pub fn max_output_for_agents(&self) -> Option<usize> {
        self.max_output_agents
    }

    /// The members of the input by which a caller asks for less.
    pub fn narrowing(&self) -> &[String] {
        &self.narrowing
    }

    /// Whether callers may send an idempotency key.
    pub fn takes_idempotency_key(&self) -> bool {
        self.idempotency_key
    }

    /// How a caller finds out whether it took place, where a call ended without saying so.
    pub fn verification(&self) -> Option<&Verification> {
        self.verify.as_ref()
    }

    /// Its tags.
    pub fn tags(&self) -> &[String] {
        &self.tags
    }

    /// The version since which it exists.
    pub fn since(&self) -> Option<&str> {
        self.since.as_deref()
    }

    /// Its deprecation, if it is on its way out.
    pub fn deprecated(&self) -> Option<&Deprecation> {
        self.deprecated.as_ref()
    }

    /// The names it is also found by.
    pub fn aliases(&self) -> &[Name] {
        &self.aliases
    }

    /// Inputs with the endings they lead to.
    pub fn examples(&self) -> &[Example] {
        &self.examples
    }

    /// The operations it calls.
    pub fn calls(&self) -> &[Name] {
        &self.calls
    }

    /// Whether it calls others as its own caller.
    pub fn calls_as_caller(&self) -> bool {
        self.calls_as_caller
    }

    /// The scopes with which it calls others.
    pub fn authority(&self) -> &[String] {
        &self.authority
    }

    /// How its stream is carried, for a subscription.
    pub fn streaming(&self) -> Option<&Streaming> {
        self.streaming.as_ref()
    }

    /// Where the declaration came from.
    pub fn origin(&self) -> Origin {
        self.origin
    }
}
