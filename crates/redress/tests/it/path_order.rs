//! The order of the call path: of two rules that a call breaks, the earlier one answers.

use std::{future::Future, pin::Pin};

use redress::{
    Access, Begin, Blocked, Caller, Consent, ConsentScope, ConsentStore, ContentGuard, DynamicFailure, EndedCall,
    Events, Exhausted, Fingerprint, Guard, GuardBroken, GuardedCall, HeldConsent, IdempotencyKey, IdempotencyStore,
    IdentityError, IdentityProvider, Kind, Limit, Limited, LimitedCall, Observer, Operation, Permit, QuotaHold,
    QuotaRefused, QuotaShare, QuotaStore, QuotaWindow, Registry, Request, Secret, Settled, StoreError, Veto,
    contract::{self, FailureDeclaration, Name},
};
use serde_json::{Value, json};

use crate::service::{Notes, failure, mutation, registry, subscription};

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The steps that can refuse a call, in the order of the design.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Find,
    Visibility,
    Shape,
    Caller,
    Access,
    KeyTaken,
    Consent,
    Limits,
    Size,
    InputSchema,
    Check,
    ContentGuard,
    Guards,
    Idempotency,
    Handler,
    Output,
}

/// Each step with what it answers and with whom it asks, if it asks anybody.
const STEPS: [(Step, &str, Option<&str>); 16] = [
    (Step::Find, "NOT_FOUND", None),
    (Step::Visibility, "NOT_FOUND", None),
    (Step::Shape, "INVALID_OPERATION_TYPE", None),
    (Step::Caller, "AUTH_REQUIRED", Some("caller")),
    (Step::Access, "FORBIDDEN", None),
    (Step::KeyTaken, "INVALID_REQUEST", None),
    (Step::Consent, "CONSENT_REQUIRED", Some("consent")),
    (Step::Limits, "RATE_LIMITED", Some("limits")),
    (Step::Size, "PAYLOAD_TOO_LARGE", None),
    (Step::InputSchema, "INVALID_INPUT", None),
    (Step::Check, "FORBIDDEN", Some("check")),
    (Step::ContentGuard, "EVAL_BLOCKED_KEYWORD", Some("content guard")),
    (Step::Guards, "GUARD_SAYS_NO", Some("guards")),
    (Step::Idempotency, "IDEMPOTENCY_CONFLICT", Some("idempotency")),
    (Step::Handler, "HANDLER_FAILED", Some("handler")),
    (Step::Output, "INVALID_OUTPUT", None),
];

/// A service in which these steps refuse, and notes of who was asked.
#[derive(Clone)]
struct Service {
    broken: Vec<Step>,
    notes: Notes,
}

impl Service {
    fn breaks(&self, step: Step) -> bool {
        self.broken.contains(&step)
    }

    /// Notes that `who` was asked, and says whether it refuses.
    fn asked(&self, who: &str, step: Step) -> bool {
        self.notes.add(who);
        self.breaks(step)
    }

    fn declaration(&self) -> contract::OperationDeclaration {
        let shaped = if self.breaks(Step::Shape) {
            subscription("work.run")
        } else if self.breaks(Step::KeyTaken) {
            mutation("work.run")
        } else {
            mutation("work.run").with_idempotency_key()
        };
        // What runs code is a mutation.
        let shaped = if self.breaks(Step::Shape) { shaped } else { shaped.with_eval("source", "toy") };
        let declaration = shaped
            .with_access(Access::caller().scope("run").consent())
            .with_max_input(200)
            .with_output(json!({"type": "string"}))
            .with_input(json!({
                "type": "object",
                "properties": {"source": {"type": "string"}, "pad": {"type": "string"}},
                "required": ["source"],
                "additionalProperties": false,
            }))
            .fails(failure("HANDLER_FAILED", Kind::Conflict));
        if self.breaks(Step::Visibility) { declaration.internal() } else { declaration }
    }

    fn operation(&self) -> Operation {
        let service = self.clone();
        let checked = self.clone();
        let operation = Operation::dynamic(self.declaration())
            .with_check(&[], move |_, _| std::future::ready(Ok(!checked.asked("check", Step::Check))));
        if self.breaks(Step::Shape) {
            return operation.with_stream_handler(|_, _| async { Ok(Events::new(futures_util::stream::empty())) });
        }
        operation.with_handler(move |_, _| {
            let service = service.clone();
            async move {
                if service.asked("handler", Step::Handler) {
                    Err(DynamicFailure::new("HANDLER_FAILED", json!({})))?;
                }
                Ok(if service.breaks(Step::Output) { json!(7) } else { json!("done") })
            }
        })
    }

    fn registry(&self) -> Registry {
        let builder = Registry::builder()
            .identity(self.clone())
            .consent(self.clone())
            .limit(self.clone())
            .content_guard(self.clone())
            .guard(self.clone())
            .idempotency(self.clone())
            .observer(self.clone());
        registry(if self.breaks(Step::Find) { builder } else { builder.add(self.operation()) })
    }

    fn input(&self) -> Value {
        let mut input = json!({"source": "fine"});
        if self.breaks(Step::ContentGuard) {
            input["source"] = json!("forbidden");
        }
        if self.breaks(Step::InputSchema) {
            input["unknown"] = json!(1);
        }
        if self.breaks(Step::Size) {
            input["pad"] = json!("x".repeat(300));
        }
        input
    }

    /// The code that the call ends with, `ok` for a good end.
    async fn call(&self) -> String {
        let request = Request::new(self.input().to_string().into_bytes())
            .with_token(Secret::new("token"))
            .with_idempotency_key("key");
        self.registry().call("work.run", request).await.code().unwrap_or("ok").to_owned()
    }
}

impl IdentityProvider for Service {
    fn identify<'a>(&'a self, _: &'a Secret) -> BoxFuture<'a, Result<Caller, IdentityError>> {
        let known = if self.asked("caller", Step::Caller) {
            Err(IdentityError::Expired)
        } else {
            Ok(Caller::new("ada").scopes(if self.breaks(Step::Access) { vec![] } else { vec!["run"] }))
        };
        Box::pin(std::future::ready(known))
    }
}

impl ConsentStore for Service {
    fn has<'a>(&'a self, _: &'a Caller, _: &'a Name) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(std::future::ready(Ok(!self.asked("consent", Step::Consent))))
    }

    fn grant(&self, _: Consent) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn withdraw<'a>(&'a self, _: &'a str, _: &'a ConsentScope) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(std::future::ready(Ok(false)))
    }

    fn list<'a>(&'a self, _: Option<&'a str>) -> BoxFuture<'a, Result<Vec<HeldConsent>, StoreError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

impl Limit for Service {
    fn admit(&self, _: &LimitedCall<'_>) -> Result<Option<Permit>, Limited> {
        if self.asked("limits", Step::Limits) { Err(Limited::rate(5)) } else { Ok(None) }
    }
}

impl ContentGuard for Service {
    fn language(&self) -> &str {
        "toy"
    }

    fn check(&self, _: &str) -> Result<(), Blocked> {
        if self.asked("content guard", Step::ContentGuard) { Err(Blocked::Keyword("forbidden".into())) } else { Ok(()) }
    }
}

impl Guard for Service {
    fn name(&self) -> &str {
        "steps"
    }

    fn failures(&self) -> Vec<FailureDeclaration> {
        vec![failure("GUARD_SAYS_NO", Kind::Forbidden)]
    }

    fn check<'a>(&'a self, _: &'a GuardedCall<'a>) -> BoxFuture<'a, Result<Option<Veto>, GuardBroken>> {
        let veto = self.asked("guards", Step::Guards).then(|| Veto::new("GUARD_SAYS_NO", json!({})));
        Box::pin(std::future::ready(Ok(veto)))
    }
}

impl IdempotencyStore for Service {
    fn begin<'a>(&'a self, _: &'a IdempotencyKey, _: Fingerprint) -> BoxFuture<'a, Result<Begin, StoreError>> {
        let begin = if self.asked("idempotency", Step::Idempotency) { Begin::Conflict } else { Begin::Fresh };
        Box::pin(std::future::ready(Ok(begin)))
    }

    fn settle(&self, _: &IdempotencyKey, _: Settled) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Observer for Service {
    fn ended(&self, _: &EndedCall<'_>) {
        self.notes.add("observers");
    }
}

async fn outcome_of(broken: Vec<Step>) -> (String, Vec<String>) {
    let service = Service { broken, notes: Notes::default() };
    let code = service.call().await;
    (code, service.notes.take())
}

#[tokio::test]
async fn a_call_that_breaks_nothing_passes_every_step_in_order_and_is_observed_once_at_the_end() {
    let (code, asked) = outcome_of(vec![]).await;
    assert_eq!(code, "ok");
    let mut expected: Vec<&str> = STEPS.iter().filter_map(|(_, _, who)| *who).collect();
    expected.push("observers");
    assert_eq!(asked, expected);
}

#[tokio::test]
async fn of_any_two_broken_rules_the_earlier_step_answers_and_no_later_step_is_asked() {
    // One case for each pair of steps, the adjacent ones among them.
    for (place, (earlier, answer, _)) in STEPS.iter().enumerate() {
        for (later, _, _) in &STEPS[place + 1..] {
            let (code, asked) = outcome_of(vec![*earlier, *later]).await;
            assert_eq!(code, *answer, "{earlier:?} comes before {later:?}");
            if matches!(earlier, Step::Find | Step::Visibility) {
                // Near names are for those who may call them, so the caller is looked at here.
                assert_eq!(asked, ["caller", "observers"], "{earlier:?} and {later:?}");
                continue;
            }
            let mut expected: Vec<&str> = STEPS[..=place].iter().filter_map(|(_, _, who)| *who).collect();
            expected.push("observers");
            assert_eq!(asked, expected, "{earlier:?} and {later:?}");
        }
    }
}

#[tokio::test]
async fn a_call_that_breaks_every_rule_from_a_step_on_gets_that_steps_answer() {
    for (place, (step, answer, _)) in STEPS.iter().enumerate() {
        let (code, _) = outcome_of(STEPS[place..].iter().map(|(step, _, _)| *step).collect()).await;
        assert_eq!(code, *answer, "{step:?}");
    }
}

/// The same service, with an allowance of its own.
#[derive(Clone)]
struct Allowed(Service, bool);

impl Limit for Allowed {
    fn admit(&self, call: &LimitedCall<'_>) -> Result<Option<Permit>, Limited> {
        self.0.admit(call)
    }

    fn has_quotas(&self) -> bool {
        true
    }

    fn quotas(&self, _: &LimitedCall<'_>) -> Vec<QuotaShare> {
        vec![QuotaShare { policy: "day".into(), rule: "*".into(), window: QuotaWindow::Day, limit: 1 }]
    }
}

impl QuotaStore for Allowed {
    fn reserve<'a>(
        &'a self,
        _: &'a str,
        _: &'a [QuotaShare],
    ) -> BoxFuture<'a, Result<Box<dyn QuotaHold>, QuotaRefused>> {
        self.0.notes.add("set aside");
        let exhausted = Exhausted {
            window: QuotaWindow::Day,
            limit: 1,
            used: 1,
            renews: 0,
            renews_in: std::time::Duration::ZERO,
            allowances: Vec::new(),
        };
        let reserved: Result<Box<dyn QuotaHold>, _> =
            if self.1 { Err(QuotaRefused::Exhausted(Box::new(exhausted))) } else { Ok(Box::new(self.clone())) };
        Box::pin(std::future::ready(reserved))
    }
}

impl QuotaHold for Allowed {
    fn count(&mut self) -> BoxFuture<'_, Result<Vec<contract::Allowance>, StoreError>> {
        self.0.notes.add("counted");
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn spend(self: Box<Self>) {
        self.0.notes.add("spent");
    }
}

#[tokio::test]
async fn a_quota_is_asked_after_the_limits_and_before_the_size_and_counted_right_before_the_handler() {
    let outcome = |broken: Vec<Step>, exhausted: bool| async move {
        let service = Service { broken, notes: Notes::default() };
        let allowed = Allowed(service.clone(), exhausted);
        let builder = Registry::builder().identity(service.clone()).consent(service.clone()).limit(allowed.clone());
        let builder = builder.content_guard(service.clone()).guard(service.clone()).quotas(allowed);
        let registry = registry(builder.add(service.operation()));
        let request = Request::new(service.input().to_string().into_bytes()).with_token(Secret::new("token"));
        let code = registry.call("work.run", request).await.code().unwrap_or("ok").to_owned();
        (code, service.notes.take())
    };
    let all =
        ["caller", "consent", "limits", "set aside", "check", "content guard", "guards", "counted", "handler", "spent"];
    assert_eq!(outcome(vec![], false).await, ("ok".to_owned(), all.map(str::to_owned).to_vec()));
    let earlier = [Step::Caller, Step::Access, Step::Consent, Step::Limits];
    let later = [Step::Size, Step::InputSchema, Step::Check, Step::ContentGuard, Step::Guards, Step::Handler];
    for (step, answer, _) in STEPS {
        if earlier.contains(&step) {
            assert_eq!(outcome(vec![step], true).await.0, answer, "{step:?} comes before the quota");
        } else if later.contains(&step) {
            let (code, asked) = outcome(vec![step], true).await;
            assert_eq!(code, "QUOTA_EXHAUSTED", "the quota comes before {step:?}");
            assert_eq!(asked.last().map(String::as_str), Some("set aside"));
        }
        if later.contains(&step) && step != Step::Handler {
            let (code, asked) = outcome(vec![step], false).await;
            assert!(code == answer && !asked.iter().any(|who| who == "counted"), "{step:?}: {asked:?}");
        }
    }
    let (code, asked) = outcome(vec![Step::Handler], false).await;
    assert_eq!((code.as_str(), asked.last().map(String::as_str)), ("HANDLER_FAILED", Some("spent")));
}

#[tokio::test]
async fn who_may_not_call_learns_nothing_of_the_schema() {
    // Access comes before decoding.
    let service = Service { broken: vec![Step::Access, Step::InputSchema], notes: Notes::default() };
    let refused = |input: &'static [u8]| {
        let request = Request::new(input).with_token(Secret::new("token")).with_request_id("same");
        let registry = service.registry();
        async move {
            let envelope = registry.call("work.run", request).await;
            String::from_utf8(envelope.into_bytes()).unwrap()
        }
    };
    let answers = [refused(br#"{"source":"fine"}"#).await, refused(br#"{"sorce":1}"#).await, refused(b"no json").await];
    for answer in &answers {
        assert!(answer.contains("FORBIDDEN"), "{answer}");
        assert!(!answer.contains("source") && !answer.contains("pad"), "{answer}");
    }
}

#[tokio::test]
async fn a_stream_takes_the_same_steps_before_its_handler() {
    let steps = [
        (Step::Visibility, "NOT_FOUND"),
        (Step::Caller, "AUTH_REQUIRED"),
        (Step::Access, "FORBIDDEN"),
        (Step::KeyTaken, "INVALID_REQUEST"),
        (Step::Consent, "CONSENT_REQUIRED"),
        (Step::Limits, "RATE_LIMITED"),
        (Step::Size, "PAYLOAD_TOO_LARGE"),
        (Step::InputSchema, "INVALID_INPUT"),
        (Step::Check, "FORBIDDEN"),
        (Step::Guards, "GUARD_SAYS_NO"),
    ];
    for (place, (step, answer)) in steps.iter().enumerate() {
        let mut broken: Vec<Step> = steps[place..].iter().map(|(step, _)| *step).collect();
        // The declaration is a subscription's, which is the right shape to subscribe to.
        broken.push(Step::Shape);
        let service = Service { broken, notes: Notes::default() };
        let mut request = Request::new(service.input().to_string().into_bytes()).with_token(Secret::new("token"));
        if service.breaks(Step::KeyTaken) {
            request = request.with_idempotency_key("key");
        }
        let refused = service.registry().subscribe("work.run", request).await.unwrap_err();
        assert_eq!(refused.code(), Some(*answer), "{step:?}");
        assert_eq!(service.notes.take().iter().filter(|note| *note == "observers").count(), 1);
    }
}
