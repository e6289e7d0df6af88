//! Places buffers with known lifetimes in one arena, and verifies the placement.
