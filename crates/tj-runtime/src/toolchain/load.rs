//! Loads libraries: the only place that trusts a compiler's output.
#![allow(unsafe_code)]

use std::fmt;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use rustc_hash::FxHashMap;
use tj_kernel::abi::KernelFn;

/// A loaded library of kernels. It stays loaded while a reference to it lives.
pub struct CLibrary {
    kernels: FxHashMap<String, KernelFn>,
    path: PathBuf,
    // Unloads when dropped, after the table above.
    _library: Library,
}

impl CLibrary {
    /// Loads `path` and finds all of `kernels` in it.
    pub(super) fn load(path: &Path, kernels: &[&str]) -> Result<CLibrary, String> {
        // SAFETY: The callers pass a file that our compiler made from our text a moment ago, or one from a directory
        // that only we can write to, with the hash that such a file had. Our text has no initialisers or
        // terminators. All symbols are resolved now, so that no call into it can fail to find one later.
        let library =
            unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|e| e.to_string())?;
        let find = |name: &&str| {
            // SAFETY: The key of a result holds its text and these names, and whoever asks for the pair states that
            // each is a function of this type in it.
            let symbol = unsafe { library.get::<KernelFn>(*name) };
            symbol.map(|f| ((*name).to_owned(), *f)).map_err(|e| format!("no function {name}: {e}"))
        };
        let kernels = kernels.iter().map(find).collect::<Result<_, _>>()?;
        Ok(CLibrary { kernels, path: path.to_owned(), _library: library })
    }

    /// A kernel by name, if it was asked for when the library was made. The function must not be called after the
    /// library is dropped.
    pub fn kernel(&self, name: &str) -> Option<KernelFn> {
        self.kernels.get(name).copied()
    }

    /// The file it was loaded from, which may be gone by now.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Debug for CLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<_> = self.kernels.keys().collect();
        names.sort();
        f.debug_struct("CLibrary").field("path", &self.path).field("kernels", &names).finish()
    }
}
