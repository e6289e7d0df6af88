//! What programs cost by the scheduler that reads data, against the default one: `work FIRST COUNT [time | explain]`. Prints the worst.
#![expect(clippy::print_stdout, reason = "a tool prints what it finds")]

use std::time::Instant;

use tensorjit::{
    CompileOptions, DefaultScheduler, Error, GalleyScheduler, LazyTensor, compute_as, explain_with,
};
use tj_tests::engines::scheduled;
use tj_tests::joins::{Counted, generate, works};

fn main() -> Result<(), Error> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, other: u64| words.get(at).and_then(|w| w.parse().ok()).unwrap_or(other);
    let (first, count) = (number(0, 0), number(1, 100));
    let is_timed = words.get(2).is_some_and(|word| word == "time");
    if words.get(2).is_some_and(|word| word == "explain") {
        let made = generate(first);
        println!("{}", made.text);
        for options in [scheduled(Counted(DefaultScheduler)), scheduled(Counted(GalleyScheduler::default()))]
        {
            println!("{}", explain_with(std::slice::from_ref(&made.program), options)?);
        }
        return Ok(());
    }
    let mut all = Vec::new();
    for seed in first..first + count {
        let made = generate(seed);
        let start = Instant::now();
        let [before, after] = match is_timed {
            true => times(&made.program)?,
            false => works(&made.program, GalleyScheduler::default())?,
        };
        if start.elapsed().as_secs() > 2 {
            eprintln!("slow: {seed} {:?} {before} {after} {}", start.elapsed(), made.text);
        }
        all.push((after as f64 / before.max(1) as f64, seed, before, after, made.text));
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    for part in [1, 5, 10, 25, 50, 75, 90, 95, 99] {
        println!("{part:3} %: {:.3}", all[(all.len() - 1) * part / 100].0);
    }
    for (ratio, seed, before, after, text) in all.iter().rev().take(number(3, 1000) as usize) {
        println!("{ratio:7.3} {seed:5} {before:9} {after:9} {text}");
    }
    Ok(())
}

/// The least of some runs, in nanoseconds.
fn times(program: &LazyTensor) -> Result<[u64; 2], Error> {
    let time = |options: CompileOptions| -> Result<u64, Error> {
        compute_as(program, &options)?;
        let mut least = u64::MAX;
        for _ in 0..5 {
            let start = Instant::now();
            compute_as(program, &options)?;
            least = least.min(start.elapsed().as_nanos() as u64);
        }
        Ok(least)
    };
    Ok([time(scheduled(DefaultScheduler))?, time(scheduled(GalleyScheduler::default()))?])
}
