//! Typed indices.

/// Defines a newtype over `u32` as an index into one kind of array.
macro_rules! define_id {
    ($(#[$attribute:meta])* $name:ident) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// Converts an array index to an id.
            ///
            /// # Panics
            /// Panics if `index` does not fit into 32 bits; no array of the crate grows that long.
            #[inline]
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("an array with more than 2^32 entries"))
            }

            /// Returns the array index.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}
pub(crate) use define_id;
