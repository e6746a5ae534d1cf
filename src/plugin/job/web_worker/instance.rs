//! Functions that `worker.js` calls in its instance of the module.

use std::sync::{Mutex, PoisonError};

use bevy::log::error;
use wasm_bindgen::prelude::wasm_bindgen;

use super::answer::answer;
use super::message::Message;

#[wasm_bindgen]
extern "C" {
    /// Sends bytes to the page. Only a worker has this function.
    #[wasm_bindgen(js_name = radiosity_tell)]
    fn tell(address: *const u8, length: usize);
}

/// Parts of the request so far.
static REQUEST: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Adds a part of so many bytes to the request. Returns the address to write them to.
#[wasm_bindgen]
pub fn radiosity_add_part(length: usize) -> *mut u8 {
    let mut request = REQUEST.lock().unwrap_or_else(PoisonError::into_inner);
    request.push(vec![0; length]);
    // The bytes stay where they are when the list grows.
    request.last_mut().map_or(core::ptr::null_mut(), |part| part.as_mut_ptr())
}

/// Bakes what the request says, and tells the page the result.
#[wasm_bindgen]
pub fn radiosity_bake() {
    let request = core::mem::take(&mut *REQUEST.lock().unwrap_or_else(PoisonError::into_inner));
    answer(request, &|message: &Message| match postcard::to_allocvec(message) {
        Ok(bytes) => tell(bytes.as_ptr(), bytes.len()),
        Err(fault) => error!("{fault}"),
    });
}
