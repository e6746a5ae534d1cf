//! Work in parts, for browsers, where all work is done between two frames of the page.
//!
//! Long work is an `async` function that pauses between its parts. Who has a thread to spare runs it to its end by
//! [`finish`]. The plugin runs it in slices where there are no threads.

use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use core::time::Duration;

use rayon::prelude::*;

use crate::clock::{self, Instant};

/// Time after which a loop pauses where it runs on the main thread.
const PART: Duration = Duration::from_millis(5);

/// True where all work is done on the main thread.
pub const IS_ALONE: bool = cfg!(target_arch = "wasm32");

/// Pause between two parts of work. Its first poll is pending.
#[derive(Debug, Default)]
pub struct Pause {
    is_over: bool,
}

/// Ends a part of work.
pub fn pause() -> Pause {
    Pause::default()
}

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if core::mem::replace(&mut self.is_over, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Runs the next part of some work. Returns the result of the last one.
pub fn advance<F: Future + ?Sized>(work: Pin<&mut F>) -> Option<F::Output> {
    match work.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Some(done),
        Poll::Pending => None,
    }
}

/// Runs work to its end.
pub fn finish<F: Future>(work: F) -> F::Output {
    let mut work = pin!(work);
    loop {
        if let Some(done) = advance(work.as_mut()) {
            return done;
        }
    }
}

/// Returns the values of a function for `0..count`: by all threads, `piece` values at a time, or with pauses where there
/// are no threads.
pub async fn map<T: Send>(count: usize, piece: usize, of: impl Fn(usize) -> T + Send + Sync) -> Vec<T> {
    if IS_ALONE {
        return in_parts(count, of).await;
    }
    (0..count).into_par_iter().with_min_len(piece).with_max_len(piece).map(of).collect()
}

async fn in_parts<T>(count: usize, of: impl Fn(usize) -> T) -> Vec<T> {
    let mut values = Vec::with_capacity(count);
    let mut part = Part::begin();
    for index in 0..count {
        values.push(of(index));
        part.end_if_long().await;
    }
    values
}

/// Part of a loop's work.
pub struct Part {
    began: Instant,
}

impl Part {
    /// Begins a part.
    pub fn begin() -> Self {
        Self { began: clock::now() }
    }

    /// Pauses and begins the next part, if this one has taken long enough.
    pub async fn end_if_long(&mut self) {
        if self.began.elapsed() >= PART {
            pause().await;
            *self = Self::begin();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_gives_the_same_values_with_pauses() {
        let square = |index: usize| index * index;
        let values = finish(map(1000, 1, square));
        assert_eq!(values, (0..1000).map(square).collect::<Vec<_>>());
        // Each value takes longer than a part.
        let slow = |index: usize| {
            let began = clock::now();
            while began.elapsed() < PART {}
            square(index)
        };
        let mut work = pin!(in_parts(3, slow));
        let parts: Vec<Option<Vec<usize>>> = (0..4).map(|_| advance(work.as_mut())).collect();
        assert_eq!(parts, [None, None, None, Some(vec![0, 1, 4])]);
    }
}
