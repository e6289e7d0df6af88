//! Reads and writes tensor files: .npy and .npz.
