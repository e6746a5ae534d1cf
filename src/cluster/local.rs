//! Ranks as threads of one process.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rand::RngExt;

use super::{Communicator, Message, NoSenderError, Rank, Tag};
use crate::geometry::CounterRng;

/// Order in which local ranks run and messages arrive.
#[derive(Clone, Copy, Debug, Default)]
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
    /// One rank runs at a time: the one that is behind all others in simulated time. So many ranks take turns on few
    /// cores, and [`LocalCommunicator::seconds`] tells how long they would take on a machine each.
    Simulated(SimulatedMachines),
}

/// Machines of simulated ranks, and the network between them.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedMachines {
    /// Returns the CPU time of the calling thread, in seconds. Communication costs none.
    pub clock: fn() -> f64,
    /// Time on such a machine over CPU time on this one.
    pub slowdown: f64,
    /// Time from the sending of an empty message to its arrival, in seconds.
    pub latency: f64,
    /// Bytes that arrive per second. Messages of several pairs of ranks do not delay each other.
    pub bytes_per_second: f64,
}

/// Runs a function on each of `size` ranks and returns their results, by rank.
///
/// # Panics
/// Panics if the function panics on a rank, or `size` is zero.
#[expect(clippy::disallowed_methods, reason = "no browser runs ranks")]
pub fn run_local<T: Send>(size: u32, schedule: Schedule, run: impl Fn(&LocalCommunicator<'_>) -> T + Sync) -> Vec<T> {
    assert!(size > 0, "a run needs a rank");
    let network = Network::new(size, schedule);
    let run_rank = |rank| run(&LocalCommunicator::begin(rank, &network));
    thread::scope(|scope| {
        let run_rank = &run_rank;
        let threads: Vec<_> = (0..size).map(|rank| scope.spawn(move || run_rank(rank))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// Runs one function on the master, which is the calling thread, and another on each other rank. Returns the master's
/// result.
///
/// # Panics
/// Panics if a function panics, or `size` is zero.
#[expect(clippy::disallowed_methods, reason = "no browser runs ranks")]
pub fn run_local_beside<T>(
    size: u32,
    schedule: Schedule,
    master: impl FnOnce(&LocalCommunicator<'_>) -> T,
    other: impl Fn(&LocalCommunicator<'_>) + Sync,
) -> T {
    assert!(size > 0, "a run needs a rank");
    let network = Network::new(size, schedule);
    let run_rank = |rank| other(&LocalCommunicator::begin(rank, &network));
    thread::scope(|scope| {
        let run_rank = &run_rank;
        (1..size).for_each(|rank| drop(scope.spawn(move || run_rank(rank))));
        master(&LocalCommunicator::begin(0, &network))
    })
}

/// Communicator of a rank in [`run_local`].
pub struct LocalCommunicator<'a> {
    rank: Rank,
    network: &'a Network,
}

impl<'a> LocalCommunicator<'a> {
    /// Begins a rank once it is its turn.
    fn begin(rank: u32, network: &'a Network) -> Self {
        drop(network.resume(network.wait(network.lock(), rank as usize), rank as usize));
        Self { rank: Rank(rank), network }
    }

    /// Returns the simulated time of the last message that this rank sent, received or looked for, in seconds. Zero in
    /// other schedules than [`Schedule::Simulated`].
    pub fn seconds(&self) -> f64 {
        self.network.lock().clocks[self.rank.index()].now
    }
}

impl Communicator for LocalCommunicator<'_> {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> u32 {
        self.network.turns.len() as u32
    }

    fn send(&self, to: Rank, tag: Tag, bytes: Vec<u8>) {
        let own = self.rank.index();
        let mut state = self.network.pause(own);
        state.send(to, Message { from: self.rank, tag, bytes });
        match state.schedule {
            Schedule::InTurn | Schedule::Simulated(_) => {}
            Schedule::Parallel => self.network.turns[to.index()].notify_one(),
            Schedule::Random(_) => state = self.network.yield_turn(state, own),
        }
        drop(self.network.resume(state, own));
    }

    fn try_recv(&self, from: Option<Rank>, tag: Option<Tag>) -> Option<Message> {
        let own = self.rank.index();
        let state = self.network.pause(own);
        let mut state = self.network.yield_turn(state, own);
        let message = state.take(own, from, tag);
        drop(self.network.resume(state, own));
        message
    }

    fn recv(&self, from: Option<Rank>, tag: Option<Tag>) -> Result<Message, NoSenderError> {
        let own = self.rank.index();
        let mut state = self.network.pause(own);
        loop {
            state.activities[own] = Activity::Waits { from, tag };
            state = self.network.yield_turn(state, own);
            if let Some(message) = state.take(own, from, tag) {
                state.activities[own] = Activity::Runs;
                drop(self.network.resume(state, own));
                return Ok(message);
            }
            if state.fails == Some(own) {
                state.fails = None;
                state.activities[own] = Activity::Runs;
                drop(self.network.resume(state, own));
                return Err(NoSenderError(self.rank));
            }
            if matches!(state.schedule, Schedule::Parallel) {
                state = self.network.turns[own].wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

/// Ends the rank, so that others do not wait for it, even after a panic.
impl Drop for LocalCommunicator<'_> {
    fn drop(&mut self) {
        let mut state = self.network.pause(self.rank.index());
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
            clocks: vec![SimulatedClock::default(); ranks],
            current: 0,
            fails: None,
            rng: CounterRng::new(if let Schedule::Random(seed) = schedule { seed } else { 0 }),
        };
        Self { state: Mutex::new(state), turns: (0..ranks).map(|_| Condvar::new()).collect() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a call of a rank: what it has computed since the last call counts as simulated time.
    fn pause(&self, rank: usize) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        if let Schedule::Simulated(machines) = state.schedule {
            let clock = &mut state.clocks[rank];
            clock.now += machines.slowdown * ((machines.clock)() - clock.resumed).max(0.0);
        }
        state
    }

    /// Ends a call of a rank.
    fn resume<'a>(&self, mut state: MutexGuard<'a, State>, rank: usize) -> MutexGuard<'a, State> {
        if let Schedule::Simulated(machines) = state.schedule {
            state.clocks[rank].resumed = (machines.clock)();
        }
        state
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

/// Simulated clock of a rank.
#[derive(Clone, Copy, Default)]
struct SimulatedClock {
    /// Simulated time, in seconds.
    now: f64,
    /// CPU time at which the rank went on after its last call.
    resumed: f64,
}

/// Message on its way.
#[derive(Clone)]
struct InTransit {
    message: Message,
    /// Simulated time of arrival, in seconds.
    arrival: f64,
}

struct State {
    schedule: Schedule,
    activities: Vec<Activity>,
    /// Messages that each rank can receive, in order.
    arrived: Vec<VecDeque<Message>>,
    /// Messages on their way: from rank `i` to rank `j` at index `j * size + i`.
    in_transit: Vec<VecDeque<InTransit>>,
    clocks: Vec<SimulatedClock>,
    /// Rank that runs, if one runs at a time.
    current: usize,
    /// The first rank that waits, if all ranks that have not ended wait for messages that nobody has sent.
    fails: Option<usize>,
    rng: CounterRng,
}

impl State {
    fn send(&mut self, to: Rank, message: Message) {
        let pair = to.index() * self.activities.len() + message.from.index();
        match self.schedule {
            Schedule::InTurn | Schedule::Parallel => self.arrived[to.index()].push_back(message),
            Schedule::Random(_) => self.in_transit[pair].push_back(InTransit { message, arrival: 0.0 }),
            Schedule::Simulated(machines) => {
                let seconds = machines.latency + message.bytes.len() as f64 / machines.bytes_per_second;
                let arrival = self.clocks[message.from.index()].now + seconds;
                self.in_transit[pair].push_back(InTransit { message, arrival });
            }
        }
    }

    fn take(&mut self, rank: usize, from: Option<Rank>, tag: Option<Tag>) -> Option<Message> {
        let place = self.arrived[rank].iter().position(|message| message.matches(from, tag))?;
        self.arrived[rank].remove(place)
    }

    fn may_run(&self, rank: usize) -> bool {
        matches!(self.schedule, Schedule::Parallel) || self.current == rank
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
            let event = match self.schedule {
                Schedule::InTurn | Schedule::Parallel => 0,
                Schedule::Random(_) => self.rng.random_range(0..events),
                Schedule::Simulated(_) => self.earliest(&ready, &filled),
            };
            if let Some(&rank) = ready.get(event) {
                self.current = rank;
                return;
            }
            self.deliver(filled[event - ready.len()]);
        }
    }

    /// Returns the event with the earliest simulated time: a message before a rank that could receive it.
    fn earliest(&self, ready: &[usize], filled: &[usize]) -> usize {
        let of_rank = |&rank: &usize| self.clocks[rank].now;
        let of_message = |&pair: &usize| self.in_transit[pair][0].arrival;
        let times = ready.iter().map(of_rank).chain(filled.iter().map(of_message));
        // Of equal times the last one comes first.
        let (event, _) =
            times.enumerate().min_by(|(i, one), (j, other)| one.total_cmp(other).then(j.cmp(i))).unwrap_or_default();
        event
    }

    /// Lets the next message of a pair of ranks arrive. A rank that waits for it goes on at that time.
    fn deliver(&mut self, pair: usize) {
        let rank = pair / self.activities.len();
        if let Some(InTransit { message, arrival }) = self.in_transit[pair].pop_front() {
            if matches!(self.activities[rank], Activity::Waits { from, tag } if message.matches(from, tag)) {
                self.clocks[rank].now = self.clocks[rank].now.max(arrival);
            }
            self.arrived[rank].push_back(message);
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

    std::thread_local! {
        /// Seconds that a simulated rank has computed.
        static COMPUTED: core::cell::Cell<f64> = const { core::cell::Cell::new(0.0) };
    }

    fn compute(seconds: f64) {
        COMPUTED.set(COMPUTED.get() + seconds);
    }

    const MACHINES: SimulatedMachines =
        SimulatedMachines { clock: || COMPUTED.get(), slowdown: 2.0, latency: 0.5, bytes_per_second: 100.0 };

    #[test]
    fn simulated_ranks_wait_for_messages_that_are_under_way() {
        let seconds = run_local(3, Schedule::Simulated(MACHINES), |communicator| {
            match communicator.rank() {
                Rank(0) => {
                    compute(1.0);
                    communicator.send(Rank(1), NUMBER, vec![0; 25]);
                    communicator.send(Rank(2), NUMBER, vec![0; 25]);
                }
                Rank(1) => {
                    communicator.recv(None, None).unwrap();
                }
                // This rank is busy when its message arrives.
                _ => {
                    compute(3.0);
                    communicator.recv(None, None).unwrap();
                }
            }
            communicator.seconds()
        });
        // One second is two there; a message takes 0.5 s and 0.25 s.
        assert_eq!(seconds, [2.0, 2.75, 6.0]);
    }

    #[test]
    fn simulated_ranks_that_poll_see_a_message_at_the_first_look_after_its_arrival() {
        let polls = run_local(2, Schedule::Simulated(MACHINES), |communicator| {
            if communicator.rank() == Rank::MASTER {
                compute(1.0);
                communicator.send(Rank(1), NUMBER, Vec::new());
                return 0;
            }
            let mut polls = 0;
            while communicator.try_recv(None, None).is_none() {
                compute(0.125);
                polls += 1;
            }
            polls
        });
        // It arrives after 2.5 s; looks are 0.25 s apart.
        assert_eq!(polls, [0, 10]);
    }
}
