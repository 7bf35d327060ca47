//! Times bursts of calls, and leaves out those that others disturbed.
//!
//! A burst is as many calls as take about a quarter of a second, run with real-time priority where the system allows it;
//! between bursts others may work. A burst is disturbed where others ran on our CPUs while our threads waited for one. The
//! file `peers-bench.lock` in the folder for temporary files lets only one program that knows it have a burst at a time.
//! Read from the environment: `PEERS_TARGET_S` (0.25, seconds of a burst), `PEERS_REPEATS` (7), `PEERS_MAX_S` (30, when to
//! give up waiting for quiet bursts), `PEERS_RT` (1; 0: no priority).

use crate::scheduling::set_priority;
use crate::session::Result;
use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::str::FromStr;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The share of a burst that others may take.
const DISTURBANCE_MAX: f64 = 0.08;
/// Ticks of `/proc/stat` in a second: `USER_HZ`, which is 100 wherever Linux has a stable interface.
const TICKS_PER_SECOND: f64 = 100.0;

/// Times what a case does.
pub struct Clock {
    cpus: Vec<usize>,
    lock: File,
    may_have_priority: Cell<bool>,
    burst_seconds: f64,
    burst_count: usize,
    seconds_max: f64,
}

/// One burst.
struct Burst {
    seconds: f64,
    /// The share that others took.
    disturbance: f64,
}

impl Clock {
    /// A clock for a process that is pinned to these CPUs.
    pub fn new(cpus: Vec<usize>) -> io::Result<Self> {
        Ok(Self {
            cpus,
            lock: File::options().create(true).append(true).open(std::env::temp_dir().join("peers-bench.lock"))?,
            may_have_priority: Cell::new(setting("PEERS_RT", 1) == 1),
            burst_seconds: setting("PEERS_TARGET_S", 0.25),
            burst_count: setting("PEERS_REPEATS", 7),
            seconds_max: setting("PEERS_MAX_S", 30.0),
        })
    }

    /// Milliseconds of something done once, and its result.
    pub fn first_call<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
        let (burst, result) = self.burst(run)?;
        Ok((burst.seconds * 1e3, result))
    }

    /// The median microseconds of one of the `count` things that `run(count)` does, over bursts; warm.
    pub fn median_microseconds(&self, mut run: impl FnMut(u64) -> Result<()>) -> Result<f64> {
        let mut count = 1;
        let seconds = loop {
            let seconds = self.burst(|| run(count))?.0.seconds;
            sleep(Duration::from_secs_f64(seconds.min(0.3)));
            if seconds >= self.burst_seconds * 0.6 || count >= 1 << 22 {
                break seconds;
            }
            let wanted = (count as f64 * self.burst_seconds / seconds.max(1e-7)) as u64;
            count = wanted.min(count * 10).max(count + 1);
        };
        let burst_count = if seconds > 2.0 { self.burst_count.min(5) } else { self.burst_count };
        let (mut bursts, start) = (Vec::new(), Instant::now());
        let is_quiet = |burst: &&Burst| burst.disturbance < DISTURBANCE_MAX;
        while bursts.iter().filter(is_quiet).count() < burst_count && bursts.len() < 3 * burst_count {
            if start.elapsed().as_secs_f64() > self.seconds_max && bursts.len() >= 5 {
                break;
            }
            let (burst, ()) = self.burst(|| run(count))?;
            sleep(Duration::from_secs_f64((burst.seconds * 0.6).clamp(0.1, 0.5)));
            bursts.push(burst);
        }
        let has_enough = bursts.iter().filter(is_quiet).count() >= burst_count.min(5);
        let used = bursts.iter().filter(|burst| !has_enough || is_quiet(burst));
        Ok(median(used.map(|burst| burst.seconds / count as f64 * 1e6).collect()))
    }

    fn burst<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<(Burst, T)> {
        self.lock.lock()?;
        self.set_priority(true);
        let (busy, (own, waited)) = (self.busy_seconds(), own_seconds());
        let start = Instant::now();
        let result = run();
        let seconds = start.elapsed().as_secs_f64();
        let (busy_after, (own_after, waited_after)) = (self.busy_seconds(), own_seconds());
        self.set_priority(false);
        self.lock.unlock()?;
        let others = (busy_after - busy) - (own_after - own);
        let disturbance = others.min(waited_after - waited).max(0.0) / seconds;
        Ok((Burst { seconds, disturbance }, result?))
    }

    fn set_priority(&self, is_real_time: bool) {
        if self.may_have_priority.get() && set_priority(is_real_time).is_err() {
            self.may_have_priority.set(false);
        }
    }

    /// Seconds that anybody has used our CPUs.
    fn busy_seconds(&self) -> f64 {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let ticks = text.lines().filter_map(|line| {
            let (cpu, numbers) = line.strip_prefix("cpu")?.split_once(' ')?;
            self.cpus.contains(&cpu.parse().ok()?).then_some(())?;
            // user, nice, system, idle, iowait, irq, softirq
            let numbers: Vec<f64> = numbers.split_whitespace().filter_map(|number| number.parse().ok()).collect();
            Some([0, 1, 2, 5, 6].iter().filter_map(|place| numbers.get(*place)).sum::<f64>())
        });
        ticks.sum::<f64>() / TICKS_PER_SECOND
    }
}

/// Seconds that our threads have run, and seconds that they have waited for a CPU.
fn own_seconds() -> (f64, f64) {
    let mut seconds = (0.0, 0.0);
    for thread in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let text = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        let mut nanoseconds = text.split_whitespace().map(|number| number.parse().unwrap_or(0.0));
        seconds.0 += nanoseconds.next().unwrap_or(0.0) / 1e9;
        seconds.1 += nanoseconds.next().unwrap_or(0.0) / 1e9;
    }
    seconds
}

/// The most memory that the process ever held, in MB of 2²⁰ bytes; 0 where the system does not say.
pub fn memory_peak_mb() -> f64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak_kb = |line: &str| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<f64>().ok();
    text.lines().find_map(peak_kb).unwrap_or(0.0) / 1024.0
}

fn setting<T: FromStr>(name: &str, default: T) -> T {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() % 2 {
        0 if middle > 0 => (numbers[middle - 1] + numbers[middle]) / 2.0,
        _ => numbers.get(middle).copied().unwrap_or(f64::NAN),
    }
}
