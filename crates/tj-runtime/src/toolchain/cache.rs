//! Libraries on disk, named by what they are.
//!
//! An entry is two files: `<key>` says the hash and the length of the library, and `<hash>.so` is the library. Either
//! appears under its name only when it is complete and on disk (temporary file, `fsync`, rename), and a library never
//! changes under its name, so that processes need no lock: a reader finds a whole entry or none. Whatever is wrong
//! with an entry makes it absent, and the next result replaces it.
//!
//! The directory must belong to us and be closed to everybody else, since we run what lies in it.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use blake3::Hasher;

use super::CacheDir;

/// Changes when the layout of an entry does.
const LAYOUT: &str = "c-1";

/// Above this many bytes the oldest entries go; a library is about 16 KiB.
const MAX_BYTES: u64 = 256 << 20;

/// Results between two looks at the total, which reads the whole directory.
const PRUNE_EVERY: u64 = 64;

/// The name of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key([u8; 32]);

impl Key {
    /// A hash of all parts; no two lists of parts run together to the same bytes.
    pub(super) fn of(parts: &[&[u8]]) -> Key {
        let mut hasher = Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        Key(hasher.finalize().into())
    }

    fn name(&self) -> String {
        blake3::Hash::from(self.0).to_hex().to_string()
    }
}

/// A private directory of libraries.
#[derive(Debug)]
pub(super) struct Cache {
    dir: PathBuf,
    puts: AtomicU64,
}

impl Cache {
    /// Opens or makes the directory; the error says why it cannot be used.
    pub(super) fn open(dir: &CacheDir) -> Result<Cache, String> {
        let base = match dir {
            CacheDir::Off => return Err("switched off".to_owned()),
            CacheDir::At(dir) => dir.clone(),
            CacheDir::User => directories::ProjectDirs::from("", "", "tensorjit")
                .ok_or("this user has no cache directory")?
                .cache_dir()
                .to_owned(),
        };
        let dir = base.join(LAYOUT);
        private_dir(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        // Relative paths would change their meaning with the working directory, and the loader searches for bare names.
        let dir = dir.canonicalize().map_err(|e| format!("{}: {e}", dir.display()))?;
        Ok(Cache { dir, puts: AtomicU64::new(0) })
    }

    /// Where it is.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The library of an entry, after checking every byte of it.
    pub(super) fn get(&self, key: &Key) -> Option<PathBuf> {
        let record = fs::read_to_string(self.dir.join(key.name())).ok()?;
        let (hash, len) = record.trim_end().split_once(' ')?;
        let hash = blake3::Hash::from_hex(hash).ok()?;
        let path = self.library(hash);
        let bytes = fs::read(&path).ok()?;
        (bytes.len().to_string() == len && blake3::hash(&bytes) == hash).then_some(path)
    }

    /// Publishes a library.
    pub(super) fn put(&self, key: &Key, library: &[u8]) -> std::io::Result<()> {
        let hash = blake3::hash(library);
        self.publish(&self.library(hash), library)?;
        let record = format!("{} {}\n", hash.to_hex(), library.len());
        self.publish(&self.dir.join(key.name()), record.as_bytes())?;
        if self.puts.fetch_add(1, Ordering::Relaxed).is_multiple_of(PRUNE_EVERY) {
            prune(&self.dir, MAX_BYTES)?;
        }
        Ok(())
    }

    fn library(&self, hash: blake3::Hash) -> PathBuf {
        self.dir.join(format!("{}.so", hash.to_hex()))
    }

    fn publish(&self, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }
}

/// Removes the oldest files until at most half of `max_bytes` is left, if there is more than `max_bytes`. A library
/// that some process has loaded stays loaded: its file lives until it is unmapped.
fn prune(dir: &Path, max_bytes: u64) -> std::io::Result<()> {
    let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        // Another process may be removing files too.
        if let Ok(data) = entry.metadata() {
            files.push((data.modified().unwrap_or(SystemTime::UNIX_EPOCH), data.len(), entry.path()));
        }
    }
    let mut total: u64 = files.iter().map(|f| f.1).sum();
    if total <= max_bytes {
        return Ok(());
    }
    files.sort();
    for (_, len, path) in files {
        if total <= max_bytes / 2 {
            break;
        }
        let _ = fs::remove_file(path);
        total -= len;
    }
    Ok(())
}

/// Makes sure that `dir` is a directory of ours that nobody else can read or write.
#[cfg(unix)]
fn private_dir(dir: &Path) -> Result<(), String> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};

    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|e| e.to_string())?;
    let data = fs::symlink_metadata(dir).map_err(|e| e.to_string())?;
    if !data.is_dir() {
        return Err("not a directory".to_owned());
    }
    if data.mode() & 0o077 != 0 {
        return Err(format!("open to others (mode {:o})", data.mode() & 0o777));
    }
    // A file that we make belongs to who we are, which the standard library does not tell otherwise.
    let probe: File = tempfile::tempfile_in(dir).map_err(|e| e.to_string())?;
    let us = probe.metadata().map_err(|e| e.to_string())?.uid();
    match data.uid() == us {
        true => Ok(()),
        false => Err(format!("owned by user {}, not by user {us}", data.uid())),
    }
}

#[cfg(not(unix))]
fn private_dir(_: &Path) -> Result<(), String> {
    Err("who may write to a directory is not known on this system".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> (tempfile::TempDir, Cache) {
        let base = tempfile::tempdir().unwrap();
        let cache = Cache::open(&CacheDir::At(base.path().to_owned())).unwrap();
        (base, cache)
    }

    #[test]
    fn keys_separate_parts() {
        assert_ne!(Key::of(&[b"ab", b"c"]), Key::of(&[b"a", b"bc"]));
        assert_ne!(Key::of(&[b"", b"a"]), Key::of(&[b"a"]));
    }

    #[test]
    fn entries_are_found_until_they_are_damaged() {
        let (_base, cache) = cache();
        let key = Key::of(&[b"k"]);
        let library = |cache: &Cache| cache.get(&key).map(|path| fs::read(path).unwrap());
        assert_eq!(library(&cache), None);
        for damage in [&b""[..], b"short", b"other bytes.."] {
            cache.put(&key, b"right bytes..").unwrap();
            assert_eq!(library(&cache).as_deref(), Some(&b"right bytes.."[..]));
            fs::write(cache.get(&key).unwrap(), damage).unwrap();
            assert_eq!(library(&cache), None);
        }
        for record in ["", "x 1", "0011 5\n"] {
            cache.put(&key, b"right bytes..").unwrap();
            fs::write(cache.dir().join(key.name()), record).unwrap();
            assert_eq!(library(&cache), None);
        }
    }

    #[test]
    fn pruning_keeps_the_newest() {
        let (_base, cache) = cache();
        for i in 0..10u64 {
            let path = cache.dir().join(format!("f{i}"));
            fs::write(&path, [0; 100]).unwrap();
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1000 + i);
            File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        }
        prune(cache.dir(), 1000).unwrap();
        assert_eq!(fs::read_dir(cache.dir()).unwrap().count(), 10);
        prune(cache.dir(), 900).unwrap();
        let mut left: Vec<_> = fs::read_dir(cache.dir()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["f6", "f7", "f8", "f9"]);
    }
}
