use std::fs;
use std::path::Path;

use tempfile::TempDir;
use tj_kernel::abi::{Args, STATUS_OK};

use super::flags::Dialect;
use super::*;

/// A kernel that returns its status as its C text says.
const SEVEN: &str =
    "__attribute__((visibility(\"default\"))) int seven(const void *a, long lo, long hi) { return 7; }";

fn options(cache_dir: CacheDir) -> ToolchainOptions {
    ToolchainOptions { cache_dir, timeout: Duration::from_secs(60), ..ToolchainOptions::default() }
}

/// The machine's compiler, or a word on why the test has nothing to run.
fn c_compiler_or_skip(cache_dir: CacheDir) -> Option<Toolchain> {
    Toolchain::new(options(cache_dir)).inspect_err(|e| eprintln!("skipped: {e}")).ok()
}

fn cache_in(base: &TempDir) -> CacheDir {
    CacheDir::At(base.path().join("cache"))
}

fn status(library: &CLibrary, kernel: &str) -> i32 {
    let kernel = library.kernel(kernel).unwrap();
    let args = Args {
        buffers: std::ptr::null(),
        sizes: std::ptr::null(),
        params: std::ptr::null(),
        host: std::ptr::null(),
    };
    #[allow(unsafe_code)]
    // SAFETY: The library is alive and its kernels look at no argument.
    unsafe {
        kernel(&args, 0, 0)
    }
}

/// A compiler that answers `--version` and otherwise runs `body`, a piece of shell in which `$out` is the output file.
fn fake_compiler(dir: &TempDir, body: &str) -> PathBuf {
    let path = dir.path().join("fake-cc");
    let script = format!(
        "#!/bin/sh\nout=\nnext=\nfor a in \"$@\"; do\n  [ \"$a\" = --version ] && {{ echo fake 1.0; exit 0; }}\n  \
         [ \"$next\" ] && out=$a\n  next=\n  [ \"$a\" = -o ] && next=1\ndone\n[ \"$out\" ] || exit 1\n{body}\n"
    );
    fs::write(&path, script).unwrap();
    #[cfg(unix)]
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    // Another thread that is just starting a process may hold the file open for writing for a moment.
    while let Err(e) = std::process::Command::new(&path).arg("--version").output() {
        assert_eq!(e.kind(), std::io::ErrorKind::ExecutableFileBusy);
    }
    path
}

fn with_fake(body: &str, timeout: Duration) -> ToolchainError {
    let dir = tempfile::tempdir().unwrap();
    let cache_dir = cache_in(&dir);
    let compiler = Some(fake_compiler(&dir, body));
    let toolchain = Toolchain::new(ToolchainOptions { compiler, timeout, ..options(cache_dir) }).unwrap();
    let error = toolchain.compile(SEVEN, &["seven"]).unwrap_err();
    assert_eq!(fs::read_dir(toolchain.cache().unwrap()).unwrap().count(), 0, "garbage was kept");
    error
}

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn no_compiler() {
    let find = |compiler: &Path| {
        Toolchain::new(ToolchainOptions { compiler: Some(compiler.to_owned()), ..options(CacheDir::Off) })
            .unwrap_err()
    };
    let error = find(Path::new("/nonexistent/cc"));
    assert!(matches!(&error, ToolchainError::NoCompiler { tried } if tried.len() == 1), "{error:?}");
    assert!(error.to_string().contains("/nonexistent/cc"), "{error}");

    let dir = tempfile::tempdir().unwrap();
    let script = fake_compiler(&dir, "");
    fs::write(&script, "#!/bin/sh\necho broken >&2\nexit 3\n").unwrap();
    let error = find(&script);
    assert!(matches!(&error, ToolchainError::NoCompiler { .. }), "{error:?}");
    assert!(error.to_string().contains("broken"), "{error}");
}

#[test]
fn a_compiler_that_fails() {
    let error = with_fake("echo 'cannot do it' >&2; exit 4", MINUTE);
    let ToolchainError::CompilerFailed { status, stderr, source_file, command } = error else {
        panic!("{error}");
    };
    assert!(status.contains('4') && stderr == "cannot do it\n" && command.contains("-ffp-contract=off"));
    assert_eq!(fs::read_to_string(&source_file).unwrap(), SEVEN);
    fs::remove_file(source_file).unwrap();
}

#[test]
fn a_compiler_that_lies() {
    for (body, reason) in [
        ("echo garbage; exit 0", "output file"),
        ("echo garbage > $out", ""),
        (": > $out", ""),
        ("yes garbage | head -c 1000000; yes garbage | head -c 1000000 >&2", "output file"),
        ("exec >&- 2>&-; exit 0", "output file"),
    ] {
        let error = with_fake(body, MINUTE);
        assert!(matches!(&error, ToolchainError::CompilerGarbage { .. }), "{body}: {error:?}");
        assert!(error.to_string().contains(reason), "{body}: {error}");
    }
}

#[test]
fn a_compiler_that_hangs() {
    let error = with_fake("sleep 30", Duration::from_secs(1));
    assert!(matches!(error, ToolchainError::Timeout { seconds: 1, .. }), "{error:?}");
    let error = with_fake("exec >&- 2>&-; sleep 30", Duration::from_secs(1));
    assert!(matches!(error, ToolchainError::Timeout { seconds: 1, .. }), "{error:?}");
}

#[test]
fn text_that_is_wrong() {
    let Some(toolchain) = c_compiler_or_skip(CacheDir::Off) else { return };
    let error = toolchain.compile("int f(", &["f"]).unwrap_err();
    let ToolchainError::CompilerFailed { stderr, source_file, .. } = error else { panic!("{error}") };
    assert!(stderr.contains("error"), "{stderr}");
    fs::remove_file(source_file).unwrap();

    let error = toolchain.compile(SEVEN, &["seven", "eight"]).unwrap_err();
    assert!(matches!(&error, ToolchainError::CompilerGarbage { .. }), "{error:?}");
    assert!(error.to_string().contains("no function eight"), "{error}");
    // A call after errors works.
    assert_eq!(status(&toolchain.compile(SEVEN, &["seven"]).unwrap(), "seven"), 7);
    assert_ne!(STATUS_OK, 7);
}

#[test]
fn results_are_kept_in_memory_and_on_disk() {
    let base = tempfile::tempdir().unwrap();
    let Some(first) = c_compiler_or_skip(cache_in(&base)) else { return };
    let library = first.compile(SEVEN, &["seven"]).unwrap();
    assert!(Arc::ptr_eq(&library, &first.compile(SEVEN, &["seven"]).unwrap()));
    assert!(library.kernel("eight").is_none());
    drop(library);
    assert_eq!(status(&first.compile(SEVEN, &["seven"]).unwrap(), "seven"), 7);
    assert_eq!(first.counts(), ToolchainCounts { compiled: 1, from_disk: 1, from_memory: 1 });

    let second = c_compiler_or_skip(cache_in(&base)).unwrap();
    assert_eq!(status(&second.compile(SEVEN, &["seven"]).unwrap(), "seven"), 7);
    second.compile("", &[]).unwrap();
    assert_eq!(second.counts(), ToolchainCounts { compiled: 1, from_disk: 1, from_memory: 0 });
    // Other options are another result.
    let baseline = ToolchainOptions { features: CpuFeatures::Baseline, ..options(cache_in(&base)) };
    let baseline = Toolchain::new(baseline).unwrap();
    baseline.compile(SEVEN, &["seven"]).unwrap();
    assert_eq!(baseline.counts().compiled, u64::from(first.flags != baseline.flags));
}

#[test]
fn damaged_entries_are_built_again() {
    let base = tempfile::tempdir().unwrap();
    let Some(toolchain) = c_compiler_or_skip(cache_in(&base)) else { return };
    let dir = toolchain.cache().unwrap().to_owned();
    for (compiled, damage) in [(1, 0), (2, 100), (3, 1_000_000)] {
        assert_eq!(status(&toolchain.compile(SEVEN, &["seven"]).unwrap(), "seven"), 7);
        assert_eq!(toolchain.counts().compiled, compiled);
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let mut bytes = fs::read(&path).unwrap();
            bytes.resize(damage, 0);
            fs::write(path, bytes).unwrap();
        }
    }
    // A whole entry of something that no loader takes.
    let key = toolchain.key(SEVEN, &["seven"]);
    toolchain.cache.as_ref().unwrap().put(&key, b"no library").unwrap();
    assert_eq!(status(&toolchain.compile(SEVEN, &["seven"]).unwrap(), "seven"), 7);
    assert_eq!(toolchain.counts(), ToolchainCounts { compiled: 4, from_disk: 0, from_memory: 0 });
}

#[cfg(unix)]
#[test]
fn caches_that_cannot_be_trusted_are_not_used() {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    let base = tempfile::tempdir().unwrap();
    let Some(probe) = c_compiler_or_skip(cache_in(&base)) else { return };
    let dir = probe.cache().unwrap().to_owned();
    let check = |reason: &str| {
        let toolchain = c_compiler_or_skip(cache_in(&base)).unwrap();
        let why = toolchain.cache().unwrap_err();
        assert!(why.contains(reason), "{why:?} does not say {reason:?}");
        assert_eq!(status(&toolchain.compile(SEVEN, &["seven"]).unwrap(), "seven"), 7);
        assert_eq!(toolchain.counts().compiled, 1);
    };
    let mode = |mode| fs::set_permissions(&dir, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o755);
    check("open to others");
    mode(0o700);
    // Only the superuser can give a directory away, and only the others respect its mode.
    match chown(&dir, Some(12345), None) {
        Ok(()) => check("owned by user 12345"),
        Err(_) => {
            mode(0o500);
            check("ermission denied");
        }
    }
    fs::remove_dir(&dir).unwrap();
    symlink(base.path(), &dir).unwrap();
    check("not a directory");
    fs::remove_file(&dir).unwrap();
    fs::write(&dir, "a file").unwrap();
    check("");
}

#[test]
fn a_cache_that_vanishes_costs_nothing_but_time() {
    let base = tempfile::tempdir().unwrap();
    let Some(toolchain) = c_compiler_or_skip(cache_in(&base)) else { return };
    fs::remove_dir_all(toolchain.cache().unwrap()).unwrap();
    assert_eq!(status(&toolchain.compile(SEVEN, &["seven"]).unwrap(), "seven"), 7);
}

#[test]
fn threads_share_one_compilation() {
    let base = tempfile::tempdir().unwrap();
    let Some(toolchain) = c_compiler_or_skip(cache_in(&base)) else { return };
    let libraries: Vec<Arc<CLibrary>> = std::thread::scope(|s| {
        let threads: Vec<_> =
            (0..8).map(|_| s.spawn(|| toolchain.compile(SEVEN, &["seven"]).unwrap())).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(libraries.iter().all(|l| Arc::ptr_eq(l, &libraries[0]) && status(l, "seven") == 7));
    assert_eq!(toolchain.counts(), ToolchainCounts { compiled: 1, from_disk: 0, from_memory: 7 });
}

/// What processes do that start together on an empty cache; toolchains share nothing but the directory.
#[test]
fn toolchains_share_a_directory() {
    let base = tempfile::tempdir().unwrap();
    if c_compiler_or_skip(CacheDir::Off).is_none() {
        return;
    }
    std::thread::scope(|s| {
        for _ in 0..8 {
            s.spawn(|| {
                let toolchain = c_compiler_or_skip(cache_in(&base)).unwrap();
                assert_eq!(status(&toolchain.compile(SEVEN, &["seven"]).unwrap(), "seven"), 7);
            });
        }
    });
    let late = c_compiler_or_skip(cache_in(&base)).unwrap();
    late.compile(SEVEN, &["seven"]).unwrap();
    assert_eq!(late.counts(), ToolchainCounts { compiled: 0, from_disk: 1, from_memory: 0 });
}

#[test]
fn options_name_what_they_ask_for() {
    for (features, dialect) in [
        (CpuFeatures::Host, Dialect::Gnu),
        (CpuFeatures::Host, Dialect::Other),
        (CpuFeatures::Baseline, Dialect::Gnu),
        (CpuFeatures::Baseline, Dialect::Other),
    ] {
        let flags = flags::flags(features, dialect);
        assert!(flags.iter().all(|f| !f.contains("native") && !f.contains("fast")), "{flags:?}");
        assert!(flags.iter().any(|f| f == "-ffp-contract=off"));
        if cfg!(target_arch = "x86_64") && features == CpuFeatures::Baseline {
            assert_eq!(flags::libraries(&flags), ["-lm"]);
        }
    }
}

#[test]
fn the_environment_gives_one_toolchain() {
    match (Toolchain::from_env(), Toolchain::from_env()) {
        (Ok(a), Ok(b)) => assert!(Arc::ptr_eq(&a, &b) && a.describe().contains("-O3")),
        (a, b) => assert_eq!(a.unwrap_err(), b.unwrap_err()),
    }
}

#[test]
fn a_key_holds_nothing_of_the_process() {
    let Some(toolchain) = c_compiler_or_skip(CacheDir::Off) else { return };
    let identity = String::from_utf8(toolchain.compiler.identity().to_vec()).unwrap();
    // What chooses the compiler and its options belongs to its identity.
    let others = std::env::vars()
        .filter(|(name, value)| !name.contains("CC") && !name.contains("FLAGS") && value.len() > 8);
    let found: Vec<String> =
        others.map(|(_, value)| value).filter(|value| identity.contains(value)).collect();
    assert_eq!(found, [""; 0]);
}
