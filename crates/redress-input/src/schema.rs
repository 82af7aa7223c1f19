//! Schemas of Rust types, in the form they are advertised.
//!
//! schemars describes a type; here its description is made exact: an integer format becomes the
//! bounds it stands for, and on the input side an object that says nothing about further fields is
//! closed, because the decoder refuses them.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::closed_objects::close;

/// The schema of `T` as an input. A type is opened to unknown fields by
/// `#[schemars(extend("additionalProperties" = true))]`.
pub fn input_schema<T: JsonSchema>() -> Value {
    let settings = settings().for_deserialize();
    normalise(generate::<T>(settings), CallSide::Input)
}

/// The schema of `T` as an output.
pub fn output_schema<T: JsonSchema>() -> Value {
    let settings = settings().for_serialize();
    normalise(generate::<T>(settings), CallSide::Output)
}

/// The end of a call that a schema describes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallSide {
    Input,
    Output,
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true)
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Value {
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

fn normalise(mut schema: Value, side: CallSide) -> Value {
    if let Value::Object(root) = &mut schema {
        root.remove("$schema");
        root.remove("title");
    }
    exact_numbers(&mut schema);
    if side == CallSide::Input {
        close(&mut schema);
    }
    schema
}

/// Replaces number formats by bounds, everywhere below `schema`.
///
/// Instance data (`default`, `examples`, `enum`, `const`) is left alone: a `format` in there is a
/// value of the author's, not a keyword.
fn exact_numbers(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            exact_number(keywords);
            for (keyword, below) in keywords.iter_mut() {
                match keyword.as_str() {
                    "default" | "examples" | "enum" | "const" => {}
                    "properties" | "patternProperties" | "$defs" | "dependentSchemas" => {
                        if let Value::Object(named) = below {
                            named.values_mut().for_each(exact_numbers);
                        }
                    }
                    _ => exact_numbers(below),
                }
            }
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(exact_numbers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn exact_number(keywords: &mut Map<String, Value>) {
    let Some(Value::String(format)) = keywords.get("format") else {
        return;
    };
    match format.as_str() {
        "uint8" => bound(keywords, u8::MIN, u8::MAX),
        "uint16" => bound(keywords, u16::MIN, u16::MAX),
        "uint32" => bound(keywords, u32::MIN, u32::MAX),
        "uint64" | "uint" => bound(keywords, u64::MIN, u64::MAX),
        "int8" => bound(keywords, i8::MIN, i8::MAX),
        "int16" => bound(keywords, i16::MIN, i16::MAX),
        "int32" => bound(keywords, i32::MIN, i32::MAX),
        "int64" | "int" => bound(keywords, i64::MIN, i64::MAX),
        // Powers of two are exact as doubles, the largest integers of these widths are not.
        "uint128" => bound_wide(keywords, 0.0, 2f64.powi(128)),
        "int128" => bound_wide(keywords, -(2f64.powi(127)), 2f64.powi(127)),
        // A number beyond these would become an infinity, so it is refused.
        "float" => bound_real(keywords, f32::MIN.into(), f32::MAX.into()),
        "double" => {}
        _ => return,
    }
    keywords.remove("format");
}

/// Adds the bounds of an integer type, keeping an author's own where that is narrower.
fn bound(keywords: &mut Map<String, Value>, low: impl Into<i128>, high: impl Into<i128>) {
    let whole = |value: &Value| value.as_i64().map(i128::from).or(value.as_u64().map(i128::from));
    let (low, high) = (low.into(), high.into());
    if keywords.get("minimum").is_none_or(|said| whole(said).is_some_and(|said| said < low))
        && let Ok(low) = i64::try_from(low)
    {
        keywords.insert("minimum".to_owned(), json!(low));
    }
    if keywords.get("maximum").is_none_or(|said| whole(said).is_some_and(|said| said > high))
        && let Ok(high) = u64::try_from(high)
    {
        keywords.insert("maximum".to_owned(), json!(high));
    }
}

fn bound_real(keywords: &mut Map<String, Value>, low: f64, high: f64) {
    keywords.entry("minimum").or_insert(json!(low));
    keywords.entry("maximum").or_insert(json!(high));
}

fn bound_wide(keywords: &mut Map<String, Value>, low: f64, above: f64) {
    if low == 0.0 {
        keywords.entry("minimum").or_insert(json!(0));
    } else {
        keywords.entry("minimum").or_insert(json!(low));
    }
    if !keywords.contains_key("maximum") {
        keywords.entry("exclusiveMaximum").or_insert(json!(above));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Page {
        size: u8,
        #[schemars(range(min = 1, max = 50))]
        limit: u32,
        offset: Option<i64>,
        ratio: f64,
    }

    #[test]
    fn number_formats_become_bounds() {
        assert_eq!(
            input_schema::<Page>(),
            json!({
                "type": "object",
                "additionalProperties": false,
                "required": ["size", "limit", "ratio"],
                "properties": {
                    "size": {"type": "integer", "minimum": 0, "maximum": 255},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 50},
                    "offset": {"type": ["integer", "null"], "minimum": i64::MIN, "maximum": i64::MAX},
                    "ratio": {"type": "number"}
                }
            })
        );
    }

    #[test]
    fn an_output_is_not_closed() {
        assert_eq!(output_schema::<Page>().get("additionalProperties"), None);
    }
}
