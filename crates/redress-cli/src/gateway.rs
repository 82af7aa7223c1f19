//! Services behind the gateway: their documents read from files, and made into operations as the settings say.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path},
};

use redress_import::{FailsWhen, Import, Override, ReadOptions, Test, openapi};
use redress_upstream::{ClientCredentials, Credential, SecretFrom, Upstream, UpstreamConfig};
use serde_json::{Map, Value, json};

use crate::{
    config::{CredentialTable, FailsWhenTable, SecretTable, ServeSettings, UpstreamTable},
    error::{CliError, chain},
};

/// The most bytes of a document, and of a file beside it.
const MAX_SIZE: u64 = 64 << 20;
/// The most files beside a document.
const MAX_FILES: usize = 1_000;

/// The services that `settings` name. Nothing is connected to.
pub(crate) fn open(settings: &ServeSettings) -> Result<Vec<Upstream>, CliError> {
    settings.upstreams.iter().map(upstream).collect()
}

/// One of them.
pub(crate) fn upstream(table: &UpstreamTable) -> Result<Upstream, CliError> {
    let mut import = read(&table.openapi, &table.name)?;
    let unusable = |says: String| CliError::UpstreamUnusable { name: table.name.clone(), says };
    let overrides: Vec<Override> =
        table.overrides.iter().map(overridden).collect::<Result<_, _>>().map_err(&unusable)?;
    Override::apply(&overrides, &mut import).map_err(|errors| {
        let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
        unusable(format!("an override cannot be applied: {}", said.join("; ")))
    })?;
    let config = config(table).map_err(unusable)?;
    Upstream::new(import, config).map_err(|error| unusable(error.to_string().replace("`base_url`", "`url`")))
}

/// What the document at `path` says, with `name` before the names of its operations.
pub(crate) fn read(path: &Path, name: &str) -> Result<Import, CliError> {
    let shown = path.display().to_string();
    if shown.contains("://") {
        let says = "a document is read from a file and got from no address: save it first".to_owned();
        return Err(CliError::DocumentUnreadable { path: shown, says });
    }
    let unreadable = |cause| CliError::FileUnreadable { path: path.display().to_string(), cause };
    let document = redress_disk::read(path, MAX_SIZE).map_err(unreadable)?;
    let refused = |error: redress_import::ReadError| CliError::DocumentUnreadable {
        path: path.display().to_string(),
        says: chain(&error),
    };
    let files = beside(path, &document).map_err(refused)?;
    let options = ReadOptions { prefix: Some(name.to_owned()), files, ..ReadOptions::default() };
    openapi::read(&document, &options).map_err(refused)
}

/// The files that a document refers to, as far as they are in its folder. What is elsewhere or is not there is left out,
/// and the import tells which references lead nowhere.
fn beside(path: &Path, document: &[u8]) -> Result<BTreeMap<String, Vec<u8>>, redress_import::ReadError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let (mut files, mut left_out) = (BTreeMap::new(), BTreeSet::new());
    loop {
        let wanted = openapi::needs(document, &files)?;
        let wanted: Vec<String> = wanted.into_iter().filter(|name| !left_out.contains(name)).collect();
        if wanted.is_empty() {
            return Ok(files);
        }
        for name in wanted {
            let is_inside =
                Path::new(&name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
            let read = (is_inside && !name.contains("://") && files.len() < MAX_FILES)
                .then(|| redress_disk::read(folder.join(&name), MAX_SIZE).ok())
                .flatten();
            match read {
                Some(bytes) => drop(files.insert(name, bytes)),
                None => drop(left_out.insert(name)),
            }
        }
    }
}

fn config(table: &UpstreamTable) -> Result<UpstreamConfig, String> {
    let mut config = UpstreamConfig::new(&table.name);
    config.base_url.clone_from(&table.url);
    config.deadline = table.deadline.map(|span| span.0);
    config.rate = table.rate;
    config.strict = table.strict;
    #[cfg(feature = "otlp")]
    {
        config.trace_headers = Some(redress_telemetry::trace_headers);
    }
    if let Some(calls) = table.max_in_flight {
        config.concurrency = calls.get();
    }
    if let Some(retries) = table.retries {
        config.retries = retries;
    }
    if let Some(size) = table.max_response {
        config.max_response = size.0;
    }
    for (scheme, given) in &table.credentials {
        let credential = credential(given).ok_or_else(|| format!("nothing is given for `{scheme}`"))?;
        config.credentials.insert(scheme.clone(), credential);
    }
    config.fails_when = table.fails_when.iter().map(fails_when).collect::<Result<_, _>>()?;
    Ok(config)
}

fn secret(table: &SecretTable) -> Option<SecretFrom> {
    let env = table.env.clone().map(SecretFrom::Env);
    let file = || table.file.clone().map(SecretFrom::File);
    env.or_else(file).or_else(|| table.command.clone().map(SecretFrom::Command))
}

fn credential(table: &CredentialTable) -> Option<Credential> {
    if let (Some(user), Some(password)) = (&table.user, &table.password) {
        return Some(Credential::Basic { user: secret(user)?, password: secret(password)? });
    }
    if let (Some(certificate), Some(key)) = (&table.certificate, &table.key) {
        return Some(Credential::Certificate { certificate: certificate.clone(), key: key.clone() });
    }
    if let (Some(id), Some(proof)) = (&table.client_id, &table.client_secret) {
        let mut given = ClientCredentials::new(secret(id)?, secret(proof)?);
        given.token_url.clone_from(&table.token_url);
        given.issuer.clone_from(&table.issuer);
        given.scopes.clone_from(&table.scopes);
        return Some(Credential::ClientCredentials(given));
    }
    secret(&table.secret()).map(Credential::Secret)
}

fn fails_when(table: &FailsWhenTable) -> Result<FailsWhen, String> {
    let test = match (&table.is, table.exists, &table.matches) {
        (Some(value), _, _) => Test::Is(value.clone()),
        (None, Some(exists), _) => Test::Exists(exists),
        (None, None, Some(pattern)) => Test::Matches(pattern.clone()),
        (None, None, None) => return Err("`fails_when` needs one of `is`, `exists` and `matches`".to_owned()),
    };
    let code = table.code.as_deref().unwrap_or(FailsWhen::CODE);
    let code = serde_json::from_value(json!(code))
        .map_err(|_| format!("`{code}` is no code of a failure: write one such as `SERVICE_SAID_NO`"))?;
    Ok(FailsWhen { pointer: table.pointer.clone(), test, code, details: table.details.clone(), evidence: None })
}

/// An override as it is written in the configuration: its `fails_when` are written as those of a whole upstream.
fn overridden(written: &Map<String, Value>) -> Result<Override, String> {
    let mut written = written.clone();
    if let Some(rules) = written.remove("fails_when") {
        let rules: Vec<FailsWhenTable> =
            serde_json::from_value(rules).map_err(|error| format!("`fails_when` of an override: {error}"))?;
        let rules: Vec<FailsWhen> = rules.iter().map(fails_when).collect::<Result<_, _>>()?;
        written.insert("fails_when".to_owned(), json!(rules));
    }
    serde_json::from_value(Value::Object(written)).map_err(|error| format!("an override cannot be read: {error}"))
}
