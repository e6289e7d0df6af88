//! The options of every compilation.

/// Instructions that the code may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CpuFeatures {
    /// Those of this machine, found at run time.
    #[default]
    Host,
    /// Those that every machine of this architecture has.
    Baseline,
}

/// Optimisation that keeps bits: floating-point exceptions and `errno` are given up, which changes no value and is what
/// lets gcc vectorise selections, square roots and roundings (8 times on a chain of five operations). Contraction,
/// reassociation and everything else of `-ffast-math` stay off.
const COMMON: &[&str] = &[
    "-std=gnu11",
    "-O3",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fno-semantic-interposition",
    "-fno-stack-protector",
    "-fvisibility=hidden",
    "-fPIC",
    "-shared",
    "-w",
];

/// What only gcc understands, and needs.
const GNU: &[&str] = &[
    // Arrays of lanes are a few vectors long; a call of memset for each costs more than a short sum.
    "-fno-tree-loop-distribute-patterns",
    // Loops of 16 lanes are otherwise unrolled before they are vectorised, and then often not vectorised at all: the
    // maxima of rows of f64 took five times as long.
    "--param=max-completely-peel-times=8",
];

/// Families of compilers that differ in their options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// gcc.
    Gnu,
    /// clang, and whatever else takes the common options.
    Other,
}

/// The options, in order.
pub(super) fn flags(features: CpuFeatures, dialect: Dialect) -> Vec<String> {
    let gnu = if dialect == Dialect::Gnu { GNU } else { &[] };
    let mut flags: Vec<String> = COMMON.iter().chain(gnu).map(|s| (*s).to_owned()).collect();
    // The units call nothing of the C library by name, and linking without it saves 10 ms. What the compiler itself
    // calls (memcpy, memset) is in every process.
    if !cfg!(target_os = "macos") {
        flags.push("-nostdlib".to_owned());
    }
    if features == CpuFeatures::Host {
        flags.extend(detected().into_iter().map(str::to_owned));
    }
    flags
}

/// What is linked after the unit: fused multiply-add is a function of libm where it is no instruction.
pub(super) fn libraries(flags: &[String]) -> &'static [&'static str] {
    if cfg!(target_arch = "x86_64") && !flags.iter().any(|f| f == "-mfma") { &["-lm"] } else { &[] }
}

/// The names matter as much as the set: they are part of the cache key, so that a cache shared between machines never
/// hands one the other's instructions. AVX-512 is left out: nobody has measured it.
#[cfg(target_arch = "x86_64")]
fn detected() -> Vec<&'static str> {
    macro_rules! detect {
        ($($feature:tt => $flag:literal,)*) => {
            [$((std::arch::is_x86_feature_detected!($feature), $flag)),*]
        };
    }
    let known = detect! {
        "sse3" => "-msse3",
        "ssse3" => "-mssse3",
        "sse4.1" => "-msse4.1",
        "sse4.2" => "-msse4.2",
        "popcnt" => "-mpopcnt",
        "avx" => "-mavx",
        "avx2" => "-mavx2",
        "fma" => "-mfma",
        "f16c" => "-mf16c",
        "bmi1" => "-mbmi",
        "bmi2" => "-mbmi2",
        "lzcnt" => "-mlzcnt",
    };
    known.into_iter().filter(|(present, _)| *present).map(|(_, flag)| flag).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn detected() -> Vec<&'static str> {
    Vec::new()
}
