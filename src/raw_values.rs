//! Slices of plain values as bytes in serialized data, for `#[serde(with = "crate::raw_values")]`.
//!
//! Serde takes slices value by value, which is slow where there are millions.

use core::fmt;
use core::marker::PhantomData;

use bytemuck::{AnyBitPattern, NoUninit, cast_slice, pod_collect_to_vec};
use serde::de::{Error, Visitor};
use serde::{Deserializer, Serializer};

/// Serializes values as the bytes that they have in memory.
///
/// # Errors
///
/// Returns the errors of the serializer.
pub fn serialize<T: NoUninit, S: Serializer>(values: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(cast_slice(values))
}

/// Deserializes values that [`serialize`] wrote on a system of the same byte order.
///
/// # Errors
///
/// Returns an error if the bytes end within a value, and the errors of the deserializer.
pub fn deserialize<'de, T: AnyBitPattern + NoUninit, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    deserializer.deserialize_bytes(Values(PhantomData))
}

struct Values<T>(PhantomData<T>);

impl<T: AnyBitPattern + NoUninit> Visitor<'_> for Values<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "bytes of values of {} bytes each", size_of::<T>())
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<T>, E> {
        if bytes.len().is_multiple_of(size_of::<T>()) {
            Ok(pod_collect_to_vec(bytes))
        } else {
            Err(E::invalid_length(bytes.len(), &self))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Corners(#[serde(with = "super")] Vec<[u32; 3]>);

    #[test]
    fn values_are_read_as_they_were_written_and_half_a_value_is_refused() {
        let corners = Corners(vec![[1, 2, 3], [0, u32::MAX, 7]]);
        let mut bytes = postcard::to_allocvec(&corners).unwrap();
        assert_eq!(bytes.len(), 1 + 24);
        assert_eq!(postcard::from_bytes(&bytes), Ok(corners));
        // The first byte is the length.
        bytes[0] = 20;
        assert!(postcard::from_bytes::<Corners>(&bytes).is_err());
    }
}
