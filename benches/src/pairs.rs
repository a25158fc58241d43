//! Measurements in pairs: ours and a peer's, one right after the other in the same run.
//!
//! A single figure says little: it changes with the machine and with its other load. Two figures taken side by side
//! share both, so their ratio holds. Criterion measures our work. With each of its samples every peer does the same
//! amount of work, and this module keeps the ratios.

use std::time::Duration;

use criterion::{BenchmarkGroup, Throughput, measurement::WallTime};
use serde::{Deserialize, Serialize};

/// Does the given number of rounds of work, and returns the time that they took.
pub type Work<'a> = Box<dyn FnMut(u64) -> Duration + 'a>;

/// The ratios of a whole run.
#[derive(Debug, Default)]
pub struct Pairs {
    rows: Vec<PairRow>,
}

#[derive(Debug)]
struct PairRow {
    name: String,
    peer: &'static str,
    /// The peer's time over ours: above 1, we are faster.
    ratios: Vec<f64>,
    /// Nanoseconds for each message, ours and the peer's.
    ours: Vec<f64>,
    peers: Vec<f64>,
}

impl Pairs {
    /// Measures our work under this name, and each peer's beside it. A round handles `messages`
    /// messages.
    pub fn measure(
        &mut self,
        group: &mut BenchmarkGroup<'_, WallTime>,
        name: &str,
        messages: u64,
        ours: &mut Work<'_>,
        peers: &mut [(&'static str, Work<'_>)],
    ) {
        let mut samples: Vec<(u64, Vec<Duration>)> = Vec::new();
        group.throughput(Throughput::Elements(messages));
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|rounds| {
                // Every other sample begins with the peers, so that neither side always runs on the caches of the
                // other.
                let peers_first = samples.len() % 2 == 1;
                let mut mine = (!peers_first).then(|| ours(rounds));
                let mut times: Vec<_> = peers.iter_mut().map(|(_, peer)| peer(rounds)).collect();
                let mine = *mine.get_or_insert_with(|| ours(rounds));
                times.insert(0, mine);
                samples.push((rounds, times));
                mine
            });
        });
        // Criterion warms up with fewer rounds; its samples are all of one length.
        let Some(rounds) = samples.last().map(|(rounds, _)| *rounds) else {
            return;
        };
        samples.retain(|sample| sample.0 == rounds);
        let each = |time: Duration| time.as_secs_f64() * 1e9 / (rounds * messages) as f64;
        let times = |n: usize| samples.iter().map(move |(_, times)| each(times[n]));
        for (n, (peer, _)) in peers.iter().enumerate() {
            self.rows.push(PairRow {
                name: name.into(),
                peer,
                ratios: times(n + 1)
                    .zip(times(0))
                    .map(|(peer, ours)| peer / ours)
                    .collect(),
                ours: times(0).collect(),
                peers: times(n + 1).collect(),
            });
        }
    }

    /// Prints the ratios, with the number of pairs behind each.
    pub fn print(&self) {
        println!("ratio = the peer's time / ours (above 1: ours is faster); times in ns a message");
        let width = self.rows.iter().map(|row| row.name.len()).max();
        let width = width.unwrap_or(0);
        let peers = self.rows.iter().map(|row| row.peer.len()).max();
        let peers = peers.unwrap_or(0);
        println!(
            "{:<width$} {:<peers$} {:>4} {:>7} {:>7} {:>7} {:>9} {:>9}",
            "ours", "peer", "n", "min", "median", "max", "ours", "peer"
        );
        for row in &self.rows {
            let ratios = spread(&row.ratios);
            println!(
                "{:<width$} {:<peers$} {:>4} {:>7.2} {:>7.2} {:>7.2} {:>9.1} {:>9.1}",
                row.name,
                row.peer,
                row.ratios.len(),
                ratios.min,
                ratios.median,
                ratios.max,
                spread(&row.ours).median,
                spread(&row.peers).median,
            );
        }
    }
}

/// The minimum, median and maximum of some values.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Spread {
    /// The minimum.
    pub min: f64,
    /// The median.
    pub median: f64,
    /// The maximum.
    pub max: f64,
}

/// The spread of these values.
pub fn spread(values: &[f64]) -> Spread {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Spread {
        min: sorted.first().copied().unwrap_or(f64::NAN),
        median: sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN),
        max: sorted.last().copied().unwrap_or(f64::NAN),
    }
}
