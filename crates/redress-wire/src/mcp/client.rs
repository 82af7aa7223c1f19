//! What a client says that it can.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

/// What a client can be asked while it waits for a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientCapabilities {
    /// To show a form.
    pub form: bool,
    /// To open a page.
    pub url: bool,
    /// To have its model say something.
    pub sample: bool,
    /// To tell where it works.
    pub roots: bool,
}

impl ClientCapabilities {
    /// What the capabilities of a client say. A client that shows forms need not say so in
    /// words: it is what elicitation was at first.
    pub(super) fn read(capabilities: &RawValue) -> ClientCapabilities {
        ClientCapabilities::of(capabilities.get())
    }

    /// What capabilities say that are JSON.
    pub fn of(capabilities: &str) -> ClientCapabilities {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct GivenCapabilities {
            elicitation: Option<Elicitation>,
            sampling: Option<IgnoredAny>,
            roots: Option<IgnoredAny>,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Elicitation {
            form: Option<IgnoredAny>,
            url: Option<IgnoredAny>,
        }
        // Most clients can be asked nothing, and say so in two bytes.
        if capabilities.len() <= 2 {
            return ClientCapabilities::default();
        }
        let given: GivenCapabilities = serde_json::from_str(capabilities).unwrap_or_default();
        let elicits = given.elicitation.as_ref();
        ClientCapabilities {
            form: elicits.is_some_and(|given| given.form.is_some() || given.url.is_none()),
            url: elicits.is_some_and(|given| given.url.is_some()),
            sample: given.sampling.is_some(),
            roots: given.roots.is_some(),
        }
    }

    /// Whether it can be asked anything.
    pub fn any(self) -> bool {
        self.form || self.url || self.sample || self.roots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_can_be_asked_what_it_says_and_nothing_else() {
        let read = |text: &str| ClientCapabilities::read(&RawValue::from_string(text.to_owned()).unwrap());
        assert!(!read("{}").any() && !read(r#"{"experimental":{},"elicitation":7}"#).any());
        assert_eq!(read(r#"{"elicitation":{}}"#), ClientCapabilities { form: true, ..ClientCapabilities::default() });
        assert_eq!(
            read(r#"{"elicitation":{"url":{}}}"#),
            ClientCapabilities { url: true, ..ClientCapabilities::default() }
        );
        let all = r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":true}}"#;
        assert_eq!(read(all), ClientCapabilities { form: true, url: true, sample: true, roots: true });
    }
}
