//! Reading the file: what is wrong with it is told with its line.

use std::path::{Path, PathBuf};

use super::{AccessLogSetting, ConfigDocument, File, WhereState, config_schema};
use crate::error::CliError;

impl File {
    /// Reads the file at `path`. A relative path in it starts from where the file is.
    pub(crate) fn at(path: &Path) -> Result<(File, ConfigDocument), CliError> {
        let document = ConfigDocument::at(path)?;
        Ok((File::in_place(&document)?, document))
    }

    /// Reads what was in a file. A relative path in it starts from where the file is.
    pub(crate) fn in_place(document: &ConfigDocument) -> Result<File, CliError> {
        let mut file = File::of(document)?;
        file.start_from(folder(&document.path));
        Ok(file)
    }

    pub(super) fn of(document: &ConfigDocument) -> Result<File, CliError> {
        document.only_known(&config_schema())?;
        let file: File = toml::from_str(&document.text).map_err(|error| document.unread(&error))?;
        // Where the file is would take the place of an empty path: the folder itself.
        match file.paths().into_iter().find(|(_, path)| path.as_os_str().is_empty()) {
            None => Ok(file),
            Some((key, _)) => Err(document.wrong(key, format!("`{key}` is empty: write a path, or leave it out"))),
        }
    }

    /// Every path in it, by its key.
    fn paths(&self) -> Vec<(&'static str, &Path)> {
        let access = self.access.as_ref();
        let jwt = access.and_then(|access| access.jwt.as_ref());
        let tls = self.tls.as_ref();
        let all = [
            ("serve.root", self.serve.root.as_ref()),
            ("access.tokens", access.and_then(|access| access.tokens.as_ref())),
            ("access.jwt.jwks_file", jwt.and_then(|jwt| jwt.jwks_file.as_ref())),
            ("access.jwt.secret_file", jwt.and_then(|jwt| jwt.secret_file.as_ref())),
            ("access.jwt.key_file", jwt.and_then(|jwt| jwt.key_file.as_ref())),
            ("access.certificates.ca", access.and_then(|access| access.certificates.as_ref()?.ca.as_ref())),
            ("state.folder", self.state.as_ref().and_then(|state| state.table()?.folder.as_ref())),
            ("tls.certificate", tls.and_then(|tls| tls.certificate.as_ref())),
            ("tls.key", tls.and_then(|tls| tls.key.as_ref())),
            ("telemetry.headers_file", self.telemetry.headers_file.as_ref()),
        ];
        let upstreams = self.upstream.iter().flat_map(|upstream| upstream.paths()).map(|path| ("upstream", path));
        all.into_iter().filter_map(|(key, path)| Some((key, path?.as_path()))).chain(upstreams).collect()
    }

    fn start_from(&mut self, folder: &Path) {
        self.upstream.iter_mut().for_each(|upstream| upstream.start_from(folder));
        self.serve.listen = self.serve.listen.take().map(|listen| listen.starting_from(folder));
        let access = self.access.iter_mut().flat_map(|access| access.paths());
        let tls = self.tls.iter_mut().flat_map(|tls| [&mut tls.certificate, &mut tls.key]);
        let state = self.state.iter_mut().filter_map(|state| match state {
            WhereState::Folder(table) => table.folder.as_mut(),
            WhereState::Memory => None,
        });
        let log = self.telemetry.access_log.iter_mut().filter_map(|log| match log {
            AccessLogSetting::File(path) => Some(path),
            AccessLogSetting::Stderr => None,
        });
        let headers = self.telemetry.headers_file.iter_mut();
        let root = self.serve.root.iter_mut().chain(headers);
        let paths = access.chain(tls.filter_map(Option::as_mut)).chain(state).chain(log).chain(root);
        paths.for_each(|path: &mut PathBuf| *path = folder.join(&*path));
    }
}

/// The folder of a file, as a path that others can be joined to.
pub(crate) fn folder(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<File, CliError> {
        File::of(&ConfigDocument { path: "redress.toml".into(), text: text.to_owned() })
    }

    fn wrong(text: &str) -> String {
        let trouble = of(text).unwrap_err();
        format!("{} {trouble} | {}", trouble.code(), trouble.hint())
    }

    #[test]
    fn the_access_log_is_not_for_the_output() {
        insta::assert_snapshot!(wrong("[telemetry]\naccess_log = \"stdout\"\n"), @"CONFIG_INVALID redress.toml, line 2: the output is not for the log: expected `stderr`, or the path of a file | Correct the value; docs/redress.toml.md says what each takes.");
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_line_and_the_nearest_name() {
        insta::assert_snapshot!(wrong("[serve]\nlisten = \"127.0.0.1:0\"\nwriet = true\n"), @"CONFIG_UNKNOWN_KEY redress.toml, line 3: `serve.wriet` is not a setting | Write `serve.write`, which is near, or take the line out.");
        insta::assert_snapshot!(wrong("[sevre]\n"), @"CONFIG_UNKNOWN_KEY redress.toml, line 1: `sevre` is not a setting | Write `serve`, which is near, or take the line out.");
        insta::assert_snapshot!(wrong("[serve]\nlevel = 1\n"), @"CONFIG_UNKNOWN_KEY redress.toml, line 2: `serve.level` is not a setting | Write `log.level`, which is near, or take the line out.");
        insta::assert_snapshot!(wrong("lisen = 1\n"), @"CONFIG_UNKNOWN_KEY redress.toml, line 1: `lisen` is not a setting | Write `serve.listen`, which is near, or take the line out.");
        insta::assert_snapshot!(wrong("zzzzzz = 1\n"), @"CONFIG_UNKNOWN_KEY redress.toml, line 1: `zzzzzz` is not a setting | Take the line out, or look up what the file may hold.");
    }

    #[test]
    fn an_unknown_key_in_a_table_of_a_table_or_of_a_list_is_refused_too() {
        insta::assert_snapshot!(wrong("[access.jwt]\nissure = \"a\"\n"), @"CONFIG_UNKNOWN_KEY redress.toml, line 2: `access.jwt.issure` is not a setting | Write `access.jwt.issuer`, which is near, or take the line out.");
        insta::assert_snapshot!(wrong("[limits]\nrules = [\n  { rate = \"1/s\" },\n  { operation = [\"a.b\"] },\n]\n"), @"CONFIG_UNKNOWN_KEY redress.toml, line 4: `limits.rules.operation` is not a setting | Write `limits.rules.operations`, which is near, or take the line out.");
        insta::assert_snapshot!(wrong("[state]\nfolders = \"a\"\n"), @"CONFIG_UNKNOWN_KEY redress.toml, line 2: `state.folders` is not a setting | Write `state.folder`, which is near, or take the line out.");
    }

    #[test]
    fn a_bad_value_is_refused_with_its_line_and_what_was_expected() {
        insta::assert_snapshot!(wrong("[serve]\n\ndeadline = \"soon\"\n"), @"CONFIG_INVALID redress.toml, line 3: expected a time longer than nothing, such as `5s`, `250ms` or `1m 30s` | Correct the value; docs/redress.toml.md says what each takes.");
        insta::assert_snapshot!(wrong("[serve]\nmax_body = true\n"), @"CONFIG_INVALID redress.toml, line 2: expected a number of bytes such as `2MiB`, `64kB` or `1024` | Correct the value; docs/redress.toml.md says what each takes.");
        insta::assert_snapshot!(wrong("[log]\nlevel = \"loud\"\n"), @"CONFIG_INVALID redress.toml, line 2: unknown variant `loud`, expected one of `off`, `error`, `warn`, `info`, `debug`, `trace` | Correct the value; docs/redress.toml.md says what each takes.");
        insta::assert_snapshot!(wrong("[serve]\nlisten = \n"), @"CONFIG_INVALID redress.toml, line 2: string values must be quoted, expected literal string | Correct the value; docs/redress.toml.md says what each takes.");
        insta::assert_snapshot!(wrong("serve = 1\n"), @"CONFIG_INVALID redress.toml, line 1: invalid type: integer `1`, expected a table | Correct the value; docs/redress.toml.md says what each takes.");
        insta::assert_snapshot!(wrong("state = \"disk\"\n"), @r#"CONFIG_INVALID redress.toml, line 1: invalid value: string "disk", expected "memory" or a table | Correct the value; docs/redress.toml.md says what each takes."#);
        insta::assert_snapshot!(wrong("[state]\n\nkeys_last = 5\n"), @"CONFIG_INVALID redress.toml, line 3: invalid type: integer `5`, expected a string | Correct the value; docs/redress.toml.md says what each takes.");
        insta::assert_snapshot!(wrong("[limits]\nrate = \"fast\"\n"), @"CONFIG_INVALID redress.toml, line 2: `fast` is not a rate: write a number and a unit, such as `100/s`, `10/min` or `5/h` | Correct the value; docs/redress.toml.md says what each takes.");
        insta::assert_snapshot!(wrong("[limits]\nconnections = 0\n"), @"CONFIG_INVALID redress.toml, line 2: invalid value: integer `0`, expected a whole number, 1 or more | Correct the value; docs/redress.toml.md says what each takes.");
        insta::assert_snapshot!(wrong("[limits]\nin_flight = 0\n"), @"CONFIG_INVALID redress.toml, line 2: invalid value: integer `0`, expected a whole number from 1 to 4294967295 | Correct the value; docs/redress.toml.md says what each takes.");
        insta::assert_snapshot!(wrong("[access.jwt]\nalgorithms = [\"none\"]\n"), @"CONFIG_INVALID redress.toml, line 2: unknown variant `none`, expected one of `HS256`, `HS384`, `HS512`, `RS256`, `RS384`, `RS512`, `PS256`, `PS384`, `PS512`, `ES256`, `ES384`, `EdDSA` | Correct the value; docs/redress.toml.md says what each takes.");
        insta::assert_snapshot!(wrong("[access.jwt]\naudience = 1\n"), @"CONFIG_INVALID redress.toml, line 2: expected a text, or a list of texts | Correct the value; docs/redress.toml.md says what each takes.");
    }

    #[test]
    fn everything_may_be_left_out() {
        assert_eq!(of("").unwrap(), File::default());
    }

    #[test]
    fn every_path_in_the_file_starts_from_the_folder_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let text = "[serve]\nlisten = \"unix:here\"\nroot = \"here\"\n[access]\ntokens = \"here\"\n[access.jwt]\njwks_file = \"here\"\n\
            secret_file = \"here\"\nkey_file = \"here\"\n[access.certificates]\nca = \"here\"\n[state]\nfolder = \"here\"\n\
            [tls]\ncertificate = \"here\"\nkey = \"here\"\n[telemetry]\naccess_log = \"here\"\n";
        let path = folder.path().join("redress.toml");
        std::fs::write(&path, text).unwrap();
        let (file, _) = File::at(&path).unwrap();
        let shown = format!("{file:?}");
        let there = folder.path().join("here");
        assert_eq!(shown.matches(&format!("{there:?}")).count(), text.matches("here\"").count(), "{shown}");
    }
}
