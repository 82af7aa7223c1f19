//! Overlays: a document changed before it is read.

use redress_import::{Import, Overlay, OverlayError, ReadError, ReadOptions, openapi};

const DOCUMENT: &str = r#"{"openapi": "3.1.0", "info": {"title": "Shop", "version": "1"}, "tags": [{"name": "a"}], "paths": {
    "/a": {"get": {"summary": "first", "tags": ["x"], "deprecated": true, "responses": {"200": {"description": "ok"}}}},
    "/b": {"get": {"summary": "second", "x-internal": true, "responses": {"200": {"description": "ok"}}}},
    "/c": {"get": {"summary": "third", "x-internal": true, "responses": {"200": {"description": "ok"}}}}}}"#;

fn changed(actions: &str) -> Result<Import, Box<dyn std::error::Error>> {
    let overlay =
        Overlay::parse(format!("overlay: 1.1.0\ninfo: {{title: t, version: '1'}}\nactions:\n{actions}").as_bytes())?;
    Ok(openapi::read(DOCUMENT.as_bytes(), &ReadOptions { overlays: vec![overlay], ..ReadOptions::default() })?)
}

#[test]
fn actions_update_copy_and_remove() {
    let import = changed(concat!(
        "  - {target: '$.paths[?@.get[\"x-internal\"] == true]', remove: true}\n",
        "  - {target: \"$.paths['/a'].get\", update: {summary: better, tags: [y], responses: {'404': {description: gone}}}}\n",
        "  - {target: $.info.title, update: Other}\n",
        "  - {target: $.tags, update: {name: b}}\n",
        "  - {target: $.paths, update: {/d: {}}}\n",
        "  - {target: \"$.paths['/d']\", copy: \"$.paths['/a']\"}\n",
        "  - {target: $..deprecated, remove: true}\n",
        "  - {target: $.nothing, remove: true}\n",
    ))
    .unwrap();
    let told: Vec<String> = import
        .operations
        .iter()
        .map(|one| {
            format!(
                "{} {} {:?} {}",
                one.request.path,
                one.operation.summary(),
                one.operation.tags(),
                one.operation.failures().len()
            )
        })
        .collect();
    assert_eq!(told, [r#"/a better ["x", "y"] 1"#, r#"/d better ["x", "y"] 1"#]);
    assert_eq!(import.title, "Other");
    assert!(import.operations.iter().all(|one| one.operation.deprecated().is_none()));
    assert_eq!(import.warnings.len(), 1);
    assert_eq!(import.warnings[0].rule, "idle-overlay");
}

#[test]
fn what_cannot_be_applied_says_which_action() {
    let told = |actions: &str| changed(actions).map(|_| ()).unwrap_err().to_string();
    assert!(told("  - {target: '$.[', remove: true}").contains("action 1"));
    let misfit = changed("  - {target: \"$.paths['/a']\", update: 7}").unwrap_err();
    let misfit = misfit.downcast::<ReadError>().unwrap();
    assert!(
        matches!(*misfit, ReadError::Overlay(OverlayError::Misfit { action: 1, ref pointer }) if pointer == "/paths/~1a")
    );
    let copy = changed("  - {target: $.info, copy: '$.paths.*'}").unwrap_err().downcast::<ReadError>().unwrap();
    assert!(matches!(*copy, ReadError::Overlay(OverlayError::Copy { action: 1, found: 3 })));
    assert!(matches!(Overlay::parse(b"overlay: 2.0.0\nactions: []"), Err(OverlayError::NotAnOverlay { .. })));
    assert!(matches!(Overlay::parse(b"{"), Err(OverlayError::Unreadable(_))));
    let deep = format!("  - {{target: '$[?{}@.a{}]', remove: true}}", "(".repeat(900), ")".repeat(900));
    assert!(told(&deep).contains("nest too deep"));
}
