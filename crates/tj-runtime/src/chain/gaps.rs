//! Entries that were written with gaps, moved together in the memory where they are.
//!
//! Blocks of tasks were given room and wrote to its beginning. The blocks are cut into a few stretches, each of which threads
//! close by themselves; then the stretches are moved together, at the speed of memory. No entry is copied elsewhere.

use std::ops::Range;

use rayon::prelude::*;
use tj_tensor::Buffer;

/// Less is moved by the caller alone.
const PARALLEL: usize = 1 << 18;

/// Moves the entries of each block, from where the block starts to the end of those before.
pub(super) fn close(buffers: &mut [Buffer], blocks: &[Block], threads: usize) {
    let entries: usize = blocks.iter().map(|block| block.len).sum();
    let parts = if entries < PARALLEL { 1 } else { threads.min(rayon::current_num_threads()).max(1) };
    let stretches = stretches(blocks, entries.div_ceil(parts).max(1));
    for buffer in buffers {
        let bytes = buffer.as_bytes_mut();
        let room = blocks.last().map_or(0, |block| block.start + block.room);
        if room == 0 {
            continue;
        }
        let size = bytes.len() / room;
        if let [blocks] = stretches.as_slice() {
            close_one(bytes, 0, blocks, size);
            continue;
        }
        let mut parts: Vec<(&mut [u8], &[Block])> = Vec::with_capacity(stretches.len());
        let (mut rest, mut before) = (&mut bytes[..], 0);
        for &blocks in &stretches {
            let end = blocks.last().map_or(before, |block| block.start + block.room);
            let (own, others) = rest.split_at_mut((end - before) * size);
            parts.push((own, blocks));
            (rest, before) = (others, end);
        }
        parts.into_par_iter().for_each(|(bytes, blocks)| close_one(bytes, blocks[0].start, blocks, size));
        let mut to = 0;
        for blocks in &stretches {
            let len: usize = blocks.iter().map(|block| block.len).sum();
            moved(bytes, blocks[0].start..blocks[0].start + len, to, size);
            to += len;
        }
    }
}

/// The room of some tasks, in entries, and how many of them are there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub start: usize,
    pub room: usize,
    pub len: usize,
}

/// Consecutive blocks of about as many entries each.
fn stretches(blocks: &[Block], each: usize) -> Vec<&[Block]> {
    let mut found = Vec::new();
    let (mut first, mut entries) = (0, 0);
    for (at, block) in blocks.iter().enumerate() {
        entries += block.len;
        if entries >= each {
            found.push(&blocks[first..=at]);
            (first, entries) = (at + 1, 0);
        }
    }
    if first < blocks.len() {
        found.push(&blocks[first..]);
    }
    found
}

/// Closes the gaps between blocks in bytes that begin at entry `base`.
fn close_one(bytes: &mut [u8], base: usize, blocks: &[Block], size: usize) {
    let mut to = blocks.first().map_or(0, |block| block.start - base);
    for block in blocks {
        let start = block.start - base;
        moved(bytes, start..start + block.len, to, size);
        to += block.len;
    }
}

fn moved(bytes: &mut [u8], entries: Range<usize>, to: usize, size: usize) {
    if entries.start != to {
        bytes.copy_within(entries.start * size..entries.end * size, to * size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_their_order() {
        for (n, tasks) in [(0, 1), (1, 1), (7, 3), (1000, 50), (700_000, 999)] {
            let mut values = vec![0_u32; 2 * n];
            let mut blocks = Vec::new();
            let (mut next, mut start) = (0, 0);
            for task in 0..tasks {
                let room = 2 * n * (task + 1) / tasks - start;
                let len = (room / 2 + task % 2).min(room).min(n - next);
                for at in 0..len {
                    values[start + at] = (next + at) as u32 + 1;
                }
                blocks.push(Block { start, room, len });
                (next, start) = (next + len, start + room);
            }
            let mut buffers = [Buffer::from_vec(values)];
            close(&mut buffers, &blocks, 3);
            let found: Vec<u32> = buffers[0]
                .as_bytes()
                .chunks_exact(4)
                .map(|bytes| u32::from_ne_bytes(bytes.try_into().unwrap()))
                .take(next)
                .collect();
            assert_eq!(found, (1..=next as u32).collect::<Vec<_>>());
        }
    }
}
