//! Where everything is written: what was asked for goes to the output, what went wrong to
//! the error stream.

use std::{
    env, fmt,
    io::{self, IsTerminal as _, Write},
};

use anstyle::{AnsiColor, Style};

use crate::arguments::Color;

/// Names of things.
pub(crate) const NAME: Style = Style::new().bold();
/// What went well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// What needs a look.
pub(crate) const DOUBTFUL: Style = AnsiColor::Yellow.on_default();
/// What went wrong.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// What to type next.
pub(crate) const TYPED: Style = AnsiColor::Cyan.on_default();
/// What may be skipped.
pub(crate) const SOFT: Style = Style::new().dimmed();

/// The two streams, and how to write on them.
pub(crate) struct Terminal<'a> {
    out: Stream<'a>,
    err: Stream<'a>,
    json: bool,
}

/// One stream of a terminal.
pub(crate) struct Stream<'a> {
    to: &'a mut dyn Write,
    is_terminal: bool,
    colored: bool,
}

impl<'a> Stream<'a> {
    /// A stream that no person watches.
    pub(crate) fn plain(to: &'a mut dyn Write) -> Stream<'a> {
        Stream { to, is_terminal: false, colored: false }
    }

    pub(crate) fn stdout(to: &'a mut io::Stdout) -> Stream<'a> {
        Stream { is_terminal: to.is_terminal(), to, colored: false }
    }

    pub(crate) fn stderr(to: &'a mut io::Stderr) -> Stream<'a> {
        Stream { is_terminal: to.is_terminal(), to, colored: false }
    }

    /// Writes one line.
    pub(crate) fn line(&mut self, text: impl fmt::Display) -> io::Result<()> {
        writeln!(self.to, "{text}")?;
        self.to.flush()
    }

    /// Writes bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes)?;
        self.to.flush()
    }

    /// `text` in `style`, where the stream has colours.
    pub(crate) fn paint<T: fmt::Display>(&self, style: Style, text: T) -> Painted<T> {
        Painted { style: if self.colored { style } else { Style::new() }, text }
    }

    pub(crate) fn is_colored(&self) -> bool {
        self.colored
    }
}

impl<'a> Terminal<'a> {
    pub(crate) fn new(out: Stream<'a>, err: Stream<'a>) -> Terminal<'a> {
        Terminal { out, err, json: false }
    }

    /// Says for whom to write: programs, or people with or without colours.
    pub(crate) fn set(&mut self, json: bool, color: Color) {
        self.json = json;
        // https://no-color.org: any value but the empty one.
        let wanted = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && env::var_os("TERM").is_none_or(|term| term != "dumb");
        for stream in [&mut self.out, &mut self.err] {
            stream.colored = match color {
                Color::Always => true,
                Color::Never => false,
                Color::Auto => stream.is_terminal && wanted,
            };
        }
    }

    /// Whether a program reads the output.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    pub(crate) fn out(&mut self) -> &mut Stream<'a> {
        &mut self.out
    }

    pub(crate) fn err(&mut self) -> &mut Stream<'a> {
        &mut self.err
    }

    /// Writes a document for programs: one line of JSON.
    pub(crate) fn document(&mut self, json: &impl serde::Serialize) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(json)?;
        bytes.push(b'\n');
        self.out.bytes(&bytes)
    }
}

/// Text in a style.
pub(crate) struct Painted<T> {
    style: Style,
    text: T,
}

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The padding goes inside the style, so that columns stay aligned.
        let Painted { style, text } = self;
        write!(f, "{style}")?;
        match f.width() {
            Some(width) => write!(f, "{text:<width$}")?,
            None => write!(f, "{text}")?,
        }
        write!(f, "{style:#}")
    }
}

/// Text from elsewhere, harmless on a terminal: what would move the cursor, colour the
/// screen or turn the writing round is shown and not obeyed.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut shown, c| {
        match is_harmful(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
        shown
    })
}

/// Whether `c` does something to a terminal instead of showing on it.
pub(crate) fn is_harmful(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_elsewhere_cannot_command_the_terminal() {
        assert_eq!(harmless("a\u{1b}[31mb\u{202e}c\nd"), "a\\u{1b}[31mb\\u{202e}c\\nd");
        assert_eq!(harmless("grüße 😀"), "grüße 😀");
    }

    #[test]
    fn columns_stay_aligned_with_and_without_colours() {
        let mut sink = Vec::new();
        let mut stream = Stream::plain(&mut sink);
        assert_eq!(format!("{:4}|", stream.paint(BAD, "ab")), "ab  |");
        stream.colored = true;
        assert!(format!("{:4}|", stream.paint(BAD, "ab")).contains("ab  \u{1b}"));
    }
}
