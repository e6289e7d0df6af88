//! The tj command: run, explain and check tensor programs.
