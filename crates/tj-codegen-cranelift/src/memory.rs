//! Arguments, buffers and addresses.
//!
//! Every buffer is an alias region of its own, so that a store to one does not order loads from another; one that is
//! read in place of a written one is in the region of that one, so that its loads stay before the stores. Loads from
//! buffers that are never written say so (`readonly`) and may move (`can_move`): such loads are pure to Cranelift, which
//! sinks them to their uses. Without that all loads of a body come first, and the registers run out. A load must not
//! leave its block, though, as the element may not exist if the block does not run; so only those may move
//! that need something of their innermost loop or branch.

use cranelift_codegen::ir::{AliasRegionData, InstBuilder, MemFlagsData, Type, Value as Machine};
use tj_kernel::{Access, Buf, Op, Value};

use crate::emit::Emitter;

/// Byte offsets in the tables of `tj_kernel::abi`.
pub(crate) mod layout {
    use std::mem::offset_of;
    use tj_kernel::abi::{Args, Host};

    pub(crate) const BUFFERS: i32 = offset_of!(Args, buffers) as i32;
    pub(crate) const SIZES: i32 = offset_of!(Args, sizes) as i32;
    pub(crate) const PARAMS: i32 = offset_of!(Args, params) as i32;
    pub(crate) const HOST: i32 = offset_of!(Args, host) as i32;
    pub(crate) const GEMM_F32: i32 = offset_of!(Host, gemm_f32) as i32;
    pub(crate) const GEMM_F64: i32 = offset_of!(Host, gemm_f64) as i32;
    pub(crate) const CALL: i32 = offset_of!(Host, call) as i32;
}

/// A buffer, or an array of lanes on the stack.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    /// Address of element 0.
    pub(crate) base: Machine,
    /// What Cranelift may assume of accesses.
    pub(crate) flags: MemFlagsData,
    /// Bytes an element, as a power of two.
    pub(crate) shift: u32,
}

/// The argument table does not change during a call.
fn argument_flags() -> MemFlagsData {
    MemFlagsData::trusted().with_readonly().with_can_move()
}

impl Emitter<'_> {
    /// An entry of eight bytes of one of the tables, or its low end.
    pub(crate) fn argument(&mut self, table: i32, position: usize, ty: Type) -> Machine {
        let table = self.b.ins().load(self.pointer, argument_flags(), self.args, table);
        self.b.ins().load(ty, argument_flags(), table, 8 * position as i32)
    }

    /// A function of the host.
    pub(crate) fn host_function(&mut self, offset: i32) -> Machine {
        let host = self.b.ins().load(self.pointer, argument_flags(), self.args, layout::HOST);
        self.b.ins().load(self.pointer, argument_flags(), host, offset)
    }

    /// Flags of a memory that nothing else overlaps.
    pub(crate) fn region(&mut self, id: usize, name: String) -> MemFlagsData {
        let data = AliasRegionData { user_id: id as u32, description: name.into() };
        let region = self.b.func.dfg.alias_regions.insert(data);
        MemFlagsData::new().with_notrap().with_alias_region(Some(region))
    }

    /// Takes the addresses of all buffers.
    pub(crate) fn open_buffers(&mut self) {
        let mut regions: Vec<MemFlagsData> = Vec::new();
        for (i, buffer) in self.kernel.buffers.iter().enumerate() {
            let region = self.region(i, buffer.name.clone());
            regions.push(region);
        }
        for (i, buffer) in self.kernel.buffers.iter().enumerate() {
            let base = self.argument(layout::BUFFERS, i, self.pointer);
            let flags = match buffer.access {
                Access::Read => regions[i].with_readonly(),
                Access::InPlace(written) => regions[written.index()],
                Access::Write | Access::Scratch => regions[i],
            };
            self.buffers.push(Memory { base, flags, shift: buffer.dtype.size().trailing_zeros() });
        }
    }

    /// The memory of a buffer.
    pub(crate) fn buffer(&self, buffer: Buf) -> Memory {
        self.buffers[buffer.index()]
    }

    /// Address of an element.
    pub(crate) fn address(&mut self, memory: Memory, index: Machine) -> Machine {
        let bytes = self.b.ins().ishl_imm_u(index, memory.shift as i64);
        self.b.ins().iadd(memory.base, bytes)
    }

    /// What Cranelift may assume of a load.
    pub(crate) fn load_flags(&self, buffer: Buf, index: Value) -> MemFlagsData {
        let flags = self.buffer(buffer).flags;
        let bound = self.pins[index.index()] >= self.depth;
        if flags.readonly() && bound { flags.with_can_move() } else { flags }
    }

    /// Notes how many loops and branches a value is bound to stay in: those around the innermost thing it is made
    /// from that does not move.
    pub(crate) fn pin(&mut self, value: Value) {
        let op = self.kernel.op(value);
        let moves =
            op.is_pure() || matches!(op, Op::Load(buffer, i) if self.load_flags(buffer, i).can_move());
        let mut pin = if moves { 0 } else { self.depth };
        op.for_each_operand(|v| pin = pin.max(self.pins[v.index()]));
        self.pins[value.index()] = pin;
    }
}
