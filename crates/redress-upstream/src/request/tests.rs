use redress_import::{BodyPlan, Field, Place, RequestPlan, Serialization, Style};
use reqwest::Url;
use serde_json::{Value, json};

use super::{Built, Unsendable, build};

fn styled(style: Style, explode: bool) -> Serialization {
    Serialization::Style { style, explode, allow_reserved: false }
}

fn field(name: &str, place: Place, serialization: Serialization) -> Field {
    Field { field: name.to_owned(), name: name.to_owned(), place, required: false, serialization, fixed: None }
}

fn plan(method: &str, path: &str, fields: Vec<Field>) -> RequestPlan {
    RequestPlan {
        method: method.to_owned(),
        path: path.to_owned(),
        fields,
        body: None,
        idempotency_header: None,
        fixed: Vec::new(),
        narrowing: Vec::new(),
        accept: Vec::new(),
    }
}

fn made(plan: &RequestPlan, input: Value) -> Result<Built, Unsendable> {
    let base = Url::parse("https://api.example/v1").unwrap();
    build(plan, &base, input.as_object().unwrap())
}

fn url(plan: &RequestPlan, input: Value) -> String {
    made(plan, input).unwrap().url.to_string().replace("https://api.example/v1", "")
}

#[test]
fn every_style_of_a_path_is_written_as_openapi_shows_it() {
    let (array, object) = (json!(["blue", "black"]), json!({"R": 100, "G": 200}));
    for (style, explode, value, expected) in [
        (Style::Simple, false, json!("blue"), "/blue"),
        (Style::Simple, false, array.clone(), "/blue,black"),
        (Style::Simple, false, object.clone(), "/G,200,R,100"),
        (Style::Simple, true, object.clone(), "/G=200,R=100"),
        (Style::Label, false, json!("blue"), "/.blue"),
        (Style::Label, false, array.clone(), "/.blue,black"),
        (Style::Label, true, array.clone(), "/.blue.black"),
        (Style::Label, true, object.clone(), "/.G=200.R=100"),
        (Style::Matrix, false, json!("blue"), "/;c=blue"),
        (Style::Matrix, false, array.clone(), "/;c=blue,black"),
        (Style::Matrix, true, array.clone(), "/;c=blue;c=black"),
        (Style::Matrix, true, object.clone(), "/;G=200;R=100"),
    ] {
        let plan = plan("GET", "/{c}", vec![field("c", Place::Path, styled(style, explode))]);
        assert_eq!(url(&plan, json!({"c": value})), expected, "{style:?} {explode}");
    }
}

#[test]
fn every_style_of_a_query_is_written_as_openapi_shows_it() {
    let (array, object) = (json!(["blue", "black"]), json!({"R": 100, "G": 200}));
    for (style, explode, value, expected) in [
        (Style::Form, true, json!("bl ue&x=1"), "?c=bl%20ue%26x%3D1"),
        (Style::Form, true, json!(true), "?c=true"),
        (Style::Form, true, array.clone(), "?c=blue&c=black"),
        (Style::Form, false, array.clone(), "?c=blue,black"),
        (Style::Form, true, object.clone(), "?G=200&R=100"),
        (Style::Form, false, object.clone(), "?c=G,200,R,100"),
        (Style::SpaceDelimited, false, array.clone(), "?c=blue%20black"),
        (Style::PipeDelimited, false, array.clone(), "?c=blue%7Cblack"),
        (Style::DeepObject, true, object.clone(), "?c%5BG%5D=200&c%5BR%5D=100"),
        (
            Style::DeepObject,
            true,
            json!({"a": {"b": [1, 2]}, "i": [{"p": "x"}]}),
            "?c%5Ba%5D%5Bb%5D%5B%5D=1&c%5Ba%5D%5Bb%5D%5B%5D=2&c%5Bi%5D%5B0%5D%5Bp%5D=x",
        ),
    ] {
        let plan = plan("GET", "/", vec![field("c", Place::Query, styled(style, explode))]);
        assert_eq!(url(&plan, json!({"c": value})), format!("/{expected}"), "{style:?} {explode}");
    }
    let content = Serialization::Content { media_type: "application/json".to_owned() };
    let plan = plan("GET", "/", vec![field("f", Place::Query, content)]);
    assert_eq!(url(&plan, json!({"f": {"a": 1}})), "/?f=%7B%22a%22%3A1%7D");
    assert_eq!(url(&plan, json!({"f": null})), "/");
}

#[test]
fn nothing_in_a_path_leads_elsewhere() {
    let one = plan("GET", "/a/{c}/b", vec![field("c", Place::Path, styled(Style::Simple, false))]);
    for (value, path) in [
        ("../../admin", "/a/..%2F..%2Fadmin/b"),
        ("x?y=1#z", "/a/x%3Fy%3D1%23z/b"),
        ("@evil.example", "/a/%40evil.example/b"),
        ("//evil.example", "/a/%2F%2Fevil.example/b"),
        ("\\..\\x", "/a/%5C..%5Cx/b"),
        ("%2e%2e", "/a/%252e%252e/b"),
        ("{d}", "/a/%7Bd%7D/b"),
        ("...", "/a/.../b"),
        ("é", "/a/%C3%A9/b"),
    ] {
        assert_eq!(url(&one, json!({"c": value})), path, "{value}");
    }
    for value in ["", ".", ".."] {
        assert_eq!(made(&one, json!({"c": value})).unwrap_err().field, "c", "{value}");
    }
    let fields = ["c", "d"].map(|name| field(name, Place::Path, styled(Style::Simple, false)));
    let two = plan("GET", "/a/{c}{d}/b", fields.to_vec());
    assert!(made(&two, json!({"c": ".", "d": "."})).is_err());
    assert_eq!(url(&two, json!({"c": "x", "d": "y"})), "/a/xy/b");
}

#[test]
fn no_header_is_smuggled_in() {
    let fields = ["x-note", "Authorization", "Host", "Content-Length", "Cookie"]
        .map(|name| field(name, Place::Header, styled(Style::Simple, false)));
    let plan = plan("GET", "/", fields.to_vec());
    let built = made(
        &plan,
        json!({"x-note": ["a", "b"], "Authorization": "Bearer x", "Host": "evil", "Content-Length": 1, "Cookie": "a=b"}),
    );
    let names: Vec<String> = built.unwrap().headers.keys().map(ToString::to_string).collect();
    assert_eq!(names, ["x-note"]);
    for value in ["a\r\nx-evil: 1", "a\nb", "a\0b"] {
        assert_eq!(made(&plan, json!({"x-note": value})).unwrap_err().field, "x-note");
    }
}

#[test]
fn a_cookie_stays_one_cookie() {
    let plan = plan(
        "GET",
        "/",
        vec![
            field("a", Place::Cookie, styled(Style::Form, true)),
            field("b", Place::Cookie, styled(Style::Cookie, true)),
        ],
    );
    let built = made(&plan, json!({"a": "x; admin=1\r\n", "b": "y;z&admin=1"})).unwrap();
    assert_eq!(built.headers["cookie"], "a=x%3B%20admin%3D1%0D%0A; b=y%3Bz%26admin=1");
}

fn with_body(media_type: &str, of_members: bool, fields: Vec<Field>) -> RequestPlan {
    let body = BodyPlan {
        media_type: media_type.to_owned(),
        required: true,
        of_members,
        rest: false,
        part_media_types: Default::default(),
    };
    RequestPlan { body: Some(body), ..plan("POST", "/", fields) }
}

fn sent(plan: &RequestPlan, input: Value) -> (String, String) {
    let built = made(plan, input).unwrap();
    let media_type = built.headers["content-type"].to_str().unwrap().to_owned();
    (media_type, String::from_utf8(built.body.unwrap().to_vec()).unwrap())
}

#[test]
fn bodies_are_json_forms_text_or_bytes() {
    let member = |name: &str, how| field(name, Place::BodyMember, how);
    let json_body = with_body("application/json", true, vec![member("a", Serialization::Json)]);
    assert_eq!(sent(&json_body, json!({"a": {"b": null}})), ("application/json".into(), r#"{"a":{"b":null}}"#.into()));
    assert_eq!(sent(&json_body, json!({})).1, "{}");
    let form = with_body(
        "application/x-www-form-urlencoded",
        true,
        vec![member("a", styled(Style::Form, true)), member("b", styled(Style::DeepObject, true))],
    );
    assert_eq!(sent(&form, json!({"a": "x&y=1", "b": {"c": "d"}})).1, "a=x%26y%3D1&b%5Bc%5D=d");
    let whole = with_body("application/json", false, vec![field("body", Place::Body, Serialization::Json)]);
    assert_eq!(sent(&whole, json!({"body": [1, "x"]})).1, r#"[1,"x"]"#);
    let text = with_body("text/plain", false, vec![field("body", Place::Body, Serialization::Text)]);
    assert_eq!(sent(&text, json!({"body": "hello"})).1, "hello");
    let how = Serialization::File { media_type: "application/octet-stream".to_owned() };
    let file = with_body("application/octet-stream", false, vec![field("body", Place::Body, how)]);
    assert_eq!(
        sent(&file, json!({"body": {"base64": "aGk=", "media_type": "text/x"}})),
        ("text/x".into(), "hi".into())
    );
    assert!(made(&file, json!({"body": {"base64": "!"}})).is_err());
}

#[test]
fn parts_are_told_apart_and_no_name_ends_a_header() {
    let file = Serialization::File { media_type: "image/png".to_owned() };
    let plan = with_body(
        "multipart/form-data",
        true,
        vec![
            field("meta", Place::BodyMember, Serialization::Json),
            field("note", Place::BodyMember, Serialization::Text),
            field("file", Place::BodyMember, file),
        ],
    );
    let input = json!({
        "meta": {"a": 1},
        "note": "x",
        "file": [{"text": "one", "filename": "a\"b.png"}, {"base64": "dHdv", "filename": "c\r\nx: y"}],
    });
    let (media_type, body) = sent(&plan, input);
    let boundary = media_type.split_once("boundary=").unwrap().1;
    let parts: Vec<&str> = body.split(&format!("--{boundary}")).map(str::trim).collect();
    assert_eq!(
        parts[1],
        "content-disposition: form-data; name=\"meta\"\r\ncontent-type: application/json\r\n\r\n{\"a\":1}"
    );
    assert_eq!(parts[2], "content-disposition: form-data; name=\"note\"\r\n\r\nx");
    assert_eq!(
        parts[3],
        "content-disposition: form-data; name=\"file\"; filename=\"a%22b.png\"\r\ncontent-type: image/png\r\n\r\none"
    );
    // A file name with a line break is none.
    assert_eq!(
        parts[4],
        "content-disposition: form-data; name=\"file\"; filename=\"file\"\r\ncontent-type: image/png\r\n\r\ntwo"
    );
    assert_eq!(parts[5], "--");
}

#[test]
fn fixed_members_are_sent_whatever_the_caller_says() {
    let mut fixed = field("version", Place::Query, styled(Style::Form, true));
    fixed.fixed = Some(json!("2"));
    let mut plan = plan("GET", "/x?a=1", vec![]);
    plan.fixed.push(fixed);
    assert_eq!(url(&plan, json!({"version": "9"})), "/x?a=1&version=2");
}
