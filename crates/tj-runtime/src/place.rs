//! On which processors threads run.
//!
//! Known on Linux; elsewhere nothing is known and nothing is changed, which costs speed alone.
#![allow(unsafe_code)]

pub(crate) use system::{Set, Thread, here};

#[cfg(target_os = "linux")]
mod system {
    use std::time::Duration;

    /// A set of processors.
    #[derive(Clone)]
    pub(crate) struct Set(libc::cpu_set_t);

    /// The position, among all processors, of the one that this thread runs on.
    pub(crate) fn here() -> usize {
        // SAFETY: The call has no arguments.
        usize::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
    }

    impl Set {
        fn empty() -> Set {
            // SAFETY: A set is plain bits, for which zeros are valid.
            Set(unsafe { std::mem::zeroed() })
        }

        /// The processors that the main thread of this process may run on.
        pub(crate) fn allowed() -> Set {
            let mut set = Set::empty();
            // SAFETY: The call writes to the set, whose true size it gets; if it fails the set stays empty.
            unsafe { libc::sched_getaffinity(libc::getpid(), size_of::<libc::cpu_set_t>(), &mut set.0) };
            set
        }

        /// A set of one.
        pub(crate) fn of(processor: usize) -> Set {
            let mut set = Set::empty();
            if processor < libc::CPU_SETSIZE as usize {
                // SAFETY: The number is below the size of a set.
                unsafe { libc::CPU_SET(processor, &mut set.0) };
            }
            set
        }

        /// Numbers of its processors.
        pub(crate) fn processors(&self) -> Vec<usize> {
            // SAFETY: The numbers are below the size of a set.
            (0..libc::CPU_SETSIZE as usize).filter(|&n| unsafe { libc::CPU_ISSET(n, &self.0) }).collect()
        }

        /// Lets this thread run on these only, if the system agrees.
        pub(crate) fn bind(&self) {
            // SAFETY: The call reads the set, whose true size it gets, and changes nothing but where this thread runs.
            unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &self.0) };
        }
    }

    /// A thread that has not ended.
    #[derive(Clone, Copy)]
    pub(crate) struct Thread(libc::pthread_t);

    impl Thread {
        pub(crate) fn current() -> Thread {
            // SAFETY: The call has no arguments.
            Thread(unsafe { libc::pthread_self() })
        }

        /// How long it has been running on processors, if that is known.
        ///
        /// # Safety
        /// The thread has not ended.
        pub(crate) unsafe fn time(self) -> Option<Duration> {
            let mut clock = 0;
            let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: The thread exists, as the caller promises, and both calls write to places of the right type.
            let failed = unsafe {
                libc::pthread_getcpuclockid(self.0, &mut clock) != 0
                    || libc::clock_gettime(clock, &mut time) != 0
            };
            (!failed).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
        }

        /// Moves it to the processor of this thread.
        ///
        /// # Safety
        /// The thread has not ended.
        pub(crate) unsafe fn bring_here(self) {
            let here = Set::of(here());
            // SAFETY: The thread exists, as the caller promises; the set is read, and its true size given.
            unsafe { libc::pthread_setaffinity_np(self.0, size_of::<libc::cpu_set_t>(), &here.0) };
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::time::Duration;

    /// A set of processors that are not known.
    #[derive(Clone)]
    pub(crate) struct Set;

    /// Not known.
    pub(crate) fn here() -> usize {
        0
    }

    impl Set {
        pub(crate) fn allowed() -> Set {
            Set
        }

        pub(crate) fn of(_: usize) -> Set {
            Set
        }

        /// As many as there are.
        pub(crate) fn processors(&self) -> Vec<usize> {
            (0..std::thread::available_parallelism().map_or(1, |n| n.get())).collect()
        }

        pub(crate) fn bind(&self) {}
    }

    /// A thread.
    #[derive(Clone, Copy)]
    pub(crate) struct Thread;

    impl Thread {
        pub(crate) fn current() -> Thread {
            Thread
        }

        /// Not known.
        ///
        /// # Safety
        /// None needed.
        pub(crate) unsafe fn time(self) -> Option<Duration> {
            None
        }

        /// Does nothing.
        ///
        /// # Safety
        /// None needed.
        pub(crate) unsafe fn bring_here(self) {}
    }
}
