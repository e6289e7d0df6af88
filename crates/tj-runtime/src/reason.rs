//! Why code was compiled: how a program differs from the one in the cache that is most like it.

use tj_ir::{Known, LazyTensor, Structure};
use tj_plan::Scheduler;

use crate::cache;
use crate::compute::{add_storage, add_words};
use crate::error::Error;
use crate::options::CompileOptions;

/// Differences that are named; the others follow from them, mostly.
const NAMED: usize = 3;

/// Why no program of the cache would do for this one.
pub(crate) fn reason(
    lazies: &[LazyTensor],
    known: &Known,
    options: &CompileOptions,
    scheduler: &dyn Scheduler,
) -> Result<String, Error> {
    let mut structure = Structure::new();
    structure.read_described(lazies, known)?;
    let own = structure.words().len();
    add_words(&mut structure, options, scheduler);
    let storage = structure.words().len();
    add_storage(&mut structure, lazies, options, scheduler);
    let Some(window) = cache::nearest_difference(structure.words()) else {
        return Ok("the cache is empty".to_string());
    };
    let mut parts: Vec<String> = Vec::new();
    for at in window {
        let part = structure.describe(at).unwrap_or_else(|| {
            let part = match at - own {
                0 => "the engine or back end",
                1..=3 => "the options of the compilation",
                4 => "the options of the scheduler",
                _ if at >= storage => "how an argument is stored",
                _ => "the scheduler",
            };
            part.to_string()
        });
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    let more = parts.len().saturating_sub(NAMED);
    parts.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let parts = if parts.is_empty() { "what it has not".to_string() } else { parts.join(", ") };
    Ok(format!("the most similar program in the cache differs in {parts}{more}"))
}
