//! Encoding of message content: plain values and slices as little-endian bytes.

use bytemuck::{AnyBitPattern, NoUninit, bytes_of, cast_slice, pod_collect_to_vec, pod_read_unaligned};

/// Writer of a message's content.
#[derive(Clone, Debug, Default)]
pub struct Encoder(Vec<u8>);

impl Encoder {
    /// Creates an empty content.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a value.
    #[must_use]
    pub fn value<T: NoUninit>(mut self, value: T) -> Self {
        self.0.extend_from_slice(bytes_of(&value));
        self
    }

    /// Appends the length of a slice and its values.
    #[must_use]
    pub fn slice<T: NoUninit>(mut self, values: &[T]) -> Self {
        self.0.extend_from_slice(&(values.len() as u64).to_le_bytes());
        self.0.extend_from_slice(cast_slice(values));
        self
    }

    /// Returns the content.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Error of bytes that are not the expected values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message is damaged, or of another version of this program: run the same program on all machines")]
pub struct DecodeError;

/// Reader of a message's content, in the order in which an [`Encoder`] wrote it.
#[derive(Clone, Debug)]
pub struct Decoder<'a>(&'a [u8]);

impl<'a> Decoder<'a> {
    /// Creates a reader of bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Reads a value.
    ///
    /// # Errors
    /// Returns an error if the bytes end before.
    pub fn value<T: AnyBitPattern>(&mut self) -> Result<T, DecodeError> {
        self.take(size_of::<T>()).map(pod_read_unaligned)
    }

    /// Reads a slice.
    ///
    /// # Errors
    /// Returns an error if the bytes end before. Damaged lengths allocate no memory.
    pub fn slice<T: NoUninit + AnyBitPattern>(&mut self) -> Result<Vec<T>, DecodeError> {
        let length = usize::try_from(self.value::<u64>()?).map_err(|_| DecodeError)?;
        let bytes = self.take(length.checked_mul(size_of::<T>()).ok_or(DecodeError)?)?;
        Ok(pod_collect_to_vec(bytes))
    }

    /// Checks that everything was read.
    ///
    /// # Errors
    /// Returns an error if bytes are left.
    pub fn finish(self) -> Result<(), DecodeError> {
        if self.0.is_empty() { Ok(()) } else { Err(DecodeError) }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(DecodeError)?;
        self.0 = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;

    #[test]
    fn what_is_written_is_read_in_order() {
        let bytes = Encoder::new().value(7u8).slice(&[Vec3::X, Vec3::Y]).value(-2i64).slice::<f32>(&[]).finish();
        let mut content = Decoder::new(&bytes);
        assert_eq!(content.value(), Ok(7u8));
        assert_eq!(content.slice(), Ok(vec![Vec3::X, Vec3::Y]));
        assert_eq!(content.value(), Ok(-2i64));
        assert_eq!(content.slice(), Ok(Vec::<f32>::new()));
        assert_eq!(content.finish(), Ok(()));
    }

    #[test]
    fn short_long_and_damaged_bytes_are_errors() {
        let bytes = Encoder::new().slice(&[1u32, 2, 3]).finish();
        for end in 0..bytes.len() {
            assert_eq!(Decoder::new(&bytes[..end]).slice::<u32>(), Err(DecodeError));
        }
        assert_eq!(Decoder::new(&bytes).finish(), Err(DecodeError));
        for length in [4, 1 << 40, u64::MAX] {
            let damaged = [&u64::to_le_bytes(length), &bytes[8..]].concat();
            assert_eq!(Decoder::new(&damaged).slice::<u32>(), Err(DecodeError));
        }
    }
}
