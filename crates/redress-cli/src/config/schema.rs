//! The JSON Schema of `redress.toml`, for editors and for finding what was mistyped.

use serde_json::Value;

use super::File;

/// The JSON Schema of `redress.toml`.
pub fn config_schema() -> Value {
    let settings =
        schemars::generate::SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<File>().to_value();
    without_null(&mut schema);
    if let Some(members) = schema.as_object_mut() {
        members.insert("$comment".to_owned(), "made by `REDRESS_BLESS=1 cargo test -p redress-cli`".into());
    }
    schema
}

/// Takes the null out of what may be left out: TOML has none.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Array(members) => members.iter_mut().for_each(without_null),
        Value::Object(members) => {
            members.retain(|name, value| name != "default" || !value.is_null());
            if let Some(Value::Array(types)) = members.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    members.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(choices)) = members.get_mut("anyOf") {
                choices.retain(|choice| choice.get("type") != Some(&"null".into()));
                if let [Value::Object(only)] = choices.as_mut_slice() {
                    let only = std::mem::take(only);
                    members.remove("anyOf");
                    only.into_iter().for_each(|(name, value)| {
                        members.entry(name).or_insert(value);
                    });
                }
            }
            members.values_mut().for_each(without_null);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
