//! Lists in pages, written once: tools, prompts, documents and their templates.

use super::{Era, text::string};

/// Who may keep a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheScope {
    /// Anyone: it is the same for all.
    Public,
    /// Only who asked: it shows what this caller may call.
    Private,
}

/// How long a list may be kept, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caching {
    /// For how many milliseconds.
    pub ttl_ms: u64,
    /// By whom.
    pub scope: CacheScope,
}

impl Caching {
    /// Appends the members that the modern era wants in a list, each with a comma before it.
    pub(super) fn write_to(self, out: &mut Vec<u8>) {
        let scope = match self.scope {
            CacheScope::Public => "public",
            CacheScope::Private => "private",
        };
        out.extend_from_slice(format!(r#","ttlMs":{},"cacheScope":"{scope}""#, self.ttl_ms).as_bytes());
    }
}

/// What a list is a list of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// `tools/list`.
    Tools,
    /// `prompts/list`.
    Prompts,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    ResourceTemplates,
}

impl ListKind {
    /// The member of the result that holds the list.
    const fn member(self) -> &'static str {
        match self {
            ListKind::Tools => "tools",
            ListKind::Prompts => "prompts",
            ListKind::Resources => "resources",
            ListKind::ResourceTemplates => "resourceTemplates",
        }
    }
}

/// The results of a list, page by page.
#[derive(Clone, Debug)]
pub struct ListPages {
    pages: Vec<Vec<u8>>,
    /// Part of every cursor, so that one for another list is told apart from one for this.
    mark: u64,
}

impl ListPages {
    /// The pages of `items`, which are JSON, with at most `page` of them on each.
    pub fn new(listed: ListKind, items: &[&[u8]], page: usize, era: Era, caching: Caching) -> ListPages {
        let mark = fingerprint(items);
        let chunks: Vec<&[&[u8]]> = items.chunks(page.max(1)).collect();
        let count = chunks.len().max(1);
        let write = |place: usize| {
            let items = chunks.get(place).copied().unwrap_or_default();
            let mut out = Vec::with_capacity(items.iter().map(|item| item.len() + 1).sum::<usize>() + 128);
            out.push(b'{');
            if era == Era::Modern {
                out.extend_from_slice(br#""resultType":"complete","#);
            }
            string(listed.member(), &mut out);
            out.extend_from_slice(b":[");
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(item);
            }
            out.push(b']');
            if place + 1 < count {
                out.extend_from_slice(br#","nextCursor":"#);
                string(&cursor(place + 1, mark), &mut out);
            }
            if era == Era::Modern {
                caching.write_to(&mut out);
            }
            out.push(b'}');
            out
        };
        ListPages { pages: (0..count).map(write).collect(), mark }
    }

    /// The page at `cursor`, or the first. None for a cursor that no page of this list gave.
    pub fn page(&self, cursor: Option<&str>) -> Option<&[u8]> {
        let place = match cursor {
            None => 0,
            Some(text) => {
                let place = usize::from_str_radix(text.split_once('.')?.0, 16).ok()?;
                // A cursor is as it was given or it is none: `+1` and `01` are others.
                (place > 0 && *text == self::cursor(place, self.mark)).then_some(place)?
            }
        };
        self.pages.get(place).map(Vec::as_slice)
    }

    /// How many pages there are.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }
}

fn cursor(place: usize, mark: u64) -> String {
    format!("{place:x}.{mark:016x}")
}

/// The same list has the same fingerprint in every process (FNV-1a).
fn fingerprint(items: &[&[u8]]) -> u64 {
    let bytes = items.iter().flat_map(|item| item.iter().chain(b"\n"));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
