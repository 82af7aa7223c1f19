//! Where everything is written: what was asked for goes to the output, what went wrong to
//! the error stream.

use std::{
    borrow::Cow,
    env, fmt,
    io::{self, IsTerminal as _, Write},
    path::{Path, PathBuf},
};

use anstyle::{AnsiColor, Style};

pub(crate) use redress_core::is_unprintable as is_harmful;
use redress_core::printable;

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

    /// Writes one line, which may hold styles.
    pub(crate) fn line(&mut self, text: impl fmt::Display) -> io::Result<()> {
        if self.is_terminal {
            let text = text.to_string();
            self.to.write_all(shown(&text, self.colored).as_bytes())?;
            self.to.write_all(b"\n")?;
        } else {
            writeln!(self.to, "{text}")?;
        }
        self.to.flush()
    }

    /// Writes bytes: as they are, or, where a person watches, with nothing in them that a terminal would obey.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.is_terminal {
            self.to.write_all(shown(&String::from_utf8_lossy(bytes), false).as_bytes())?;
        } else {
            self.to.write_all(bytes)?;
        }
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

    /// Tells people that there is nothing to show. Programs see that by themselves.
    pub(crate) fn nothing(&mut self, says: &str) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        self.err.line(self.err.paint(SOFT, says))
    }

    /// Tells people which file or folder was used, and by which configuration: where its links lead, so that nothing
    /// else passes for it.
    pub(crate) fn used(&mut self, path: &Path, config: Option<&Path>) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        let whole = |path: &Path| harmless(&leads(path).display().to_string());
        let says = match config {
            Some(config) => format!("in {}, as {} says", whole(path), whole(config)),
            None => format!("in {}", whole(path)),
        };
        self.err.line(self.err.paint(SOFT, says))
    }

    /// Writes a document for programs: one line of JSON.
    pub(crate) fn document(&mut self, json: &impl serde::Serialize) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(json)?;
        bytes.push(b'\n');
        self.out.bytes(&bytes)
    }
}

/// Where a path leads, as far as that can be told.
pub(crate) fn leads(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
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

/// Everything that goes to a terminal comes through here: the ends of lines, tabs and, where it is `styled`, styles
/// (`ESC [ … m`) pass; what else a terminal would obey is written by its number, as JSON writes it.
pub(crate) fn shown(text: &str, styled: bool) -> Cow<'_, str> {
    if !text.contains(|c| is_harmful(c) && c != '\n') {
        return Cow::Borrowed(text);
    }
    let mut rest = text;
    let mut shown = String::with_capacity(text.len());
    while let Some(c) = rest.chars().next() {
        let style = if styled { style_at(rest) } else { None };
        let taken = style.map_or(c.len_utf8(), str::len);
        match style {
            Some(style) => shown.push_str(style),
            None => shown.push_str(&printable(rest.get(..taken).unwrap_or_default())),
        }
        rest = rest.get(taken..).unwrap_or_default();
    }
    Cow::Owned(shown)
}

/// The style that `text` begins with.
fn style_at(text: &str) -> Option<&str> {
    let inside = text.strip_prefix("\u{1b}[")?;
    let end = inside.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    inside.get(end..)?.starts_with('m').then(|| text.get(..end + 3)).flatten()
}

/// What is logged to the error stream. It is harmless whoever reads it: a log that goes to a file is shown in a terminal
/// later on, by a program that knows nothing of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorStream {
    colored: bool,
}

impl ErrorStream {
    pub(crate) fn new(colored: bool) -> ErrorStream {
        ErrorStream { colored }
    }
}

impl ErrorStream {
    fn shown(self, bytes: &[u8]) -> Vec<u8> {
        shown(&String::from_utf8_lossy(bytes), self.colored).into_owned().into_bytes()
    }
}

impl Write for ErrorStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(&self.shown(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
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
    fn whatever_is_written_to_a_terminal_commands_nothing() {
        let hostile =
            "a\u{1b}[2Jb\u{9b}31mc\u{7f}d\u{202e}e\u{2066}f\u{200b}g\u{feff}h\u{e0041}i\rj\u{8}k\u{85}l\u{2028}m";
        let mut sink = Vec::new();
        let mut stream = Stream { to: &mut sink, is_terminal: true, colored: true };
        stream.line(hostile).unwrap();
        stream.bytes(hostile.as_bytes()).unwrap();
        stream.bytes(b"\xffx\x1b[8my\n").unwrap();
        stream.line(Painted { style: BAD, text: "styled\tand\ntold" }).unwrap();
        let text = String::from_utf8(sink).unwrap();
        let (before, styled) = text.split_once('y').unwrap();
        assert!(!before.contains(|c| is_harmful(c) && c != '\n'), "{before:?}");
        assert!(
            before.contains("\\u009b31m") && before.contains("\\udb40\\udc41") && before.contains("\\u001b[8m"),
            "{before:?}"
        );
        assert!(styled.contains("\u{1b}[31m") && styled.contains("styled\tand\ntold"), "{styled:?}");
    }

    #[test]
    fn what_is_logged_commands_nothing_wherever_it_is_read() {
        let logged = ErrorStream::new(false).shown("ada\u{202e}\u{1b}[2J\u{200b}\n".as_bytes());
        assert_eq!(String::from_utf8(logged).unwrap(), "ada\\u202e\\u001b[2J\\u200b\n");
    }

    #[test]
    fn what_no_person_watches_stays_as_it_is() {
        let mut sink = Vec::new();
        Stream::plain(&mut sink).bytes(b"\x1b\xff\xc2\x9b").unwrap();
        assert_eq!(sink, b"\x1b\xff\xc2\x9b");
    }

    #[test]
    fn json_that_is_shown_stays_the_same_json() {
        let value = serde_json::json!({"a": "x\u{9b}\u{7f}\u{202e}\u{e0041}ä😀\n"});
        let text = value.to_string();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown(&text, false)).unwrap(), value);
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
