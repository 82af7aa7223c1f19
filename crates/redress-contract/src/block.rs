//! Output for people and models: text, pictures, sound and documents.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One piece of output that a person or a model looks at.
///
/// The JSON is the one that agents already read such pieces in, so a face that speaks to
/// agents can hand it on as it is; on every other face it is JSON like any other output.
///
/// ```
/// use redress_contract::Block;
///
/// let dot = Block::image(b"GIF", "image/gif");
/// let json = serde_json::to_value(&dot).unwrap();
/// assert_eq!(json, serde_json::json!({"type": "image", "data": "R0lG", "mimeType": "image/gif"}));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Block {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// Its bytes, in base64.
        data: String,
        /// Its media type.
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    /// Sound.
    Audio {
        /// Its bytes, in base64.
        data: String,
        /// Its media type.
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    /// Where a document can be read.
    ResourceLink {
        /// Where it is.
        uri: String,
        /// What it is called.
        name: String,
        /// What it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Its media type.
        #[serde(default, rename = "mimeType", skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
    /// A document itself.
    Resource {
        /// The document.
        resource: ResourceContents,
    },
}

/// A document, or a part of one: its text, or its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ResourceContents {
    /// Where it is.
    pub uri: String,
    /// Its media type.
    #[serde(default, rename = "mimeType", skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its text, where it is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes in base64, where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
}

/// The output of an operation that answers with pieces to look at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Blocks(pub Vec<Block>);

impl Block {
    /// Text.
    pub fn text(text: impl Into<String>) -> Block {
        Block::Text { text: text.into() }
    }

    /// A picture.
    pub fn image(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Block {
        Block::Image { data: STANDARD.encode(bytes), mime_type: mime_type.into() }
    }

    /// Sound.
    pub fn audio(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Block {
        Block::Audio { data: STANDARD.encode(bytes), mime_type: mime_type.into() }
    }

    /// Where a document can be read.
    pub fn link(uri: impl Into<String>, name: impl Into<String>) -> Block {
        Block::ResourceLink { uri: uri.into(), name: name.into(), description: None, mime_type: None }
    }
}

impl ResourceContents {
    /// A document of text.
    pub fn text(uri: impl Into<String>, mime_type: impl Into<String>, text: impl Into<String>) -> ResourceContents {
        ResourceContents { uri: uri.into(), mime_type: Some(mime_type.into()), text: Some(text.into()), blob: None }
    }

    /// A document of bytes.
    pub fn binary(uri: impl Into<String>, mime_type: impl Into<String>, bytes: impl AsRef<[u8]>) -> ResourceContents {
        ResourceContents {
            uri: uri.into(),
            mime_type: Some(mime_type.into()),
            text: None,
            blob: Some(STANDARD.encode(bytes)),
        }
    }
}

impl From<ResourceContents> for Block {
    fn from(resource: ResourceContents) -> Block {
        Block::Resource { resource }
    }
}

impl From<Block> for Blocks {
    fn from(block: Block) -> Blocks {
        Blocks(vec![block])
    }
}

impl From<Vec<Block>> for Blocks {
    fn from(blocks: Vec<Block>) -> Blocks {
        Blocks(blocks)
    }
}

impl<const N: usize> From<[Block; N]> for Blocks {
    fn from(blocks: [Block; N]) -> Blocks {
        Blocks(blocks.into())
    }
}
