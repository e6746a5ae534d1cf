//! A bake in a browser's worker, so that the page draws its frames meanwhile.
//!
//! A worker shares no memory with the page. The page starts the app's own WebAssembly module in it once more, without
//! the app's `main`. Scene and settings go there as bytes, and the bake comes back as bytes. Both are cut into parts, so
//! that the page encodes and decodes them between frames.
//!
//! ```text
//! page:   Solver -> request::encode -> page::start            Solver <- message -> read -> Solved
//!                                          | worker.js                     ^
//! worker:                              instance -> request::decode -> answer
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | `solver` | the bake as the page sees it |
//! | `request` | scene and settings as bytes |
//! | `answer` | the worker's bake, and its result as bytes |
//! | `message` | messages from the worker |
//! | `read` | the result as the page needs it |
//! | `page` | start and end of the worker, in a browser |
//! | `instance` | functions that `worker.js` calls in the module's instance |

mod answer;
#[cfg(target_arch = "wasm32")]
mod instance;
mod message;
#[cfg(target_arch = "wasm32")]
mod page;
mod read;
mod request;
mod solver;
#[cfg(test)]
mod tests;

#[cfg(target_arch = "wasm32")]
pub use solver::Solver;
