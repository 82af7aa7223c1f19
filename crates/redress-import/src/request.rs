//! How an operation of a document is asked for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How one operation is asked for: where each member of its input goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestPlan {
    /// The method, as it is sent.
    pub method: String,
    /// The path below the server's address, with `{name}` where a field of [`Place::Path`] goes. A fragment that tells two
    /// operations of one path apart is not part of it.
    pub path: String,
    /// Where the members of the input go. The order is that in which they are written.
    pub fields: Vec<Field>,
    /// What is sent as the body, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyPlan>,
    /// The header that takes an idempotency key, where the document declares one. It is no member of the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_header: Option<String>,
    /// What is sent whatever the caller says, by the wire names of [`fixed`](Field::fixed) fields: none of these is a
    /// member of the input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<Field>,
    /// Members of the input that make the answer smaller, such as `limit` or `fields`, the most telling first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub narrowing: Vec<String>,
    /// What to send as `Accept`, the most wanted first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept: Vec<String>,
}

impl RequestPlan {
    /// Whether the same request may be sent again without changing more than it did the first time (RFC 9110, 9.2.2).
    pub fn is_idempotent(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE" | "QUERY")
    }
}

/// Where one member of the input goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// The member of the input. A name that models or hosts could not write is spelled with plain letters here.
    pub field: String,
    /// What it is called on the wire.
    pub name: String,
    /// Where it goes.
    pub place: Place,
    /// Whether the request cannot do without it.
    pub required: bool,
    /// How its value is written.
    pub serialization: Serialization,
    /// The value that is sent whatever the caller says; only in [`RequestPlan::fixed`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Value>,
}

/// A place in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The path.
    Path,
    /// The query.
    Query,
    /// The query, all of it: the value is the query string (OpenAPI 3.2).
    Querystring,
    /// A header.
    Header,
    /// A cookie.
    Cookie,
    /// A member of the body: of its JSON object, form or multipart body.
    BodyMember,
    /// The body, all of it.
    Body,
}

/// How a value is written in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Serialization {
    /// In one of the styles of OpenAPI.
    Style {
        /// Which.
        style: Style,
        /// Whether the items of an array, or the members of an object, are written one by one.
        explode: bool,
        /// Whether reserved characters are sent as they are.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        allow_reserved: bool,
    },
    /// As a text of this media type; JSON wherever it ends in `json`.
    Content {
        /// Which.
        media_type: String,
    },
    /// As the JSON value that it is, in a JSON body.
    Json,
    /// As a file: the value is an object with `text` or `base64`, and maybe `filename` and `media_type`.
    File {
        /// The media type, unless the value names one.
        media_type: String,
    },
    /// As the text that it is.
    Text,
}

/// The styles of OpenAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Style {
    /// `/a,b`
    Simple,
    /// `/.a.b`
    Label,
    /// `/;name=a,b`
    Matrix,
    /// `name=a&name=b`
    Form,
    /// `name=a%20b`
    SpaceDelimited,
    /// `name=a|b`
    PipeDelimited,
    /// `name[member]=a`
    DeepObject,
    /// `name=a` in `Cookie`, with nothing escaped (OpenAPI 3.2).
    Cookie,
}

/// What is sent as the body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BodyPlan {
    /// The media type, as it is sent.
    pub media_type: String,
    /// Whether there has to be one. A body of members is sent, if empty, where it has to be.
    pub required: bool,
    /// Whether it is made of the fields of [`Place::BodyMember`]; else it is the field of [`Place::Body`].
    pub of_members: bool,
    /// Whether members of the input that no field names go into the body as they are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rest: bool,
    /// Headers of the parts of a multipart body that the document fixes, by part.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub part_media_types: BTreeMap<String, String>,
}
