//! Calls of functions that the host computes.
//!
//! The words that say which, and the addresses of all arrays, are put on the stack. A status that is not that of success
//! is returned at once.

use cranelift_codegen::ir::{
    AbiParam, InstBuilder, Signature, StackSlotData, StackSlotKind, Value as Machine, types,
};
use tj_kernel::Call;
use tj_kernel::abi::{Word, call_words};

use crate::emit::Emitter;
use crate::memory::layout;

impl Emitter<'_> {
    /// Computes the rows of the task range.
    pub(crate) fn call(&mut self, call: &Call) {
        let words: Vec<Machine> = call_words(self.kernel, call)
            .into_iter()
            .map(|word| match word {
                Word::Known(number) => self.b.ins().iconst(types::I64, number),
                Word::Size(value) => self.value(value),
            })
            .collect();
        let arrays: Vec<Machine> =
            call.args.iter().chain(&call.results).map(|array| self.buffer(array.buffer).base).collect();
        let n_words = self.b.ins().iconst(types::I64, words.len() as i64);
        let (words, arrays) = (self.on_stack(&words), self.on_stack(&arrays));

        let mut signature = Signature::new(self.b.func.signature.call_conv);
        let params = [self.pointer, types::I64, self.pointer, types::I64, types::I64];
        signature.params.extend(params.map(AbiParam::new));
        signature.returns.push(AbiParam::new(types::I32));
        let signature = self.b.import_signature(signature);
        let callee = self.host_function(layout::CALL);
        let (lo, hi) = self.task();
        let made = self.b.ins().call_indirect(signature, callee, &[words, n_words, arrays, lo, hi]);
        let status = self.b.inst_results(made)[0];
        self.return_if(status);
    }

    /// Entries of eight bytes beside each other; gives their address.
    fn on_stack(&mut self, entries: &[Machine]) -> Machine {
        let bytes = 8 * entries.len() as u32;
        let slot = self.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 3));
        for (position, &entry) in entries.iter().enumerate() {
            self.b.ins().stack_store(self.pointer, entry, slot, 8 * position as i32);
        }
        self.b.ins().stack_addr(self.pointer, slot, 0)
    }
}
