//! The whole classifier: order of the steps, the chain, what users change.

use std::{env, io};

use super::{
    foreign::{Foreign, Ring},
    *,
};

fn row_of(error: &(dyn Error + 'static)) -> String {
    Classifier::standard().classify(error).row.into_owned()
}

#[test]
fn a_kind_is_answered_with_a_code_that_a_caller_can_act_on_or_with_internal() {
    for kind in Kind::ALL {
        let found = Classification::of_kind(kind, "some row");
        // A foreign `not_found` is a bug of the service, and a foreign `cancelled` cancels no call.
        let expected = if kind == Kind::Timeout {
            EngineCode::Timeout
        } else if [Kind::Unavailable, Kind::RateLimited].contains(&kind) {
            EngineCode::UpstreamUnreachable
        } else {
            EngineCode::Internal
        };
        assert_eq!((found.kind, found.code), (kind, expected), "{kind}");
    }
}

#[test]
fn a_type_is_asked_before_any_text() {
    // 1.5: by downcast first, text last.
    let error = Foreign::new("status code 429").caused_by(io::Error::from(io::ErrorKind::NotFound));
    assert_eq!(row_of(&error), "io-not-found");
}

#[test]
fn a_cause_is_asked_where_the_error_above_says_nothing() {
    let error = Foreign::new("could not sync").caused_by(Foreign::new("page 3").caused_by("quota exceeded"));
    assert_eq!(row_of(&error), "quota");
}

#[test]
fn a_row_before_another_wins_however_deep_its_text_is() {
    // 1.5: first match wins.
    let error = Foreign::new("invalid answer").caused_by("status code 404");
    assert_eq!(row_of(&error), "status-404");
}

#[test]
fn what_lies_deeper_than_twenty_errors_is_not_looked_at() {
    let under = |errors| {
        let bottom = Foreign::new("bottom").caused_by(io::Error::from(io::ErrorKind::TimedOut));
        (0..errors).fold(bottom, |cause, _| Foreign::new("above").caused_by(cause))
    };
    assert_eq!(row_of(&under(18)), "io-timeout");
    assert_eq!(row_of(&under(19)), "fallback");
    assert_eq!(row_of(&Ring), "fallback");
}

#[test]
fn what_is_said_after_four_kilobytes_is_not_read() {
    let said = |before: usize| Foreign::new(format!("{} forbidden", "x".repeat(before)));
    assert_eq!(row_of(&said(chain::TEXT - 10)), "text-forbidden");
    assert_eq!(row_of(&said(chain::TEXT)), "fallback");
}

#[test]
fn none_of_the_foreign_text_is_in_the_result() {
    // What a foreign error says is for the log alone.
    let found = Classifier::standard().classify(&Foreign::new("permission denied for hunter2 at /etc/shadow"));
    let printed = format!("{found:?}");
    assert!(!printed.contains("hunter2") && !printed.contains("shadow"), "{printed}");
}

#[test]
fn letters_that_are_not_ascii_are_no_obstacle() {
    assert_eq!(row_of(&Foreign::new("Zugriff auf „Bücher“: access was denied – forbidden")), "text-forbidden");
}

#[test]
fn an_own_pattern_comes_before_the_standard_ones_and_after_types() {
    let classifier = Classifier::standard().with_row_first("own", "status code 404", Kind::Conflict).unwrap();
    let found = classifier.classify(&Foreign::new("Status Code 404"));
    assert_eq!((found.kind, found.row.as_ref()), (Kind::Conflict, "own"));
    assert_eq!(classifier.classify(&Foreign::new("status code 4040")).row, "fallback");
    let typed = Foreign::new("status code 404").caused_by(io::Error::from(io::ErrorKind::TimedOut));
    assert_eq!(classifier.classify(&typed).row, "io-timeout");
    // The last one added is the first one asked.
    let classifier = classifier.with_row_first("newer", "code 404", Kind::Database).unwrap();
    assert_eq!(classifier.classify(&Foreign::new("status code 404")).row, "newer");
    assert_eq!(Classifier::standard().classify(&Foreign::new("status code 404")).row, "status-404");
}

#[test]
fn a_pattern_that_cannot_be_compiled_is_refused_by_name() {
    for pattern in ["(", "a)|(b", r"\p{No Such}", "(?:x{1000}){1000}"] {
        let error = Classifier::empty().with_row_first("own", pattern, Kind::Conflict).unwrap_err();
        assert_eq!(error.to_string(), "the pattern of row `own` cannot be compiled", "{pattern}");
        assert!(error.source().is_some());
    }
}

#[test]
fn a_name_is_taken_once() {
    for name in ["quota", "io-timeout"] {
        let error = Classifier::standard().with_row_first(name, "x", Kind::Conflict).unwrap_err();
        assert_eq!(error.to_string(), format!("there is already a row named `{name}`"));
        assert!(Classifier::standard().without(name).with_row_first(name, "x", Kind::Conflict).is_ok());
    }
}

#[test]
fn a_row_that_is_left_out_is_not_asked() {
    let classifier = Classifier::standard().without("io-not-found").without("status-404").without("no such row");
    assert_eq!(classifier.classify(&io::Error::from(io::ErrorKind::NotFound)).row, "text-not-found");
    assert_eq!(classifier.classify(&Foreign::new("status code 404: invalid")).row, "text-invalid");
    assert_eq!(classifier.rows().count(), Classifier::standard().rows().count() - 2);
}

#[test]
fn an_own_type_comes_before_every_other_row() {
    let judge: fn(&Foreign) -> Option<Kind> = |error| (error.to_string() == "mine").then_some(Kind::Database);
    let classifier = Classifier::standard().with_type(judge);
    let above = io::Error::new(io::ErrorKind::NotFound, Foreign::new("mine"));
    let found = classifier.classify(&above);
    assert_eq!(found.kind, Kind::Database);
    assert!(found.row.ends_with("Foreign"), "{}", found.row);
    // What it leaves is judged as before.
    assert_eq!(classifier.classify(&Foreign::new("forbidden")).row, "text-forbidden");
    // Added again, it is replaced; left out, it is gone.
    let replaced = classifier.with_type::<Foreign>(|_| Some(Kind::Conflict));
    assert_eq!(replaced.classify(&Foreign::new("mine")).kind, Kind::Conflict);
    assert_eq!(replaced.rows().filter(|row| row.table == ClassifierTable::OwnType).count(), 1);
    assert_eq!(replaced.without(&found.row).classify(&Foreign::new("mine")).row, "fallback");
}

#[test]
fn an_empty_classifier_knows_nothing() {
    let found = Classifier::empty().classify(&io::Error::from(io::ErrorKind::NotFound));
    let expected = Classification { kind: Kind::Internal, code: EngineCode::Internal, row: "fallback".into() };
    assert_eq!(found, expected);
}

#[test]
fn names_of_rows_are_unique() {
    let classifier = Classifier::standard();
    let mut names: Vec<&str> = classifier.rows().map(|row| row.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
}

#[test]
fn rows_are_printed_in_the_order_in_which_they_are_asked() {
    let classifier = Classifier::empty()
        .with_row_first("quota", "quota|allowance", Kind::RateLimited)
        .unwrap()
        .with_row_first("ledger-closed", "ledger is closed", Kind::Conflict)
        .unwrap()
        .with_type::<env::VarError>(|_| Some(Kind::Configuration));
    let lines: Vec<String> = classifier.to_string().lines().map(str::to_owned).collect();
    let expected = [
        "own type  std::env::VarError  (its own)       std::env::VarError",
        "own text  ledger-closed       conflict        ledger is closed",
        "own text  quota               rate_limited    quota|allowance",
        "          fallback            internal        anything else",
    ];
    assert_eq!(lines, expected);
    let tables: Vec<&str> = Classifier::standard().rows().map(|row| row.table.as_str()).collect();
    let mut order = tables.clone();
    order.dedup();
    assert_eq!(order, ["type", "provider", "common"]);
    assert_eq!(tables.iter().filter(|table| **table == "provider").count(), 22);
    assert_eq!(tables.iter().filter(|table| **table == "common").count(), 10);
}
