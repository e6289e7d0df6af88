//! A sign of life on a terminal while a long compilation or run goes on.
//!
//! Shown on standard error, only on a terminal, only after a third of a second, and gone when the work is done.

use std::io::IsTerminal as _;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tensorjit::{Observer, Stage};

/// How long work may take without a sign.
const PATIENCE: Duration = Duration::from_millis(300);

/// Time between two frames.
const FRAME: Duration = Duration::from_millis(100);

/// Work that goes on until this is dropped.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    /// Ends when the sender is dropped.
    sign: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Work of `steps` steps, if their number is known.
    pub fn new(steps: Option<u64>) -> Progress {
        let bar = steps.map_or_else(ProgressBar::no_length, ProgressBar::new);
        bar.set_draw_target(ProgressDrawTarget::hidden());
        let template =
            if steps.is_some() { "{bar:30} {pos}/{len} {msg}" } else { "{spinner} {msg} {elapsed}" };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let sign = std::io::stderr().is_terminal().then(|| {
            let (going, done) = channel::<()>();
            let shown = bar.clone();
            let thread = std::thread::spawn(move || {
                if done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                    shown.set_draw_target(ProgressDrawTarget::stderr());
                    shown.enable_steady_tick(FRAME);
                    // Until the work is done.
                    let _ = done.recv();
                }
            });
            (going, thread)
        });
        Progress { bar, sign }
    }

    /// Says what is being done.
    pub fn say(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
    }

    /// One step is done.
    pub fn step(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((going, thread)) = self.sign.take() {
            drop(going);
            // A thread that failed shows nothing.
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}

impl Observer for Progress {
    fn stage(&mut self, stage: Stage, _: Duration, _: &dyn Fn() -> String) {
        let next = Stage::ALL.iter().copied().find(|&next| next > stage);
        self.say(next.map_or("running".to_string(), |next| format!("compiling: {}", next.name())));
    }
}
