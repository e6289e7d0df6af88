//! The rules that look at one statement and what is in scope there.

use tj_tensor::DType;

use super::{Finding, Rule};
use crate::arith;
use crate::ir::{
    Access, Block, Buf, Buffer, Call, Gemm, Kernel, LoopKind, MAX_LANES, MAX_NESTING, Matrix, Op, Stmt,
    Value, Var,
};

/// Checks every rule but uniformity and bounds.
pub(super) fn check(kernel: &Kernel) -> Vec<Finding> {
    let mut ctx = Ctx {
        kernel,
        findings: Vec::new(),
        values: vec![State::Never; kernel.values.len()],
        vars: vec![(State::Never, false); kernel.vars.len()],
        lanes: None,
    };
    ctx.header();
    ctx.block(&kernel.body, 0);
    ctx.leftovers();
    ctx.findings
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Never,
    InScope,
    Gone,
}

struct Ctx<'a> {
    kernel: &'a Kernel,
    findings: Vec<Finding>,
    values: Vec<State>,
    /// Also whether the declaration is inside the lanes loop that is open.
    vars: Vec<(State, bool)>,
    /// Width of the lanes loop that is open.
    lanes: Option<u32>,
}

impl Ctx<'_> {
    fn find(&mut self, rule: Rule, what: impl Into<String>) {
        self.findings.push(Finding::new(self.kernel, rule, what.into()));
    }

    fn header(&mut self) {
        let kernel = self.kernel;
        let letter = |c: char| c == '_' || c.is_ascii_alphabetic();
        if !kernel.name.starts_with(letter) || !kernel.name.chars().all(|c| letter(c) || c.is_ascii_digit()) {
            self.find(Rule::Name, format!("{:?} is no C identifier", kernel.name));
        }
        if kernel.grid.multiple < 1 {
            self.find(Rule::Access, format!("the grid is cut at multiples of {}", kernel.grid.multiple));
        }
        if kernel.body.iter().filter(|stmt| matches!(stmt, Stmt::Call(_))).count() > 1 {
            self.find(Rule::Call, "it calls more than one function");
        }
        for buffer in &kernel.buffers {
            self.kernel_type(&format!("buffer {}", buffer.name), buffer.dtype);
            if let Access::InPlace(written) = buffer.access {
                self.shares(buffer, written);
            }
            if buffer.holds.is_some() && !(buffer.dtype.is_int() && buffer.access == Access::Read) {
                self.find(Rule::Access, format!("buffer {} cannot hold indices", buffer.name));
            }
        }
        for (id, &dtype) in kernel.params.iter().enumerate() {
            self.kernel_type(&format!("parameter #{id}"), dtype);
        }
        for (id, var) in kernel.vars.iter().enumerate() {
            self.kernel_type(&Var(id as u32).to_string(), var.dtype);
            if let Some(lanes) = var.lanes {
                self.width(&Var(id as u32).to_string(), lanes);
            }
        }
        for (value, op, what) in
            [(kernel.task.0, Op::TaskLo, "task lo"), (kernel.task.1, Op::TaskHi, "task hi")]
        {
            match kernel.values.get(value.index()) {
                None => self.find(Rule::Id, format!("{value} is no value")),
                Some((found, _)) if *found == op => {}
                Some(_) => self.find(Rule::Definition, format!("{value} is not {what}")),
            }
        }
    }

    fn kernel_type(&mut self, what: &str, dtype: DType) {
        if !arith::is_kernel_type(dtype) {
            self.find(Rule::Type, format!("{what} is {dtype}, which kernels do not have"));
        }
    }

    /// Checks that a buffer that is read in place of another could be that one.
    fn shares(&mut self, buffer: &Buffer, written: Buf) {
        let what = match self.kernel.buffers.get(written.index()) {
            None => return self.find(Rule::Id, format!("{written} is no buffer")),
            Some(other) if other.access != Access::Write => "is not written",
            Some(other) if other.len != buffer.len => "has another length",
            Some(other) if other.dtype.size() != buffer.dtype.size() => "has elements of another width",
            Some(_) => return,
        };
        self.find(
            Rule::Access,
            format!("buffer {} is read in place of {written}, which {what}", buffer.name),
        );
    }

    fn width(&mut self, what: &str, lanes: u32) {
        if lanes == 0 || lanes > MAX_LANES {
            self.find(Rule::Lanes, format!("{what} has {lanes} lanes, not 1 to {MAX_LANES}"));
        }
    }

    fn leftovers(&mut self) {
        for id in 0..self.values.len() {
            if self.values[id] == State::Never {
                self.find(Rule::Definition, format!("{} is never defined", Value(id as u32)));
            }
        }
        for id in 0..self.vars.len() {
            if self.vars[id].0 == State::Never {
                self.find(Rule::Definition, format!("{} is never declared", Var(id as u32)));
            }
        }
    }

    fn block(&mut self, block: &Block, depth: usize) {
        self.stmts(block, depth);
        self.leave(block);
    }

    fn stmts(&mut self, block: &Block, depth: usize) {
        if depth > MAX_NESTING {
            if self.findings.iter().all(|f| f.rule != Rule::Nesting) {
                self.find(Rule::Nesting, format!("blocks nest more than {MAX_NESTING} deep"));
            }
            return;
        }
        for stmt in block {
            self.stmt(stmt, depth);
        }
    }

    /// Ends the scope of what `block` itself defines.
    fn leave(&mut self, block: &Block) {
        for stmt in block {
            match *stmt {
                Stmt::Def(value) | Stmt::Fold { dst: value, .. } => self.end(value),
                Stmt::Declare(var, _) => {
                    if let Some((state, _)) = self.vars.get_mut(var.index()) {
                        *state = State::Gone;
                    }
                }
                Stmt::Set(..)
                | Stmt::Store { .. }
                | Stmt::For { .. }
                | Stmt::While { .. }
                | Stmt::If { .. }
                | Stmt::Gemm(_)
                | Stmt::Call(_) => {}
            }
        }
    }

    fn end(&mut self, value: Value) {
        if let Some(state) = self.values.get_mut(value.index())
            && *state == State::InScope
        {
            *state = State::Gone;
        }
    }

    fn stmt(&mut self, stmt: &Stmt, depth: usize) {
        match stmt {
            Stmt::Def(value) => {
                if self.op(*value).is_some_and(|op| matches!(op, Op::LoopVar | Op::Folded)) {
                    self.find(
                        Rule::Definition,
                        format!("{value} is defined by a statement of its own kind only"),
                    );
                }
                self.operation(*value);
                self.define(*value);
            }
            Stmt::Declare(var, value) => match self.vars.get(var.index()) {
                None => self.find(Rule::Id, format!("{var} is no variable")),
                Some((State::Never, _)) => {
                    self.vars[var.index()] = (State::InScope, self.lanes.is_some());
                    let decl = self.kernel.var(*var);
                    self.operand(*value, decl.dtype, || format!("the first value of {var}"));
                    if decl.lanes.is_some() && self.lanes.is_some() {
                        self.find(Rule::Lanes, format!("lane variable {var} is declared in a lanes loop"));
                    }
                }
                Some(_) => self.find(Rule::Definition, format!("{var} is declared twice")),
            },
            Stmt::Set(var, value) => {
                if let Some((dtype, lanes)) = self.variable(*var) {
                    self.operand(*value, dtype, || format!("the value of {var}"));
                    if self.lanes.is_some() && lanes.is_none() && !self.vars[var.index()].1 {
                        self.find(Rule::Lanes, format!("{var} from outside a lanes loop is assigned inside"));
                    }
                }
            }
            Stmt::Store { buffer, index, value } => {
                self.operand(*index, DType::I64, || format!("an index of {buffer}"));
                if let Some(dtype) = self.buffer(*buffer) {
                    self.operand(*value, dtype, || format!("an element of {buffer}"));
                    self.stored(*buffer);
                }
            }
            Stmt::For { var, lo, hi, kind, body } => {
                self.operand(*lo, DType::I64, || format!("the first {var}"));
                self.operand(*hi, DType::I64, || format!("the end of {var}"));
                if self.op(*var).is_some_and(|op| op != Op::LoopVar) {
                    self.find(Rule::Definition, format!("{var} is no loop variable"));
                }
                self.result(*var, DType::I64);
                self.define(*var);
                let outer = self.lanes;
                if let LoopKind::Lanes(width) = *kind {
                    self.width(&format!("the loop of {var}"), width);
                    if outer.is_some() {
                        self.find(Rule::Lanes, format!("the lanes loop of {var} is inside another"));
                    }
                    self.lanes = Some(width);
                }
                self.block(body, depth + 1);
                self.lanes = outer;
                self.end(*var);
            }
            Stmt::While { head, cond, body } => {
                self.stmts(head, depth + 1);
                self.operand(*cond, DType::Bool, || "the condition of a loop".to_owned());
                self.block(body, depth + 1);
                self.leave(head);
            }
            Stmt::If { cond, then, els } => {
                self.operand(*cond, DType::Bool, || "a condition".to_owned());
                self.block(then, depth + 1);
                self.block(els, depth + 1);
            }
            Stmt::Fold { dst, var, op } => {
                if self.op(*dst).is_some_and(|op| op != Op::Folded) {
                    self.find(Rule::Definition, format!("{dst} is no folded value"));
                }
                if self.lanes.is_some() {
                    self.find(Rule::Lanes, format!("{var} is folded inside a lanes loop"));
                }
                if let Some((dtype, lanes)) = self.variable(*var) {
                    self.result(*dst, dtype);
                    match lanes {
                        None => self.find(Rule::Lanes, format!("{var} is folded but has no lanes")),
                        Some(n) if n.is_power_of_two() => {}
                        Some(n) => self.find(Rule::Lanes, format!("{var} is folded but has {n} lanes")),
                    }
                    if arith::binary(*op, dtype).is_none() {
                        self.find(Rule::Type, format!("{dst} is {} of {dtype}", op.name()));
                    }
                }
                self.define(*dst);
            }
            Stmt::Gemm(gemm) => self.gemm(gemm),
            Stmt::Call(call) => self.call(call, depth),
        }
    }

    fn gemm(&mut self, gemm: &Gemm) {
        let Gemm { dtype, m, n, k, a, b, c } = *gemm;
        if self.lanes.is_some() {
            self.find(Rule::Lanes, "gemm inside a lanes loop");
        }
        if !matches!(dtype, DType::F32 | DType::F64) {
            self.find(Rule::Type, format!("gemm of {dtype}"));
        }
        for extent in [m, n, k] {
            self.operand(extent, DType::I64, || "an extent of gemm".to_owned());
        }
        for Matrix { buffer, offset, row_stride, col_stride } in [a, b, c] {
            for value in [offset, row_stride, col_stride] {
                self.operand(value, DType::I64, || format!("a place in {buffer}"));
            }
            if self.buffer(buffer).is_some_and(|found| found != dtype) {
                self.find(Rule::Type, format!("gemm of {dtype} with {buffer}"));
            }
        }
        if self.buffer(c.buffer).is_some() {
            self.stored(c.buffer);
        }
        if c.buffer == a.buffer || c.buffer == b.buffer {
            self.find(Rule::Access, format!("gemm stores to its factor {}", c.buffer));
        }
    }

    fn call(&mut self, call: &Call, depth: usize) {
        let name = call.function.name();
        if depth > 0 {
            self.find(Rule::Call, format!("{name} is called inside another statement"));
        }
        let (n_args, n_results) = call.function.arity();
        if (call.args.len(), call.results.len()) != (n_args, n_results) {
            let (args, results) = (call.args.len(), call.results.len());
            self.find(Rule::Call, format!("{name} takes {args} and gives {results} buffers"));
        }
        for array in call.args.iter().chain(&call.results) {
            for &extent in &array.extents {
                self.operand(extent, DType::I64, || format!("an extent of {}", array.buffer));
            }
        }
        for array in &call.args {
            let access = self.buffer(array.buffer).map(|_| self.kernel.buffers[array.buffer.index()].access);
            if access.is_some_and(|access| access != Access::Read) {
                self.find(Rule::Call, format!("{name} is given {}, which others write", array.buffer));
            }
        }
        for (position, array) in call.results.iter().enumerate() {
            if self.buffer(array.buffer).is_some() {
                self.stored(array.buffer);
            }
            if call.results[..position].iter().any(|other| other.buffer == array.buffer) {
                self.find(Rule::Call, format!("{name} gives two results in {}", array.buffer));
            }
        }
    }

    fn stored(&mut self, buffer: Buf) {
        if self.kernel.buffers[buffer.index()].access.is_read() {
            self.find(Rule::Access, format!("{buffer} is stored to but only read"));
        }
    }

    /// Checks the operation of a value against its type.
    fn operation(&mut self, value: Value) {
        let Some(&(op, dtype)) = self.kernel.values.get(value.index()) else { return };
        self.kernel_type(&value.to_string(), dtype);
        let what = |part: &'static str| move || format!("{part} of {value}");
        let mut fits = true;
        match op {
            Op::Const(scalar) => fits = scalar.dtype() == dtype,
            Op::Size(k) => match self.kernel.sizes.get(k as usize) {
                Some(_) => fits = dtype == DType::I64,
                None => self.find(Rule::Id, format!("{value} is size #{k}, which is none")),
            },
            Op::Param(k) => match self.kernel.params.get(k as usize) {
                Some(&param) => fits = dtype == param,
                None => self.find(Rule::Id, format!("{value} is parameter #{k}, which is none")),
            },
            Op::TaskLo | Op::TaskHi => fits = dtype == DType::I64,
            Op::LoopVar | Op::Folded => {}
            Op::Get(var) => {
                if let Some((found, lanes)) = self.variable(var) {
                    fits = dtype == found;
                    if lanes.is_some() && self.lanes.is_none() {
                        self.find(
                            Rule::Lanes,
                            format!("{value} reads lane variable {var} outside lanes loops"),
                        );
                    }
                }
            }
            Op::Load(buffer, index) => {
                self.operand(index, DType::I64, what("the index"));
                fits = self.buffer(buffer).is_none_or(|found| dtype == found);
            }
            Op::Unary(op, a) => {
                self.operand(a, dtype, what("the operand"));
                fits = arith::unary(op, dtype).is_some();
            }
            Op::Binary(op, a, b) => {
                self.operand(a, dtype, what("the first operand"));
                self.operand(b, dtype, what("the second operand"));
                fits = arith::binary(op, dtype).is_some();
            }
            Op::Compare(op, a, b) => {
                if let Some(operands) = self.any_operand(a, what("the first operand")) {
                    self.operand(b, operands, what("the second operand"));
                    fits = dtype == DType::Bool && arith::compare(op, operands).is_some();
                }
            }
            Op::Select(cond, a, b) => {
                self.operand(cond, DType::Bool, what("the condition"));
                self.operand(a, dtype, what("the first operand"));
                self.operand(b, dtype, what("the second operand"));
            }
            Op::Fma(a, b, c) => {
                for operand in [a, b, c] {
                    self.operand(operand, dtype, what("an operand"));
                }
                fits = arith::fma(dtype).is_some();
            }
            Op::Cast(a) => {
                if let Some(from) = self.any_operand(a, what("the operand")) {
                    fits = arith::cast(from, dtype).is_some();
                }
            }
            Op::Bitcast(a) => {
                if let Some(from) = self.any_operand(a, what("the operand")) {
                    fits = arith::can_bitcast(from, dtype);
                }
            }
        }
        if !fits {
            self.find(Rule::Type, format!("{value} is {dtype}, which does not fit its operation"));
        }
    }

    fn op(&self, value: Value) -> Option<Op> {
        self.kernel.values.get(value.index()).map(|v| v.0)
    }

    fn define(&mut self, value: Value) {
        match self.values.get(value.index()) {
            None => self.find(Rule::Id, format!("{value} is no value")),
            Some(State::Never) => self.values[value.index()] = State::InScope,
            Some(State::InScope | State::Gone) => {
                self.find(Rule::Definition, format!("{value} is defined twice"));
            }
        }
    }

    /// Checks the type of a value that a statement defines.
    fn result(&mut self, value: Value, dtype: DType) {
        match self.kernel.values.get(value.index()) {
            Some(&(_, found)) if found != dtype => {
                self.find(Rule::Type, format!("{value} is {found} where {dtype} is made"));
            }
            Some(_) | None => {}
        }
    }

    /// Checks that a value is in scope, and gives its type.
    fn any_operand(&mut self, value: Value, what: impl Fn() -> String) -> Option<DType> {
        match self.values.get(value.index()) {
            Some(State::InScope) => return Some(self.kernel.dtype(value)),
            Some(State::Never | State::Gone) => {
                self.find(Rule::Scope, format!("{value} ({}) is not defined there", what()));
            }
            None => self.find(Rule::Id, format!("{value} ({}) is no value", what())),
        }
        None
    }

    fn operand(&mut self, value: Value, dtype: DType, what: impl Fn() -> String) {
        if let Some(found) = self.any_operand(value, &what)
            && found != dtype
        {
            self.find(Rule::Type, format!("{value} ({}) is {found}, not {dtype}", what()));
        }
    }

    /// Checks that a variable is in scope and fits the lanes loop that is open; gives its type and lanes.
    fn variable(&mut self, var: Var) -> Option<(DType, Option<u32>)> {
        match self.vars.get(var.index()) {
            Some((State::InScope, _)) => {}
            Some(_) => {
                self.find(Rule::Scope, format!("{var} is not declared where it is used"));
                return None;
            }
            None => {
                self.find(Rule::Id, format!("{var} is no variable"));
                return None;
            }
        }
        let decl = self.kernel.var(var);
        if let (Some(n), Some(width)) = (decl.lanes, self.lanes)
            && n != width
        {
            self.find(Rule::Lanes, format!("{var} has {n} lanes in a loop of {width}"));
        }
        Some((decl.dtype, decl.lanes))
    }

    fn buffer(&mut self, buffer: Buf) -> Option<DType> {
        let found = self.kernel.buffers.get(buffer.index()).map(|b| b.dtype);
        if found.is_none() {
            self.find(Rule::Id, format!("{buffer} is no buffer"));
        }
        found
    }
}
