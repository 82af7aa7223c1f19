//! Debounce: when a file that has changed may be taken: whoever writes it in place is for a while in the middle of it, and what
//! is there then can be read and means something else.

/// What was seen of a file, look by look. Nothing is a file that is not there.
pub(crate) struct Debounce {
    /// What was taken last, or refused.
    taken: Option<Vec<u8>>,
    /// What was there at the last look.
    last: Option<Vec<u8>>,
}

impl Debounce {
    /// Looks at a file of which this was taken.
    pub(crate) fn new(taken: Option<Vec<u8>>) -> Debounce {
        Debounce { last: taken.clone(), taken }
    }

    /// Whether what is there `now` is to be taken: it is new, and was the same at two looks, or whoever wrote it says
    /// that it is whole.
    pub(crate) fn take(&mut self, now: Option<&[u8]>, is_whole: bool) -> bool {
        let still = self.last.as_deref() == now;
        self.last = now.map(<[u8]>::to_vec);
        let take = is_whole || (still && self.taken.as_deref() != now);
        if take {
            self.taken.clone_from(&self.last);
        }
        take
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_still_being_written_is_not_taken() {
        let mut looks = Debounce::new(Some(b"a = 1\nb = 2\n".to_vec()));
        let mut look = |text: &str| looks.take(Some(text.as_bytes()), false);
        assert_eq!(["", "a = 1\n", "a = 1\nb", "a = 1\nb = 3\n"].map(&mut look), [false; 4]);
        assert_eq!(["a = 1\nb = 3\n", "a = 1\nb = 3\n"].map(&mut look), [true, false], "it is taken once");
    }

    #[test]
    fn a_signal_says_that_the_file_is_whole() {
        let mut looks = Debounce::new(Some(b"a = 1\n".to_vec()));
        assert!(looks.take(Some(b"a = 2\n"), true) && looks.take(Some(b"a = 2\n"), true));
        assert!(!looks.take(Some(b"a = 2\n"), false));
    }

    #[test]
    fn a_file_that_is_put_back_was_never_away() {
        let mut looks = Debounce::new(Some(b"a".to_vec()));
        assert!(!looks.take(None, false) && !looks.take(Some(b"a"), false) && !looks.take(Some(b"a"), false));
        assert!(!looks.take(None, false) && looks.take(None, false));
    }
}
