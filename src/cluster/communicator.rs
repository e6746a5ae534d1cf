//! Message interface between ranks, with the semantics of MPI.

use crate::geometry::define_id;

define_id! {
    /// Number of a rank, from zero. Rank 0 is the master.
    Rank
}

impl Rank {
    /// Rank that distributes work and collects results.
    pub const MASTER: Self = Self(0);
}

/// Kind of a message. A receiver can select messages by tag. Tags below 16 are used by [`distribute`](super::distribute),
/// [`agree`](super::agree) and [`RankTeam`](super::RankTeam).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u16);

/// Received message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Rank that sent it.
    pub from: Rank,
    /// Kind of the message.
    pub tag: Tag,
    /// Content, as an [`Encoder`](super::Encoder) wrote it.
    pub bytes: Vec<u8>,
}

impl Message {
    /// Returns true if a receiver that selects this rank and this tag gets the message. `None` selects all.
    pub fn matches(&self, from: Option<Rank>, tag: Option<Tag>) -> bool {
        from.is_none_or(|from| from == self.from) && tag.is_none_or(|tag| tag == self.tag)
    }
}

/// Error of a receiver that waits for a message, although every rank that could send it has ended or waits too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rank {} waits for a message that no other rank will send: report this as a bug", .0.0)]
pub struct NoSenderError(pub Rank);

/// Message passing for one rank of a run.
///
/// As in MPI, messages do not overtake: of two messages from one rank that match the same receive, the first one sent is
/// received first. Between messages of different ranks there is no order. Each message is received once. A rank may send
/// to itself.
pub trait Communicator {
    /// Returns the rank of the caller.
    fn rank(&self) -> Rank;

    /// Returns the number of ranks in the run, at least one.
    fn size(&self) -> u32;

    /// Sends a message and returns at once, before it is received. A message to a rank that has ended is lost.
    ///
    /// # Panics
    /// Panics if there is no rank `to`.
    fn send(&self, to: Rank, tag: Tag, bytes: Vec<u8>);

    /// Returns the next message from a rank with a tag, if one has arrived. `None` stands for any rank or any tag.
    fn try_recv(&self, from: Option<Rank>, tag: Option<Tag>) -> Option<Message>;

    /// Waits for the next message from a rank with a tag. `None` stands for any rank or any tag.
    ///
    /// # Errors
    /// Returns an error if the carrier finds that all ranks wait or have ended. The first rank that waits gets it.
    fn recv(&self, from: Option<Rank>, tag: Option<Tag>) -> Result<Message, NoSenderError>;
}

impl dyn Communicator + '_ {
    /// Returns all ranks but the caller's.
    pub fn others(&self) -> impl Iterator<Item = Rank> + use<> {
        let own = self.rank();
        (0..self.size()).map(Rank).filter(move |rank| *rank != own)
    }

    /// Sends a message to all other ranks, as [`send`](Communicator::send) does.
    pub fn send_to_others(&self, tag: Tag, bytes: &[u8]) {
        self.others().for_each(|rank| self.send(rank, tag, bytes.to_vec()));
    }
}
