//! Live relighting: the pages of a baked level follow its lights while the game runs, on any machine.
//!
//! ```text
//! lights now --> reach: what each light brings to each patch, by shadow rays, within a budget
//!                  |     (once for each place that it stands in: a new strength needs no ray)
//!                  v
//!        differences from the baked lights, step by step --> low rank: all bounces --> smoothed --> texels: baked
//!                  |                                                                     ^        + difference,
//!                  each light that rests: sweeps over what elements' rays met, ------------------+ never below zero
//!                                         and rays to the brightest
//! ```
//!
//! Start from [`Relighter`]: it is given what a bake left ([`Level`]) and, update by update, the lights as they are
//! ([`LiveLight`], [`LivePanel`]). A light that is as it was baked costs nothing and changes no byte, so that it keeps the
//! bake's full accuracy.
//!
//! | file | its one idea |
//! | --- | --- |
//! | `relighter` | the state, and what one update does |
//! | `level` | what is relit |
//! | `lights` | which live light was which baked one; what is shape and what is strength |
//! | `light` | what has come and gone, on its way from what is shown to what is wanted |
//! | `slot` | one light: as it was baked, as it is, and what is known of both |
//! | `reach` | what a light of strength one brings, traced little by little |
//! | `order` | in which order receivers are asked, so that few of them say much |
//! | `doors` | a level some of which stands elsewhere than it was baked |
//! | `colours` | surfaces of another colour than they were baked with |
//! | `near` | rays that what has moved may have to do with |
//! | `finer` | direct light known better than at first, once lights rest |
//! | `bright` | what the brightest elements bring to others, by rays between them |
//! | `resting` | light followed from element to element once it rests |
//! | `turns` | whose turn it is among lights that rest, and which keep what they came to |
//! | `pages` | from light to texels, on the processor |
//! | `showing` | what that takes, once for all copies of a level |
//! | `texels` | which texels show which receivers |
//!
//! **Direct light.** Pages that hold indirect light alone ([`Content::Indirect`](crate::radiosity::Content)) leave it to the
//! renderer. Pages that hold all light keep it for lights that stand where they stood, whatever their strength, and for
//! surfaces that shine; from a lamp that has moved it is taken out, and [`Relighter::moved`] names the lamp, so that the
//! renderer draws it. The sky stays as it was baked.
//!
//! **Order and exactness.** A change is first seen by about one receiver a patch, then by more, until all have been asked: a
//! lamp that rests is exact after some updates. While lights move, their light comes by way of patches, and one of some
//! metres spreads it; once a light rests, [`UpdateSettings::sweeps`] follow its light from element to element. Then receivers
//! are asked again all over, 256 times at most, sweeps follow that, what the brightest bring is asked for by rays between
//! elements, noise that is left is evened out, and nothing is done any more. For that each light keeps what it brings to
//! receivers: 32 bytes for each that it reaches. Elements that see a door which has moved keep what patches tell, and so
//! does what another colour makes of light that was baked.
//!
//! **One light moves, others rest.** Up to eight lights that have changed keep what each of them comes to, for a strength of
//! one: 24 bytes for each element, 48 for a baked lamp that stands elsewhere now. So it stays while other lights move, and a
//! light that flickers where it stands is as near at every strength. Those beyond eight are followed together, and anew
//! whenever one of them changes. While lights move, those that rest get a quarter of an update's rays and one sweep.
//! All numbers are functions of the lights and the budgets that were given, whatever the number of threads.

mod bright;
mod colours;
mod doors;
mod finer;
mod level;
mod light;
mod lights;
mod near;
mod order;
mod pages;
mod reach;
mod relighter;
mod resting;
mod showing;
mod slot;
#[cfg(test)]
mod tests;
mod texels;
mod turns;

pub use colours::Paint;
pub use doors::{Door, Doors, Placed};
pub use level::{Level, LevelError};
pub use light::Difference;
pub use lights::{LiveLight, LivePanel, switched_off};
pub use relighter::{Relighter, Update, UpdateSettings};
pub use showing::LazyShowing;
pub use texels::Texels;
