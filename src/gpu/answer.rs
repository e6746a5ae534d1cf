//! Answers of graphics devices. Native ones come at once, those of a browser in a later task.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

/// Returns an answer, or `None` if it has not come yet.
pub fn at_once<T>(answer: impl Future<Output = T>) -> Option<T> {
    match pin!(answer).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

/// Returns an answer. If it has not come yet, returns `None`, and `take` receives it in a later task of the browser.
pub fn at_once_or_later<T: 'static>(
    answer: impl Future<Output = T> + 'static,
    take: impl FnOnce(T) + 'static,
) -> Option<T> {
    let mut answer = Box::pin(answer);
    let now = at_once(answer.as_mut());
    #[cfg(target_arch = "wasm32")]
    if now.is_none() {
        wasm_bindgen_futures::spawn_local(async move { take(answer.await) });
    }
    #[cfg(not(target_arch = "wasm32"))]
    drop(take);
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_has_come_is_returned_and_nobody_waits_for_another() {
        assert_eq!(at_once(core::future::ready(3)), Some(3));
        assert_eq!(at_once(core::future::pending::<u8>()), None);
        assert_eq!(at_once_or_later(core::future::ready(3), |_| unreachable!("it has come")), Some(3));
    }
}
