//! What goes wrong, in a sequence that is the same every time: workers are killed and cables are pulled.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::network::{End, Running};
use crate::team::{HOSTS, Team};

/// Numbers that jump about.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Workers that are killed and cut off, until nothing is left to do.
pub(crate) struct Chaos<'a> {
    team: &'a Team,
    workers: Vec<Option<Running>>,
    /// How much the workers of a host had said when the one of now was started.
    said: Vec<usize>,
    cut: Vec<Option<(End, Instant)>>,
    chance: Chance,
    pub(crate) kills: usize,
    pub(crate) cuts: usize,
}

impl<'a> Chaos<'a> {
    pub(crate) fn new(team: &'a Team) -> Self {
        Self {
            team,
            workers: (0..HOSTS.len())
                .map(|host| Some(team.worker(host)))
                .collect(),
            said: vec![0; HOSTS.len()],
            cut: vec![None; HOSTS.len()],
            chance: Chance::new(11),
            kills: 0,
            cuts: 0,
        }
    }

    /// Goes on until no run is open; a worker that has ended by itself is a failure.
    #[track_caller]
    pub(crate) fn until_done(&mut self, patience: Duration) {
        let since = Instant::now();
        let mut client = self.team.client();
        loop {
            let open = "select count(*) from run where state <> 'finished'";
            let left: i64 = client.query_one(open, &[]).unwrap().get(0);
            if left == 0 {
                break;
            }
            assert!(
                since.elapsed() < patience,
                "{left} runs are never over\n{}",
                self.team.story()
            );
            let host = usize::try_from(self.chance.below(HOSTS.len() as u64)).unwrap();
            // A fast machine may be done before chance has had its turn.
            match self.chance.below(30) {
                _ if self.kills == 0 => self.kill(host),
                _ if self.cuts == 0 => self.pull(host),
                0 | 1 => self.kill(host),
                2 => self.pull(host),
                _ => {}
            }
            self.mend();
            std::thread::sleep(Duration::from_millis(100));
        }
        for host in 0..HOSTS.len() {
            self.heal(host);
        }
    }

    /// Ends the workers as a person would.
    #[track_caller]
    pub(crate) fn stop(&mut self) {
        for worker in self.workers.iter().flatten() {
            worker.signal(Signal::TERM);
        }
        for worker in &mut self.workers {
            assert_eq!(
                worker.take().unwrap().wait(),
                Some(0),
                "{}",
                self.team.story()
            );
        }
    }

    fn kill(&mut self, host: usize) {
        self.kills += 1;
        let worker = self.workers[host].take().unwrap();
        worker.signal(Signal::KILL);
        worker.wait();
        self.heal(host);
        self.start(host);
    }

    fn start(&mut self, host: usize) {
        self.said[host] = self.team.log(host).len();
        self.workers[host] = Some(self.team.worker(host));
    }

    fn pull(&mut self, host: usize) {
        if self.cut[host].is_some() {
            return;
        }
        self.cuts += 1;
        let end = if self.cuts.is_multiple_of(2) {
            End::Host
        } else {
            End::Hub
        };
        let time = Duration::from_millis(500 + self.chance.below(4000));
        self.team.network.cable(host, end, "down");
        self.cut[host] = Some((end, Instant::now() + time));
    }

    fn mend(&mut self) {
        for host in 0..HOSTS.len() {
            if self.cut[host].is_some_and(|(_, until)| Instant::now() > until) {
                self.heal(host);
            }
            if self.workers[host].as_mut().unwrap().is_there() {
                continue;
            }
            // One that cannot reach the store does not start, and is started again; one that has worked goes on.
            let log = self.team.log(host);
            let said = &log[self.said[host]..];
            let never_began = said.contains("cannot be reached") && !said.contains("waiting for");
            assert!(never_began, "a worker gave up\n{}", self.team.story());
            self.start(host);
        }
    }

    fn heal(&mut self, host: usize) {
        if let Some((end, _)) = self.cut[host].take() {
            self.team.network.cable(host, end, "up");
        }
    }
}
