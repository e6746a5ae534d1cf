//! Live relighting: updates the lightmaps of a baked level when its lights change at run time, on any machine.
//!
//! ```text
//! live lights --> 1 match ---> tracked lights --> 2 trace ---> responses --> 3 refine --> refined light
//!                 (matching)   by LightState      (trace)      by patch      (queue)      by element
//!                                                                 |                           |
//!                                                                 +-------> 4 sum up <--------+
//!                                                                           (light, contributions)
//!                                                                              |
//!                                                    difference from the bake, smoothed over time
//!                                                                              |
//!                                                                              v
//!                 texels: bake + difference, never below zero  <-------------- 5 draw: low rank, all bounces
//!                                                                           (pages)
//! ```
//!
//! Start from [`Relighter`]. It takes the result of a bake ([`RelightInput`]) and, at each update, the current lights
//! ([`LiveLight`], [`LivePanel`]). A light in its baked state costs nothing and changes no byte. So it keeps the full
//! accuracy of the bake.
//!
//! | file | contents |
//! | --- | --- |
//! | `relighter` | the state, and an update as five steps |
//! | `update` | budget and report of an update |
//! | `input` | the input: a baked level |
//! | `lights` | live and baked lights, split into shape and strength |
//! | `matching` | step 1: match of live lights to tracked ones |
//! | `tracked_light` | one tracked light: baked and current emitter, responses to both, and its state |
//! | `trace` | step 2: traces responses within a ray budget |
//! | `response` | unit-strength response of a light, traced incrementally |
//! | `receiving` | direct light of a receiver |
//! | `order` | sampling order of receivers: any prefix covers all patches |
//! | `refinement_queue` | step 3: chooses the settled light to refine next, and holds cache entries |
//! | `element_refinement` | per-element refinement of a settled light |
//! | `unmapped_light` | light by way of unmapped surfaces, which have no elements |
//! | `adaptive_samples` | adaptive sampling of direct light, once lights have settled |
//! | `brightest_senders` | rays to the brightest elements |
//! | `chunks` | values of receivers, computed in chunks within a ray budget |
//! | `light` | step 4: temporal smoothing, from the shown to the wanted light |
//! | `contributions` | changes of baked lights: stored contributions, and direct light in pages |
//! | `distance` | distance of the shown pages from the current lights |
//! | `pages` | step 5: from patches to texels, on the CPU |
//! | `texel_mapping` | tables for that, shared by all copies of a level |
//! | `texel_receivers` | mapping from texels to receivers |
//! | `doors` | displaced and recolored surfaces |
//! | `colors` | reflectance after recoloring |
//! | `restricted_query` | ray queries near moved objects |
//!
//! **States.** Each tracked light has one state. An update finds it anew from the lights and from the samples so far:
//!
//! ```text
//! Excluded
//!    ^
//!    v     strength, shape or place differs             first samples           all receivers sampled
//! Baked ----------------------------------> Unsampled ----------------> Tracing ----------------------> Settled
//!                                               ^                          |                               |
//!                                               +------ another place -----+-------------------------------+
//! ```
//!
//! Any state goes back to `Baked` with the baked state of its light. Samples stay known: a light that comes back to the
//! place of its response is `Settled` at once. So is one that its stored contribution shows.
//!
//! **Direct light.** Pages of [`Content::Indirect`](crate::radiosity::Content) leave direct light to the renderer.
//! Pages of `Content::Full` keep the direct light of lights at their baked places, at any strength, and of emissive
//! surfaces. The direct light of a moved lamp is removed, and [`Relighter::moved`] names the lamp, so that the renderer
//! draws it. The sky stays as baked.
//!
//! **Order and accuracy.** A change first samples about one receiver per patch, then more, until all have been sampled.
//! So a settled lamp is exact after some updates. While a light moves, relighting has patch resolution. Once it
//! settles, [`UpdateSettings::bounces`] bounces are computed per element. Then direct light is sampled adaptively, up
//! to 256 times per receiver, and a second solve follows. Last come rays to the brightest elements and a noise filter;
//! then updates do nothing. Each light stores its response: 32 bytes per lit receiver. Elements that see a displaced
//! door keep the patch solution, and so does the change of baked light by recoloring.
//!
//! **Cache.** Up to eight changed lights cache their refined result at unit strength. An entry takes 24 bytes per
//! element, or 48 for a baked lamp without a contribution that has moved. Lit unmapped surfaces add half as much. An
//! entry stays valid while other lights move, and for every strength, so a flickering lamp keeps its accuracy. All other
//! lights share one entry, recomputed when any of them changes. While lights move, settled ones get a quarter of an
//! update's rays and one sweep.
//!
//! All results depend on lights and budgets only, not on the number of threads.

mod adaptive_samples;
mod brightest_senders;
mod chunks;
mod colors;
mod contributions;
mod distance;
mod doors;
mod element_refinement;
mod input;
mod light;
mod lights;
mod matching;
mod order;
mod pages;
mod receiving;
mod refinement_queue;
mod relighter;
mod response;
mod restricted_query;
#[cfg(test)]
mod tests;
mod texel_mapping;
mod texel_receivers;
mod trace;
mod tracked_light;
mod unmapped_light;
mod update;

pub use colors::Paint;
pub use contributions::MAX_TRANSPORT_ERROR;
pub(crate) use contributions::{transport_errors, transport_warning};
pub use doors::{Door, Doors, PlacedOccluder};
pub use input::{RelightInput, RelightInputError};
pub use light::Difference;
pub use lights::{LiveLight, LivePanel, switched_off};
pub(crate) use lights::{baked_lights, lit, lit_by_one, lit_by_others};
pub use relighter::Relighter;
pub use texel_mapping::LazyTexelMapping;
pub use texel_receivers::{TexelReceivers, TexelTables};
pub use update::{Update, UpdateSettings};
