//! Detection that all ranks have ended their work, without a barrier (`000` 4.2.3).

use bytemuck::{Pod, Zeroable};

use super::Rank;

/// Numbers of messages of work that a rank tells all others, once it has nothing to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct IdleReport {
    /// Number of messages that the rank has sent.
    pub sent: u64,
    /// Number of messages that the rank has received.
    pub received: u64,
    /// Sum of the newest numbers of sent messages that the rank knows of.
    pub total_sent: u64,
    /// Sum of the newest numbers of received messages that the rank knows of.
    pub total_received: u64,
}

/// One rank's test for the end of common work, in which a message may bring new work.
///
/// The work has ended when the newest reports of all ranks state the same totals, as many messages received as sent.
///
/// Proof: take the rank that made its newest report before all others. Its total of received messages is made of older
/// numbers, while the sum of the newest reports says that no more messages were ever sent. Numbers only grow, so at
/// its report none was on its way, and none was sent since. This is the method of four counters (Mattern 1987).
pub struct TerminationTest {
    rank: usize,
    sent: u64,
    received: u64,
    /// Newest report of each rank, the own one included.
    reports: Vec<Option<IdleReport>>,
}

impl TerminationTest {
    /// Creates the test of a rank, before any message.
    pub fn new(rank: Rank, size: u32) -> Self {
        Self { rank: rank.index(), sent: 0, received: 0, reports: vec![None; size as usize] }
    }

    /// Counts a message of work that this rank has sent.
    pub fn count_sent(&mut self) {
        self.sent += 1;
    }

    /// Counts a message of work that this rank has received.
    pub fn count_received(&mut self) {
        self.received += 1;
    }

    /// Records the report of another rank.
    pub fn hear(&mut self, from: Rank, report: IdleReport) {
        self.reports[from.index()] = Some(report);
    }

    /// Returns the report that all others must get now, if there is news. Call this only when all received work is done
    /// and all resulting messages are sent.
    pub fn report(&mut self) -> Option<IdleReport> {
        let (told, now) = (self.reports[self.rank], self.now());
        let has_worked = told.is_none_or(|told| (told.sent, told.received) != (now.sent, now.received));
        let is_balanced = now.total_sent == now.total_received && self.has_heard_all();
        let is_news = has_worked || (is_balanced && told != Some(now));
        if is_news {
            self.reports[self.rank] = Some(now);
        }
        is_news.then_some(now)
    }

    /// Returns true if no rank has anything left to do.
    pub fn is_over(&self) -> bool {
        let IdleReport { total_sent, total_received, .. } = self.now();
        let agrees = |report: &Option<IdleReport>| {
            report.is_some_and(|report| [report.total_sent, report.total_received] == [total_sent; 2])
        };
        total_sent == total_received && self.reports.iter().all(agrees)
    }

    fn now(&self) -> IdleReport {
        let (sent, received) = (self.sent, self.received);
        let sum = |of: fn(IdleReport) -> u64| self.others().flatten().map(of).sum::<u64>();
        IdleReport {
            sent,
            received,
            total_sent: sent + sum(|report| report.sent),
            total_received: received + sum(|report| report.received),
        }
    }

    fn has_heard_all(&self) -> bool {
        self.others().all(|report| report.is_some())
    }

    fn others(&self) -> impl Iterator<Item = Option<IdleReport>> {
        self.reports.iter().enumerate().filter(|(rank, _)| *rank != self.rank).map(|(_, report)| *report)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// Messages that each rank has sent and received in table 4.1 of the thesis.
    const TABLE: [(u64, u64); 4] = [(5, 6), (3, 4), (7, 3), (2, 4)];

    /// Delivers reports in order, and those that they lead to, between the given ranks.
    fn deliver(ranks: &mut [TerminationTest], awake: &[usize], mut news: VecDeque<(usize, IdleReport)>) {
        while let Some((from, report)) = news.pop_front() {
            for &to in awake.iter().filter(|to| **to != from) {
                ranks[to].hear(Rank(from as u32), report);
                news.extend(ranks[to].report().map(|report| (to, report)));
            }
        }
    }

    #[test]
    fn the_totals_of_table_4_1_come_out_and_all_ranks_end_at_17_messages() {
        let mut ranks: Vec<TerminationTest> = (0..4)
            .zip(TABLE)
            .map(|(rank, (sent, received))| TerminationTest { sent, received, ..TerminationTest::new(Rank(rank), 4) })
            .collect();
        let first = ranks[0].report().unwrap();
        assert_eq!((first.sent, first.received), (5, 6));
        ranks[2].hear(Rank(0), first);
        ranks[3].hear(Rank(0), first);
        let of_third = IdleReport { sent: 7, received: 3, total_sent: 12, total_received: 9 };
        let of_fourth = IdleReport { sent: 2, received: 4, total_sent: 7, total_received: 10 };
        assert_eq!([ranks[2].report(), ranks[3].report()], [Some(of_third), Some(of_fourth)]);
        assert!(ranks.iter().all(|rank| !rank.is_over()));
        ranks[1].hear(Rank(0), first);
        let of_second = ranks[1].report().unwrap();
        deliver(&mut ranks, &[0, 1, 2, 3], [(2, of_third), (3, of_fourth), (1, of_second)].into());
        assert!(ranks.iter().all(TerminationTest::is_over));
        assert!(ranks.iter().all(|rank| [rank.now().total_sent, rank.now().total_received] == [17; 2]));
    }

    #[test]
    fn equal_sums_of_numbers_from_different_times_are_not_taken_for_the_end() {
        // Rank 1 reports, and then gets a message of rank 0. It sends one to rank 2, and one to rank 3 that is delayed.
        let mut ranks: Vec<TerminationTest> = (0..4).map(|rank| TerminationTest::new(Rank(rank), 4)).collect();
        let early = ranks[1].report().unwrap();
        ranks[0].sent = 1;
        ranks[2].received = 1;
        let idle = [0, 2, 3];
        let mut news: VecDeque<_> = idle.into_iter().filter_map(|rank| Some((rank, ranks[rank].report()?))).collect();
        news.push_back((1, early));
        deliver(&mut ranks, &idle, news);
        for rank in idle {
            let now = ranks[rank].now();
            assert_eq!([now.total_sent, now.total_received], [1, 1], "the sums are equal");
            assert!(!ranks[rank].is_over());
        }
    }

    #[test]
    fn sums_of_equation_2_5_that_agree_do_not_prove_the_end() {
        // Ranks 0, 1 and 2 are a row. Both ends have shot a polygon, and the middle has received and passed on one.
        let mut ranks: Vec<TerminationTest> = (0..3).map(|rank| TerminationTest::new(Rank(rank), 3)).collect();
        for (rank, sent, received) in [(0, 1, 0), (1, 1, 1), (2, 1, 0)] {
            (ranks[rank].sent, ranks[rank].received) = (sent, received);
        }
        let polygons_shot_or_received = [1, 1, 1];
        assert!(polygons_shot_or_received.windows(2).all(|pair| pair[0] == pair[1]), "the thesis ends here");
        let news = (0..3).filter_map(|rank| Some((rank, ranks[rank].report()?))).collect();
        deliver(&mut ranks, &[0, 1, 2], news);
        assert!(ranks.iter().all(|rank| !rank.is_over()), "two messages are on their way");
    }

    #[test]
    fn a_rank_alone_ends_at_once() {
        let mut alone = TerminationTest::new(Rank(0), 1);
        assert!(!alone.is_over());
        assert!(alone.report().is_some() && alone.is_over());
    }
}
