//! Where something that an operation gave breaks its schema, for the log.

use redress_contract::Breach;
use serde_json::Value;

use super::shape::InputShape;

/// Where `json` is not what `shape` says; nothing where it fits.
pub fn breach_of(shape: Option<&InputShape>, json: &[u8]) -> Option<Breach> {
    let only = |rule: &str| Some(Breach { pointer: String::new(), rule: rule.to_owned() });
    let Some(shape) = shape else { return only("schema") };
    let Ok(value) = serde_json::from_slice::<Value>(json) else { return only("json") };
    if shape.is_valid(&value) {
        return None;
    }
    shape.first_error(&value).map(|(pointer, rule)| Breach { pointer, rule })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_breach_says_where_and_by_which_rule_and_not_what_is_there() {
        let schema = json!({"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "string"}}}});
        let shape = InputShape::dynamic(schema).unwrap();
        assert_eq!(breach_of(Some(&shape), br#"{"rows": ["a"]}"#), None);
        let breach = breach_of(Some(&shape), br#"{"rows": ["a", {"hunter2": 7}]}"#).unwrap();
        assert_eq!((breach.pointer.as_str(), breach.rule.as_str()), ("/rows/1", "type"));
        assert_eq!(breach_of(Some(&shape), b"no json").unwrap().rule, "json");
        assert_eq!(breach_of(None, b"1").unwrap().rule, "schema");
    }
}
