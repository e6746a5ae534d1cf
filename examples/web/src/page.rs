//! Switches and text of the page, which its script sets and reads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use wasm_bindgen::prelude::wasm_bindgen;

/// Switch on the page.
#[derive(Clone, Copy)]
pub enum Switch {
    /// Lightmaps, or Bevy alone.
    Lightmaps,
    /// Lightmaps follow their lights.
    Relight,
    /// The brightest lamp.
    Lamp,
    /// Path tracing.
    Live,
    /// A bake of the level in the page.
    Bake,
}

/// States of the switches, in their order.
static STATES: [AtomicBool; 5] = [
    AtomicBool::new(true),
    AtomicBool::new(false),
    AtomicBool::new(true),
    AtomicBool::new(false),
    AtomicBool::new(false),
];

static TEXT: Mutex<String> = Mutex::new(String::new());

impl Switch {
    /// Returns true if the switch is on.
    pub fn is_on(self) -> bool {
        STATES[self as usize].load(Ordering::Relaxed)
    }
}

/// Sets the text of the page.
pub fn say(text: String) {
    if let Ok(mut shown) = TEXT.lock() {
        *shown = text;
    }
}

/// Sets a switch by its name. Other names do nothing.
#[wasm_bindgen]
pub fn set_switch(name: &str, is_on: bool) {
    let switch = match name {
        "lightmaps" => Switch::Lightmaps,
        "relight" => Switch::Relight,
        "lamp" => Switch::Lamp,
        "live" => Switch::Live,
        "bake" => Switch::Bake,
        _ => return,
    };
    STATES[switch as usize].store(is_on, Ordering::Relaxed);
}

/// Returns the text of the page.
#[wasm_bindgen]
pub fn text() -> String {
    TEXT.lock().map(|text| text.clone()).unwrap_or_default()
}
