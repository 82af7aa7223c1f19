//! The items of a subscription, from this process or as server-sent events.

use futures_util::{StreamExt as _, stream::BoxStream};
use redress_core::{Event, Subscription};
use serde_json::json;

use crate::{call_target, error::CliError, terminal::outcome_view::OutcomeView};

/// The most bytes of one event.
const MAX_SIZE: usize = 64 << 20;

/// A running stream.
pub(crate) enum StreamItems {
    Here(Box<Subscription>),
    There(Box<SseDecoder>),
}

/// What a stream gives next.
pub(crate) enum NextItem {
    /// One item, as JSON.
    Item(Vec<u8>),
    /// How it ended. Nothing comes after it.
    End(OutcomeView),
}

/// Server-sent events, cut from the bytes in which they come.
pub(crate) struct SseDecoder {
    url: String,
    status: u16,
    chunks: BoxStream<'static, Result<Vec<u8>, reqwest::Error>>,
    waiting: Vec<u8>,
    /// How many of the bytes that wait hold no end of an event.
    searched: usize,
}

impl StreamItems {
    pub(crate) fn there(url: String, response: reqwest::Response) -> StreamItems {
        let status = response.status().as_u16();
        let chunks = response.bytes_stream().map(|chunk| chunk.map(|bytes| bytes.to_vec())).boxed();
        StreamItems::There(Box::new(SseDecoder { url, status, chunks, waiting: Vec::new(), searched: 0 }))
    }

    /// The next item or the end; nothing where the stream broke off without one.
    pub(crate) async fn next(&mut self) -> Result<Option<NextItem>, CliError> {
        match self {
            StreamItems::Here(subscription) => Ok(subscription.next().await.and_then(|event| match event {
                Event::Item(output) => Some(NextItem::Item(output.json().to_vec())),
                Event::Completed(meta) => {
                    OutcomeView::read(json!({"ok": true, "_meta": meta}).to_string().into_bytes()).map(NextItem::End)
                }
                Event::Failed(envelope) => OutcomeView::read(envelope.into_bytes()).map(NextItem::End),
            })),
            StreamItems::There(events) => events.next().await,
        }
    }
}

impl SseDecoder {
    async fn next(&mut self) -> Result<Option<NextItem>, CliError> {
        loop {
            while let Some(block) = cut(&mut self.waiting, &mut self.searched) {
                match read(&block) {
                    Some((kind, data)) if kind == "error" || kind == "end" => {
                        let end = OutcomeView::read(data.into_bytes()).map(NextItem::End);
                        let unreadable =
                            || CliError::ServerAnswerUnreadable { url: self.url.clone(), status: self.status };
                        return end.map(Some).ok_or_else(unreadable);
                    }
                    Some((_, data)) => return Ok(Some(NextItem::Item(data.into_bytes()))),
                    // A comment shows only that the stream is still there.
                    None => {}
                }
            }
            match self.chunks.next().await {
                Some(Ok(chunk)) if self.waiting.len().saturating_add(chunk.len()) > MAX_SIZE => {
                    return Err(CliError::ServerAnswerUnreadable { url: self.url.clone(), status: self.status });
                }
                Some(Ok(chunk)) => self.waiting.extend(chunk),
                Some(Err(error)) => return Err(call_target::unreachable(&self.url, &error)),
                None => return Ok(None),
            }
        }
    }
}

/// Takes the first whole event off the bytes that wait.
///
/// What was searched before is not searched again, however small the pieces are in which an event comes.
fn cut(waiting: &mut Vec<u8>, searched: &mut usize) -> Option<String> {
    let unsearched = waiting.get(*searched..).unwrap_or_default();
    let Some(end) = unsearched.windows(2).position(|pair| pair == b"\n\n") else {
        *searched = waiting.len().saturating_sub(1);
        return None;
    };
    let block: Vec<u8> = waiting.drain(..*searched + end + 2).collect();
    *searched = 0;
    Some(String::from_utf8_lossy(&block).into_owned())
}

/// The kind and the data of an event; nothing if it carries none.
fn read(block: &str) -> Option<(String, String)> {
    let field = |name: &str, line: &str| {
        let value = line.strip_prefix(name)?.strip_prefix(':')?;
        Some(value.strip_prefix(' ').unwrap_or(value).to_owned())
    };
    let kind = block.lines().find_map(|line| field("event", line)).unwrap_or_default();
    let data: Vec<String> = block.lines().filter_map(|line| field("data", line)).collect();
    (!data.is_empty()).then(|| (kind, data.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_cut_from_bytes_wherever_these_break() {
        let mut waiting = b": hello\n\nid: 1\ndata: {\"a\":1}\n\nevent: er".to_vec();
        let mut searched = 0;
        let mut cut = |waiting: &mut Vec<u8>| super::cut(waiting, &mut searched);
        assert_eq!(cut(&mut waiting).as_deref().map(read), Some(None));
        let item = cut(&mut waiting).unwrap();
        assert_eq!(read(&item), Some((String::new(), "{\"a\":1}".to_owned())));
        assert_eq!(cut(&mut waiting), None);
        waiting.extend(b"ror\ndata: {}\n\n");
        assert_eq!(read(&cut(&mut waiting).unwrap()), Some(("error".to_owned(), "{}".to_owned())));
    }
}
