//! How much memory a call may take.

use std::fs;

use crate::options::MaxBytes;

/// The limit in bytes, if there is one.
pub(crate) fn allowed(max: MaxBytes) -> Option<u64> {
    match max {
        MaxBytes::Unlimited => None,
        MaxBytes::Bytes(bytes) => Some(bytes),
        MaxBytes::Auto => available().map(|bytes| bytes / 4 * 3),
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
        assert_eq!(allowed(MaxBytes::Bytes(7)), Some(7));
        assert_eq!(allowed(MaxBytes::Unlimited), None);
    }
}
