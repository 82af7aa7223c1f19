//! Where to listen, as it is written: an address and a port, a Unix socket, or what systemd hands over.

use std::{
    borrow::Cow,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListenSetting {
    /// An address or a name, and a port.
    Tcp(String),
    /// A Unix socket.
    Unix(PathBuf),
    /// The socket that systemd has opened.
    Systemd,
}

/// That a text says nowhere to listen.
#[derive(Debug, thiserror::Error)]
#[error("expected an address and a port, `unix:/run/redress.sock` or `systemd`")]
pub(crate) struct NowhereToListen;

impl ListenSetting {
    /// The same, where a relative path starts from `folder`.
    pub(crate) fn starting_from(self, folder: &Path) -> ListenSetting {
        match self {
            ListenSetting::Unix(path) => ListenSetting::Unix(folder.join(path)),
            ListenSetting::Tcp(_) | ListenSetting::Systemd => self,
        }
    }
}

impl FromStr for ListenSetting {
    type Err = NowhereToListen;

    fn from_str(text: &str) -> Result<ListenSetting, NowhereToListen> {
        match text.strip_prefix("unix:") {
            Some("") => Err(NowhereToListen),
            Some(path) => Ok(ListenSetting::Unix(path.into())),
            None if text == "systemd" => Ok(ListenSetting::Systemd),
            None if text.is_empty() => Err(NowhereToListen),
            // Whether it is an address only the system can tell, and it is asked at the start.
            None => Ok(ListenSetting::Tcp(text.to_owned())),
        }
    }
}

impl fmt::Display for ListenSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenSetting::Tcp(address) => f.write_str(address),
            ListenSetting::Unix(path) => write!(f, "unix:{}", path.display()),
            ListenSetting::Systemd => f.write_str("systemd"),
        }
    }
}

impl<'de> Deserialize<'de> for ListenSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ListenSetting, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for ListenSetting {
    fn schema_name() -> Cow<'static, str> {
        "Listen".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "minLength": 1, "examples": ["127.0.0.1:7717", "unix:/run/redress.sock", "systemd"]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms_are_told_apart_and_written_back() {
        for text in ["127.0.0.1:7717", "localhost:0", "unix:/run/redress.sock", "systemd"] {
            assert_eq!(text.parse::<ListenSetting>().unwrap().to_string(), text);
        }
        assert!("".parse::<ListenSetting>().is_err() && "unix:".parse::<ListenSetting>().is_err());
    }

    #[test]
    fn a_relative_socket_starts_from_the_folder_of_the_file() {
        let listen: ListenSetting = "unix:redress.sock".parse().unwrap();
        assert_eq!(listen.starting_from(Path::new("/etc")), ListenSetting::Unix("/etc/redress.sock".into()));
    }
}
