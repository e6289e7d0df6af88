//! Memory that is used again by later calls: arenas, and outputs that the user has dropped.
//!
//! Fresh pages cost more than filling them does, so that a program which is called again and again should touch
//! none. Arenas are kept one for each call that runs at the same time. Of outputs the pool keeps a share; once the
//! user has dropped the tensor, the pool is the only owner and the memory serves the next call.
//!
//! What all pools keep together is counted ([`kept_bytes`]), outputs that a user still holds included, so that the cache of
//! programs can empty the pools of those that have not run for long.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tj_tensor::{Buffer, DType, Tensor, TensorError};

/// How many arenas are kept: calls beyond this many at once allocate.
const ARENAS: usize = 8;

/// How many outputs are kept.
const OUTPUTS: usize = 8;

/// Outputs smaller than this are allocated anew: the allocator has such blocks at hand.
const SMALL: usize = 64 << 10;

/// What all pools keep.
static KEPT: AtomicU64 = AtomicU64::new(0);

/// The bytes that all pools of the process keep.
pub(crate) fn kept_bytes() -> u64 {
    KEPT.load(Ordering::Relaxed)
}

fn count_in(bytes: usize) {
    KEPT.fetch_add(bytes as u64, Ordering::Relaxed);
}

fn count_out(bytes: usize) {
    KEPT.fetch_sub(bytes as u64, Ordering::Relaxed);
}

/// A size for an arena that is needed for so many bytes: one that grows by a little from call to call is not allocated each time.
pub(crate) fn with_room(bytes: u64) -> u64 {
    let step = bytes.checked_next_power_of_two().map_or(64, |power| (power / 16).max(64));
    bytes.checked_next_multiple_of(step).unwrap_or(bytes)
}

fn bytes_of(output: &Tensor) -> usize {
    output.as_bytes().map_or(0, <[u8]>::len)
}

/// Memory for the calls of one program.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    arenas: Mutex<Vec<Buffer>>,
    outputs: Mutex<Vec<Tensor>>,
}

/// What a pool has kept, to be freed where no lock is held.
pub(crate) type Emptied = (Vec<Buffer>, Vec<Tensor>);

impl Pools {
    /// An arena of at least `bytes`, and whether it had to be allocated; then it has `room`.
    pub fn arena(&self, bytes: usize, room: usize) -> Result<(Buffer, bool), TensorError> {
        if bytes == 0 {
            return Ok((Buffer::zeroed(0)?, false));
        }
        let mut arenas = self.arenas.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = arenas.iter().position(|arena| arena.len() >= bytes) {
            let arena = arenas.swap_remove(at);
            count_out(arena.len());
            return Ok((arena, false));
        }
        // A smaller one would only lie beside the larger one from now on.
        if let Some(smaller) = arenas.pop() {
            count_out(smaller.len());
        }
        drop(arenas);
        Ok((Buffer::zeroed(room)?, true))
    }

    /// Takes an arena back.
    pub fn give_back(&self, arena: Buffer) {
        if arena.is_empty() {
            return;
        }
        let mut arenas = self.arenas.lock().unwrap_or_else(PoisonError::into_inner);
        if arenas.len() < ARENAS {
            count_in(arena.len());
            arenas.push(arena);
        }
    }

    /// Memory for an output of exactly `bytes`, and whether it had to be allocated. Its contents are undefined.
    pub fn output(&self, bytes: usize) -> Result<(Buffer, bool), TensorError> {
        if bytes >= SMALL {
            let mut outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
            for at in 0..outputs.len() {
                let tensor = outputs.swap_remove(at);
                let kept = bytes_of(&tensor);
                match tensor.try_into_buffer() {
                    Ok(buffer) => {
                        count_out(kept);
                        if buffer.len() == bytes {
                            return Ok((buffer, false));
                        }
                        // Another size: it will not be needed soon.
                        return Ok((Buffer::zeroed(bytes)?, true));
                    }
                    Err(shared) => {
                        outputs.push(shared);
                        let last = outputs.len() - 1;
                        outputs.swap(at, last);
                    }
                }
            }
        }
        Ok((Buffer::zeroed(bytes)?, true))
    }

    /// Gives up the share of a tensor, if there is one, so that it belongs to its owner alone.
    pub fn forget(&self, tensor: &Tensor) {
        let mut outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        outputs.retain(|output| {
            let other = !output.shares_storage_with(tensor);
            if !other {
                count_out(bytes_of(output));
            }
            other
        });
    }

    /// Gives up everything.
    pub fn empty(&self) -> Emptied {
        let arenas = std::mem::take(&mut *self.arenas.lock().unwrap_or_else(PoisonError::into_inner));
        let outputs = std::mem::take(&mut *self.outputs.lock().unwrap_or_else(PoisonError::into_inner));
        count_out(arenas.iter().map(Buffer::len).sum());
        count_out(outputs.iter().map(bytes_of).sum());
        (arenas, outputs)
    }

    /// Keeps a share of an output for later calls.
    pub fn keep(&self, output: &Tensor) {
        if output.dtype() == DType::Bool || output.as_bytes().is_none_or(|bytes| bytes.len() < SMALL) {
            return;
        }
        let mut outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        if outputs.len() >= OUTPUTS {
            count_out(bytes_of(&outputs.remove(0)));
        }
        count_in(bytes_of(output));
        outputs.push(output.clone());
    }
}

impl Drop for Pools {
    fn drop(&mut self) {
        self.empty();
    }
}
