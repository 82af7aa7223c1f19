//! What an operation is to those who read its output: an answer, a prompt, a document.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Block, Blocks, Name, OperationDeclaration, PromptMessages, ResourceContents, UriTemplate};

/// What an operation is beside something to be called. Every one can be called, whatever
/// its role; a face that knows documents or prompts offers it as such.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Nothing else.
    #[default]
    Plain,
    /// It gives messages that open a conversation with a model.
    Prompt,
    /// It gives the document at a URI, or one of the documents that a template stands for.
    Resource {
        /// Where the document is; the variables are members of the input.
        uri: UriTemplate,
        /// The media type, where the output does not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
}

impl Role {
    pub(crate) fn is_plain(&self) -> bool {
        *self == Role::Plain
    }
}

/// What the output is, beside being JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gives {
    /// Nothing else.
    #[default]
    Json,
    /// [`Blocks`]: pieces for a person or a model to look at.
    Blocks,
    /// [`PromptMessages`]: what a prompt gives.
    Messages,
}

impl Gives {
    pub(crate) fn is_json(&self) -> bool {
        *self == Gives::Json
    }
}

impl OperationDeclaration {
    /// Makes it a prompt, which gives [`PromptMessages`].
    #[must_use]
    pub fn prompt(mut self) -> OperationDeclaration {
        self.role = Role::Prompt;
        self
    }

    /// Makes it a document: `notes://readme`, or a template such as `notes://{folder}/{name}`
    /// whose variables are members of the input.
    #[must_use]
    pub fn resource(mut self, uri: &str) -> OperationDeclaration {
        self.role = Role::Resource { uri: UriTemplate::unchecked(uri), mime_type: None };
        self
    }

    /// Says which media type the document has.
    #[must_use]
    pub fn with_mime_type(mut self, text: impl Into<String>) -> OperationDeclaration {
        if let Role::Resource { mime_type, .. } = &mut self.role {
            *mime_type = Some(text.into());
        }
        self
    }

    /// Says that the output is [`Blocks`].
    #[must_use]
    pub fn with_blocks(mut self) -> OperationDeclaration {
        self.gives = Gives::Blocks;
        self.with_output(schema_of::<Blocks>())
    }

    /// Says that the output is [`PromptMessages`].
    #[must_use]
    pub fn with_messages(mut self) -> OperationDeclaration {
        self.gives = Gives::Messages;
        self.with_output(schema_of::<PromptMessages>())
    }

    /// Names the operation that says what a member of the input may be, for somebody who
    /// is still typing. It takes `argument`, `value` and `given`, and gives a list of texts.
    #[must_use]
    pub fn with_completion(mut self, argument: impl Into<String>, operation: &str) -> OperationDeclaration {
        self.completions.insert(argument.into(), Name::unchecked(operation));
        self
    }

    /// What it is beside something to be called.
    pub fn role(&self) -> &Role {
        &self.role
    }

    /// What its output is, beside being JSON.
    pub fn gives(&self) -> Gives {
        self.gives
    }

    /// The operations that complete members of the input.
    pub fn completions(&self) -> &BTreeMap<String, Name> {
        &self.completions
    }

    /// The URI that it is the document of, or the template, for a resource.
    pub fn uri(&self) -> Option<&UriTemplate> {
        match &self.role {
            Role::Resource { uri, .. } => Some(uri),
            Role::Plain | Role::Prompt => None,
        }
    }

    /// The media type, for a resource that declares one.
    pub fn mime_type(&self) -> Option<&str> {
        match &self.role {
            Role::Resource { mime_type, .. } => mime_type.as_deref(),
            Role::Plain | Role::Prompt => None,
        }
    }

    /// `output`, which this resource gave for `uri`, as the parts of a document. Blocks become
    /// a part each, a JSON string is taken as the text itself, and any other value is a
    /// document in JSON.
    ///
    /// ```
    /// use redress_contract::OperationDeclaration;
    ///
    /// let readme = OperationDeclaration::query("notes.readme").resource("notes://readme").with_mime_type("text/markdown");
    /// let parts = readme.parts("notes://readme", br##""# Hello""##);
    /// assert_eq!(parts[0].text.as_deref(), Some("# Hello"));
    /// assert_eq!(parts[0].mime_type.as_deref(), Some("text/markdown"));
    /// ```
    pub fn parts(&self, uri: &str, output: &[u8]) -> Vec<ResourceContents> {
        if self.gives == Gives::Blocks
            && let Ok(Blocks(blocks)) = serde_json::from_slice(output)
        {
            return blocks.into_iter().filter_map(|block| self.part(uri, block)).collect();
        }
        let (text, otherwise) = match serde_json::from_slice::<String>(output) {
            Ok(text) => (text, "text/plain"),
            Err(_) => (String::from_utf8_lossy(output).into_owned(), "application/json"),
        };
        let mime_type = Some(self.mime_type().unwrap_or(otherwise).to_owned());
        vec![ResourceContents { uri: uri.to_owned(), mime_type, text: Some(text), blob: None }]
    }

    /// A link is no part of a document, and is left out.
    fn part(&self, uri: &str, block: Block) -> Option<ResourceContents> {
        let uri = uri.to_owned();
        match block {
            Block::Text { text } => {
                let mime_type = Some(self.mime_type().unwrap_or("text/plain").to_owned());
                Some(ResourceContents { uri, mime_type, text: Some(text), blob: None })
            }
            Block::Image { data, mime_type } | Block::Audio { data, mime_type } => {
                Some(ResourceContents { uri, mime_type: Some(mime_type), text: None, blob: Some(data) })
            }
            Block::Resource { resource } => Some(resource),
            Block::ResourceLink { .. } => None,
        }
    }
}

fn schema_of<T: JsonSchema>() -> serde_json::Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12()
        .for_serialize()
        .with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(root) = schema.as_object_mut() {
        root.remove("$schema");
        root.remove("title");
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn blocks_become_the_parts_of_a_document() {
        let operation = OperationDeclaration::query("a.b").resource("a://b").with_blocks();
        let blocks = Blocks::from([
            Block::text("one"),
            Block::image([0, 255], "image/png"),
            Block::link("a://c", "c"),
            ResourceContents::text("a://d", "text/html", "<p>").into(),
        ]);
        let parts = operation.parts("a://b", &serde_json::to_vec(&blocks).unwrap());
        let expected = json!([
            {"uri": "a://b", "mimeType": "text/plain", "text": "one"},
            {"uri": "a://b", "mimeType": "image/png", "blob": "AP8="},
            {"uri": "a://d", "mimeType": "text/html", "text": "<p>"},
        ]);
        assert_eq!(serde_json::to_value(parts).unwrap(), expected);
    }

    #[test]
    fn any_other_output_is_a_document_in_json() {
        let parts = OperationDeclaration::query("a.b").resource("a://b").parts("a://b", br#"{"n":1}"#);
        let expected = json!([{"uri": "a://b", "mimeType": "application/json", "text": r#"{"n":1}"#}]);
        assert_eq!(serde_json::to_value(parts).unwrap(), expected);
    }

    #[test]
    fn a_declaration_keeps_its_role_in_a_document() {
        let operation = OperationDeclaration::query("a.b")
            .resource("a://{b}")
            .with_mime_type("text/css")
            .with_completion("b", "a.c");
        let back: OperationDeclaration = serde_json::from_value(serde_json::to_value(&operation).unwrap()).unwrap();
        assert_eq!(back, operation);
        let plain = serde_json::to_value(OperationDeclaration::query("a.b")).unwrap();
        assert!(["role", "gives", "completions"].iter().all(|member| plain.get(member).is_none()));
    }
}
