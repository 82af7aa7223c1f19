//! `[[upstream]]`: services with an OpenAPI document whose operations are served beside the others.

use std::{
    collections::BTreeMap,
    num::{NonZeroU32, NonZeroUsize},
    path::{Path, PathBuf},
    time::Duration,
};

use redress_contract::Name;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{ByteSize, Span};

const SHORTEST: Duration = Duration::from_millis(1);
const MAX_LENGTH: Duration = Duration::from_secs(24 * 3_600);

/// A service with an OpenAPI document.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct UpstreamTable {
    /// What it is called; it stands before the names of its operations: `shop` makes `shop.orders.get`.
    pub(crate) name: String,
    /// The OpenAPI document (2.0 to 3.2, JSON or YAML): a file, relative to the folder of this one, or an address.
    pub(crate) openapi: PathBuf,
    /// OpenAPI Overlay files (1.0 and 1.1) that change the document before it is read, in this order.
    pub(crate) overlays: Vec<PathBuf>,
    /// Where the service is, in the place of the first server of its document.
    pub(crate) url: Option<String>,
    /// How long one call may take, all tries together.
    pub(crate) deadline: Option<Span>,
    /// How many calls may be in flight at once; 64 where it is left out.
    pub(crate) max_in_flight: Option<NonZeroUsize>,
    /// How many requests may be sent in a second.
    pub(crate) rate: Option<NonZeroU32>,
    /// How often a call is sent again where that is safe; 2 where it is left out.
    pub(crate) retries: Option<u32>,
    /// The most bytes of an answer that are read; 16MiB where it is left out.
    pub(crate) max_response: Option<ByteSize>,
    /// Whether an answer that breaks its document is refused, and not delivered and marked.
    pub(crate) strict: bool,
    /// What is given for the security schemes of the document, by their names.
    pub(crate) credentials: BTreeMap<String, CredentialTable>,
    /// Successes of HTTP that are none.
    pub(crate) fails_when: Vec<FailsWhenTable>,
    /// What is said otherwise than the document does, for the operations that `operation` finds.
    #[serde(rename = "override")]
    pub(crate) overrides: Vec<Map<String, Value>>,
}

/// Where a secret comes from: one of the three.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table with `env`, `file` or `command`")]
pub(crate) struct SecretTable {
    /// An environment variable.
    pub(crate) env: Option<String>,
    /// A file, relative to the folder of this one.
    pub(crate) file: Option<PathBuf>,
    /// A program and its arguments, whose output it is.
    pub(crate) command: Option<Vec<String>>,
}

/// What is given for one security scheme: a secret (`env`, `file` or `command`), `user` and `password`, `client_id` and
/// `client_secret`, or `certificate` and `key`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct CredentialTable {
    /// The environment variable of the key or token.
    pub(crate) env: Option<String>,
    /// The file of the key or token, relative to the folder of this one.
    pub(crate) file: Option<PathBuf>,
    /// A program and its arguments, whose output is the key or token.
    pub(crate) command: Option<Vec<String>>,
    /// The user, for basic authentication.
    pub(crate) user: Option<SecretTable>,
    /// The password of the user.
    pub(crate) password: Option<SecretTable>,
    /// Who the gateway is to an authorization server.
    pub(crate) client_id: Option<SecretTable>,
    /// What proves it.
    pub(crate) client_secret: Option<SecretTable>,
    /// Where tokens are given.
    pub(crate) token_url: Option<String>,
    /// Who gives tokens, in the place of `token_url`.
    pub(crate) issuer: Option<String>,
    /// What the token is to be good for; what the operation asks for, where it is left out.
    pub(crate) scopes: Option<Vec<String>>,
    /// A client certificate, in PEM form.
    pub(crate) certificate: Option<PathBuf>,
    /// The key of the certificate, in PEM form.
    pub(crate) key: Option<PathBuf>,
}

/// A success that is none: what has to stand where.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct FailsWhenTable {
    /// Where to look in the body, as a JSON pointer (RFC 6901).
    pub(crate) pointer: String,
    /// The value that has to stand there.
    pub(crate) is: Option<Value>,
    /// Whether anything has to stand there.
    pub(crate) exists: Option<bool>,
    /// The regular expression that the text there has to match.
    pub(crate) matches: Option<String>,
    /// The code of the failure; SERVICE_SAID_NO where it is left out.
    pub(crate) code: Option<String>,
    /// The members of the body that are told, as JSON pointers; the whole body where there are none.
    pub(crate) details: Vec<String>,
}

impl UpstreamTable {
    /// The address of the document, where it is not a file.
    #[cfg_attr(not(feature = "gateway"), expect(dead_code, reason = "documents are read by the gateway"))]
    pub(crate) fn document_url(&self) -> Option<&str> {
        self.openapi.to_str().filter(|_| is_address(&self.openapi))
    }

    /// Every path in it, the document first.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        let credentials = self.credentials.values().flat_map(CredentialTable::paths);
        let document = Some(self.openapi.as_path()).filter(|path| !is_address(path));
        let overlays = self.overlays.iter().map(PathBuf::as_path);
        document.into_iter().chain(overlays).chain(credentials.map(PathBuf::as_path))
    }

    /// The files that say where requests go and with what, and that are not secret: whoever changed one would choose that.
    pub(crate) fn decisive(&self) -> impl Iterator<Item = &Path> {
        let document = Some(self.openapi.as_path()).filter(|path| !is_address(path));
        let programs = self.credentials.values().flat_map(CredentialTable::programs);
        document.into_iter().chain(self.overlays.iter().map(PathBuf::as_path)).chain(programs)
    }

    /// The files of its secrets.
    pub(crate) fn private(&self) -> impl Iterator<Item = &PathBuf> {
        self.credentials.values().flat_map(CredentialTable::paths)
    }

    pub(super) fn start_from(&mut self, folder: &Path) {
        let credentials = self.credentials.values_mut().flat_map(CredentialTable::paths_mut);
        let document = Some(&mut self.openapi).filter(|path| !is_address(path));
        for path in document.into_iter().chain(&mut self.overlays).chain(credentials) {
            *path = folder.join(&*path);
        }
    }

    /// What is wrong in it by itself; what the document makes of it is known once that is read.
    pub(super) fn wrong(&self) -> Option<String> {
        let name = self.name.escape_debug();
        if self.name.is_empty() {
            return Some("`upstream` needs a `name`, such as `shop`".to_owned());
        }
        if !is_prefix(&self.name) {
            return Some(format!(
                "the upstream `{name}` has no name that can stand before others: write a word of at most 24 lower-case letters, digits and `_`"
            ));
        }
        if self.openapi.as_os_str().is_empty() {
            return Some(format!("the upstream `{name}` needs `openapi`, the file of its document"));
        }
        if is_address(&self.openapi)
            && !self.openapi.to_str().and_then(|url| reqwest::Url::parse(url).ok()).is_some_and(|url| is_source(&url))
        {
            return Some(format!(
                "`openapi` of the upstream `{name}` is no address that a document is got from: expected a file, or one such as `https://api.example/openapi.json`, without a user"
            ));
        }
        if let Some(url) = &self.url
            && !reqwest::Url::parse(url).is_ok_and(|url| is_base(&url))
        {
            return Some(format!(
                "`url` of the upstream `{name}` is none that is called: expected one such as `https://api.example/v1`, without a user, a query or a fragment"
            ));
        }
        if self.deadline.is_some_and(|Span(time)| !(SHORTEST..=MAX_LENGTH).contains(&time)) {
            return Some(format!("`deadline` of the upstream `{name}` must be from `1ms` to `1day`"));
        }
        if self.retries.is_some_and(|retries| retries > 10) {
            return Some(format!("`retries` of the upstream `{name}` may be at most `10`"));
        }
        let scheme = self.credentials.iter().find_map(|(scheme, given)| Some((scheme, given.wrong()?)));
        if let Some((scheme, says)) = scheme {
            return Some(format!("the credentials `{}` of the upstream `{name}` {says}", scheme.escape_debug()));
        }
        let says = self.fails_when.iter().find_map(FailsWhenTable::wrong)?;
        Some(format!("`fails_when` of the upstream `{name}` {says}"))
    }
}

/// Whether a document is at an address, and not in a file.
pub(crate) fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.contains("://"))
}

/// Whether names of operations may begin with it, and leave room for the rest.
pub(crate) fn is_prefix(text: &str) -> bool {
    text.len() <= 24 && !text.contains('.') && Name::new(&format!("{text}.x")).is_ok()
}

fn is_source(url: &reqwest::Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host() && url.username().is_empty() && url.password().is_none()
}

fn is_base(url: &reqwest::Url) -> bool {
    let plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    matches!(url.scheme(), "http" | "https") && url.has_host() && url.password().is_none() && plain
}

impl SecretTable {
    fn is_one(&self) -> bool {
        let given = [self.env.is_some(), self.file.is_some(), self.command.is_some()];
        given.into_iter().filter(|given| *given).count() == 1
    }
}

impl CredentialTable {
    /// The programs that are asked for secrets.
    fn programs(&self) -> impl Iterator<Item = &Path> {
        let parts = [&self.user, &self.password, &self.client_id, &self.client_secret];
        let commands = parts.into_iter().flatten().filter_map(|part| part.command.as_ref());
        // A bare name is looked for where programs are installed.
        let named = commands.chain(&self.command).filter_map(|command| command.first());
        named.filter(|program| program.contains('/')).map(Path::new)
    }

    /// The secret that it is itself.
    pub(crate) fn secret(&self) -> SecretTable {
        SecretTable { env: self.env.clone(), file: self.file.clone(), command: self.command.clone() }
    }

    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        let deeper = [&self.user, &self.password, &self.client_id, &self.client_secret];
        let deeper = deeper.into_iter().flatten().filter_map(|secret| secret.file.as_ref());
        [&self.file, &self.certificate, &self.key].into_iter().flatten().chain(deeper)
    }

    fn paths_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let deeper = [&mut self.user, &mut self.password, &mut self.client_id, &mut self.client_secret];
        let deeper = deeper.into_iter().flatten().filter_map(|secret| secret.file.as_mut());
        [&mut self.file, &mut self.certificate, &mut self.key].into_iter().flatten().chain(deeper)
    }

    fn wrong(&self) -> Option<&'static str> {
        let pairs = [(&self.user, &self.password), (&self.client_id, &self.client_secret)];
        let of_pairs = pairs.iter().filter(|(one, other)| one.is_some() || other.is_some()).count();
        let secret = self.secret();
        let plain = usize::from(secret != SecretTable::default());
        let shown = usize::from(self.certificate.is_some() || self.key.is_some());
        if plain + of_pairs + shown != 1 {
            return Some(
                "must be one of: `env`, `file` or `command`; `user` and `password`; `client_id` and `client_secret`; `certificate` and `key`",
            );
        }
        if plain == 1 && !secret.is_one() {
            return Some("come from more than one place: leave one of `env`, `file` and `command`");
        }
        let halves = pairs.iter().any(|(one, other)| one.is_some() != other.is_some());
        if halves || self.certificate.is_some() != self.key.is_some() {
            return Some("are half of a pair: write both");
        }
        let deeper = pairs.iter().flat_map(|(one, other)| [one, other]).filter_map(|secret| secret.as_ref());
        if deeper.into_iter().any(|secret| !secret.is_one()) {
            return Some("must say where each secret comes from: one of `env`, `file` and `command`");
        }
        let of_tokens = self.token_url.is_some() || self.issuer.is_some() || self.scopes.is_some();
        (of_tokens && self.client_id.is_none()).then_some("say where tokens are given, and lack `client_id`")
    }
}

impl FailsWhenTable {
    fn wrong(&self) -> Option<&'static str> {
        let tests = [self.is.is_some(), self.exists.is_some(), self.matches.is_some()];
        if tests.into_iter().filter(|given| *given).count() != 1 {
            return Some("needs one of `is`, `exists` and `matches`");
        }
        let places = self.details.iter().chain([&self.pointer]);
        let mut strays = places.filter(|pointer| !pointer.is_empty() && !pointer.starts_with('/'));
        strays.next().map(|_| "has a pointer that does not begin with `/`")
    }
}
