//! Ranks as threads of one process.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rand::RngExt;

use super::{Communicator, Message, NoSenderError, Rank, Tag};
use crate::geometry::CounterRng;

/// Order in which local ranks run and messages arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// One rank runs at a time, until it asks for a message; then the next one runs. Messages arrive at once. Each run
    /// is the same. The default.
    #[default]
    InTurn,
    /// All ranks run at once. Messages arrive at once, in the order in which the system runs the threads.
    Parallel,
    /// One rank runs at a time. Whether it goes on, and which message arrives next, is random. Messages of one pair of
    /// ranks keep their order. The same seed gives the same run.
    Random(u32),
}

/// Runs a function on each of `size` ranks and returns their results, by rank.
///
/// # Panics
/// Panics if the function panics on a rank, or `size` is zero.
pub fn run_local<T: Send>(size: u32, schedule: Schedule, run: impl Fn(&LocalCommunicator<'_>) -> T + Sync) -> Vec<T> {
    assert!(size > 0, "a run needs a rank");
    let network = Network::new(size, schedule);
    let run_rank = |rank| {
        let communicator = LocalCommunicator { rank: Rank(rank), network: &network };
        network.wait_for_turn(rank as usize);
        run(&communicator)
    };
    thread::scope(|scope| {
        let run_rank = &run_rank;
        let threads: Vec<_> = (0..size).map(|rank| scope.spawn(move || run_rank(rank))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// Communicator of a rank in [`run_local`].
pub struct LocalCommunicator<'a> {
    rank: Rank,
    network: &'a Network,
}

impl Communicator for LocalCommunicator<'_> {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> u32 {
        self.network.turns.len() as u32
    }

    fn send(&self, to: Rank, tag: Tag, bytes: Vec<u8>) {
        let mut state = self.network.lock();
        state.send(to, Message { from: self.rank, tag, bytes });
        match state.schedule {
            Schedule::InTurn => {}
            Schedule::Parallel => self.network.turns[to.index()].notify_one(),
            Schedule::Random(_) => drop(self.network.yield_turn(state, self.rank.index())),
        }
    }

    fn try_recv(&self, from: Option<Rank>, tag: Option<Tag>) -> Option<Message> {
        let own = self.rank.index();
        let state = self.network.lock();
        self.network.yield_turn(state, own).take(own, from, tag)
    }

    fn recv(&self, from: Option<Rank>, tag: Option<Tag>) -> Result<Message, NoSenderError> {
        let own = self.rank.index();
        let mut state = self.network.lock();
        loop {
            state.activities[own] = Activity::Waits { from, tag };
            state = self.network.yield_turn(state, own);
            if let Some(message) = state.take(own, from, tag) {
                state.activities[own] = Activity::Runs;
                return Ok(message);
            }
            if state.fails == Some(own) {
                state.fails = None;
                state.activities[own] = Activity::Runs;
                return Err(NoSenderError(self.rank));
            }
            if state.schedule == Schedule::Parallel {
                state = self.network.turns[own].wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

/// Ends the rank, so that others do not wait for it, even after a panic.
impl Drop for LocalCommunicator<'_> {
    fn drop(&mut self) {
        let mut state = self.network.lock();
        state.activities[self.rank.index()] = Activity::Ended;
        self.network.pass_turn(&mut state);
    }
}

/// Ranks and the messages between them.
struct Network {
    state: Mutex<State>,
    /// Wakes each rank.
    turns: Vec<Condvar>,
}

impl Network {
    fn new(size: u32, schedule: Schedule) -> Self {
        let ranks = size as usize;
        let state = State {
            schedule,
            activities: vec![Activity::Runs; ranks],
            arrived: vec![VecDeque::new(); ranks],
            in_transit: vec![VecDeque::new(); ranks * ranks],
            current: 0,
            fails: None,
            rng: CounterRng::new(if let Schedule::Random(seed) = schedule { seed } else { 0 }),
        };
        Self { state: Mutex::new(state), turns: (0..ranks).map(|_| Condvar::new()).collect() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for_turn(&self, rank: usize) {
        drop(self.wait(self.lock(), rank));
    }

    /// Lets other ranks run, until it is this rank's turn again.
    fn yield_turn<'a>(&self, mut state: MutexGuard<'a, State>, rank: usize) -> MutexGuard<'a, State> {
        self.pass_turn(&mut state);
        self.wait(state, rank)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, rank: usize) -> MutexGuard<'a, State> {
        let is_others = |state: &mut State| !state.may_run(rank);
        self.turns[rank].wait_while(state, is_others).unwrap_or_else(PoisonError::into_inner)
    }

    fn pass_turn(&self, state: &mut State) {
        state.advance();
        self.turns[state.current].notify_one();
    }
}

/// Activity of a rank.
#[derive(Clone, Copy)]
enum Activity {
    Runs,
    Waits { from: Option<Rank>, tag: Option<Tag> },
    Ended,
}

struct State {
    schedule: Schedule,
    activities: Vec<Activity>,
    /// Messages that each rank can receive, in order.
    arrived: Vec<VecDeque<Message>>,
    /// Messages on their way: from rank `i` to rank `j` at index `j * size + i`.
    in_transit: Vec<VecDeque<Message>>,
    /// Rank that runs, if one runs at a time.
    current: usize,
    /// The first rank that waits, if all ranks that have not ended wait for messages that nobody has sent.
    fails: Option<usize>,
    rng: CounterRng,
}

impl State {
    fn send(&mut self, to: Rank, message: Message) {
        if matches!(self.schedule, Schedule::Random(_)) {
            let pair = to.index() * self.activities.len() + message.from.index();
            self.in_transit[pair].push_back(message);
        } else {
            self.arrived[to.index()].push_back(message);
        }
    }

    fn take(&mut self, rank: usize, from: Option<Rank>, tag: Option<Tag>) -> Option<Message> {
        let place = self.arrived[rank].iter().position(|message| message.matches(from, tag))?;
        self.arrived[rank].remove(place)
    }

    fn may_run(&self, rank: usize) -> bool {
        self.schedule == Schedule::Parallel || self.current == rank
    }

    /// Returns true if a rank has something to do.
    fn is_ready(&self, rank: usize) -> bool {
        match self.activities[rank] {
            Activity::Runs => true,
            Activity::Waits { from, tag } => self.arrived[rank].iter().any(|message| message.matches(from, tag)),
            Activity::Ended => false,
        }
    }

    /// Chooses the rank that runs next, after messages have arrived. If all wait in vain, the first one fails.
    fn advance(&mut self) {
        let ranks = self.activities.len();
        loop {
            let next = (1..=ranks).map(|step| (self.current + step) % ranks);
            let ready: Vec<usize> = next.filter(|&rank| self.is_ready(rank)).collect();
            let filled: Vec<usize> = (0..ranks * ranks).filter(|&pair| !self.in_transit[pair].is_empty()).collect();
            let events = ready.len() + filled.len();
            if events == 0 {
                self.fails = self.activities.iter().position(|activity| matches!(activity, Activity::Waits { .. }));
                self.current = self.fails.unwrap_or(self.current);
                return;
            }
            let is_random = matches!(self.schedule, Schedule::Random(_));
            let event = if is_random { self.rng.random_range(0..events) } else { 0 };
            if let Some(&rank) = ready.get(event) {
                self.current = rank;
                return;
            }
            let pair = filled[event - ready.len()];
            let message = self.in_transit[pair].pop_front();
            self.arrived[pair / ranks].extend(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: Tag = Tag(1);
    const OTHER: Tag = Tag(2);
    const SCHEDULES: [Schedule; 4] =
        [Schedule::InTurn, Schedule::Parallel, Schedule::Random(1), Schedule::Random(0x5eed)];

    /// Each of three ranks sends its first numbers to each rank. Returns what each rank receives, as ranks and numbers.
    fn exchange(schedule: Schedule) -> Vec<Vec<(u32, u8)>> {
        const COUNT: u8 = 5;
        run_local(3, schedule, |communicator| {
            for number in 0..COUNT {
                (0..3).for_each(|to| communicator.send(Rank(to), NUMBER, vec![number]));
            }
            let receive = |_| {
                let message = communicator.recv(None, Some(NUMBER)).unwrap();
                (message.from.0, message.bytes[0])
            };
            (0..3 * COUNT).map(receive).collect()
        })
    }

    #[test]
    fn each_message_arrives_once_and_those_of_a_pair_in_order() {
        for schedule in SCHEDULES.into_iter().chain((0..500).map(Schedule::Random)) {
            for mut received in exchange(schedule) {
                // A stable sort keeps the order of numbers from one rank.
                received.sort_by_key(|(from, _)| *from);
                let sent: Vec<(u32, u8)> = (0..3).flat_map(|from| (0..5).map(move |number| (from, number))).collect();
                assert_eq!(received, sent, "{schedule:?}");
            }
        }
    }

    #[test]
    fn a_seed_sets_the_order_across_pairs() {
        for schedule in [Schedule::InTurn, Schedule::Random(7)] {
            assert_eq!(exchange(schedule), exchange(schedule));
        }
        let mut orders: Vec<_> = (0..50).map(|seed| exchange(Schedule::Random(seed))).collect();
        orders.sort();
        orders.dedup();
        assert!(orders.len() > 40, "{}", orders.len());
    }

    #[test]
    fn a_receiver_selects_by_rank_and_tag_and_the_rest_stays() {
        for schedule in SCHEDULES {
            run_local(3, schedule, |communicator| {
                if communicator.rank() != Rank::MASTER {
                    communicator.send(Rank::MASTER, OTHER, vec![1]);
                    communicator.send(Rank::MASTER, NUMBER, vec![2]);
                    return;
                }
                let selected = [(Some(Rank(2)), Some(NUMBER)), (Some(Rank(1)), None), (None, Some(OTHER))];
                let received = selected.map(|(from, tag)| communicator.recv(from, tag).unwrap());
                let found = received.map(|message| (message.from.0, message.tag, message.bytes[0]));
                assert_eq!(found, [(2, NUMBER, 2), (1, OTHER, 1), (2, OTHER, 1)]);
                assert_eq!(communicator.recv(None, None).unwrap().bytes, [2]);
            });
        }
    }

    #[test]
    fn a_rank_may_poll_for_messages() {
        for schedule in SCHEDULES {
            let found = run_local(2, schedule, |communicator| {
                let other = Rank(1 - communicator.rank().0);
                communicator.send(other, NUMBER, vec![communicator.rank().0 as u8]);
                loop {
                    if let Some(message) = communicator.try_recv(Some(other), None) {
                        return message.bytes[0];
                    }
                }
            });
            assert_eq!(found, [1, 0]);
        }
    }

    #[test]
    fn nobody_waits_for_a_message_that_no_rank_can_send() {
        for schedule in SCHEDULES {
            // Rank 1 ends at once; the others wait for it and for each other.
            let found = run_local(3, schedule, |communicator| match communicator.rank() {
                Rank(1) => None,
                _ => communicator.recv(None, None).err(),
            });
            assert_eq!(found, [Some(NoSenderError(Rank(0))), None, Some(NoSenderError(Rank(2)))], "{schedule:?}");
        }
    }

    #[test]
    fn a_panic_on_one_rank_ends_the_run() {
        for schedule in SCHEDULES {
            let run = || {
                run_local(2, schedule, |communicator| {
                    assert_eq!(communicator.rank(), Rank::MASTER, "rank 1 panics");
                    communicator.recv(None, None).unwrap_err();
                });
            };
            assert!(std::panic::catch_unwind(run).is_err());
        }
    }
}
