//! The bytes of a connection, as they tell how it gets on.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::connection::conn_watchdog::ConnActivity;

/// What a client of HTTP/2 begins with.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection whose bytes are counted as they come.
#[derive(Debug)]
pub(crate) struct CountedIo<T> {
    pub(crate) inner: T,
    pub(crate) activity: Arc<ConnActivity>,
}

impl<T: AsyncRead + Unpin> AsyncRead for CountedIo<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(cx, buffer);
        let bytes = buffer.filled().len().saturating_sub(before);
        if bytes > 0 {
            self.activity.add_received(bytes);
        }
        read
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for CountedIo<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// A connection whose pace is watched.
#[derive(Debug)]
pub(crate) struct TrackedIo<T, O> {
    inner: T,
    activity: Arc<ConnActivity>,
    /// What may still come of the preface of HTTP/2; nothing, once it is known what is spoken.
    preface: &'static [u8],
    /// What is given back when the connection is closed, whoever has it by then.
    _open: O,
}

impl<T, O> TrackedIo<T, O> {
    /// A connection of which it is known what is spoken, or is not.
    pub(crate) fn new(inner: T, activity: Arc<ConnActivity>, known: bool, open: O) -> TrackedIo<T, O> {
        TrackedIo { inner, activity, preface: if known { &[] } else { PREFACE }, _open: open }
    }
}

impl<T: Read + Unpin, O> TrackedIo<T, O> {
    /// Reads what may be the preface, which a client may send long before it asks for anything.
    fn read_preface(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let mut bytes = [0; PREFACE.len()];
        let max = self.preface.len().min(buffer.remaining());
        let mut begun = ReadBuf::new(&mut bytes[..max]);
        ready!(Pin::new(&mut self.inner).poll_read(cx, begun.unfilled()))?;
        let begun = begun.filled();
        buffer.put_slice(begun);
        self.preface = match self.preface.strip_prefix(begun) {
            Some([]) => {
                self.activity.speaks_http2();
                &[]
            }
            Some(rest) => rest,
            None => &[],
        };
        Poll::Ready(Ok(()))
    }
}

impl<T: Read + Unpin, O: Unpin> Read for TrackedIo<T, O> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let read = match self.preface.is_empty() {
            true => ready!(Pin::new(&mut self.inner).poll_read(cx, buffer)),
            false => ready!(self.read_preface(cx, &mut buffer)),
        };
        self.activity.read();
        Poll::Ready(read)
    }
}

impl<T: Write + Unpin, O: Unpin> Write for TrackedIo<T, O> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.activity.wrote(wrote.is_pending());
        wrote
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.inner).poll_write_vectored(cx, parts);
        self.activity.wrote(wrote.is_pending());
        wrote
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        self.activity.wrote(flushed.is_pending());
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.activity.wrote(shut.is_pending());
        shut
    }
}
