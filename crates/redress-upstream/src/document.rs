//! Documents that are got from an address which an operator has named: whole, bounded, and only if they have changed.

use std::time::Duration;

use reqwest::{
    Client, StatusCode, Url,
    header::{ACCEPT, ETAG, HeaderMap, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, LOCATION},
};

use crate::{UpstreamConfig, UpstreamError, address::is_same_origin, client};

/// How many redirects are followed, all of them to the same host.
const MAX_HOPS: usize = 5;
/// How long a document may take, all redirects together.
const PATIENCE: Duration = Duration::from_secs(20);

/// By what a server knows whether a document has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentTag {
    etag: Option<HeaderValue>,
    modified: Option<HeaderValue>,
}

/// Gets a document from an address that an operator has named.
///
/// The address may be anywhere, since it is the operator's own word; a redirect is followed to the same host alone, no proxy of
/// the environment is used, and nothing is sent along that anybody has to keep secret.
#[derive(Clone, Debug)]
pub struct DocumentFetch {
    client: Client,
    url: Url,
    max_bytes: usize,
}

/// Why a document could not be got.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentUnreachable {
    /// Nothing answers there, or what does breaks off.
    #[error("nothing answers there in time")]
    Unreachable,
    /// Something else than a document was answered.
    #[error("it answers {status}")]
    Status {
        /// With which status.
        status: u16,
    },
    /// It is larger than documents may be.
    #[error("it has more than {max_bytes} bytes")]
    TooLarge {
        /// How large that is.
        max_bytes: usize,
    },
    /// It is somewhere else, and nobody has named that address.
    #[error("it is redirected to another host, or too often")]
    Elsewhere,
}

impl DocumentFetch {
    /// What gets the document at `url`, if it has at most `max_bytes`.
    pub fn new(url: &str, max_bytes: usize) -> Result<DocumentFetch, UpstreamError> {
        let unsafe_address = || UpstreamError::AddressUnsafe { address: client::shown(url) };
        let parsed = Url::parse(url).map_err(|_| unsafe_address())?;
        let plain = parsed.username().is_empty() && parsed.password().is_none();
        if !plain || !matches!(parsed.scheme(), "http" | "https") || !parsed.has_host() {
            return Err(unsafe_address());
        }
        let host = parsed.host_str().unwrap_or_default().to_owned();
        let client = client::for_documents(&UpstreamConfig::new("document"), &[host])?;
        Ok(DocumentFetch { client, url: parsed, max_bytes })
    }

    /// The address without what may be secret in it.
    pub fn address(&self) -> String {
        client::shown(self.url.as_str())
    }

    /// The document and its tag; nothing where it is still the one that `known` is of.
    pub async fn get(&self, known: &DocumentTag) -> Result<Option<(Vec<u8>, DocumentTag)>, DocumentUnreachable> {
        match tokio::time::timeout(PATIENCE, self.got(known)).await {
            Ok(got) => got,
            Err(_) => Err(DocumentUnreachable::Unreachable),
        }
    }

    async fn got(&self, known: &DocumentTag) -> Result<Option<(Vec<u8>, DocumentTag)>, DocumentUnreachable> {
        let mut url = self.url.clone();
        for _ in 0..=MAX_HOPS {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static("application/json, application/yaml, */*;q=0.5"));
            let conditions = [(IF_NONE_MATCH, &known.etag), (IF_MODIFIED_SINCE, &known.modified)];
            headers.extend(conditions.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
            let answered = self.client.get(url.clone()).headers(headers).send().await;
            let response = answered.map_err(|_| DocumentUnreachable::Unreachable)?;
            let status = response.status();
            if status == StatusCode::NOT_MODIFIED {
                return Ok(None);
            }
            if status.is_redirection() {
                let said = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
                let target =
                    said.and_then(|said| url.join(said).ok()).filter(|target| is_same_origin(target, &self.url));
                url = target.ok_or(DocumentUnreachable::Elsewhere)?;
                continue;
            }
            if !status.is_success() {
                return Err(DocumentUnreachable::Status { status: status.as_u16() });
            }
            let tag = DocumentTag {
                etag: response.headers().get(ETAG).cloned(),
                modified: response.headers().get(LAST_MODIFIED).cloned(),
            };
            return Ok(Some((self.body(response).await?, tag)));
        }
        Err(DocumentUnreachable::Elsewhere)
    }

    async fn body(&self, mut response: reqwest::Response) -> Result<Vec<u8>, DocumentUnreachable> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|_| DocumentUnreachable::Unreachable)? {
            if bytes.len() + chunk.len() > self.max_bytes {
                return Err(DocumentUnreachable::TooLarge { max_bytes: self.max_bytes });
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }
}
