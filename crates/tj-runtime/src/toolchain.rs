//! Builds C text with the machine's compiler and loads the result.
//!
//! # Problem
//!
//! The C back end needs a compiler that may be missing, old, misconfigured or hanging, and a cache on disk that other
//! processes use at the same time and that anybody may have damaged. None of that may crash a program, load a
//! half-written file, or run instructions that this machine lacks.
//!
//! # Idea
//!
//! A [`Toolchain`] is a compiler that answered (`find`), the exact options it gets (`flags`), and a private directory
//! of results (`cache`). [`Toolchain::compile`] looks in memory, then on disk, then runs the compiler in a directory
//! of its own (`process`), loads what came out (`load`, the only unsafe file), and publishes it. Invariants:
//!
//! 1. The key of a result is a hash of everything that determines it: text, kernel names, options (CPU features by
//!    name, never "native"), compiler with its version, and our own version.
//! 2. A file is loaded only after its length and hash were checked; it appears under its name only when complete.
//! 3. A cache that cannot be used safely is not used; [`Toolchain::cache`] says why. It never makes a call fail.
//! 4. Threads that ask for one result at once share one run of the compiler.
//!
//! # Cost
//!
//! About 30 ms to find the compiler, once. Then, with gcc 12, 55 ms of CPU for a unit with one small kernel, of which 27 are
//! for a unit without any, and about 40 ms a kernel in a unit of 20; 0.3 ms from disk. So callers put many kernels in
//! one unit.

mod cache;
mod error;
mod find;
mod flags;
mod load;
mod process;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use rustc_hash::FxHashMap;

use cache::{Cache, Key};
pub use error::ToolchainError;
use find::Compiler;
pub use flags::CpuFeatures;
pub use load::CLibrary;

/// Where results are kept between processes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum CacheDir {
    /// The user's cache directory.
    #[default]
    User,
    /// A subdirectory of this one.
    At(PathBuf),
    /// Nowhere.
    Off,
}

/// What a [`Toolchain`] is made of.
#[derive(Debug, Clone)]
pub struct ToolchainOptions {
    /// The compiler; otherwise `CC` and its kin, then `cc`, `gcc`, `clang`.
    pub compiler: Option<PathBuf>,
    /// Where results are kept.
    pub cache_dir: CacheDir,
    /// Instructions that the code may use.
    pub features: CpuFeatures,
    /// How long one run of the compiler may take.
    pub timeout: Duration,
}

impl Default for ToolchainOptions {
    fn default() -> ToolchainOptions {
        ToolchainOptions {
            compiler: None,
            cache_dir: CacheDir::User,
            features: CpuFeatures::Host,
            timeout: Duration::from_secs(120),
        }
    }
}

impl ToolchainOptions {
    /// The defaults, with what the environment says: `TENSORJIT_CACHE_DIR` is a directory, or nothing for no cache.
    pub fn from_env() -> ToolchainOptions {
        let cache_dir = match std::env::var_os("TENSORJIT_CACHE_DIR") {
            None => CacheDir::User,
            Some(dir) if dir.is_empty() => CacheDir::Off,
            Some(dir) => CacheDir::At(dir.into()),
        };
        ToolchainOptions { cache_dir, ..ToolchainOptions::default() }
    }
}

/// How results came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ToolchainCounts {
    /// Runs of the compiler that gave a library.
    pub compiled: u64,
    /// Libraries from the cache on disk.
    pub from_disk: u64,
    /// Libraries that were loaded already.
    pub from_memory: u64,
}

/// A C compiler with its options and its cache.
#[derive(Debug)]
pub struct Toolchain {
    compiler: Compiler,
    flags: Vec<String>,
    cache: Result<Cache, String>,
    timeout: Duration,
    loaded: Mutex<FxHashMap<Key, Arc<Slot>>>,
    compiled: AtomicU64,
    from_disk: AtomicU64,
    from_memory: AtomicU64,
}

/// One result; the lock is held while it is made.
type Slot = Mutex<Weak<CLibrary>>;

impl Toolchain {
    /// The toolchain that the environment asks for. It is looked for once for each state of the variables that matter.
    pub fn from_env() -> Result<Arc<Toolchain>, ToolchainError> {
        type Known = FxHashMap<Vec<Option<OsString>>, Result<Arc<Toolchain>, ToolchainError>>;
        static KNOWN: OnceLock<Mutex<Known>> = OnceLock::new();
        let environment = find::variables().map(std::env::var_os).collect();
        lock(KNOWN.get_or_init(Mutex::default))
            .entry(environment)
            .or_insert_with(|| Toolchain::new(ToolchainOptions::from_env()).map(Arc::new))
            .clone()
    }

    /// Finds the compiler and opens the cache.
    pub fn new(options: ToolchainOptions) -> Result<Toolchain, ToolchainError> {
        let compiler = Compiler::find(options.compiler.as_deref(), options.timeout)?;
        Ok(Toolchain {
            flags: flags::flags(options.features, compiler.dialect()),
            compiler,
            cache: Cache::open(&options.cache_dir),
            timeout: options.timeout,
            loaded: Mutex::default(),
            compiled: AtomicU64::new(0),
            from_disk: AtomicU64::new(0),
            from_memory: AtomicU64::new(0),
        })
    }

    /// Builds `source`, or finds what was built from it before. Every name in `kernels` is a function of the type
    /// [`KernelFn`](tj_kernel::abi::KernelFn) in it.
    ///
    /// ```
    /// use tj_runtime::toolchain::{Toolchain, ToolchainError};
    /// let text = "__attribute__((visibility(\"default\"))) int one(const void *a, long lo, long hi) { return 1; }";
    /// match Toolchain::from_env() {
    ///     Ok(toolchain) => assert!(toolchain.compile(text, &["one"])?.kernel("one").is_some()),
    ///     Err(ToolchainError::NoCompiler { tried }) => eprintln!("no C compiler: {tried:?}"),
    ///     Err(other) => return Err(other),
    /// }
    /// # Ok::<(), ToolchainError>(())
    /// ```
    pub fn compile(&self, source: &str, kernels: &[&str]) -> Result<Arc<CLibrary>, ToolchainError> {
        let key = self.key(source, kernels);
        let slot = self.slot(key);
        let mut slot = lock(&slot);
        if let Some(library) = slot.upgrade() {
            self.from_memory.fetch_add(1, Ordering::Relaxed);
            return Ok(library);
        }
        let library = Arc::new(match self.load_from_disk(&key, kernels) {
            Some(library) => library,
            None => self.build(&key, source, kernels)?,
        });
        *slot = Arc::downgrade(&library);
        Ok(library)
    }

    /// The compiler's name and version, and the options it gets.
    pub fn describe(&self) -> String {
        format!("{} ({}) {}", self.compiler.program(), self.compiler.version(), self.flags.join(" "))
    }

    /// The directory of results, or why there is none.
    pub fn cache(&self) -> Result<&Path, &str> {
        self.cache.as_ref().map(Cache::dir).map_err(String::as_str)
    }

    /// How results came about so far.
    pub fn counts(&self) -> ToolchainCounts {
        ToolchainCounts {
            compiled: self.compiled.load(Ordering::Relaxed),
            from_disk: self.from_disk.load(Ordering::Relaxed),
            from_memory: self.from_memory.load(Ordering::Relaxed),
        }
    }

    fn key(&self, source: &str, kernels: &[&str]) -> Key {
        let mut parts: Vec<&[u8]> = vec![env!("CARGO_PKG_VERSION").as_bytes(), self.compiler.identity()];
        parts.push(source.as_bytes());
        let words = self.flags.iter().map(String::as_str).chain(["--"]).chain(kernels.iter().copied());
        parts.extend(words.map(str::as_bytes));
        Key::of(&parts)
    }

    fn slot(&self, key: Key) -> Arc<Slot> {
        let mut loaded = lock(&self.loaded);
        if !loaded.contains_key(&key) {
            // A slot that nobody holds or could find a library in is of no use; dropping those bounds the map by what
            // is alive.
            loaded.retain(|_, slot| Arc::strong_count(slot) > 1 || lock(slot).strong_count() > 0);
        }
        loaded.entry(key).or_default().clone()
    }

    fn load_from_disk(&self, key: &Key, kernels: &[&str]) -> Option<CLibrary> {
        let path = self.cache.as_ref().ok()?.get(key)?;
        // A file with the right hash that does not load was built for another system; it is built again.
        let library = CLibrary::load(&path, kernels).ok()?;
        self.from_disk.fetch_add(1, Ordering::Relaxed);
        Some(library)
    }

    fn build(&self, key: &Key, source: &str, kernels: &[&str]) -> Result<CLibrary, ToolchainError> {
        let dir = process::scratch_dir()?;
        let (input, output) = (dir.path().join("kernels.c"), dir.path().join("kernels.so"));
        std::fs::write(&input, source).map_err(|e| ToolchainError::io("write", &input, &e))?;
        let mut command = self.compiler.command();
        command.args(&self.flags).arg("-o").arg(&output).arg(&input).args(flags::libraries(&self.flags));
        let text = process::text(&command);
        let run = process::run(command, dir.path(), self.timeout)?;
        if !run.status.success() {
            return Err(ToolchainError::CompilerFailed {
                command: text,
                status: run.status.to_string(),
                stderr: run.stderr,
                source_file: process::keep_source(source)?,
            });
        }
        let garbage = |reason| ToolchainError::CompilerGarbage { command: text.clone(), reason };
        let bytes = std::fs::read(&output).map_err(|e| garbage(format!("its output file: {e}")))?;
        // Loading comes before publishing, so that what does not load is never kept.
        let library = CLibrary::load(&output, kernels).map_err(garbage)?;
        self.compiled.fetch_add(1, Ordering::Relaxed);
        if let Ok(cache) = &self.cache {
            // A full disk costs the next process a compilation, nothing else.
            let _ = cache.put(key, &bytes);
        }
        Ok(library)
    }
}

/// A panic elsewhere leaves these maps whole: each holds finished values only.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
