//! `redress.toml`: what is taken fits the schema that is given out, and what is not is told with its line.

use std::sync::LazyLock;

use jsonschema::Validator;

static SCHEMA: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::validator_for(&redress_cli::config_schema()).expect("the kept schema is one"));

pub(super) fn target(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match redress_cli::check_config(text) {
        Ok(()) => {
            let table: toml::Table = text.parse().expect("what was read is TOML");
            let value = serde_json::to_value(&table).expect("a table is an object");
            let refused: Vec<String> = SCHEMA.iter_errors(&value).map(|error| error.to_string()).collect();
            assert!(refused.is_empty(), "{text:?} is taken, and the schema says {refused:?}");
        }
        Err(refused) => {
            assert!(refused.code.as_str().starts_with("CONFIG_"), "{refused:?}");
            assert!(refused.line.is_none_or(|line| (1..=text.split('\n').count()).contains(&line)), "{refused:?}");
            assert!(!refused.says.is_empty() && refused.hint.split_whitespace().count() >= 5, "{refused:?}");
            assert!(!refused.says.contains('\n'), "{refused:?}");
        }
    }
}
