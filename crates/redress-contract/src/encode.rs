//! JSON written into a buffer that does not grow as it likes.

use std::io;

use serde::Serialize;

/// What is left at the end of a large buffer for what is written behind the output, so that it is not copied for that.
const TAIL: usize = 512;
/// From how many bytes on a buffer grows by less than it has.
const STEP: usize = 64 * 1024;
/// Up to how many bytes a buffer grows as it likes.
const SMALL: usize = 16 * 1024;

/// Why a value was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// It cannot be written as JSON.
    #[error("the value cannot be written as JSON")]
    Unwritable(#[from] serde_json::Error),
    /// It is larger than it may be. The rest of it was not looked at.
    #[error("the value has more than {max} bytes")]
    TooLarge {
        /// How many bytes it may have.
        max: usize,
    },
    /// There was no room for it.
    #[error("there is no room for {bytes} bytes")]
    NoRoom {
        /// How many bytes it needs.
        bytes: usize,
    },
}

/// A buffer with a bound.
pub(crate) struct BoundedBuffer<G> {
    buffer: Vec<u8>,
    /// Up to how many bytes the buffer is written to without looking further.
    room: usize,
    /// Up to how many bytes nobody is asked.
    reserved: usize,
    max: usize,
    grow: G,
    /// How many bytes there would be, once there is no room for them.
    measured: Option<usize>,
    too_large: bool,
}

impl<G: FnMut(usize) -> bool> BoundedBuffer<G> {
    /// Writes `value` behind `before`.
    pub(crate) fn encode<T: Serialize + ?Sized>(
        value: &T,
        before: &[u8],
        max: usize,
        room: usize,
        grow: G,
    ) -> Result<Vec<u8>, EncodeError> {
        let mut buffer = Vec::with_capacity(256);
        buffer.extend_from_slice(before);
        let max = max.saturating_add(before.len());
        let reserved = room;
        let room = room.min(max).min(SMALL);
        let mut bounded = BoundedBuffer { buffer, room, reserved, max, grow, measured: None, too_large: false };
        let written = serde_json::to_writer(&mut bounded, value);
        let BoundedBuffer { mut buffer, measured, too_large, .. } = bounded;
        if too_large {
            return Err(EncodeError::TooLarge { max: max - before.len() });
        }
        written?;
        match measured {
            Some(bytes) => Err(EncodeError::NoRoom { bytes: bytes.saturating_add(TAIL) }),
            None => {
                if buffer.len() > STEP {
                    buffer.reserve_exact(TAIL);
                }
                Ok(buffer)
            }
        }
    }

    /// Takes bytes for which there may be no room.
    #[cold]
    fn beyond(&mut self, bytes: &[u8]) -> io::Result<()> {
        let length = self.measured.unwrap_or(self.buffer.len()).saturating_add(bytes.len());
        if length > self.max {
            self.too_large = true;
            self.buffer = Vec::new();
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        if self.measured.is_none() {
            // The buffer grows by a part of itself and no more than was asked for: what it has in reserve is held too. A
            // small one doubles, so that it is not charged for many times what it has.
            let step = (length / 4).max(length.min(STEP));
            let more = length.saturating_add(step).min(self.max).saturating_add(TAIL);
            let wanted = if length.saturating_add(TAIL) <= self.reserved { more.min(self.reserved) } else { more };
            if wanted <= self.reserved || (self.grow)(wanted) {
                self.reserved = self.reserved.max(wanted);
                self.room = wanted - TAIL;
                self.buffer.reserve_exact(wanted - self.buffer.len());
                self.buffer.extend_from_slice(bytes);
                return Ok(());
            }
            self.buffer = Vec::new();
            self.room = 0;
        }
        self.measured = Some(length);
        Ok(())
    }
}

impl<G: FnMut(usize) -> bool> io::Write for BoundedBuffer<G> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.buffer.len() + bytes.len() <= self.room {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.beyond(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(length: usize, max: usize, room: usize, mut most: usize) -> Result<Vec<u8>, EncodeError> {
        let value = vec![7_u8; length / 2];
        BoundedBuffer::encode(&value, b">", max, room, |bytes| {
            let fits = bytes <= most;
            most = if fits { most } else { 0 };
            fits
        })
    }

    #[test]
    fn what_fits_is_written_whole_and_never_into_more_than_was_asked_for() {
        let written = encode(400_000, 1 << 20, 1024, 1 << 20).unwrap();
        let plain = serde_json::to_vec(&vec![7_u8; 200_000]).unwrap();
        assert_eq!(written.get(1..), Some(&*plain));
        assert!(written.capacity() - written.len() >= TAIL, "what follows needs no copy");
        assert!(written.capacity() <= 1 << 20, "{}", written.capacity());
    }

    #[test]
    fn what_has_no_room_is_measured_and_what_is_too_large_is_given_up() {
        let length = serde_json::to_vec(&vec![7_u8; 200_000]).unwrap().len();
        let bytes = match encode(400_000, 1 << 20, 1024, 100_000) {
            Err(EncodeError::NoRoom { bytes }) => bytes,
            other => panic!("{other:?}"),
        };
        assert_eq!(bytes, 1 + length + TAIL);
        assert!(encode(400_000, 1 << 20, bytes, 0).is_ok(), "what was measured is enough");
        for most in [0, 1 << 20] {
            let refused = encode(400_000, length - 1, 1024, most);
            assert!(matches!(refused, Err(EncodeError::TooLarge { max }) if max == length - 1), "{refused:?}");
        }
        assert!(encode(400_000, length, 1024, 1 << 20).is_ok());
    }
}
