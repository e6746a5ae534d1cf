//! Clock of the system. A browser has a clock of its own, and that of the standard library panics there.

#[cfg(not(target_arch = "wasm32"))]
pub use std::time::Instant;

#[cfg(target_arch = "wasm32")]
pub use browser::Instant;

/// Returns the present time.
#[allow(clippy::disallowed_methods, reason = "all other code calls this function")]
pub fn now() -> Instant {
    Instant::now()
}

/// Clock of a browser's page, or of its worker.
#[cfg(target_arch = "wasm32")]
mod browser {
    use core::ops::{Add, Sub};
    use core::time::Duration;

    use wasm_bindgen::prelude::wasm_bindgen;

    #[wasm_bindgen]
    extern "C" {
        /// Returns milliseconds since the page was opened.
        #[wasm_bindgen(js_namespace = performance, js_name = now)]
        fn milliseconds() -> f64;
    }

    /// Time since the page was opened.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct Instant(Duration);

    impl Instant {
        pub fn now() -> Self {
            Self(Duration::try_from_secs_f64(milliseconds() / 1e3).unwrap_or_default())
        }

        pub fn elapsed(self) -> Duration {
            Self::now() - self
        }

        pub fn checked_add(self, time: Duration) -> Option<Self> {
            self.0.checked_add(time).map(Self)
        }

        pub fn saturating_duration_since(self, earlier: Self) -> Duration {
            self - earlier
        }
    }

    /// Returns the time since an earlier instant, or zero since a later one.
    impl Sub for Instant {
        type Output = Duration;

        fn sub(self, earlier: Self) -> Duration {
            self.0.saturating_sub(earlier.0)
        }
    }

    impl Add<Duration> for Instant {
        type Output = Self;

        fn add(self, time: Duration) -> Self {
            Self(self.0 + time)
        }
    }
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
