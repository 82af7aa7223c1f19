//! All kept documents: every operation accounted for, every answer that is no success declared.

use std::collections::{BTreeMap, BTreeSet};

use redress_contract::{Name, Shape};
use redress_import::{Report, StatusPattern, openapi};
use serde_json::Value;

use crate::documents::{Kept, all, followed, one, operations, read};

#[test]
fn every_operation_is_imported_and_every_answer_that_is_no_success_is_declared() {
    for Kept { name, import, plain: root, .. } in all() {
        let there = operations(root);
        assert_eq!(import.operations.len(), there.len(), "{name}");
        assert!(import.skipped.is_empty(), "{name}: {:?}", import.skipped);
        let imported: BTreeMap<(&str, &str), _> =
            import.operations.iter().map(|one| ((one.request.method.as_str(), one.pointer.as_str()), one)).collect();
        assert_eq!(imported.len(), there.len(), "{name}");
        for (path, method, node) in there {
            let pointer =
                format!("/paths/{}/{}", path.replace('~', "~0").replace('/', "~1"), method.to_ascii_lowercase());
            let one = imported[&(method.as_str(), pointer.as_str())];
            for (status, response) in node["responses"].as_object().unwrap() {
                let response = followed(root, response);
                let pattern = StatusPattern::parse(status).unwrap();
                let plan = one.responses.iter().find(|plan| plan.status == pattern && !plan.derived).unwrap();
                let media: Vec<&str> = plan.content.iter().map(|content| content.media_type.as_str()).collect();
                let declared: BTreeSet<&str> = response
                    .get("content")
                    .and_then(Value::as_object)
                    .into_iter()
                    .flatten()
                    .map(|(key, _)| key.as_str())
                    .collect();
                assert_eq!(media.into_iter().collect::<BTreeSet<_>>(), declared, "{name} {pointer} {status}");
                let code = plan.code.as_ref().map(|code| code.as_str());
                if status.starts_with('2') {
                    assert_eq!(code, None, "{name} {pointer} {status}");
                    continue;
                }
                let wanted = format!("HTTP_{}", status.to_ascii_uppercase());
                assert_eq!(code, Some(wanted.as_str()), "{name} {pointer}");
                let failure = one.operation.failure(&wanted).unwrap();
                assert!(failure.recovery().is_some_and(|recovery| recovery.hint().split_whitespace().count() >= 5));
                assert!(failure.details().property("body").is_some() && failure.details().requires("status"));
            }
        }
    }
}

#[test]
fn names_are_legal_unique_and_the_same_however_the_document_is_ordered() {
    for Kept { name, import, plain, .. } in all() {
        let tools: BTreeSet<String> = import.operations.iter().map(|one| one.operation.tool_name()).collect();
        assert_eq!(tools.len(), import.operations.len(), "{name}");
        assert!(import.operations.iter().all(|one| one.operation.name().is_well_formed()), "{name}");
        // Sorted by its members, which is another order than that of most documents.
        let sorted = read(serde_json::to_vec(plain).unwrap());
        let by_pointer = |import: &redress_import::Import| -> BTreeMap<String, Name> {
            import.operations.iter().map(|one| (one.pointer.clone(), one.operation.name().clone())).collect()
        };
        assert_eq!(by_pointer(import), by_pointer(&sorted), "{name}");
    }
}

#[test]
fn the_order_of_operations_is_that_of_the_document() {
    let import = &one("museum.yaml").import;
    let paths: Vec<String> =
        import.operations.iter().map(|one| format!("{} {}", one.request.method, one.request.path)).collect();
    insta::assert_snapshot!(paths.join("\n"), @r"
    GET /museum-hours
    POST /special-events
    GET /special-events
    GET /special-events/{eventId}
    PATCH /special-events/{eventId}
    DELETE /special-events/{eventId}
    POST /tickets
    GET /tickets/{ticketId}/qr
    ");
}

#[test]
fn the_reports_are_kept() {
    for Kept { name, import, .. } in all() {
        insta::assert_snapshot!(format!("report-{name}"), Report::of(import).to_string());
    }
}

#[test]
fn a_report_has_the_same_counts_for_programs() {
    let import = &one("figma.yaml").import;
    let report = serde_json::to_value(Report::of(import).with_tool_list(4_001)).unwrap();
    assert_eq!(report["operations"].as_array().unwrap().len(), 47);
    assert_eq!(report["failures"], 220);
    assert_eq!(report["tool_list"], serde_json::json!({"bytes": 4001, "estimated_tokens": 1001}));
    assert_eq!(report["skipped"], serde_json::json!([]));
}

#[test]
fn what_was_left_out_of_a_schema_is_given_on_demand() {
    let import = &one("stripe-2022-04.json").import;
    let charge = import.operations.iter().find(|one| one.request.path == "/v1/charges/{charge}").unwrap();
    assert_eq!(charge.operation.shape(), Shape::Query);
    let (cut, whole) = (charge.operation.output(), import.full_output(charge));
    assert!(cut.as_value().to_string().len() <= 3 << 10);
    assert!(whole.as_value().to_string().len() > 100_000);
    assert!(whole.bundled().is_ok());
    let error = import.full_response(charge, StatusPattern::Default).unwrap();
    assert!(error.bundled().is_ok() && import.full_response(charge, StatusPattern::Exact(418)).is_none());
    assert!(import.full_input(charge).bundled().is_ok());
}

#[test]
fn a_document_needs_no_other_files_unless_it_says_so() {
    for Kept { name, bytes, .. } in all() {
        assert_eq!(openapi::needs(bytes, &Default::default()).unwrap(), Vec::<String>::new(), "{name}");
    }
}
