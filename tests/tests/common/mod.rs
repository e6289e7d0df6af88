//! How many programs a property is tried on.

use proptest::prelude::ProptestConfig;

/// As many programs as `PROPTEST_CASES` asks for, or `default`; each case tries `programs` of them.
pub fn programs(default: u32, programs: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse::<u32>().ok());
    let cases = asked.unwrap_or(default).div_ceil(programs);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}
