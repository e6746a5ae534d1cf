//! Files that this program writes: whole or not at all, never through a link.
//!
//! Everything is written under a temporary name beside its place first. Nobody can guess that name, and a file that has
//! it is never opened, so a planted link or pipe leads nowhere. A rename then replaces what has the final name: the
//! link itself where it is one, and not its target.

mod folder;
mod temporary;
mod whole_file;

pub use folder::{InTheWay, Overwrite};
pub(crate) use folder::{is_regular, sync_folder};
pub(crate) use temporary::{is_temporary, remove_leftovers, write_temporary};
pub use whole_file::{WriteError, check_place, write_whole};
