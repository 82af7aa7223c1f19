//! Where a service is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Where a service is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// The address, with `{name}` where a variable goes. It may be relative to where the document was got from.
    pub url: String,
    /// What is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The variables of the address, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, ServerVariable>,
}

/// A variable of an address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerVariable {
    /// Its value, unless another is chosen.
    pub default: String,
    /// The values that it may have; any where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

impl Server {
    /// The address with `chosen` values, and else the defaults, in the place of its variables.
    ///
    /// ```
    /// use redress_import::{Server, ServerVariable};
    ///
    /// let region = ServerVariable { default: "eu".to_owned(), values: Vec::new() };
    /// let server = Server {
    ///     url: "https://{region}.example.com/v1".to_owned(),
    ///     description: None,
    ///     variables: [("region".to_owned(), region)].into(),
    /// };
    /// assert_eq!(server.address(&Default::default()), "https://eu.example.com/v1");
    /// ```
    pub fn address(&self, chosen: &BTreeMap<String, String>) -> String {
        let mut address = String::with_capacity(self.url.len());
        let mut rest = self.url.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            address.push_str(before);
            let Some((name, behind)) = after.split_once('}') else {
                address.push('{');
                rest = after;
                continue;
            };
            match (chosen.get(name), self.variables.get(name)) {
                (Some(value), _) => address.push_str(value),
                (None, Some(variable)) => address.push_str(&variable.default),
                (None, None) => {
                    address.push('{');
                    address.push_str(name);
                    address.push('}');
                }
            }
            rest = behind;
        }
        address.push_str(rest);
        address
    }
}
