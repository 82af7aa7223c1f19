//! Documents that a reader has already: entity tags and `If-None-Match` (RFC 9110).
//!
//! A tag is a hash of the document's bytes, so it is strong, the same on every node, and another one as soon as anything
//! of the document is. What a document says depends on who asks, so no cache keeps one for several readers.
//!
//! Why so: docs/decisions/0066-tags-of-documents.md.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use crate::request::response;

/// How many bytes of the hash a tag shows.
const SHOWN: usize = 16;
/// What stands behind the tag of a document that was compressed: its bytes are others.
const ENCODINGS: [&str; 2] = ["gzip", "br"];
/// Whose document it is, whatever stands between: it may be kept, and is asked for again before it is used.
const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-cache");

/// The bytes of a document and their tag.
#[derive(Clone, Debug)]
pub(crate) struct TaggedDocument {
    bytes: Bytes,
    /// The tag without its quotes.
    tag: Box<str>,
}

impl TaggedDocument {
    /// Hashes the bytes, which takes as long as they are many.
    pub(crate) fn new(bytes: impl Into<Bytes>) -> TaggedDocument {
        let bytes = bytes.into();
        let hash = Sha256::digest(&bytes);
        let tag = redress_core::hex(&hash[..SHOWN]).into();
        TaggedDocument { bytes, tag }
    }

    /// The bytes alone.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The same document in other bytes: with what holds room for them, or as a part of a message that has no tag.
    pub(crate) fn map(self, bytes: impl FnOnce(Bytes) -> Bytes) -> TaggedDocument {
        TaggedDocument { bytes: bytes(self.bytes), ..self }
    }

    /// The document, or that its reader has it already. `vary` names the headers that another document depends on.
    pub(crate) fn answer(self, asked: &HeaderMap, media: HeaderValue, vary: &'static str) -> Response {
        let mut response = match self.held_by(asked) {
            Some(held) => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::NOT_MODIFIED;
                insert(response.headers_mut(), &held);
                response
            }
            None => {
                let mut response = response::body(StatusCode::OK, media, self.bytes);
                insert(response.headers_mut(), &self.tag);
                response
            }
        };
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, PRIVATE);
        headers.insert(header::VARY, HeaderValue::from_static(vary));
        response
    }

    /// The tag under which the reader has the document, if it does: its own, or that of one of its encodings.
    fn held_by(&self, asked: &HeaderMap) -> Option<String> {
        let said = asked.get_all(header::IF_NONE_MATCH).iter().filter_map(|said| said.to_str().ok());
        said.flat_map(|said| said.split(',')).find_map(|said| {
            let said = said.trim();
            if said == "*" {
                return Some(self.tag.to_string());
            }
            // A cache on the way may have weakened the tag, and here that makes no difference.
            let quoted = said.strip_prefix("W/").unwrap_or(said);
            let tag = quoted.strip_prefix('"')?.strip_suffix('"')?;
            let rest = tag.strip_prefix(&*self.tag)?;
            let known = rest.is_empty() || rest.strip_prefix('-').is_some_and(|rest| ENCODINGS.contains(&rest));
            known.then(|| tag.to_owned())
        })
    }
}

/// Gives the compressed bytes of a document a tag of their own.
#[cfg(feature = "compression")]
pub(crate) fn encoded(response: &mut Response) {
    let headers = response.headers_mut();
    let (Some(tag), Some(encoding)) = (headers.get(header::ETAG), headers.get(header::CONTENT_ENCODING)) else {
        return;
    };
    let (Ok(tag), Ok(encoding)) = (tag.to_str(), encoding.to_str()) else { return };
    if let Some(encoding) = ENCODINGS.iter().find(|known| encoding.eq_ignore_ascii_case(known)) {
        let tag = format!("{}-{encoding}", tag.trim_matches('"'));
        insert(headers, &tag);
    }
}

fn insert(headers: &mut HeaderMap, tag: &str) {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{tag}\"")) {
        headers.insert(header::ETAG, tag);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(said: &[&str]) -> Option<String> {
        let mut asked = HeaderMap::new();
        for said in said {
            asked.append(header::IF_NONE_MATCH, HeaderValue::from_str(said).unwrap());
        }
        TaggedDocument::new("a document").held_by(&asked)
    }

    #[test]
    fn a_reader_has_the_document_by_its_tag_in_any_of_the_ways_to_say_so() {
        let tag = TaggedDocument::new("a document").tag;
        assert_eq!(tag.len(), 2 * SHOWN);
        let own = format!("\"{tag}\"");
        for said in [&*own, &format!("W/{own}"), &format!("\"x\",{own}"), &format!(" \"x\" ,\t{own} "), "*"] {
            assert_eq!(held(&[said]).as_deref(), Some(&*tag), "{said}");
        }
        assert_eq!(held(&["\"x\"", &own]).as_deref(), Some(&*tag));
        assert_eq!(held(&[&format!("\"{tag}-br\"")]), Some(format!("{tag}-br")));
        for said in
            ["", "\"\"", &tag, &format!("\"{tag}"), &format!("\"{tag}-xz\""), &format!("\"{tag}x\""), "\"x\"", "W/*"]
        {
            assert_eq!(held(&[said]), None, "{said}");
        }
        assert_eq!(held(&[]), None);
    }
}
