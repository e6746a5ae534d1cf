//! The memory that reading a scene may take.
//!
//! Whatever a file asks for is counted before it is allocated, since a small file can ask for much.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

const MIB: u64 = 1 << 20;

/// The memory that is left, and the first thing that found too little of it.
#[derive(Debug)]
pub struct Budget {
    allowed: u64,
    left: AtomicU64,
    exceeded_by: OnceLock<String>,
}

impl Default for Budget {
    fn default() -> Self {
        Self::of_bytes(u64::MAX)
    }
}

impl Budget {
    /// A budget of so many MiB, without end for `None`.
    pub fn new(mib: Option<u32>) -> Self {
        mib.map_or_else(Self::default, |mib| Self::of_bytes(u64::from(mib) * MIB))
    }

    fn of_bytes(allowed: u64) -> Self {
        Self { allowed, left: AtomicU64::new(allowed), exceeded_by: OnceLock::new() }
    }

    /// Counts bytes that stay until the scene has been read.
    ///
    /// # Errors
    /// When they are not left.
    pub fn take(&self, bytes: u64, what: impl FnOnce() -> String) -> Result<(), String> {
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        if taken.is_ok() {
            return Ok(());
        }
        let what = what();
        let reason = format!("{what} would take {} MiB of memory, more than is left", bytes.div_ceil(MIB));
        let _ = self.exceeded_by.set(what);
        Err(reason)
    }

    /// Gives back what was there for a while only.
    pub fn give(&self, bytes: u64) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Most bytes of a file that may be read.
    pub fn at_most(&self, bytes: u64) -> u64 {
        self.allowed.min(bytes)
    }

    /// The thing that there was too little memory for, and the MiB that were allowed.
    pub fn exceeded(&self) -> Option<(&str, u64)> {
        Some((self.exceeded_by.get()?, self.allowed / MIB))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_and_remembered() {
        let budget = Budget::new(Some(1));
        assert!(budget.take(MIB, || "a mesh".to_owned()).is_ok());
        assert!(budget.exceeded().is_none());
        assert!(budget.take(1, || "a picture".to_owned()).unwrap_err().contains("a picture would take 1 MiB"));
        assert_eq!(budget.exceeded(), Some(("a picture", 1)));
        assert!(Budget::new(None).take(1 << 60, String::new).is_ok());
    }
}
