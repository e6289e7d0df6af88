//! Conversions that a tensor remembers.
//!
//! Tensors are immutable, so that a conversion made once is right for ever. Those of a tensor are kept with its levels, for
//! all clones, [`MOST`] at a time; the one that was used least recently goes first.
//!
//! A conversion knows the levels it was made from, but does not keep them alive: what is asked of it is looked up and
//! remembered there as long as they live. So the conversions of a tensor are one short list, however often and over
//! whatever detours one is made from another, and nothing keeps itself alive in a circle.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use super::{Indices, Leaf, Stored};
use crate::format::Format;
use crate::tensor::Storage;
use crate::{Tensor, TensorError};

/// Rows and columns, or the one order that a program asks for and a dense copy.
const MOST: usize = 2;

/// What belongs to some levels besides them.
#[derive(Default)]
pub(super) struct Remembered {
    /// Formats as they were asked for, the most recently used last.
    conversions: Mutex<Vec<(Format, Tensor)>>,
    /// What these levels were converted from.
    origin: OnceLock<Weak<Stored>>,
}

impl Remembered {
    fn conversions(&self) -> MutexGuard<'_, Vec<(Format, Tensor)>> {
        // A list is whole whenever the lock is free, even if a thread died with it.
        self.conversions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, format: &Format) -> Option<Tensor> {
        let mut conversions = self.conversions();
        let fits = |(asked, tensor): &(Format, Tensor)| asked == format || format.admits(&tensor.format());
        let at = conversions.iter().position(fits)?;
        conversions[at..].rotate_left(1);
        conversions.last().map(|(_, tensor)| tensor.clone())
    }

    fn insert(&self, format: Format, tensor: Tensor) {
        let mut conversions = self.conversions();
        if conversions.len() == MOST {
            conversions.remove(0);
        }
        conversions.push((format, tensor));
    }
}

impl Tensor {
    /// The same elements in a format: the tensor itself if it has that format already, else as [`Tensor::with_format`].
    /// Widths that the format leaves open may be any. A tensor that is stored by levels remembers the last two conversions,
    /// for its clones and for its conversions as well; [`Tensor::remembered_bytes`] counts them.
    ///
    /// ```
    /// use tj_tensor::{Format, Tensor};
    /// let rows = Tensor::csr([2, 3], vec![0i32, 2, 3], vec![0i32, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// assert!(rows.in_format(&Format::csr())?.shares_storage_with(&rows));
    /// let columns = rows.in_format(&Format::csc())?;
    /// assert!(rows.in_format(&Format::csc())?.shares_storage_with(&columns));
    /// assert!(columns.in_format(&Format::csr())?.shares_storage_with(&rows));
    /// assert!(rows.remembered_bytes() > 0);
    /// rows.forget_conversions();
    /// assert_eq!(rows.remembered_bytes(), 0);
    /// # Ok::<(), tj_tensor::TensorError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Tensor::with_format`].
    pub fn in_format(&self, format: &Format) -> Result<Tensor, TensorError> {
        let Storage::Levels(own) = &self.storage else { return self.with_format(format) };
        if format.admits(own.format()) {
            return Ok(self.clone());
        }
        let home = home_of(own);
        if format.admits(home.format()) {
            return Ok(Tensor::of_shared(home));
        }
        if let Some(found) = home.remembered.find(format) {
            return Ok(found);
        }
        // Not under the lock: the threads that convert may come back for another conversion.
        let made = self.with_format(format)?;
        if let Storage::Levels(stored) = &made.storage {
            stored.remembered.origin.get_or_init(|| Arc::downgrade(&home));
        }
        // Another thread may have been faster; then its tensor is the one to share.
        if let Some(found) = home.remembered.find(format) {
            return Ok(found);
        }
        home.remembered.insert(format.clone(), made.clone());
        Ok(made)
    }

    /// The bytes of the conversions that [`Tensor::in_format`] remembers for this tensor and those converted from it. Arrays
    /// that a conversion shares with the tensor do not count.
    pub fn remembered_bytes(&self) -> usize {
        let Storage::Levels(own) = &self.storage else { return 0 };
        let home = home_of(own);
        let mut seen: HashSet<*const u8> =
            arrays(&Tensor::of_shared(home.clone())).map(|(at, _)| at).collect();
        let conversions = home.remembered.conversions();
        let all = conversions.iter().flat_map(|(_, tensor)| arrays(tensor));
        all.filter(|&(at, _)| seen.insert(at)).map(|(_, bytes)| bytes).sum()
    }

    /// Drops the conversions that are remembered for this tensor and those converted from it. They stay where they are in
    /// use.
    pub fn forget_conversions(&self) {
        let Storage::Levels(own) = &self.storage else { return };
        // Dropped after the lock is free.
        let dropped = std::mem::take(&mut *home_of(own).remembered.conversions());
        drop(dropped);
    }
}

/// The levels that remember for some levels.
fn home_of(own: &Arc<Stored>) -> Arc<Stored> {
    own.remembered.origin.get().and_then(Weak::upgrade).unwrap_or_else(|| own.clone())
}

/// Where the arrays of a tensor lie, and their bytes.
fn arrays(tensor: &Tensor) -> impl Iterator<Item = (*const u8, usize)> {
    let mut found: Vec<(*const u8, usize)> = vec![];
    let mut add = |bytes: &[u8]| found.push((bytes.as_ptr(), bytes.len()));
    match &tensor.storage {
        Storage::Strided(strided) => add(strided.values.as_bytes()),
        Storage::Levels(stored) => {
            if let Leaf::Values(values) = &stored.leaf {
                add(values.as_bytes().unwrap_or(&[]));
            }
            for level in &stored.levels {
                let (indices, present) = level.arrays();
                indices.iter().for_each(|indices: &&Indices| add(indices.as_bytes()));
                present.into_iter().for_each(|present| add(present.as_bytes()));
            }
        }
    }
    found.into_iter().filter(|(_, bytes)| *bytes > 0)
}
