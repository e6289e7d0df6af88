//! What is written as text, byte for byte, and what is not.

use std::fs;

use tj_io::{read_any, write_any};
use tj_tensor::{Complex, DType, Format, Tensor};

#[test]
fn written_texts() {
    let folder = tempfile::tempdir().unwrap();
    let matrix = Tensor::from_shape_vec([2, 2], vec![0.1, -0.0, f64::NAN, 1e300]).unwrap();
    let pair =
        Tensor::from_shape_vec([1, 2], vec![Complex::new(0.0f32, 0.0), Complex::new(1.5, -1e-9)]).unwrap();
    let flags = Tensor::from_shape_vec([2, 2], vec![false, true, false, false]).unwrap();
    let sparse = |x: &Tensor| x.with_format(&Format::csc()).unwrap();
    let cube = Tensor::from_shape_vec([2, 1, 2], vec![0u8, 7, 0, 0]).unwrap();
    let zero = Tensor::csr([1, 2], vec![0i32, 1], vec![0i32], vec![0.0]).unwrap();
    for (name, tensor, expected) in [
        ("x.mtx", &matrix, "%%MatrixMarket matrix array real general\n2 2\n0.1\nnan\n-0.0\n1e300\n"),
        (
            "x.mtx",
            &sparse(&pair),
            "%%MatrixMarket matrix coordinate complex general\n%tensorjit dtype c64\n1 2 1\n1 2 1.5 -1e-9\n",
        ),
        ("x.mtx", &sparse(&flags), "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n"),
        (
            "x.mtx",
            &flags,
            "%%MatrixMarket matrix array integer general\n%tensorjit dtype bool\n2 2\n0\n0\n1\n0\n",
        ),
        ("x.mtx", &zero, "%%MatrixMarket matrix coordinate real general\n1 2 1\n1 1 0.0\n"),
        ("x.tns", &cube, "# tensorjit dtype u8 shape 2 1 2\n1 1 2 7\n"),
        ("x.tns", &Tensor::from(vec![0.5, 0.0, -0.0]), "1 0.5\n3 -0.0\n"),
    ] {
        let path = folder.path().join(name);
        write_any(&path, tensor).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        assert!(read_any(&path).unwrap().bit_eq(tensor), "{expected}");
    }
}

#[test]
fn what_a_format_cannot_hold() {
    let folder = tempfile::tempdir().unwrap();
    let infinite = Tensor::zeros(DType::F64, [2, 2]).unwrap().with_fill(Some(f64::INFINITY.into())).unwrap();
    let infinite = infinite.with_format(&Format::csr()).unwrap();
    let cube = Tensor::zeros(DType::F64, [2, 2, 2]).unwrap();
    let fill = "cannot hold the fill inf_f64, only 0; use Tensor::to_dense";
    for (name, tensor, expected) in [
        ("x.mtx", &infinite, fill),
        ("x.tns", &infinite, fill),
        ("x.npz", &infinite, fill),
        ("x.mtx", &cube, "a .mtx file cannot hold a tensor of shape [2, 2, 2], only matrices"),
        (
            "x.npz",
            &cube.with_format(&Format::csf(3)).unwrap(),
            "cannot hold a tensor of shape [2, 2, 2], only matrices",
        ),
        (
            "x.npy",
            &infinite,
            "a .npy file cannot hold the format csr; use Tensor::to_dense, or a sparse .npz file",
        ),
        (
            "x.safetensors",
            &infinite,
            "cannot hold the format csr; use Tensor::to_dense, or a sparse .npz file",
        ),
        ("x.safetensors", &Tensor::scalar(Complex::new(1.0, 2.0)), "cannot hold c128"),
        ("x.tns", &Tensor::scalar(1.0), "cannot hold a tensor of rank 0, only of 1 to 64"),
        ("x.tns", &Tensor::from(vec![Complex::new(1.0, 2.0)]), "cannot hold c128"),
        ("x.h5", &cube, "files that end in .h5 are not known"),
    ] {
        let error = write_any(folder.path().join(name), tensor).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Values that text and conversions lose first, and matrices that a writer may take for something else.
#[test]
fn what_is_written_comes_back_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let matrix = |values: Vec<f64>| Tensor::from_shape_vec([2, values.len() / 2], values).unwrap();
    let floats = matrix(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 5e-324, 0.1]);
    let explicit =
        Tensor::csr([4, 2], vec![0i64, 0, 2, 2, 3], vec![0i64, 1, 1], vec![0.0, 2.0, -0.0]).unwrap();
    let all = ["npy", "npz", "safetensors", "mtx", "tns"];
    for (tensor, ends) in [
        (floats, &all[..]),
        // It would be skew-symmetric but for the diagonal and one sign.
        (matrix(vec![2.0, -5.0, 5.0, 0.0]), &all),
        (matrix(vec![0.0, 1.0, 1.0, 0.0]), &all),
        (Tensor::from_shape_vec([1, 2], vec![i64::MIN, i64::MAX]).unwrap(), &all),
        (Tensor::from_shape_vec([1, 2], vec![0, u64::MAX]).unwrap(), &all),
        (Tensor::from_shape_vec([2, 1], vec![true, false]).unwrap(), &all),
        (
            Tensor::from_shape_vec([1, 2], vec![Complex::new(-0.0, 1.0), Complex::new(0.5, -0.0)]).unwrap(),
            &["npy", "npz", "mtx"],
        ),
        (Tensor::scalar(-7i64), &all[..3]),
        (Tensor::zeros(DType::F32, [0, 3]).unwrap(), &all),
        (explicit, &["npz", "mtx", "tns"]),
    ] {
        for end in ends {
            let path = folder.path().join("x").with_extension(end);
            write_any(&path, &tensor).unwrap();
            let found = read_any(&path).unwrap();
            assert!(found.bit_eq(&tensor), "{end}: {tensor:?}\n{found:?}");
            let stored = |x: &Tensor| x.stored().map(|_| x.stored_count());
            assert!(tensor.stored().is_none() || stored(&found) == stored(&tensor), "{end}: {found:?}");
        }
    }
}

#[test]
fn matrices_by_columns_come_back() {
    let fixture = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/array.mtx");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mtx");
    let read = read_any(&fixture).unwrap();
    write_any(&path, &read).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), fs::read_to_string(&fixture).unwrap());
    assert!(read_any(&path).unwrap().bit_eq(&read));
}
