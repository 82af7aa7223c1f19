//! Documents that nobody meant well: refused or bounded, never a hang.

use std::{
    fmt::Write,
    time::{Duration, Instant},
};

use redress_import::{Import, Limits, ReadError, ReadOptions, openapi};

/// How long any of them may take, on a slow machine without optimisation.
const MAX_LENGTH: Duration = Duration::from_secs(20);

#[track_caller]
fn read(document: &str) -> Result<Import, ReadError> {
    let begun = Instant::now();
    let read = openapi::read(document.as_bytes(), &ReadOptions::default());
    assert!(begun.elapsed() < MAX_LENGTH, "{:?}", begun.elapsed());
    read
}

fn document(components: &str) -> String {
    format!(
        r##"{{"openapi": "3.1.0", "info": {{"title": "a", "version": "1"}}, "paths": {{"/a": {{"get": {{"responses": {{"200": {{"description": "",
        "content": {{"application/json": {{"schema": {{"$ref": "#/components/schemas/S0"}}}}}}}}}}}}}}}}, "components": {{"schemas": {{{components}}}}}}}"##
    )
}

#[test]
fn what_nests_too_deep_is_refused() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for depth in [200, 100_000] {
            let nested = format!("{{\"openapi\": \"3.0.0\", \"x\": {}1{}}}", open.repeat(depth), close.repeat(depth));
            assert!(matches!(read(&nested), Err(ReadError::TooDeep { .. })), "{open} {depth}");
        }
    }
    for nested in [
        "x: ".to_owned() + &"[".repeat(100_000),
        "x: ".to_owned() + &"[a, ".repeat(30_000),
        "- ".repeat(50_000),
        "? ".repeat(20_000),
    ] {
        assert!(read(&nested).is_err());
    }
}

#[test]
fn aliases_that_multiply_are_refused() {
    let mut laughs = "openapi: 3.0.0\na0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..10 {
        let before = format!("*a{}", level - 1);
        writeln!(laughs, "a{level}: &a{level} [{}]", vec![before; 9].join(", ")).unwrap();
    }
    assert!(matches!(read(&laughs), Err(ReadError::TooManyValues { .. })), "{:?}", read(&laughs).err());
}

#[test]
fn references_that_multiply_are_cut() {
    let mut schemas = Vec::new();
    for level in 0..60 {
        let next = format!("{{\"$ref\": \"#/components/schemas/S{}\"}}", level + 1);
        schemas.push(format!(
            "\"S{level}\": {{\"type\": \"object\", \"allOf\": [{next}, {next}], \"properties\": {{\"a\": {next}, \"b\": {next}, \"c\": {{\"oneOf\": [{next}, {next}]}}}}}}"
        ));
    }
    schemas.push("\"S60\": {\"type\": \"string\"}".to_owned());
    let import = read(&document(&schemas.join(","))).unwrap();
    assert!(import.operations[0].operation.output().as_value().to_string().len() <= 3 << 10);
    assert!(import.full_output(&import.operations[0]).as_value().to_string().len() < 40_000);
}

#[test]
fn references_that_lead_in_a_circle_end() {
    for circle in [
        r##""S0": {"$ref": "#/components/schemas/S0"}"##,
        r##""S0": {"$ref": "#/components/schemas/S1"}, "S1": {"$ref": "#/components/schemas/S0", "description": "x"}"##,
        r##""S0": {"allOf": [{"$ref": "#/components/schemas/S0"}, {"$ref": "#/components/schemas/S0"}]}"##,
        r##""S0": {"anyOf": [{"$ref": "#/components/schemas/S0"}, {"$ref": "#/components/schemas/S0"}]}"##,
        r##""S0": {"type": "array", "items": {"$ref": "#/components/schemas/S0"}}"##,
        r##""S0": {"not": {"$ref": "#/components/schemas/S0"}}"##,
    ] {
        let import = read(&document(circle)).unwrap();
        assert_eq!(import.operations.len(), 1, "{circle}");
        assert!(import.full_output(&import.operations[0]).bundled().is_ok(), "{circle}");
    }
    let paths = r##"{"openapi": "3.1.0", "paths": {"/a": {"$ref": "#/paths/~1b"}, "/b": {"$ref": "#/paths/~1a"}}}"##;
    assert_eq!(read(paths).unwrap().skipped.len(), 2);
}

#[test]
fn what_is_huge_is_cut() {
    let values: Vec<String> = (0..200_000).map(|number| format!("\"value-{number}\"")).collect();
    let many =
        format!("\"S0\": {{\"type\": \"object\", \"properties\": {{\"a\": {{\"enum\": [{}]}}}}}}", values.join(","));
    let import = read(&document(&many)).unwrap();
    assert!(import.operations[0].operation.output().as_value().to_string().len() <= 3 << 10);
    let members: Vec<String> =
        (0..50_000).map(|number| format!("\"m{number}\": {{\"type\": \"string\", \"readOnly\": true}}")).collect();
    let names: Vec<String> = (0..50_000).map(|number| format!("\"m{number}\"")).collect();
    let wide = format!(
        "\"S0\": {{\"type\": \"object\", \"required\": [{}], \"properties\": {{{}}}}}",
        names.join(","),
        members.join(",")
    );
    let import = read(&document(&wide)).unwrap();
    assert!(import.operations[0].operation.output().as_value().to_string().len() <= 3 << 10);
    let branches: Vec<String> = (0..20_000).map(|number| format!("{{\"const\": {number}}}")).collect();
    let import = read(&document(&format!("\"S0\": {{\"oneOf\": [{}]}}", branches.join(",")))).unwrap();
    assert_eq!(import.operations.len(), 1);
    let long = format!(
        "\"S0\": {{\"type\": \"string\", \"description\": \"{}\", \"pattern\": \"{}\"}}",
        "x".repeat(1 << 20),
        "(a+)+".repeat(50_000)
    );
    assert_eq!(read(&document(&long)).unwrap().operations.len(), 1);
}

#[test]
fn more_operations_or_bytes_than_are_read_are_refused() {
    let mut paths = String::new();
    for number in 0..3_000 {
        write!(paths, "{}\"/p{number}\": {{\"get\": {{}}}}", if number == 0 { "" } else { "," }).unwrap();
    }
    let document = format!("{{\"openapi\": \"3.0.0\", \"paths\": {{{paths}}}}}");
    assert_eq!(read(&document).unwrap().operations.len(), 3_000);
    let limits =
        |limits| openapi::read(document.as_bytes(), &ReadOptions { limits, ..ReadOptions::default() }).unwrap_err();
    assert_eq!(limits(Limits { operations: 100, ..Limits::default() }), ReadError::TooManyOperations { max: 100 });
    assert_eq!(limits(Limits { values: 100, ..Limits::default() }), ReadError::TooManyValues { max: 100 });
    assert!(matches!(limits(Limits { bytes: 100, ..Limits::default() }), ReadError::TooLarge { max: 100, .. }));
}

#[test]
fn one_operation_with_very_much_in_it_is_bounded() {
    let parameters: Vec<String> = (0..20_000)
        .map(|number| format!("{{\"name\": \"p{number}\", \"in\": \"query\", \"schema\": {{\"type\": \"string\"}}}}"))
        .collect();
    let statuses: Vec<String> = (100..1000).map(|status| format!("\"{status}\": {{\"description\": \"x\"}}")).collect();
    let path = format!("/{}", "{a}".repeat(100_000));
    let document = format!(
        "{{\"openapi\": \"3.0.0\", \"paths\": {{\"/a\": {{\"get\": {{\"parameters\": [{}], \"responses\": {{{}}}}}}}, \"{path}\": {{\"get\": {{}}}}}}}}",
        parameters.join(","),
        statuses.join(",")
    );
    let import = read(&document).unwrap();
    assert_eq!((import.operations.len(), import.skipped.len()), (1, 1));
    let operation = &import.operations[0];
    assert_eq!(operation.operation.failures().len(), 800);
    assert!(operation.operation.input().as_value().to_string().len() <= 6 << 10);
    assert_eq!(operation.request.fields.len(), 20_000);
}
