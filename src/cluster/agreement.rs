//! Agreement of all ranks before the work: the master compares what each is about to do.

use super::{ClusterError, Communicator, Decoder, Encoder, Rank, Tag};

const HELLO: Tag = Tag(8);
const VERDICT: Tag = Tag(9);

/// Returns the version of this program and the features that change its bytes.
fn build() -> String {
    let features =
        [("basis", cfg!(feature = "basis")), ("gpu", cfg!(feature = "gpu")), ("xatlas", cfg!(feature = "xatlas"))];
    let features: Vec<&str> = features.into_iter().filter_map(|(name, is_on)| is_on.then_some(name)).collect();
    format!("{} {}", env!("CARGO_PKG_VERSION"), features.join(" "))
}

/// Reason why ranks cannot work together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgreementError {
    /// A rank could not prepare the work.
    #[error("rank {}: {reason}", .rank.0)]
    Rank {
        /// The first rank that failed.
        rank: Rank,
        /// Its reason.
        reason: String,
    },
    /// A rank runs another version of this program, or one with other features.
    #[error("rank {} runs another build of this program than rank 0: start the same one on all machines", .0.0)]
    OtherBuild(Rank),
    /// A rank has other inputs.
    #[error("rank {} has another scene or other settings than rank 0: give all machines the same files and options", .0.0)]
    OtherInputs(Rank),
    /// The master has refused, and says why.
    #[error("the master has refused the work")]
    Refused,
    /// A message was damaged or did not come.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

/// Checks that all ranks have prepared the same work. Every rank must call it, with a digest of its inputs or the reason
/// why it has none.
///
/// # Errors
/// Returns on the master the first disagreement, and on all other ranks [`AgreementError::Refused`].
pub fn agree(communicator: &dyn Communicator, own: Result<[u8; 32], String>) -> Result<(), AgreementError> {
    let hello = Hello { build: build(), inputs: own };
    if communicator.rank() != Rank::MASTER {
        communicator.send(Rank::MASTER, HELLO, hello.encode());
        let verdict = communicator.recv(Some(Rank::MASTER), Some(VERDICT)).map_err(ClusterError::from)?;
        return if verdict.bytes == [1] { Ok(()) } else { Err(AgreementError::Refused) };
    }
    let verdict = compare(communicator, &hello);
    for rank in 1..communicator.size() {
        communicator.send(Rank(rank), VERDICT, vec![u8::from(verdict.is_ok())]);
    }
    verdict
}

/// Receives what all ranks have prepared, and returns the first disagreement with the master.
fn compare(communicator: &dyn Communicator, own: &Hello) -> Result<(), AgreementError> {
    let mut others = Vec::new();
    for rank in (1..communicator.size()).map(Rank) {
        let message = communicator.recv(Some(rank), Some(HELLO)).map_err(ClusterError::from)?;
        others.push((rank, Hello::decode(&message.bytes).ok_or(AgreementError::OtherBuild(rank))));
    }
    let mut expected = None;
    for (rank, hello) in std::iter::once((Rank::MASTER, Ok(own.clone()))).chain(others) {
        let hello = hello?;
        if hello.build != own.build {
            return Err(AgreementError::OtherBuild(rank));
        }
        let inputs = hello.inputs.map_err(|reason| AgreementError::Rank { rank, reason })?;
        if *expected.get_or_insert(inputs) != inputs {
            return Err(AgreementError::OtherInputs(rank));
        }
    }
    Ok(())
}

/// Message of a rank before the work.
#[derive(Clone, Debug, PartialEq)]
struct Hello {
    build: String,
    inputs: Result<[u8; 32], String>,
}

impl Hello {
    fn encode(&self) -> Vec<u8> {
        let content = Encoder::new().slice(self.build.as_bytes());
        match &self.inputs {
            Ok(inputs) => content.value(1u8).value(*inputs).finish(),
            Err(reason) => content.value(0u8).slice(reason.as_bytes()).finish(),
        }
    }

    /// Reads what a rank has said; `None` if it is of a build that says it in another way.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut content = Decoder::new(bytes);
        let text = |content: &mut Decoder| String::from_utf8(content.slice().ok()?).ok();
        let build = text(&mut content)?;
        let inputs = match content.value::<u8>().ok()? {
            0 => Err(text(&mut content)?),
            _ => Ok(content.value().ok()?),
        };
        Some(Self { build, inputs })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Schedule, run_local};
    use super::*;

    const INPUTS: [u8; 32] = [3; 32];

    /// Returns what the ranks find, with these inputs.
    fn find(inputs: &[Result<[u8; 32], String>]) -> Vec<Result<(), AgreementError>> {
        let run = |communicator: &super::super::LocalCommunicator<'_>| {
            agree(communicator, inputs[communicator.rank().index()].clone())
        };
        run_local(inputs.len() as u32, Schedule::Random(3), run)
    }

    #[test]
    fn ranks_with_the_same_inputs_agree() {
        for ranks in 1..5 {
            assert!(find(&vec![Ok(INPUTS); ranks]).iter().all(Result::is_ok));
        }
    }

    #[test]
    fn the_master_alone_says_who_disagrees_and_all_end() {
        let missing = || "cannot read level.glb".to_owned();
        let refused = || Err(AgreementError::Refused);
        let found = find(&[Ok(INPUTS), Ok(INPUTS), Ok([4; 32])]);
        assert_eq!(found, [Err(AgreementError::OtherInputs(Rank(2))), refused(), refused()]);
        let found = find(&[Ok(INPUTS), Err(missing()), Ok([4; 32])]);
        assert_eq!(found, [Err(AgreementError::Rank { rank: Rank(1), reason: missing() }), refused(), refused()]);
        let found = find(&[Err(missing()), Err(missing())]);
        assert_eq!(found, [Err(AgreementError::Rank { rank: Rank(0), reason: missing() }), refused()]);
    }

    #[test]
    fn a_rank_of_another_build_is_named() {
        for bytes in [vec![], vec![9; 40], Hello { build: "0.0.7".to_owned(), inputs: Ok(INPUTS) }.encode()] {
            let found = run_local(2, Schedule::InTurn, |communicator| {
                if communicator.rank() == Rank::MASTER {
                    return agree(communicator, Ok(INPUTS));
                }
                communicator.send(Rank::MASTER, HELLO, bytes.clone());
                communicator.recv(None, Some(VERDICT)).unwrap();
                Ok(())
            });
            assert_eq!(found[0], Err(AgreementError::OtherBuild(Rank(1))));
        }
    }
}
