//! The members of a problem that are the same each time its failure happens, already
//! written as JSON: most of an envelope is, and writing it anew costs more than the call.

use std::sync::Arc;

use serde::Serialize;

use crate::{Code, Effect, Kind, Name, NextAction, Problem, RecoveryStep, Retry};

/// The members of a problem that are the same each time its failure happens, already
/// written as JSON.
#[derive(Debug)]
pub struct Printed {
    code: Code,
    kind: Kind,
    extends: Arc<[Code]>,
    hint: Arc<str>,
    recovery: Option<RecoveryStep>,
    docs_url: Arc<str>,
    advice: PrintedAdvice,
    next: Option<PrintedNextAction>,
    /// `code`, `kind`, `extends` and `hint`.
    head: Vec<u8>,
    /// `recovery`, if there is one.
    middle: Vec<u8>,
    /// `docs_url`.
    tail: Vec<u8>,
}

/// `retryable`, `retry`, `effect` and `http`: the same as long as the call gets equally far.
#[derive(Debug)]
struct PrintedAdvice {
    retryable: bool,
    retry: Retry,
    effect: Effect,
    http: u16,
    json: Vec<u8>,
}

/// The one next action, but for its input.
#[derive(Debug)]
struct PrintedNextAction {
    operation: Name,
    why: Option<Arc<str>>,
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Printed {
    /// Prints what `problem` has in common with every other occurrence of its failure.
    pub fn of(problem: &Problem) -> Printed {
        let mut head = Vec::new();
        member(&mut head, "code", &problem.code);
        member(&mut head, "kind", &problem.kind);
        member(&mut head, "extends", &problem.extends);
        member(&mut head, "hint", &problem.hint);
        let mut middle = Vec::new();
        if let Some(recovery) = &problem.recovery {
            member(&mut middle, "recovery", recovery);
        }
        let mut tail = Vec::new();
        member(&mut tail, "docs_url", &problem.docs_url);
        Printed {
            code: problem.code.clone(),
            kind: problem.kind,
            extends: Arc::clone(&problem.extends),
            hint: Arc::clone(&problem.hint),
            recovery: problem.recovery.clone(),
            docs_url: Arc::clone(&problem.docs_url),
            advice: PrintedAdvice::of(problem),
            next: PrintedNextAction::of(problem),
            head,
            middle,
            tail,
        }
    }

    /// Whether `problem` still says what was printed: a call site may have put in a hint of
    /// its own.
    fn fits(&self, problem: &Problem) -> bool {
        Arc::ptr_eq(&self.hint, &problem.hint)
            && Arc::ptr_eq(&self.extends, &problem.extends)
            && Arc::ptr_eq(&self.docs_url, &problem.docs_url)
            && self.kind == problem.kind
            && self.code == problem.code
            && self.recovery == problem.recovery
    }

    /// Appends the members of `problem` after its message to an object that is already open,
    /// or changes nothing and says no where what was printed does not fit.
    pub(crate) fn append(&self, body: &mut Vec<u8>, problem: &Problem) -> bool {
        if !self.fits(problem) {
            return false;
        }
        body.extend_from_slice(&self.head);
        if self.advice.fits(problem) {
            body.extend_from_slice(&self.advice.json);
        } else {
            advice(body, problem);
        }
        body.extend_from_slice(&self.middle);
        match (&problem.next_actions[..], &self.next) {
            ([], _) => {}
            ([action], Some(next)) if next.fits(action) => {
                body.extend_from_slice(&next.before);
                body.extend_from_slice(action.input.get().as_bytes());
                body.extend_from_slice(&next.after);
            }
            (actions, _) => member(body, "next_actions", actions),
        }
        if !problem.similar.is_empty() {
            member(body, "similar", &problem.similar);
        }
        if let Some(details) = &problem.details {
            body.extend_from_slice(br#","details":"#);
            body.extend_from_slice(details.get().as_bytes());
        }
        body.extend_from_slice(&self.tail);
        true
    }
}

impl PrintedAdvice {
    fn of(problem: &Problem) -> PrintedAdvice {
        let mut json = Vec::new();
        advice(&mut json, &Problem { retry_after_ms: None, ..problem.clone() });
        PrintedAdvice {
            retryable: problem.retryable,
            retry: problem.retry,
            effect: problem.effect,
            http: problem.http,
            json,
        }
    }

    fn fits(&self, problem: &Problem) -> bool {
        problem.retry_after_ms.is_none()
            && self.retryable == problem.retryable
            && self.retry == problem.retry
            && self.effect == problem.effect
            && self.http == problem.http
    }
}

impl PrintedNextAction {
    fn of(problem: &Problem) -> Option<PrintedNextAction> {
        let [action] = &problem.next_actions[..] else { return None };
        let mut before = br#","next_actions":[{"operation":"#.to_vec();
        // Writing strings to a `Vec` cannot fail.
        let _ = serde_json::to_writer(&mut before, &action.operation);
        before.extend_from_slice(br#","input":"#);
        let mut after = Vec::new();
        if let Some(why) = &action.why {
            member(&mut after, "why", why);
        }
        after.extend_from_slice(b"}]");
        Some(PrintedNextAction { operation: action.operation.clone(), why: action.why.clone(), before, after })
    }

    fn fits(&self, action: &NextAction) -> bool {
        self.operation == action.operation && self.why == action.why
    }
}

fn advice(body: &mut Vec<u8>, problem: &Problem) {
    member(body, "retryable", &problem.retryable);
    member(body, "retry", &problem.retry);
    if let Some(ms) = problem.retry_after_ms {
        member(body, "retry_after_ms", &ms);
    }
    member(body, "effect", &problem.effect);
    member(body, "http", &problem.http);
}

fn member<T: Serialize + ?Sized>(body: &mut Vec<u8>, name: &str, value: &T) {
    body.extend_from_slice(b",\"");
    body.extend_from_slice(name.as_bytes());
    body.extend_from_slice(b"\":");
    // Writing to a `Vec` cannot fail, and a problem holds nothing whose `Serialize` does.
    let _ = serde_json::to_writer(body, value);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Effect, Envelope, Json, Meta, Name, NextAction, RequestId, Retry, Similar};
    use serde_json::json;

    fn bare() -> Problem {
        Problem {
            error: "no \"file\" at ä".into(),
            code: Code::new("FILE_NOT_FOUND").unwrap(),
            kind: Kind::NotFound,
            extends: Arc::from([Code::new("NOTHING_THERE").unwrap()]),
            hint: "List the \"folder\" and pick a path.".into(),
            retryable: false,
            retry: Retry::AfterFix,
            retry_after_ms: None,
            effect: Effect::None,
            http: 404,
            recovery: None,
            next_actions: Vec::new(),
            similar: Vec::new(),
            details: None,
            docs_url: "/errors/FILE_NOT_FOUND".into(),
        }
    }

    fn full() -> Problem {
        let input = Json::of(&json!({"path": "notes"})).unwrap();
        let operation = Name::new("files.list").unwrap();
        Problem {
            retry_after_ms: Some(250),
            recovery: Some(RecoveryStep::Call { operation: operation.clone() }),
            next_actions: vec![NextAction { operation, input, why: Some("see what is there".into()) }],
            similar: vec![Similar { value: "notes/A.md".to_owned() }],
            details: Some(Json::of(&json!({"path": "notes/a.md"})).unwrap()),
            ..bare()
        }
    }

    fn bytes(problem: Problem, printed: Option<&Printed>) -> String {
        let request_id = RequestId::given("req-1").unwrap();
        let meta = Meta { elapsed_ms: 3, ..Meta::new(request_id) };
        String::from_utf8(Envelope::failure(problem, printed, meta).into_bytes()).unwrap()
    }

    #[test]
    fn a_printed_problem_is_the_same_to_the_byte() {
        for first in [bare(), full()] {
            let printed = Printed::of(&first);
            let changes: [fn(&mut Problem); 9] = [
                |_| (),
                |problem| problem.retryable = true,
                |problem| problem.retry = Retry::Unsafe,
                |problem| problem.retry_after_ms = None,
                |problem| problem.effect = Effect::Partial,
                |problem| problem.http = 410,
                |problem| problem.next_actions.clear(),
                |problem| problem.next_actions.extend(full().next_actions),
                |problem| problem.next_actions.iter_mut().for_each(|action| action.why = None),
            ];
            for change in changes {
                let mut problem = first.clone();
                change(&mut problem);
                assert_eq!(bytes(problem.clone(), Some(&printed)), bytes(problem, None));
            }
        }
    }

    #[test]
    fn a_problem_that_says_something_else_is_written_anew() {
        let printed = Printed::of(&full());
        let changes: [fn(&mut Problem); 4] = [
            |problem| problem.hint = "Something else altogether for this call.".into(),
            |problem| problem.kind = Kind::Conflict,
            |problem| problem.recovery = None,
            |problem| problem.code = Code::new("OTHER").unwrap(),
        ];
        for change in changes {
            let mut problem = full();
            change(&mut problem);
            assert_eq!(bytes(problem.clone(), Some(&printed)), bytes(problem, None));
        }
    }
}
