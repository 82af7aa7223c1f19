//! What this build lacks: parts of the command are features, and what a setting asks for is there or refused by its name.

use super::ServeSettings;

/// A part of the command that may be left out.
struct Part {
    /// The feature that it is.
    feature: &'static str,
    built: bool,
    /// The setting that asks for it, where one does.
    asked: fn(&ServeSettings) -> Option<&'static str>,
}

const PARTS: [Part; 9] = [
    Part { feature: "tls", built: cfg!(feature = "tls"), asked: |settings| settings.tls.as_ref().map(|_| "tls") },
    Part {
        feature: "tls",
        built: cfg!(feature = "tls"),
        asked: |settings| settings.access.as_ref()?.certificates.as_ref().map(|_| "access.certificates"),
    },
    Part {
        feature: "gateway",
        built: cfg!(feature = "gateway"),
        asked: |settings| settings.upstreams.first().map(|_| "upstream"),
    },
    Part {
        feature: "jwt",
        built: cfg!(feature = "jwt"),
        asked: |settings| settings.access.as_ref()?.jwt.as_ref().map(|_| "access.jwt"),
    },
    Part {
        feature: "state",
        built: cfg!(feature = "state"),
        asked: |settings| settings.state.table().map(|_| "state"),
    },
    Part { feature: "state", built: cfg!(feature = "state"), asked: |settings| settings.audit.unkept(&settings.state) },
    Part {
        feature: "state",
        built: cfg!(feature = "state"),
        asked: |settings| settings.limits.unkept(&settings.state),
    },
    Part {
        feature: "otlp",
        built: cfg!(feature = "otlp"),
        asked: |settings| settings.telemetry.otlp.as_ref().map(|_| "telemetry.otlp"),
    },
    Part {
        feature: "compression",
        built: cfg!(feature = "compression"),
        asked: |settings| settings.http.compression.filter(|yes| *yes).map(|_| "http.compression"),
    },
];

/// Why a part that is left out cannot be had, and what to do.
pub(crate) fn without(what: &str, feature: &str) -> String {
    format!(
        "{what} needs the feature `{feature}`, and this program was built without it: add \"{feature}\" to the features of \
         redress in its Cargo.toml, and build it again"
    )
}

impl ServeSettings {
    /// The first setting that asks for what this build lacks, and what is wrong with it.
    pub(super) fn lacking(&self) -> Option<(&'static str, String)> {
        let mut missing = PARTS.iter().filter(|part| !part.built);
        missing.find_map(|part| {
            let key = (part.asked)(self)?;
            Some((key, without(&format!("`{key}`"), part.feature)))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        arguments::{BoundsArgs, FolderArgs, ServeArgs},
        config::ConfigDocument,
    };

    #[test]
    fn each_part_is_asked_for_by_its_setting_and_by_no_other() {
        let tls = "[tls]\ncertificate = \"a\"\nkey = \"b\"\n";
        let certificates =
            format!("{tls}[access.certificates]\nca = \"ca.pem\"\ncallers = [{{ name = \"a\", caller = \"b\" }}]\n");
        let memory = "state = \"memory\"\n";
        for (text, keys) in [
            (memory.to_owned(), vec![]),
            (format!("{memory}{tls}"), vec!["tls"]),
            (format!("{memory}{certificates}"), vec!["tls", "access.certificates"]),
            (format!("{memory}[access.jwt]\nkey_file = \"a\"\n"), vec!["access.jwt"]),
            ("[state]\nfolder = \"a\"\n".to_owned(), vec!["state"]),
            (format!("{memory}[telemetry]\notlp = \"http://127.0.0.1:4318\"\n"), vec!["telemetry.otlp"]),
            (format!("{memory}[http]\ncompression = true\n"), vec!["http.compression"]),
            (format!("{memory}[http]\ncompression = false\n"), vec![]),
        ] {
            let document = ConfigDocument { path: "redress.toml".into(), text: text.clone() };
            let file = toml::from_str(&text).unwrap();
            let args = (ServeArgs::default(), FolderArgs::default(), BoundsArgs::default());
            let settings = ServeSettings::of(&args.0, &args.1, &args.2, file, Some(document)).unwrap();
            let asked: Vec<&str> = PARTS.iter().filter_map(|part| (part.asked)(&settings)).collect();
            assert_eq!(asked, keys, "{text}");
        }
    }

    #[test]
    fn every_feature_of_the_command_has_a_row() {
        let manifest: toml::Table = include_str!("../../Cargo.toml").parse().unwrap();
        let features = manifest["features"].as_table().unwrap().keys().map(String::as_str);
        let features: BTreeSet<&str> = features.filter(|feature| *feature != "full").collect();
        assert_eq!(PARTS.iter().map(|part| part.feature).collect::<BTreeSet<_>>(), features);
    }
}
