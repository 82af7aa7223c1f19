//! The forms in which a marker may turn up.

/// One form of one part of a marker.
#[derive(Debug)]
pub(super) struct Needle {
    form: &'static str,
    text: String,
    /// Whether case tells two of them apart.
    exact: bool,
}

/// The bytes of a face, read in every way in which they may hold a marker.
#[derive(Debug)]
pub(super) struct Haystack {
    exact: Vec<u8>,
    folded: Vec<Vec<u8>>,
}

/// The forms to look for. A marker that was cut is found by either half of it.
pub(super) fn needles(marker: &str) -> Vec<Needle> {
    let (head, tail) = marker.split_at(marker.len() / 2);
    [head, tail].into_iter().flat_map(forms).collect()
}

/// The forms of a number, which is too short to be found by half.
pub(super) fn number(marker: &str) -> Vec<Needle> {
    forms(marker)
}

fn forms(part: &str) -> Vec<Needle> {
    let folded = |form, text: String| Needle { form, text: text.to_ascii_lowercase(), exact: false };
    let listed = |separator| part.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(separator);
    let mut needles = vec![
        folded("as it is", part.to_owned()),
        folded("reversed", part.chars().rev().collect()),
        folded("as hex", crate::hex(part.as_bytes())),
        folded("as a list of bytes", listed(",")),
        folded("as a list of bytes", listed(", ")),
    ];
    needles.extend((0..3).map(|shift| Needle { form: "as base64", text: base64_core(part, shift), exact: true }));
    needles
}

/// The base64 characters that depend on `text` alone when `shift` bytes stand before it. A
/// marker holds only letters and digits, whose base64 is the same in both alphabets.
fn base64_core(text: &str, shift: usize) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let padded: Vec<u8> = std::iter::repeat_n(0, shift).chain(text.bytes()).collect();
    let whole = padded.chunks_exact(3).flat_map(|three| {
        let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        [18, 12, 6, 0].map(|place| ALPHABET.get((bits >> place & 63) as usize).copied().map_or('?', char::from))
    });
    // The first characters also hold bits of what stands before.
    whole.skip(shift.saturating_mul(8).div_ceil(6)).collect()
}

impl Haystack {
    pub(super) fn new(bytes: &[u8]) -> Haystack {
        let readings = [bytes.to_vec(), unescaped(bytes), percent_decoded(bytes)];
        let fold = |reading: Vec<u8>| reading.to_ascii_lowercase();
        Haystack { exact: bytes.to_vec(), folded: readings.into_iter().map(fold).collect() }
    }

    /// The form in which one of the needles is in here.
    pub(super) fn find(&self, needles: &[Needle]) -> Option<&'static str> {
        let holds = |hay: &[u8], needle: &Needle| memchr::memmem::find(hay, needle.text.as_bytes()).is_some();
        let found = needles.iter().find(|needle| {
            if needle.exact { holds(&self.exact, needle) } else { self.folded.iter().any(|hay| holds(hay, needle)) }
        });
        found.map(|needle| needle.form)
    }
}

/// With `\u0041`, `\x41` and `\u{41}` read as the characters that they stand for.
fn unescaped(bytes: &[u8]) -> Vec<u8> {
    decoded(bytes, |rest| {
        let rest = rest.strip_prefix(b"\\")?;
        let (open, digits) = match rest {
            [b'u', b'{', ..] => (2, rest.get(2..)?.iter().take_while(|byte| **byte != b'}').count()),
            [b'u', ..] => (1, 4),
            [b'x', ..] => (1, 2),
            _ => return None,
        };
        let close = usize::from(open == 2);
        Some((ascii(rest.get(open..open + digits)?)?, 1 + open + digits + close))
    })
}

fn percent_decoded(bytes: &[u8]) -> Vec<u8> {
    decoded(bytes, |rest| Some((ascii(rest.strip_prefix(b"%")?.get(..2)?)?, 3)))
}

/// `bytes` with every place that `read` knows replaced by the byte that it stands for.
fn decoded(bytes: &[u8], read: impl Fn(&[u8]) -> Option<(u8, usize)>) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, others @ ..] = rest {
        match read(rest) {
            Some((byte, length)) => {
                out.push(byte);
                rest = rest.get(length..).unwrap_or_default();
            }
            None => {
                out.push(*first);
                rest = others;
            }
        }
    }
    out
}

fn ascii(hex: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(hex).ok()?.trim_start_matches("00"), 16).ok()
}
