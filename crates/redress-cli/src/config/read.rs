//! Reading the file: what is wrong with it is told with its line.

use std::{ops::Range, path::Path};

use toml::de::{DeTable, DeValue};

use super::{File, settings::SETTINGS};
use crate::{near::nearest, trouble::Trouble};

impl File {
    /// Reads the file at `path`. A relative root in it starts from where the file is.
    pub(crate) fn at(path: &Path) -> Result<File, Trouble> {
        let shown = path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|cause| Trouble::FileUnreadable { path: shown.clone(), cause })?;
        let mut file = File::of(&shown, &text)?;
        if let (Some(root), Some(folder)) = (&file.serve.root, path.parent()) {
            file.serve.root = Some(folder.join(root));
        }
        Ok(file)
    }

    fn of(path: &str, text: &str) -> Result<File, Trouble> {
        let invalid = |error: toml::de::Error| Trouble::ConfigInvalid {
            path: path.to_owned(),
            line: error.span().map(|span| line(text, &span)),
            says: error.message().trim_end_matches('\n').replace('\n', ", "),
        };
        let document = DeTable::parse(text).map_err(invalid)?;
        if let Some((key, known, span)) = stranger(document.get_ref()) {
            let similar = match known.as_slice() {
                [only] => vec![(*only).to_owned()],
                _ => nearest(&key, known),
            };
            return Err(Trouble::ConfigUnknownKey { path: path.to_owned(), line: line(text, &span), key, similar });
        }
        toml::from_str(text).map_err(invalid)
    }
}

/// The first key that nothing is known about, with those that could have been meant.
fn stranger(document: &DeTable<'_>) -> Option<(String, Vec<&'static str>, Range<usize>)> {
    let mut tables: Vec<&str> = SETTINGS.iter().map(|setting| setting.table).collect();
    tables.dedup();
    for (key, value) in document.iter() {
        if !tables.contains(&key.get_ref().as_ref()) {
            // A key outside of its table is the likelier mistake than a table of this name.
            let known = tables.iter().copied().chain(SETTINGS.iter().map(|setting| setting.key)).collect();
            return Some((key.get_ref().to_string(), known, key.span()));
        }
        let DeValue::Table(table) = value.get_ref() else { continue };
        let known: Vec<&'static str> =
            SETTINGS.iter().filter(|setting| setting.table == key.get_ref()).map(|setting| setting.key).collect();
        for inner in table.keys() {
            if !known.contains(&inner.get_ref().as_ref()) {
                let written = format!("{}.{}", key.get_ref(), inner.get_ref());
                return Some((written, meant(key.get_ref(), inner.get_ref()), inner.span()));
            }
        }
    }
    None
}

/// What `key` in `table` may have been meant as: the same key of another table, where there
/// is one, else a key of the same table.
fn meant(table: &str, key: &str) -> Vec<&'static str> {
    let elsewhere: Vec<_> = SETTINGS.iter().filter(|setting| setting.key == key).collect();
    let own = || SETTINGS.iter().filter(|setting| setting.table == table).collect();
    let meant = if elsewhere.is_empty() { own() } else { elsewhere };
    meant.into_iter().map(|setting| setting.path).collect()
}

fn line(text: &str, span: &Range<usize>) -> usize {
    text.get(..span.start).unwrap_or(text).matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        let trouble = File::of("redress.toml", text).unwrap_err();
        format!("{} {trouble} | {}", trouble.code(), trouble.hint())
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_line_and_the_nearest_name() {
        insta::assert_snapshot!(wrong("[serve]\nlisten = \"127.0.0.1:0\"\nwriet = true\n"), @"CONFIG_UNKNOWN_KEY redress.toml, line 3: `serve.wriet` is not a setting | Write `serve.write`, which is near, or take the line out.");
        insta::assert_snapshot!(wrong("[sevre]\n"), @"CONFIG_UNKNOWN_KEY redress.toml, line 1: `sevre` is not a setting | Write `serve`, which is near, or take the line out.");
        insta::assert_snapshot!(wrong("[serve]\nlevel = 1\n"), @"CONFIG_UNKNOWN_KEY redress.toml, line 2: `serve.level` is not a setting | Write `log.level`, which is near, or take the line out.");
        insta::assert_snapshot!(wrong("zzzzzz = 1\n"), @"CONFIG_UNKNOWN_KEY redress.toml, line 1: `zzzzzz` is not a setting | Take the line out, or look up what the file may hold.");
    }

    #[test]
    fn a_bad_value_is_refused_with_its_line_and_what_was_expected() {
        insta::assert_snapshot!(wrong("[serve]\n\ndeadline = \"soon\"\n"), @"CONFIG_INVALID redress.toml, line 3: expected a time longer than nothing, such as `5s`, `250ms` or `1m 30s` | Correct the value; docs/redress.toml.md says what each takes.");
        insta::assert_snapshot!(wrong("[serve]\nmax_body = true\n"), @"CONFIG_INVALID redress.toml, line 2: expected a number of bytes such as `2MiB`, `64kB` or `1024` | Correct the value; docs/redress.toml.md says what each takes.");
        insta::assert_snapshot!(wrong("[log]\nlevel = \"loud\"\n"), @"CONFIG_INVALID redress.toml, line 2: unknown variant `loud`, expected one of `off`, `error`, `warn`, `info`, `debug`, `trace` | Correct the value; docs/redress.toml.md says what each takes.");
        insta::assert_snapshot!(wrong("[serve]\nlisten = \n"), @"CONFIG_INVALID redress.toml, line 2: string values must be quoted, expected literal string | Correct the value; docs/redress.toml.md says what each takes.");
        insta::assert_snapshot!(wrong("serve = 1\n"), @"CONFIG_INVALID redress.toml, line 1: invalid type: integer `1`, expected a table | Correct the value; docs/redress.toml.md says what each takes.");
    }

    #[test]
    fn everything_may_be_left_out() {
        assert_eq!(File::of("redress.toml", "").unwrap(), File::default());
    }
}
