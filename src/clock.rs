//! Clock of the system. A browser has a clock of its own, and that of the standard library panics there.

pub use web_time::Instant;

/// Returns the present time.
#[allow(clippy::disallowed_methods, reason = "all other code calls this function")]
pub fn now() -> Instant {
    Instant::now()
}

/// Returns the processor time of this thread, which other programs and threads do not lengthen. Where the system does not
/// count it, returns the present time.
#[cfg(test)]
pub fn thread_time() -> core::time::Duration {
    #[cfg(unix)]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is valid for writes.
        let code = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        assert_eq!(code, 0, "each thread has a clock");
        core::time::Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
    }
    #[cfg(not(unix))]
    std::time::SystemTime::UNIX_EPOCH.elapsed().expect("it is past 1970")
}
