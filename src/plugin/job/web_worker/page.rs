//! Start and end of the worker, in a browser.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

use bevy::log::error;
use js_sys::{Array, Object, Reflect, Uint8Array};
use wasm_bindgen::prelude::{Closure, JsCast, JsValue};
use web_sys::{Blob, BlobPropertyBag, MessageEvent, Url, Worker};

use super::message::Line;

/// Program of the worker.
const PROGRAM: &str = include_str!("worker.js");

thread_local! {
    /// The worker of the running bake. Values of JavaScript stay on the page's thread.
    static RUNNING: RefCell<Option<Running>> = const { RefCell::new(None) };
}

struct Running {
    worker: Worker,
    /// Address of the program.
    url: String,
    _on_message: Closure<dyn Fn(MessageEvent)>,
    _on_error: Closure<dyn Fn(JsValue)>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.worker.set_onmessage(None);
        self.worker.set_onerror(None);
        self.worker.set_onmessageerror(None);
        self.worker.terminate();
        // An address that is not revoked lasts as long as the page.
        _ = Url::revoke_object_url(&self.url);
    }
}

/// Worker of the running bake. It ends when this is dropped.
pub struct WebWorker(());

impl Drop for WebWorker {
    fn drop(&mut self) {
        RUNNING.take();
    }
}

/// Starts a worker with the parts of a request.
///
/// # Errors
///
/// Returns the browser's reason if it starts no worker.
pub fn start(request: Vec<Vec<u8>>) -> Result<Line<WebWorker>, String> {
    let (sender, messages) = channel();
    let running = run(&request, sender).map_err(|reason| format!("the browser refused a worker: {reason:?}"))?;
    RUNNING.set(Some(running));
    Ok(Line { messages: Mutex::new(messages), _worker: WebWorker(()) })
}

fn run(request: &[Vec<u8>], sender: Sender<Vec<u8>>) -> Result<Running, JsValue> {
    let properties = BlobPropertyBag::new();
    properties.set_type("text/javascript");
    let program = Blob::new_with_str_sequence_and_options(&Array::of1(&PROGRAM.into()), &properties)?;
    let url = Url::create_object_url_with_blob(&program)?;
    let worker = Worker::new(&url).inspect_err(|_| _ = Url::revoke_object_url(&url))?;
    let sender = Rc::new(RefCell::new(Some(sender)));
    let to = Rc::clone(&sender);
    let on_message = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
        let bytes = event.data().dyn_into::<Uint8Array>().map(|bytes| bytes.to_vec());
        if let (Ok(bytes), Some(sender)) = (bytes, &*to.borrow()) {
            // A bake that has ended hears nothing.
            _ = sender.send(bytes);
        }
    });
    let on_error = Closure::<dyn Fn(JsValue)>::new(move |event: JsValue| {
        // Without a sender, the bake ends.
        sender.take();
        // The event of a worker that was refused has no message.
        let message = Reflect::get(&event, &"message".into()).ok().and_then(|message| message.as_string());
        error!("the worker of a bake has stopped: {}", message.as_deref().unwrap_or("the browser does not say why"));
    });
    worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
    worker.set_onmessageerror(Some(on_error.as_ref().unchecked_ref()));
    let running = Running { worker, url, _on_message: on_message, _on_error: on_error };
    let (parts, buffers) = (Array::new(), Array::new());
    for part in request {
        let part = Uint8Array::from(part.as_slice());
        buffers.push(&part.buffer());
        parts.push(&part);
    }
    let message = Object::new();
    Reflect::set(&message, &"module".into(), &wasm_bindgen::module())?;
    Reflect::set(&message, &"request".into(), &parts)?;
    running.worker.post_message_with_transfer(&message, &buffers)?;
    Ok(running)
}
