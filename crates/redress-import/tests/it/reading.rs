//! Documents that are written in every way that people write them.

use std::collections::BTreeMap;

use redress_contract::{Effect, Kind, Shape};
use redress_import::{BodyKind, Place, ReadError, ReadOptions, Serialization, StatusPattern, Style, openapi};
use serde_json::json;

use crate::documents::{operation, read, with_paths};

#[test]
fn values_of_yaml_are_what_they_look_like() {
    let import = with_paths(
        "/a:\n  get:\n    parameters:\n      - {name: ratio, in: query, schema: {type: string, enum: [4_3, 16_9, ON, NO, 090, y, n]}}\n    responses:\n      200: {description: fine}\n      404: {description: not there}",
    );
    let operation = &import.operations[0].operation;
    let ratio = operation.input().property("ratio").unwrap();
    assert_eq!(ratio["enum"], json!(["4_3", "16_9", "ON", "NO", "090", "y", "n"]));
    assert!(operation.failure("HTTP_404").is_some());
}

#[test]
fn what_one_reader_of_yaml_refuses_the_other_reads() {
    // A tab alone in the first line of a block scalar, which libyaml does not take.
    let document = "openapi: 3.0.0\ninfo:\n  title: a\n  version: '1'\n  description: |-\n    \t\n    last\npaths:\n  /a:\n    get:\n      responses:\n        200: {description: ok}\n";
    assert_eq!(read(document).operations.len(), 1);
    let controls = "openapi: 3.0.0\ninfo: {title: a, version: '1', description: \"a\u{80}b\"}\npaths: {/a: {get: {responses: {}}}}";
    assert_eq!(read(controls).description.as_deref(), Some("a\u{fffd}b"));
    let anchored = "openapi: 3.0.0\ninfo: {title: a, version: '1'}\nx-shared: &shared\n  401: {description: who are you}\npaths:\n  /a:\n    get:\n      responses:\n        <<: *shared\n        200: {description: ok}\n";
    assert!(read(anchored).operations[0].operation.failure("HTTP_401").is_some());
    let small = format!(
        "openapi: 3.1.0\ninfo: {{title: a, version: '1'}}\nx-small: {}\npaths: {{/a: {{get: {{responses: {{}}}}}}}}",
        i128::MIN / 4
    );
    assert_eq!(read(small).operations.len(), 1);
}

#[test]
fn references_are_followed_wherever_they_may_stand() {
    let import = read(
        r##"{"openapi": "3.1.0", "info": {"title": "a", "version": "1"}, "paths": {
        "/a/{id}": {"$ref": "#/components/pathItems/A"},
        "/b": {"post": {"requestBody": {"$ref": "#/components/requestBodies/B"}, "responses": {"200": {"$ref": "#/components/responses/Fine"}}}},
        "/c": {"get": {"responses": {"200": {"description": "", "content": {"application/json": {"schema":
            {"$ref": "#/paths/~1b/post/responses/200/content/application~1json/schema"}}}}}}}
    }, "components": {
        "pathItems": {"A": {"get": {"parameters": [{"$ref": "#/components/parameters/id"}], "responses": {"4XX": {"$ref": "#/components/responses/Bad"}}}}},
        "parameters": {"id": {"name": "id", "in": "path", "required": true, "schema": {"$ref": "#/components/schemas/Weird%20name/allOf/0"}}},
        "requestBodies": {"B": {"required": true, "content": {"application/json": {"schema": {"$ref": "#named"}}}}},
        "responses": {"Fine": {"$ref": "#/components/responses/Fine2"}, "Fine2": {"description": "", "content": {"application/json": {"schema": {"type": "array"}}}},
            "Bad": {"description": "no", "content": {"application/problem+json": {}}}},
        "schemas": {"Weird name": {"allOf": [{"type": "integer"}]}, "N": {"$anchor": "named", "type": "object", "properties": {"x": {"type": "string"}}}}
    }}"##,
    );
    assert!(import.warnings.is_empty(), "{:?}", import.warnings);
    let a = operation(&import, "a.get_a_by_id");
    assert_eq!(a.operation.input().property("id"), Some(&json!({"type": "integer"})));
    assert_eq!(a.responses[0].content[0].kind, BodyKind::Problem);
    assert_eq!(a.responses[0].status, StatusPattern::Range(4));
    let b = operation(&import, "b.post_b");
    assert_eq!(b.operation.input().properties().collect::<Vec<_>>(), ["x"]);
    assert_eq!(b.operation.output().as_value(), &json!({"type": "array"}));
    assert_eq!(operation(&import, "c.get_c").operation.output().as_value(), &json!({"type": "array"}));
}

#[test]
fn files_beside_the_document_become_part_of_it() {
    let document = br##"{"openapi": "3.1.0", "info": {"title": "a", "version": "1"}, "paths": {"/a": {"$ref": "paths/a.yaml#/a"}}}"##;
    let mut files = BTreeMap::new();
    let bytes = |name: &str| -> Vec<u8> {
        match name {
            "paths/a.yaml" => b"a: {get: {responses: {200: {description: '', content: {application/json: {schema: {$ref: ../schemas.json#/T}}}}, 404: {$ref: '#/missing'}}}}\nmissing: {description: gone}".to_vec(),
            "schemas.json" => br##"{"T": {"type": "object", "properties": {"u": {"$ref": "#/U"}}}, "U": {"type": "boolean"}}"##.to_vec(),
            other => panic!("{other}"),
        }
    };
    loop {
        let needed = openapi::needs(document, &files).unwrap();
        if needed.is_empty() {
            break;
        }
        files.extend(needed.into_iter().map(|name| (name.clone(), bytes(&name))));
    }
    assert_eq!(files.len(), 2);
    let import = openapi::read(document, &ReadOptions { files, ..ReadOptions::default() }).unwrap();
    assert_eq!((import.operations.len(), import.warnings.len()), (1, 0), "{:?}", import.warnings);
    let one = &import.operations[0].operation;
    assert_eq!(one.output().as_value(), &json!({"type": "object", "properties": {"u": {"type": "boolean"}}}));
    assert_eq!(one.failure("HTTP_404").unwrap().when(), "gone");
    // It stands on its own when it is written again.
    let again = read(openapi::to_openapi(&import).to_json());
    assert_eq!(again.operations[0].operation, *one);
    let without = read(document);
    assert_eq!(without.skipped.len(), 1);
    assert!(without.skipped[0].reason.contains("a file that was not given"), "{:?}", without.skipped);
}

#[test]
fn one_odd_place_costs_one_operation_at_the_most() {
    let import = with_paths(
        "/a:\n  get: 7\n  post: {responses: {200: {description: ok}}}\n/b: nonsense\n/c: {$ref: '#/nowhere'}\n/d:\n  get:\n    parameters: [7, {name: x}, {$ref: '#/nowhere'}, {name: q, in: query, schema: 5}]\n    requestBody: {$ref: '#/nowhere'}\n    responses:\n      200: {$ref: '#/nowhere'}\n      error: {description: what}\n      4xx: {description: bad}\n/e/{id}:\n  get: {responses: null}",
    );
    let names: Vec<&str> = import.operations.iter().map(|one| one.operation.name().as_str()).collect();
    assert_eq!(names, ["a.post_a", "d.get_d", "e.get_e_by_id"]);
    let skipped: Vec<String> = import
        .skipped
        .iter()
        .map(|one| format!("{} {} {}: {}", one.method, one.path, one.pointer, one.reason))
        .collect();
    assert_eq!(
        skipped,
        [
            "GET /a /paths/~1a/get: the operation is no object",
            "* /b /paths/~1b: the path is no object",
            "* /c /paths/~1c: the reference `#/nowhere` leads to nothing",
        ]
    );
    let d = operation(&import, "d.get_d");
    assert_eq!(d.operation.input().properties().collect::<Vec<_>>(), ["body", "q"]);
    assert!(d.operation.failure("HTTP_4XX").is_some());
    let rules: Vec<&str> = import.warnings.iter().map(|warning| warning.rule.as_str()).collect();
    for rule in
        ["bad-parameter", "broken-reference", "bad-status", "bad-schema", "undeclared-parameter", "no-responses"]
    {
        assert!(rules.contains(&rule), "{rule} in {rules:?}");
    }
    assert!(import.warnings.iter().all(|warning| warning.pointer.starts_with('/')));
}

#[test]
fn all_places_and_styles_are_planned() {
    let import = with_paths(
        "/a/{id}/{tags}:\n  parameters:\n    - {name: id, in: path, required: true, schema: {type: string}}\n  post:\n    parameters:\n      - {name: tags, in: path, required: true, style: label, explode: true, schema: {type: array}}\n      - {name: id, in: query, schema: {type: integer}}\n      - {name: 'filter[name]', in: query, style: deepObject, explode: true, schema: {type: object}}\n      - {name: csv, in: query, explode: false, schema: {type: array}}\n      - {name: piped, in: query, style: pipeDelimited, schema: {type: array}}\n      - {name: raw, in: query, allowReserved: true, schema: {type: string}}\n      - {name: packed, in: query, content: {application/json: {schema: {type: object}}}}\n      - {name: X-Trace, in: header, schema: {type: string}}\n      - {name: Authorization, in: header, schema: {type: string}}\n      - {name: Idempotency-Key, in: header, schema: {type: string}}\n      - {name: session, in: cookie, schema: {type: string}}\n    requestBody: {required: true, content: {application/json: {schema: {type: object, required: [name], properties: {id: {type: string}, name: {type: string}}}}}}\n    responses: {200: {description: ok}}",
    );
    let one = &import.operations[0];
    let told: Vec<String> = one
        .request
        .fields
        .iter()
        .map(|field| {
            let how = match &field.serialization {
                Serialization::Style { style, explode, allow_reserved } => {
                    format!(
                        "{style:?}{}{}",
                        if *explode { " exploded" } else { "" },
                        if *allow_reserved { " reserved" } else { "" }
                    )
                }
                other @ (Serialization::Content { .. }
                | Serialization::Json
                | Serialization::File { .. }
                | Serialization::Text) => format!("{other:?}"),
            };
            format!(
                "{} = {:?} {}: {how}{}",
                field.field,
                field.place,
                field.name,
                if field.required { ", required" } else { "" }
            )
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    path.id = Path id: Simple, required
    tags = Path tags: Label exploded, required
    query.id = Query id: Form exploded
    filter_name = Query filter[name]: DeepObject exploded
    csv = Query csv: Form
    piped = Query piped: PipeDelimited
    raw = Query raw: Form exploded reserved
    packed = Query packed: Content { media_type: "application/json" }
    X-Trace = Header X-Trace: Simple
    session = Cookie session: Form exploded
    body.id = BodyMember id: Json
    name = BodyMember name: Json, required
    "#);
    assert_eq!(one.request.idempotency_header.as_deref(), Some("Idempotency-Key"));
    assert!(one.operation.takes_idempotency_key() && one.request.path == "/a/{id}/{tags}");
    let mut properties: Vec<&str> = one.operation.input().properties().collect();
    let mut fields: Vec<&str> = one.request.fields.iter().map(|field| field.field.as_str()).collect();
    properties.sort_unstable();
    fields.sort_unstable();
    assert_eq!(properties, fields);
}

#[test]
fn all_bodies_are_planned() {
    let body = |content: &str| {
        let import = with_paths(&format!(
            "/a:\n  post:\n    requestBody: {{required: true, content: {content}}}\n    responses: {{}}"
        ));
        import.operations[0].clone()
    };
    let json = body("{application/xml: {}, application/json: {schema: {type: array, items: {type: string}}}}");
    assert_eq!(json.request.body.as_ref().unwrap().media_type, "application/json");
    assert_eq!((json.request.fields[0].place, json.request.fields[0].field.as_str()), (Place::Body, "body"));
    let open = body(
        "{application/json: {schema: {type: object, properties: {a: {type: string}}, additionalProperties: true}}}",
    );
    assert!(open.request.body.as_ref().unwrap().rest && !open.operation.input().is_closed());
    let form = body(
        "{application/x-www-form-urlencoded: {schema: {type: object, properties: {a: {type: object}, b: {type: array}, c: {type: object}}}, encoding: {a: {style: deepObject, explode: true}}}}",
    );
    let how: Vec<&Serialization> = form.request.fields.iter().map(|field| &field.serialization).collect();
    assert_eq!(
        how,
        [
            &Serialization::Style { style: Style::DeepObject, explode: true, allow_reserved: false },
            &Serialization::Style { style: Style::Form, explode: true, allow_reserved: false },
            &Serialization::Content { media_type: "application/json".to_owned() },
        ]
    );
    let parts = body(
        "{multipart/form-data: {schema: {type: object, properties: {file: {type: string, format: binary}, files: {type: array, items: {type: string, format: binary}}, note: {type: string}, meta: {type: object}}}, encoding: {file: {contentType: 'image/png, image/jpeg'}}}}",
    );
    let how: Vec<(&str, &Serialization)> =
        parts.request.fields.iter().map(|field| (field.name.as_str(), &field.serialization)).collect();
    assert_eq!(
        how,
        [
            ("file", &Serialization::File { media_type: "image/png".to_owned() }),
            ("files", &Serialization::File { media_type: "application/octet-stream".to_owned() }),
            ("meta", &Serialization::Content { media_type: "application/json".to_owned() }),
            ("note", &Serialization::Text),
        ]
    );
    assert_eq!(
        parts.operation.input().property("files").unwrap()["items"]["properties"]["base64"]["contentEncoding"],
        "base64"
    );
    let text = body("{text/csv: {}}");
    assert_eq!(text.operation.input().property("body"), Some(&json!({"type": "string"})));
    let bytes = body("{image/png: {schema: {type: string, format: binary}}}");
    assert_eq!(bytes.request.fields[0].serialization, Serialization::File { media_type: "image/png".to_owned() });
}

#[test]
fn failures_mean_what_their_statuses_mean() {
    let import = with_paths(
        "/a:\n  post:\n    responses:\n      '200': {description: ok}\n      '400': {description: The name is taken by somebody else.}\n      '404': {description: x}\n      '408': {description: slow}\n      '429': {description: slow down, headers: {Retry-After: {schema: {type: integer}}, X-RateLimit-Reset: {}, Set-Cookie: {}}}\n      '500': {description: oops}\n      5xx: {description: worse}\n      '302': {description: elsewhere}\n      default: {description: anything}",
    );
    let one = &import.operations[0];
    let told: Vec<String> = one
        .operation
        .failures()
        .iter()
        .map(|failure| {
            format!(
                "{} {} {} {} {} {}: {}",
                failure.code(),
                failure.kind(),
                failure.http(),
                failure.effect().as_str(),
                if failure.retryable() { "retryable" } else { "-" },
                failure.recovery().unwrap().verb().as_str(),
                failure.recovery().unwrap().hint()
            )
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    HTTP_400 invalid_params 400 none - fix_input: Change the input so that the service takes it, then call again. The service says: The name is taken by somebody else.
    HTTP_404 not_found 404 none - fix_input: Look for what exists and name that instead.
    HTTP_408 timeout 408 unknown retryable wait: Wait a little while before the same call is made again.
    HTTP_429 rate_limited 429 none retryable wait: Wait as long as `retry_after_ms` says, or a minute, then make the same call. The service says: slow down.
    HTTP_500 internal 500 unknown - ask_user: Tell the user what `details` says; the service could not do it.
    HTTP_5XX unavailable 502 unknown retryable wait: Wait a little while before the same call is made again.
    HTTP_302 invalid_request 502 unknown - fix_input: Change the input so that the service takes it, then call again.
    HTTP_DEFAULT unknown 502 unknown - ask_user: Tell the user what `details` says; the service could not do it.
    ");
    let limited = one.response(429).unwrap();
    assert_eq!(limited.headers, ["retry-after", "x-ratelimit-reset"]);
    assert_eq!(one.operation.failure("HTTP_429").unwrap().retry_after(), Some("retry_after_ms"));
    for (status, code) in [(400, Some("HTTP_400")), (503, Some("HTTP_5XX")), (418, Some("HTTP_DEFAULT")), (200, None)] {
        assert_eq!(one.response(status).unwrap().code.as_ref().map(|code| code.as_str()), code, "{status}");
    }
    let import = with_paths("/a: {get: {responses: {200: {description: ok}, default: {description: no}}}}");
    let derived = import.operations[0].operation.failure("HTTP_503").unwrap();
    assert_eq!(derived.extends().iter().map(|code| code.as_str()).collect::<Vec<_>>(), ["HTTP_DEFAULT"]);
}

#[test]
fn shapes_come_from_methods_and_from_what_is_given() {
    let import = with_paths(
        "/q: {query: {responses: {}}, get: {responses: {200: {description: ok, content: {text/event-stream: {itemSchema: {type: object, properties: {data: {type: string}}}}}}}}}\n/m:\n  additionalOperations: {COPY: {responses: {}}}\n  post: {responses: {200: {description: ok, content: {application/json: {schema: {type: object}}, text/event-stream: {}}}}}\n/lines: {get: {responses: {200: {description: ok, content: {application/x-ndjson: {schema: {type: object, properties: {id: {}}}}}}}}}",
    );
    let shapes: Vec<(String, Shape)> = import
        .operations
        .iter()
        .map(|one| (format!("{} {}", one.request.method, one.request.path), one.operation.shape()))
        .collect();
    assert_eq!(
        shapes,
        [
            ("QUERY /q".to_owned(), Shape::Query),
            ("GET /q".to_owned(), Shape::Subscription),
            ("POST /m".to_owned(), Shape::Mutation),
            ("COPY /m".to_owned(), Shape::Mutation),
            ("GET /lines".to_owned(), Shape::Subscription),
        ]
    );
    assert_eq!(import.operations[1].operation.output().as_value()["properties"]["data"]["type"], "string");
}

#[test]
fn security_is_kept_as_it_is_meant() {
    let import = read(
        r#"{"openapi": "3.1.0", "info": {"title": "a", "version": "1"}, "security": [{"key": [], "oauth": ["read"]}, {}],
        "paths": {"/a": {"get": {"parameters": [{"name": "api_key", "in": "query", "schema": {"type": "string"}}], "responses": {}},
            "post": {"security": [], "responses": {}}, "put": {"security": [{"oauth": null}], "responses": {}}}},
        "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "query", "name": "api_key"},
            "oauth": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://a.test/token", "scopes": {"read": "Read."}}}},
            "odd": {"type": "magic"}}}}"#,
    );
    let all: Vec<usize> = import.operations.iter().map(|one| one.security.len()).collect();
    assert_eq!(all, [2, 0, 1]);
    assert_eq!(import.operations[0].security[0].schemes["oauth"], ["read"]);
    assert!(
        import.operations[0].security[1].schemes.is_empty()
            && import.operations[2].security[0].schemes["oauth"].is_empty()
    );
    // A key is the operator's: no caller gives it.
    assert!(import.operations[0].request.fields.is_empty());
    assert_eq!(import.security_schemes.len(), 2);
    assert_eq!(import.warnings[0].rule, "bad-security-scheme");
}

#[test]
fn a_default_alone_is_a_success_too() {
    let import = with_paths(
        "/a: {get: {responses: {default: {description: ok, content: {application/json: {schema: {type: object}}}}}}}",
    );
    let one = &import.operations[0];
    assert!(one.response(200).unwrap().is_success() && !one.response(500).unwrap().is_success());
    assert_eq!(one.operation.output().as_value(), &json!({"type": "object"}));
    let failure = one.operation.failure("HTTP_DEFAULT").unwrap();
    assert_eq!((failure.kind(), failure.http(), failure.effect()), (Kind::Unknown, 502, Effect::None));
}

#[test]
fn successes_that_are_none_are_proposed_where_the_document_shows_them() {
    let import = with_paths(
        "/ok: {post: {responses: {200: {description: ok, content: {application/json: {schema: {type: object, properties: {ok: {type: boolean}, error: {type: string}}}}}}}}}\n/example: {get: {responses: {200: {description: ok, content: {application/json: {examples: {bad: {value: {success: false, message: no}}}}}}}}}\n/graphql: {post: {responses: {200: {description: ok, content: {application/json: {schema: {type: object}}}}}}}\n/fine: {get: {responses: {200: {description: ok, content: {application/json: {schema: {type: object, properties: {ok: {type: boolean}}}}}}}}}",
    );
    let told: Vec<String> = redress_import::Report::of(&import).proposed_fails_when;
    assert_eq!(
        told,
        [
            r#"ok.post_ok: fails_when = [{ pointer = "/ok", is = false, code = "SERVICE_SAID_NO" }]"#,
            r#"example.get_example: fails_when = [{ pointer = "/success", is = false, code = "SERVICE_SAID_NO" }]"#,
            r#"graphql.post_graphql: fails_when = [{ pointer = "/errors", exists = true, code = "SERVICE_SAID_NO" }]"#,
        ]
    );
    assert_eq!(import.operations[1].proposed_fails_when[0].details, ["/message"]);
}

#[test]
fn what_is_no_document_says_why() {
    let refused = |document: &str| openapi::read(document.as_bytes(), &ReadOptions::default()).unwrap_err();
    for (document, wanted) in [
        ("", "not OpenAPI: it is no object"),
        ("[1]", "not OpenAPI: it is no object"),
        ("{}", "it has neither `openapi` nor `swagger`"),
        ("openapi: 4.0.0", "its version is `4.0.0`"),
        ("swagger: '1.2'", "its version is `1.2`"),
        ("{\"openapi\": \"3.0.0\", ", "neither JSON nor YAML"),
        ("openapi: 3.0.0\npaths: 7", "`paths` is no object"),
        ("a: b: c", "neither JSON nor YAML"),
    ] {
        let told = refused(document).to_string();
        assert!(told.contains(wanted), "{document}: {told}");
    }
    assert!(matches!(openapi::read(b"\xff\xfe", &ReadOptions::default()), Err(ReadError::Syntax { .. })));
}

#[test]
fn servers_and_their_variables_are_kept() {
    let import = read(
        r#"{"openapi": "3.0.0", "info": {"title": "a", "version": "1"}, "servers": [{"url": "https://{region}.a.test/{base}",
        "variables": {"region": {"default": "eu", "enum": ["eu", "us"]}}}], "paths": {"/a": {"servers": [{"url": "https://b.test"}], "get": {"responses": {}}},
        "/b": {"get": {"responses": {}}}}}"#,
    );
    assert_eq!(
        import.servers[0].address(&BTreeMap::from([("region".to_owned(), "us".to_owned())])),
        "https://us.a.test/{base}"
    );
    assert_eq!(import.operations[0].servers[0].url, "https://b.test");
    assert!(import.operations[1].servers.is_empty());
}
