//! From a table of the configuration to what an upstream is made of.

use redress_import::{FailsWhen, Import, Override, Test};
use redress_upstream::{ClientCredentials, Credential, SecretFrom, Upstream, UpstreamConfig};
use serde_json::{Map, Value, json};

use crate::{
    config::{CredentialTable, FailsWhenTable, SecretTable, UpstreamTable},
    error::CliError,
};

/// The upstream that `table` makes of what its document says, in the place of another one where there was one.
pub(super) fn upstream(
    table: &UpstreamTable,
    mut import: Import,
    before: Option<&Upstream>,
) -> Result<Upstream, CliError> {
    let unusable = |says: String| CliError::UpstreamUnusable { name: table.name.clone(), says };
    let overrides: Vec<Override> =
        table.overrides.iter().map(overridden).collect::<Result<_, _>>().map_err(&unusable)?;
    Override::apply(&overrides, &mut import).map_err(|errors| {
        let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
        unusable(format!("an override cannot be applied: {}", said.join("; ")))
    })?;
    let config = config(table).map_err(&unusable)?;
    let made = match before {
        Some(before) => before.renewed(import, config),
        None => Upstream::new(import, config),
    };
    made.map_err(|error| unusable(error.to_string().replace("`base_url`", "`url`")))
}

fn config(table: &UpstreamTable) -> Result<UpstreamConfig, String> {
    let mut config = UpstreamConfig::new(&table.name);
    config.base_url.clone_from(&table.url);
    config.document_url = table.document_url().map(str::to_owned);
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
