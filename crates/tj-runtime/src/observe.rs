//! Watching a compilation: every stage is shown to one observer.
//!
//! `explain`, timing and golden tests are observers; nothing else prints.

use std::time::{Duration, Instant};

/// A stage of compilation, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// One query an operator.
    Trace,
    /// Canonical plan.
    Plan,
    /// What a scheduler that reads data makes of it, and why.
    Derive,
    /// What the scheduler decided, and why.
    Fuse,
    /// Kernels.
    Kernel,
    /// What the chosen back end was given.
    Code,
    /// Order of kernels, temporaries, guards.
    Memory,
    /// What ends a stage of a program whose sizes depend on values: selections that run before the next one.
    Select,
}

impl Stage {
    /// All that every program goes through, in order.
    pub const ALL: [Stage; 6] =
        [Stage::Trace, Stage::Plan, Stage::Fuse, Stage::Kernel, Stage::Code, Stage::Memory];

    /// Name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Trace => "trace",
            Stage::Plan => "plan",
            Stage::Derive => "derive",
            Stage::Fuse => "fuse",
            Stage::Kernel => "kernel",
            Stage::Code => "code",
            Stage::Memory => "memory",
            Stage::Select => "select",
        }
    }
}

/// Sees every stage of a compilation.
pub trait Observer {
    /// A stage is done. `text` makes its text; asking for it costs time, `elapsed` does not count that.
    fn stage(&mut self, stage: Stage, elapsed: Duration, text: &dyn Fn() -> String);
}

/// Looks away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn stage(&mut self, _: Stage, _: Duration, _: &dyn Fn() -> String) {}
}

/// Measures stages for an observer.
pub(crate) struct Clock<'o> {
    observer: &'o mut dyn Observer,
    since: Instant,
}

impl<'o> Clock<'o> {
    pub fn new(observer: &'o mut dyn Observer) -> Clock<'o> {
        Clock { observer, since: Instant::now() }
    }

    pub fn done(&mut self, stage: Stage, text: &dyn Fn() -> String) {
        let elapsed = self.since.elapsed();
        self.observer.stage(stage, elapsed, text);
        self.since = Instant::now();
    }
}
