//! Loops and branches.
//!
//! Counted loops are rotated: a test before, one jump back at the end. The block between the test and the loop is
//! where Cranelift puts what it hoists, so that it runs only if the loop does.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block as Label, BlockArg, InstBuilder, Value as Machine, types};
use tj_kernel::Value;

use crate::emit::Emitter;

impl Emitter<'_> {
    /// Runs `body` for `lo..hi`, one at a time.
    pub(crate) fn counted(&mut self, lo: Machine, hi: Machine, body: impl FnOnce(&mut Self, Machine)) {
        let enter = self.b.ins().icmp(IntCC::SignedLessThan, lo, hi);
        self.rotated(enter, lo, hi, 1, body);
    }

    /// If `enter`, runs `body` for `lo`, `lo + step`, ... until it reaches `hi`.
    pub(crate) fn rotated(
        &mut self,
        enter: Machine,
        lo: Machine,
        hi: Machine,
        step: i64,
        body: impl FnOnce(&mut Self, Machine),
    ) {
        let [before, header, after] = [(); 3].map(|()| self.b.create_block());
        self.b.ins().brif(enter, before, &[], after, &[]);
        self.enter(before);
        self.b.ins().jump(header, &[BlockArg::Value(lo)]);
        let i = self.b.append_block_param(header, types::I64);
        self.b.switch_to_block(header);
        self.depth += 1;
        body(self, i);
        self.depth -= 1;
        let next = self.b.ins().iadd_imm_s(i, step);
        let more = self.b.ins().icmp(IntCC::NotEqual, next, hi);
        self.b.ins().brif(more, header, &[BlockArg::Value(next)], after, &[]);
        self.b.seal_block(header);
        self.enter(after);
    }

    /// Runs `then` if a condition holds that is not the kernel's.
    pub(crate) fn only_if(&mut self, condition: Machine, then: impl FnOnce(&mut Self)) {
        let [yes, after] = [(); 2].map(|()| self.b.create_block());
        self.b.ins().brif(condition, yes, &[], after, &[]);
        self.enter(yes);
        then(self);
        self.b.ins().jump(after, &[]);
        self.enter(after);
    }

    /// `loop { head; if !cond { break } body }`.
    pub(crate) fn while_loop(
        &mut self,
        head: impl FnOnce(&mut Self),
        cond: Value,
        body: impl FnOnce(&mut Self),
    ) {
        let [header, inside, after] = [(); 3].map(|()| self.b.create_block());
        self.b.ins().jump(header, &[]);
        self.b.switch_to_block(header);
        self.depth += 1;
        head(self);
        let cond = self.value(cond);
        self.b.ins().brif(cond, inside, &[], after, &[]);
        self.enter(inside);
        body(self);
        self.depth -= 1;
        self.b.ins().jump(header, &[]);
        self.b.seal_block(header);
        self.enter(after);
    }

    /// Runs one of two blocks.
    pub(crate) fn if_else(&mut self, cond: Value, then: impl FnOnce(&mut Self), els: impl FnOnce(&mut Self)) {
        let [yes, no, after] = [(); 3].map(|()| self.b.create_block());
        let cond = self.value(cond);
        self.b.ins().brif(cond, yes, &[], no, &[]);
        self.depth += 1;
        self.enter(yes);
        then(self);
        self.b.ins().jump(after, &[]);
        self.enter(no);
        els(self);
        self.depth -= 1;
        self.b.ins().jump(after, &[]);
        self.enter(after);
    }

    /// Ends the function with this status unless it is 0.
    pub(crate) fn return_if(&mut self, status: Machine) {
        let [failed, after] = [(); 2].map(|()| self.b.create_block());
        self.b.ins().brif(status, failed, &[], after, &[]);
        self.enter(failed);
        self.b.ins().return_(&[status]);
        self.enter(after);
    }

    /// Goes on in a block to which all jumps have been written.
    fn enter(&mut self, block: Label) {
        self.b.seal_block(block);
        self.b.switch_to_block(block);
    }
}
