//! Atomic writing of output files, never through a link.
//!
//! Everything is first written under a temporary name in the same folder. The name cannot be guessed, and an existing
//! file of that name is never opened, so that a planted link or pipe has no effect. A rename then replaces the file of
//! the final name. It replaces a link itself, not the link's target. Windows refuses while another program has that
//! file open, and the rename is repeated for some seconds.

mod atomic_write;
mod folder;
mod held;
mod temporary;

pub(crate) use atomic_write::write_unsynced;
pub use atomic_write::{WriteError, check_place, write_atomic};
pub use folder::{InTheWay, Overwrite};
pub(crate) use folder::{is_regular, sync_folder};
pub(crate) use held::{Patience, is_held_by_another};
pub(crate) use temporary::{is_temporary, keep, remove_leftovers, rename, write_temporary};
