//! Questions and their answers, as the protocol writes them.

use redress_core::{Answer, Form, Question, Sample};
use redress_wire::mcp::{method, plain};
use serde_json::{Map, Value, json};

/// The method and the parameters of a question.
pub(crate) fn asked(key: &str, question: &Question) -> (&'static str, Value) {
    match question {
        Question::Form { message, form } => {
            (method::ELICIT, json!({"message": message, "requestedSchema": requested(form)}))
        }
        Question::Url { message, url } => {
            (method::ELICIT, json!({"mode": "url", "message": message, "url": url, "elicitationId": key}))
        }
        Question::Sample(Sample { messages, system_prompt, max_tokens, .. }) => {
            let mut params = json!({"messages": messages, "maxTokens": max_tokens});
            if let (Some(prompt), Value::Object(params)) = (system_prompt, &mut params) {
                params.insert("systemPrompt".into(), prompt.as_str().into());
            }
            (method::SAMPLE, params)
        }
        Question::Roots => (method::ROOTS, json!({})),
        // No client says that it can be asked anything else, so nothing else is asked.
        _ => (method::ROOTS, json!({})),
    }
}

/// A form as the protocol knows it: flat fields, and which of them are needed.
fn requested(form: &Form) -> Value {
    let mut schema = plain(form.schema());
    if let Value::Object(words) = &mut schema {
        words.retain(|word, _| matches!(word.as_str(), "properties" | "required"));
        words.insert("type".into(), "object".into());
        words.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// The answer in a response; nothing where it is none. Whether it fits its question is for the
/// call to say.
pub(crate) fn answer(response: Value) -> Option<Answer> {
    let Value::Object(mut response) = response else { return None };
    if let Some(action) = response.get("action") {
        return match action.as_str()? {
            "accept" => Some(Answer::Accepted(response.remove("content").unwrap_or_else(|| json!({})))),
            "decline" => Some(Answer::Declined),
            "cancel" => Some(Answer::Cancelled),
            _ => None,
        };
    }
    Some(Answer::Accepted(match response.remove("roots") {
        Some(roots) => roots,
        None => Value::Object(sampled(response)),
    }))
}

/// What a model said. It may come in pieces, of which the first is the answer.
fn sampled(mut response: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Array(pieces)) = response.get_mut("content")
        && !pieces.is_empty()
    {
        let first = pieces.swap_remove(0);
        response.insert("content".into(), first);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use redress_core::Field;

    #[test]
    fn a_form_is_flat_and_says_what_is_needed() {
        let form = Form::new()
            .field("name", Field::text())
            .field("size", Field::choice(["s", "l"]).with("enumNames", json!(["Small", "Large"])).optional());
        let (method, params) = asked("k", &Question::form("Who?", form));
        assert_eq!(method, "elicitation/create");
        let schema = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
            },
            "required": ["name"],
        });
        assert_eq!(params, json!({"message": "Who?", "requestedSchema": schema}));
    }

    #[test]
    fn what_is_no_answer_is_told_apart_from_one_that_says_no() {
        assert_eq!(answer(json!({"action": "decline"})), Some(Answer::Declined));
        assert_eq!(answer(json!({"action": "cancel", "content": {}})), Some(Answer::Cancelled));
        assert_eq!(answer(json!({"action": "accept"})), Some(Answer::Accepted(json!({}))));
        assert_eq!(
            answer(json!({"roots": [{"uri": "file:///a"}]})),
            Some(Answer::Accepted(json!([{"uri": "file:///a"}])))
        );
        for wrong in [json!(7), json!(null), json!([]), json!({"action": "maybe"}), json!({"action": 1})] {
            assert_eq!(answer(wrong), None);
        }
        let said = json!({"role": "assistant", "content": [{"type": "text", "text": "hi"}], "model": "m"});
        assert_eq!(answer(said).unwrap().sampled().unwrap().model, "m");
    }
}
