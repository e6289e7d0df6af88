//! Packs problems in the MiniMalloc format: `minimalloc SECONDS CAPACITY FILE...`
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::time::{Duration, Instant};

use tj_memory::{Answer, Effort, pack, parse_csv, solve, verify};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let limit = Duration::from_secs(arguments.next().ok_or("no seconds")?.parse()?);
    let capacity = arguments.next().ok_or("no capacity")?.parse()?;
    println!("{:20} {:>5} {:>8}  {:>15}  {:>15}  {:>15}", "file", "n", "bound", "bind", "compile", "solve");
    for path in arguments {
        let problem = parse_csv(&std::fs::read_to_string(&path)?)?;
        let name = path.rsplit('/').next().unwrap_or(&path);
        let mut line = format!("{name:20} {:5}", problem.intervals.len());
        for effort in [Effort::Bind, Effort::Compile] {
            let start = Instant::now();
            let plan = pack(&problem.intervals, effort)?;
            let time = start.elapsed();
            if effort == Effort::Bind {
                line += &format!(" {:8}", plan.bound);
            }
            let ratio = plan.peak as f64 / plan.bound as f64;
            line += &format!("  {ratio:.3} {:7.2}ms", time.as_secs_f64() * 1e3);
        }
        let start = Instant::now();
        let answer = solve(&problem.intervals, capacity, limit)?;
        let time = start.elapsed();
        let word = match &answer {
            Answer::Fits(plan) => {
                verify(&problem.intervals, plan).map_err(|found| found[0].to_string())?;
                "fits"
            }
            Answer::Impossible => "impossible",
            Answer::Unknown => "unknown",
        };
        println!("{line}  {word} {:.3}s", time.as_secs_f64());
    }
    Ok(())
}
