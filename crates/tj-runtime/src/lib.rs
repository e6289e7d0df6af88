//! Compiles plans to programs, binds sizes, plans memory and runs.
