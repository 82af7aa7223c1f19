//! The text format of Prometheus, version 0.0.4.

use std::{borrow::Cow, fmt::Write as _};

use super::{BOUNDS, Family, MetricKind, MetricSample, SampleValue};

/// Writes the families one after the other. Writing to a text cannot fail.
pub(super) fn text(families: &[Family]) -> String {
    let mut out = String::with_capacity(4096);
    for Family { name, sort, samples } in families {
        let sort = match sort {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        let _ = writeln!(out, "# HELP {0} {1}\n# TYPE {0} {sort}", name.name(), name.help());
        for sample in samples {
            write(&mut out, name.name(), sample);
        }
    }
    out
}

fn write(out: &mut String, name: &str, MetricSample { labels, reading }: &MetricSample) {
    match reading {
        SampleValue::Count(count) => {
            let _ = writeln!(out, "{name}{} {count}", Labels(labels, None));
        }
        SampleValue::Level(level) => {
            let _ = writeln!(out, "{name}{} {level}", Labels(labels, None));
        }
        SampleValue::Spread { buckets, sum } => {
            let mut below = 0;
            let bounds = BOUNDS.iter().map(|bound| Cow::Owned(seconds(*bound).to_string())).chain(["+Inf".into()]);
            for (bound, count) in bounds.zip(buckets) {
                below += count;
                let _ = writeln!(out, "{name}_bucket{} {below}", Labels(labels, Some(&bound)));
            }
            let _ = writeln!(out, "{name}_sum{} {sum}", Labels(labels, None));
            let _ = writeln!(out, "{name}_count{} {below}", Labels(labels, None));
        }
    }
}

/// A bound in the unit that metrics are told in.
pub(crate) fn seconds(micros: u64) -> f64 {
    std::time::Duration::from_micros(micros).as_secs_f64()
}

/// Labels in braces, with the bound of a bucket at the end.
struct Labels<'a>(&'a [(&'static str, Cow<'static, str>)], Option<&'a str>);

impl std::fmt::Display for Labels<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Labels(labels, bound) = self;
        let labels = labels.iter().map(|(name, value)| (*name, &**value)).chain(bound.map(|bound| ("le", bound)));
        let mut open = "{";
        for (name, value) in labels {
            write!(f, "{open}{name}=\"")?;
            for character in value.chars() {
                match character {
                    '\\' => f.write_str("\\\\")?,
                    '"' => f.write_str("\\\"")?,
                    '\n' => f.write_str("\\n")?,
                    other => f.write_char(other)?,
                }
            }
            f.write_char('"')?;
            open = ",";
        }
        if open == "," { f.write_char('}') } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_end_its_line_or_its_quotes() {
        let labels = [("version", Cow::Borrowed("a\"b\\c\nd"))];
        assert_eq!(Labels(&labels, Some("1")).to_string(), r#"{version="a\"b\\c\nd",le="1"}"#);
        assert_eq!(Labels(&[], None).to_string(), "");
    }
}
