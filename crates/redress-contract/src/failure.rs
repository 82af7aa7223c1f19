//! One way an operation may end badly, declared.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{Code, Deprecation, Effect, Kind, Recovery, Schema};

/// One way an operation may end badly, declared before it happens.
///
/// Built freely and judged later: what is wrong in a declaration is found when a
/// registry is built from it, together with everything else that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailureDeclaration {
    pub(crate) code: Code,
    kind: Kind,
    when: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recovery: Option<Recovery>,
    retryable: bool,
    http: u16,
    effect: Effect,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after: Option<String>,
    details: Schema,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    extends: Vec<Code>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deprecated: Option<Deprecation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    layer: Option<String>,
}

impl FailureDeclaration {
    /// A failure of this code and kind; status, retryability and effect are the kind's
    /// until said otherwise.
    pub fn new(code: &str, kind: Kind) -> FailureDeclaration {
        FailureDeclaration {
            code: Code::unchecked(code),
            kind,
            when: String::new(),
            message: None,
            recovery: None,
            retryable: kind.retryable(),
            http: kind.http(),
            effect: default_effect(kind),
            retry_after: None,
            details: Schema::new(json!({"type": "object", "properties": {}, "additionalProperties": false})),
            extends: Vec::new(),
            since: None,
            deprecated: None,
            layer: None,
        }
    }

    /// Says when it happens.
    #[must_use]
    pub fn with_when(mut self, text: impl Into<String>) -> FailureDeclaration {
        self.when = text.into();
        self
    }

    /// Sets the message, a template over the public fields.
    #[must_use]
    pub fn with_message(mut self, template: impl Into<String>) -> FailureDeclaration {
        self.message = Some(template.into());
        self
    }

    /// Says what the caller can do.
    #[must_use]
    pub fn with_recovery(mut self, recovery: Recovery) -> FailureDeclaration {
        self.recovery = Some(recovery);
        self
    }

    /// Overrides whether time alone can heal it.
    #[must_use]
    pub fn with_retryable(mut self, yes: bool) -> FailureDeclaration {
        self.retryable = yes;
        self
    }

    /// Overrides the kind's status.
    #[must_use]
    pub fn with_http(mut self, status: u16) -> FailureDeclaration {
        self.http = status;
        self
    }

    /// Says whether the side effect happened.
    #[must_use]
    pub fn with_effect(mut self, effect: Effect) -> FailureDeclaration {
        self.effect = effect;
        self
    }

    /// Names the field that holds the milliseconds to wait.
    #[must_use]
    pub fn with_retry_after(mut self, field: impl Into<String>) -> FailureDeclaration {
        self.retry_after = Some(field.into());
        self
    }

    /// Sets the schema of the details.
    #[must_use]
    pub fn with_details(mut self, schema: impl Into<Schema>) -> FailureDeclaration {
        self.details = schema.into();
        self
    }

    /// The same failure with the schema of its details [bundled](Schema::bundled).
    #[must_use]
    pub fn bundled(self) -> FailureDeclaration {
        match self.details.bundled() {
            Ok(details) => self.with_details(details),
            Err(_) => self,
        }
    }

    /// Names the more general code that this one is a case of; called again, that one's
    /// own parent, and so on upwards.
    #[must_use]
    pub fn extending(mut self, parent: &str) -> FailureDeclaration {
        self.extends.push(Code::unchecked(parent));
        self
    }

    /// Says since which version it exists.
    #[must_use]
    pub fn with_since(mut self, version: impl Into<String>) -> FailureDeclaration {
        self.since = Some(version.into());
        self
    }

    /// Marks it as on its way out.
    #[must_use]
    pub fn with_deprecated(mut self, deprecation: Deprecation) -> FailureDeclaration {
        self.deprecated = Some(deprecation);
        self
    }

    /// Names the layer that contributes it.
    #[must_use]
    pub fn with_layer(mut self, name: impl Into<String>) -> FailureDeclaration {
        self.layer = Some(name.into());
        self
    }

    /// The same failure under an extension's namespace, together with those of its parents
    /// that are the extension's own.
    #[must_use]
    pub fn in_namespace(mut self, namespace: &str, is_own: impl Fn(&Code) -> bool) -> FailureDeclaration {
        let within = |code: &Code| Code::unchecked(&format!("{namespace}.{code}"));
        self.code = within(&self.code);
        for parent in self.extends.iter_mut().filter(|parent| is_own(parent)) {
            *parent = within(parent);
        }
        self
    }

    /// Its stable, machine-readable name.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// What sort of bad ending it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// When it happens.
    pub fn when(&self) -> &str {
        &self.when
    }

    /// The message template, which is `when` if there is none of its own.
    pub fn message(&self) -> &str {
        self.message.as_deref().unwrap_or(&self.when)
    }

    /// Whether the message is a template of its own.
    pub fn has_message(&self) -> bool {
        self.message.is_some()
    }

    /// What the caller can do.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    /// Whether time alone can heal it.
    pub fn retryable(&self) -> bool {
        self.retryable
    }

    /// Its status.
    pub fn http(&self) -> u16 {
        self.http
    }

    /// Whether the side effect happened.
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// The field that holds the milliseconds to wait.
    pub fn retry_after(&self) -> Option<&str> {
        self.retry_after.as_deref()
    }

    /// The schema of its details.
    pub fn details(&self) -> &Schema {
        &self.details
    }

    /// Its more general codes, nearest first.
    pub fn extends(&self) -> &[Code] {
        &self.extends
    }

    /// The version since which it exists.
    pub fn since(&self) -> Option<&str> {
        self.since.as_deref()
    }

    /// Its deprecation, if it is on its way out.
    pub fn deprecated(&self) -> Option<&Deprecation> {
        self.deprecated.as_ref()
    }

    /// The layer that contributes it, if the operation itself does not.
    pub fn layer(&self) -> Option<&str> {
        self.layer.as_deref()
    }
}

/// What is known of the side effect when nobody says: a refusal changed nothing, a
/// breakdown may have changed anything.
fn default_effect(kind: Kind) -> Effect {
    match kind {
        Kind::Parse
        | Kind::InvalidRequest
        | Kind::MethodNotFound
        | Kind::InvalidParams
        | Kind::NotFound
        | Kind::Conflict
        | Kind::RateLimited
        | Kind::Forbidden
        | Kind::Unauthorized
        | Kind::Validation => Effect::None,
        Kind::Internal
        | Kind::Unavailable
        | Kind::Timeout
        | Kind::Configuration
        | Kind::Initialization
        | Kind::Database
        | Kind::Cancelled
        | Kind::Serialization
        | Kind::Unknown => Effect::Unknown,
    }
}
