//! Capture of the warnings and errors that apps log.

use std::fmt::Debug;
use std::sync::{Mutex, Once, PoisonError};

use bevy::log::tracing::field::{Field, Visit};
use bevy::log::tracing::{Event, Level, Subscriber, subscriber};
use bevy::log::tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use bevy::log::tracing_subscriber::registry;

/// Warnings and errors of all apps of this process. Tests run at once, so each looks for names of its own.
static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Listener;

impl<S: Subscriber> Layer<S> for Listener {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() <= Level::WARN {
            let mut text = Text::default();
            event.record(&mut text);
            SAID.lock().unwrap_or_else(PoisonError::into_inner).push(text.0);
        }
    }
}

#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

/// Starts the capture. What was logged before is lost.
pub fn listen() {
    static START: Once = Once::new();
    START.call_once(|| subscriber::set_global_default(registry().with(Listener)).expect("nobody else listens"));
}

/// Returns the warnings and errors that contain all parts.
pub fn said(parts: &[&str]) -> Vec<String> {
    let said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    said.iter().filter(|text| parts.iter().all(|part| text.contains(part))).cloned().collect()
}
