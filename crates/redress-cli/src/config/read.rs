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
            let similar = nearest(&key, known);
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
                return Some((
                    format!("{}.{}", key.get_ref(), inner.get_ref()),
                    qualified(key.get_ref()),
                    inner.span(),
                ));
            }
        }
    }
    None
}

/// The keys of one table first, then all others: `serve.level` most likely is `log.level`.
fn qualified(table: &str) -> Vec<&'static str> {
    let (own, other): (Vec<_>, Vec<_>) = SETTINGS.iter().partition(|setting| setting.table == table);
    own.into_iter().chain(other).map(|setting| setting.path).collect()
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
        insta::assert_snapshot!(wrong("[serve]\nlisten = \"127.0.0.1:0\"\nwriet = true\n"), @"");
        insta::assert_snapshot!(wrong("[sevre]\n"), @"");
        insta::assert_snapshot!(wrong("[serve]\nlevel = 1\n"), @"");
        insta::assert_snapshot!(wrong("zzzzzz = 1\n"), @"");
    }

    #[test]
    fn a_bad_value_is_refused_with_its_line_and_what_was_expected() {
        insta::assert_snapshot!(wrong("[serve]\n\ndeadline = \"soon\"\n"), @"");
        insta::assert_snapshot!(wrong("[serve]\nmax_body = true\n"), @"");
        insta::assert_snapshot!(wrong("[log]\nlevel = \"loud\"\n"), @"");
        insta::assert_snapshot!(wrong("[serve]\nlisten = \n"), @"");
        insta::assert_snapshot!(wrong("serve = 1\n"), @"");
    }

    #[test]
    fn everything_may_be_left_out() {
        assert_eq!(File::of("redress.toml", "").unwrap(), File::default());
    }
}
