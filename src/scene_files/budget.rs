//! Memory budget of reading a scene.
//!
//! All memory is counted before it is allocated, since a small file can ask for much.

use std::io;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::input;

const MIB: u64 = 1 << 20;

/// Remaining memory, and the first thing that exceeded it.
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
    /// Creates a budget of `mib` MiB; unlimited for `None`.
    pub fn new(mib: Option<u32>) -> Self {
        mib.map_or_else(Self::default, |mib| Self::of_bytes(u64::from(mib) * MIB))
    }

    fn of_bytes(allowed: u64) -> Self {
        Self { allowed, left: AtomicU64::new(allowed), exceeded_by: OnceLock::new() }
    }

    /// Counts bytes that are kept until the scene has been read. `what` names their use.
    ///
    /// # Errors
    /// When fewer bytes are left.
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

    /// Counts bytes for the lifetime of the returned loan.
    ///
    /// # Errors
    /// When fewer bytes are left.
    pub fn lend(&self, bytes: u64, what: impl FnOnce() -> String) -> Result<Loan<'_>, String> {
        self.take(bytes, what).map(|()| Loan { budget: self, bytes })
    }

    /// Reads a regular file of at most `max_bytes`. Its bytes are counted first, until the loan is dropped.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is larger, or exceeds the budget.
    pub fn read(&self, path: &Path, max_bytes: u64, what: impl FnOnce() -> String) -> io::Result<(Vec<u8>, Loan<'_>)> {
        let length = input::length(path)?.min(max_bytes);
        let loan = self.lend(length, what).map_err(io::Error::other)?;
        Ok((input::read(path, length)?, loan))
    }

    /// Returns the bytes that are left.
    pub fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// Returns the first thing that exceeded the budget, and the allowed MiB.
    pub fn exceeded(&self) -> Option<(&str, u64)> {
        Some((self.exceeded_by.get()?, self.allowed / MIB))
    }
}

/// Bytes that are counted until dropped.
#[derive(Debug)]
pub struct Loan<'a> {
    budget: &'a Budget,
    bytes: u64,
}

impl Loan<'_> {
    /// Counts the bytes until the scene has been read.
    pub fn keep(self) {
        core::mem::forget(self);
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        self.budget.left.fetch_add(self.bytes, Ordering::Relaxed);
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

    #[test]
    fn loans_are_given_back() {
        let budget = Budget::new(Some(1));
        let loan = budget.lend(MIB, String::new).unwrap();
        assert_eq!(budget.left(), 0);
        drop(loan);
        assert_eq!(budget.left(), MIB);
    }
}
