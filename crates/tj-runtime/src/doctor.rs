//! What this machine offers, in words.

use std::fmt::Write as _;

use crate::budget;
use crate::pool;

/// Processors, memory and back ends of this machine, a line each.
///
/// ```
/// assert!(tj_runtime::doctor().contains("threads: "));
/// ```
pub fn doctor() -> String {
    let mut text = String::new();
    let _ = writeln!(text, "machine: {} {}", std::env::consts::ARCH, std::env::consts::OS);
    let _ = writeln!(text, "threads: {}", pool::threads(0));
    let memory = budget::automatic().map_or("unknown".to_string(), |b| format!("{b} bytes"));
    let _ = writeln!(text, "memory for a call: {memory}");
    let _ = writeln!(text, "processor features: {}", features());
    let _ = writeln!(
        text,
        "back end cranelift: {}",
        if cfg!(feature = "cranelift") { "yes" } else { "not built in" }
    );
    let _ = writeln!(text, "back end c: {}", c());
    text
}

fn features() -> String {
    #[cfg(target_arch = "x86_64")]
    {
        let known = [
            ("sse4.1", std::arch::is_x86_feature_detected!("sse4.1")),
            ("avx2", std::arch::is_x86_feature_detected!("avx2")),
            ("fma", std::arch::is_x86_feature_detected!("fma")),
            ("avx512f", std::arch::is_x86_feature_detected!("avx512f")),
        ];
        let there: Vec<&str> = known.iter().filter(|(_, there)| *there).map(|(name, _)| *name).collect();
        there.join(" ")
    }
    #[cfg(not(target_arch = "x86_64"))]
    "not looked at".to_string()
}

#[cfg(feature = "c")]
fn c() -> String {
    match crate::toolchain::Toolchain::from_env() {
        Ok(toolchain) => {
            let cache = match toolchain.cache() {
                Ok(path) => format!("cache {}", path.display()),
                Err(why) => format!("no cache: {why}"),
            };
            format!("{}, {cache}", toolchain.describe())
        }
        Err(error) => format!("no, {error}"),
    }
}

#[cfg(not(feature = "c"))]
fn c() -> String {
    "not built in".to_string()
}
