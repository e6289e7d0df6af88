//! How much memory a call may take.

use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::options::MaxBytes;

/// Needs below this are not held against the memory that is available.
const SURELY_THERE: u64 = 1 << 20;

/// How long a reading of the available memory serves needs of less than half of it. Reading takes as long as a call on
/// a megabyte does.
const FRESH: Duration = Duration::from_millis(200);

/// Refuses to take more than is allowed.
pub(crate) fn check(max: MaxBytes, needed: u64) -> Result<(), Error> {
    let allowed = match max {
        MaxBytes::Unlimited => return Ok(()),
        MaxBytes::Bytes(bytes) => Some(bytes),
        MaxBytes::Auto if needed < SURELY_THERE => return Ok(()),
        MaxBytes::Auto => allowed_for(needed),
    };
    match allowed {
        Some(allowed) if needed > allowed => Err(Error::Budget { needed, allowed }),
        Some(_) | None => Ok(()),
    }
}

/// What [`MaxBytes::Auto`] allows: three quarters of the memory that is available.
pub(crate) fn automatic() -> Option<u64> {
    available().map(|bytes| bytes / 4 * 3)
}

/// As [`automatic`], from memory where that is good enough.
fn allowed_for(needed: u64) -> Option<u64> {
    static LAST: Mutex<Option<(Instant, u64)>> = Mutex::new(None);
    let now = Instant::now();
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match *last {
        Some((read, allowed)) if needed < allowed / 2 && now.duration_since(read) < FRESH => Some(allowed),
        Some(_) | None => {
            let allowed = automatic();
            *last = allowed.map(|allowed| (now, allowed));
            allowed
        }
    }
}

/// Memory that this process can still take: what the system has, or what its control group leaves.
fn available() -> Option<u64> {
    let system = fs::read_to_string("/proc/meminfo").ok().and_then(|text| meminfo(&text));
    let group = group_limit();
    match (system, group) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// What the control group (version 2, then 1) of this process leaves; `None` without a limit.
fn group_limit() -> Option<u64> {
    let number = |path: String| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        if controllers.is_empty() {
            let folder = format!("/sys/fs/cgroup{path}");
            let (max, used) =
                (number(format!("{folder}/memory.max"))?, number(format!("{folder}/memory.current"))?);
            Some(max.saturating_sub(used))
        } else if controllers.split(',').any(|c| c == "memory") {
            let folder = format!("/sys/fs/cgroup/memory{path}");
            let max = number(format!("{folder}/memory.limit_in_bytes"))?;
            let used = number(format!("{folder}/memory.usage_in_bytes"))?;
            // Version 1 writes "no limit" as a number beyond any memory.
            (max < 1 << 60).then(|| max.saturating_sub(used))
        } else {
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_read_in_bytes() {
        assert_eq!(meminfo("MemTotal: 5 kB\nMemAvailable:    2048 kB\n"), Some(2 << 20));
        assert_eq!(meminfo("MemTotal: 5 kB\n"), None);
    }

    #[test]
    fn limits_are_taken_as_they_are() {
        assert!(check(MaxBytes::Bytes(7), 7).is_ok());
        assert!(matches!(check(MaxBytes::Bytes(7), 8), Err(Error::Budget { needed: 8, allowed: 7 })));
        assert!(check(MaxBytes::Unlimited, u64::MAX).is_ok());
    }

    #[test]
    fn nobody_has_all_memory() {
        // Twice, so that a remembered reading is asked too.
        for _ in 0..2 {
            assert_eq!(check(MaxBytes::Auto, u64::MAX).is_err(), available().is_some());
            assert!(check(MaxBytes::Auto, SURELY_THERE).is_ok());
        }
    }
}
