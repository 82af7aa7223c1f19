//! A request made from its plan and an input: where each member goes, and nothing that a caller sends can go elsewhere.

mod body;
mod multipart;
mod style;

use redress_import::{Field, Place, RequestPlan, Serialization, Style};
use reqwest::{
    Method, Url,
    header::{ACCEPT, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue},
};
use serde_json::{Map, Value};

use style::{Allowed, encoded};

/// A request, ready to be sent any number of times.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<bytes::Bytes>,
}

/// A member of the input that cannot be sent as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the input cannot be sent: {expected}")]
pub(crate) struct Unsendable {
    /// Which member.
    pub(crate) field: String,
    /// What it has to be.
    pub(crate) expected: &'static str,
}

impl Unsendable {
    pub(super) fn new(field: &str, expected: &'static str) -> Unsendable {
        Unsendable { field: field.to_owned(), expected }
    }
}

/// Headers that belong to the connection, or that carry who calls: no member of an input sets one.
const RESERVED: [&str; 14] = [
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "forwarded",
];

/// The request that `plan` makes of `input`, below `base`.
pub(crate) fn build(plan: &RequestPlan, base: &Url, input: &Map<String, Value>) -> Result<Built, Unsendable> {
    let mut parts = Parts { headers: HeaderMap::new(), query: String::new(), cookies: String::new() };
    let mut path = plan.path.clone();
    for field in plan.fields.iter().chain(&plan.fixed) {
        let Some(value) = field.fixed.as_ref().or_else(|| input.get(&field.field)).filter(|value| !value.is_null())
        else {
            continue;
        };
        match field.place {
            Place::Path => path = path.replace(&format!("{{{}}}", field.name), &in_path(field, value)?),
            Place::Query => parts.in_query(field, value),
            Place::Querystring => parts.querystring(value),
            Place::Header => parts.header(field, value)?,
            Place::Cookie => parts.cookie(field, value),
            Place::BodyMember | Place::Body => {}
        }
    }
    // Two values in one segment may mean a folder together.
    let is_folder = |segment: &str| segment == "." || segment == "..";
    if path.split(['/', '?']).any(is_folder) && !plan.path.split(['/', '?']).any(is_folder) {
        return Err(Unsendable::new("", "values that do not make `.` or `..` of a part of the path"));
    }
    if !parts.cookies.is_empty() {
        let value = HeaderValue::from_str(&parts.cookies)
            .map_err(|_| Unsendable::new("", "cookies without control characters"))?;
        parts.headers.insert(COOKIE, value);
    }
    if let Ok(accept) = HeaderValue::from_str(&plan.accept.join(", "))
        && !plan.accept.is_empty()
    {
        parts.headers.insert(ACCEPT, accept);
    }
    let body = body::body(plan, input)?;
    let body = body.map(|(media_type, bytes)| {
        if let Ok(media_type) = HeaderValue::from_str(&media_type) {
            parts.headers.insert(CONTENT_TYPE, media_type);
        }
        bytes
    });
    let method = Method::from_bytes(plan.method.as_bytes()).unwrap_or(Method::GET);
    Ok(Built { method, url: below(base, &path, &parts.query), headers: parts.headers, body })
}

/// The address of `path` with `query`, below `base`. Neither can lead to another host.
fn below(base: &Url, path: &str, query: &str) -> Url {
    let mut url = base.clone();
    let joined = format!("{}/{}", base.path().trim_end_matches('/'), path.trim_start_matches('/'));
    // A document may write a query into its path.
    let (joined, fixed) = joined.split_once('?').unwrap_or((&joined, ""));
    url.set_path(joined);
    let query = [base.query().unwrap_or_default(), fixed, query];
    let query: Vec<&str> = query.into_iter().filter(|part| !part.is_empty()).collect();
    url.set_query((!query.is_empty()).then(|| query.join("&")).as_deref());
    url.set_fragment(None);
    url
}

/// What stands in the place of a parameter of the path. One that is nothing, or means a folder, would be another path.
fn in_path(field: &Field, value: &Value) -> Result<String, Unsendable> {
    let text = match &field.serialization {
        Serialization::Style { style, explode, allow_reserved } => {
            let allowed = if *allow_reserved { Allowed::ReservedInPath } else { Allowed::Unreserved };
            match style {
                Style::Label => style::label(value, *explode, allowed),
                Style::Matrix => style::matrix(&field.name, value, *explode, allowed),
                Style::Simple
                | Style::Form
                | Style::SpaceDelimited
                | Style::PipeDelimited
                | Style::DeepObject
                | Style::Cookie => style::simple(value, *explode, allowed),
            }
        }
        Serialization::Content { .. } | Serialization::Json => encoded(&value.to_string(), Allowed::Unreserved),
        Serialization::Text | Serialization::File { .. } => encoded(&style::text(value), Allowed::Unreserved),
    };
    match text.as_str() {
        "" => Err(Unsendable::new(&field.field, "a text that is not empty, since it is part of a path")),
        "." | ".." => Err(Unsendable::new(&field.field, "a text other than `.` and `..`, since it is part of a path")),
        _ => Ok(text),
    }
}

struct Parts {
    headers: HeaderMap,
    query: String,
    cookies: String,
}

impl Parts {
    fn in_query(&mut self, field: &Field, value: &Value) {
        let pairs = style::pairs(&field.name, value, &field.serialization);
        append(&mut self.query, &pairs, '&');
    }

    fn querystring(&mut self, value: &Value) {
        let pairs = match value {
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| style::form(name, value, true, Allowed::Unreserved))
                .collect::<Vec<_>>()
                .join("&"),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                encoded(&style::text(value), Allowed::Query)
            }
        };
        append(&mut self.query, &pairs, '&');
    }

    fn header(&mut self, field: &Field, value: &Value) -> Result<(), Unsendable> {
        let lower = field.name.to_ascii_lowercase();
        let Ok(name) = HeaderName::from_bytes(lower.as_bytes()) else { return Ok(()) };
        if RESERVED.contains(&lower.as_str()) {
            return Ok(());
        }
        let text = match &field.serialization {
            Serialization::Style { explode, .. } => style::simple(value, *explode, Allowed::All),
            Serialization::Content { .. } | Serialization::Json => value.to_string(),
            Serialization::Text | Serialization::File { .. } => style::text(value),
        };
        let visible = text.chars().all(|c| c == '\t' || !c.is_control());
        let value = HeaderValue::from_bytes(text.as_bytes()).ok().filter(|_| visible);
        let value = value
            .ok_or_else(|| Unsendable::new(&field.field, "a text without line breaks, since it is sent as a header"))?;
        self.headers.insert(name, value);
        Ok(())
    }

    fn cookie(&mut self, field: &Field, value: &Value) {
        let (text, delimiter) = match &field.serialization {
            Serialization::Style { style: Style::Cookie, explode, .. } => {
                (style::form(&field.name, value, *explode, Allowed::Cookie).replace('&', "; "), ' ')
            }
            Serialization::Style { explode, .. } => {
                (style::form(&field.name, value, *explode, Allowed::Unreserved), ' ')
            }
            Serialization::Content { .. } | Serialization::Json => {
                (format!("{}={}", field.name, encoded(&value.to_string(), Allowed::Unreserved)), ' ')
            }
            Serialization::Text | Serialization::File { .. } => {
                (format!("{}={}", field.name, encoded(&style::text(value), Allowed::Unreserved)), ' ')
            }
        };
        if !self.cookies.is_empty() {
            self.cookies.push(';');
            self.cookies.push(delimiter);
        }
        self.cookies.push_str(&text);
    }
}

fn append(to: &mut String, text: &str, delimiter: char) {
    if text.is_empty() {
        return;
    }
    if !to.is_empty() {
        to.push(delimiter);
    }
    to.push_str(text);
}

#[cfg(test)]
mod tests;
