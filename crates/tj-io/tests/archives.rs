//! Sparse matrices that SciPy wrote, safetensors, and every format there and back.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tj_io::{
    Contents, IoError, Layout, info, read_all, read_any, read_safetensors, read_sparse_npz, write_all,
    write_any, write_safetensors,
};
use tj_tensor::{Buffer, Complex, DType, Duplicates, Format, Scalar, Tensor};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

#[test]
fn scipy_matrices() {
    let doubles = vec![0.0, 2.5, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 4.0];
    let doubles = Tensor::from_shape_vec([3, 4], doubles).unwrap();
    let blocks = vec![1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 5, 0, 0, 0, 6, 7];
    let blocks = Tensor::from_shape_vec([4, 4], blocks).unwrap();
    let loose = Tensor::from_shape_vec([2, 3], vec![2.0f32, 0.0, 5.0, 0.0, 8.0, 0.0]).unwrap();
    let identity = Tensor::from_shape_vec([2, 2], vec![1.0, 0.0, 0.0, 2.0]).unwrap();
    for (name, format, expected, stored) in [
        ("csr", Format::csr(), &doubles, 4),
        ("csc", Format::csc(), &doubles, 4),
        ("coo", Format::coo(2), &doubles, 4),
        ("dia", Format::dia(), &doubles, 5),
        ("bsr", Format::bcsr(2, 2).unwrap(), &blocks, 8),
        ("loose", Format::csr(), &loose, 3),
        ("slack", Format::csr(), &identity, 2),
        ("unicode", Format::csr(), &identity, 2),
        ("empty", Format::coo(2), &Tensor::zeros(DType::F64, [3, 0]).unwrap(), 0),
    ] {
        let path = fixture(&format!("scipy_{name}.npz"));
        let found = read_any(&path).unwrap();
        assert!(found.bit_eq(expected), "{name}: {found:?}");
        assert_eq!(
            (found.format().to_string(), found.stored_count()),
            (format.to_string(), stored),
            "{name}"
        );
        let described = info(&path).unwrap();
        let Layout::Levels { stored: n, nnz, level_bytes, .. } = &described[0].layout else {
            panic!("{name}")
        };
        assert_eq!((*n, Ok(*nnz), &described[0].shape[..]), (stored, found.nnz(), found.shape()));
        assert_eq!(level_bytes.len(), found.format().levels().len());
    }
}

#[test]
fn scipy_matrices_that_contradict_themselves() {
    for (name, expected) in [
        ("indptr", "entry \"indptr\": indices: expected 2 + 1, found 2"),
        ("start", "entry \"indptr\": index 0: expected 0, found 1"),
        ("order", "entry \"indptr\": indices: expected at least 2 at 2, found 1"),
        ("end", "entry \"indices\": indices: expected at least 3, as indptr ends, found 2"),
        ("index", "entry \"indices\": indices: expected less than 2 at 1, found 2"),
        ("negative", "entry \"indices\": indices[1] is -1; indices are not negative"),
        ("data", "entry \"data\": values: expected at least 2, found shape [1]"),
        ("shape", "entry \"shape\": shape: expected two sizes, found 3"),
        ("format", "entry \"format\": format: expected `csr`, `csc`, `coo`, `bsr` or `dia`, found \"lil\""),
        ("missing", "entry \"indptr\": no such array"),
        ("float", "entry \"indices\": indices are f64[2]; a vector of integers is needed"),
        ("blocks", "entry \"data\": values: expected blocks that fill shape [2, 2], found blocks of 3 by 3"),
        ("offsets", "entry \"offsets\": offsets: expected each once, found 1 twice"),
    ] {
        let error = read_sparse_npz(fixture(&format!("scipy_bad_{name}.npz"))).unwrap_err().to_string();
        assert!(error.contains(&format!("scipy_bad_{name}.npz, {expected}")), "{error}");
    }
}

#[test]
fn safetensors_fixtures() {
    let arrays = read_safetensors(fixture("good.safetensors")).unwrap();
    assert_eq!(arrays.keys().collect::<Vec<_>>(), ["s", "e", "u", "w"]);
    assert!(arrays["s"].bit_eq(&Tensor::scalar(2.5)));
    assert!(arrays["e"].bit_eq(&Tensor::zeros(DType::I32, [0, 3]).unwrap()));
    assert!(arrays["u"].bit_eq(&Tensor::from(vec![1u8, 2, 3])));
    assert!(arrays["w"].bit_eq(&Tensor::from_shape_vec([2, 2], vec![1.0f32, 2.0, 3.0, 4.0]).unwrap()));
    let described = info(fixture("good.safetensors")).unwrap();
    assert_eq!((described[3].name.as_deref(), described[3].bytes), (Some("w"), 16));
    for (name, expected) in [
        ("len_big", ": a header of 1000000000 bytes, but at most 2 are possible"),
        ("len_neg", ": a header of 9223372036854775813 bytes, but at most 2 are possible"),
        ("len_zero", ": header: expected a JSON object of arrays, found EOF while parsing a value"),
        ("notjson", ": header: expected a JSON object of arrays, found expected value at line 1 column 1"),
        (
            "list",
            ": header: expected a JSON object of arrays, found invalid type: sequence, expected an object",
        ),
    ] {
        let error = read_any(fixture(&format!("{name}.safetensors"))).unwrap_err().to_string();
        assert!(error.contains(&format!("{name}.safetensors{expected}")), "{error}");
    }
}

#[test]
fn safetensors_headers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.safetensors");
    let read = |header: &str, data: usize| {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.resize(bytes.len() + data, 1);
        fs::write(&path, bytes).unwrap();
        read_safetensors(&path)
    };
    let array = |name: &str, dtype: &str, shape: &str, offsets: &str| {
        format!("\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":{offsets}}}")
    };
    let (a, b) = (array("a", "U8", "[2]", "[0,2]"), array("b", "BOOL", "[]", "[2,3]"));
    // The order of the header is kept, whatever the order of the data, and blanks may follow.
    let arrays = read(&format!("{{{b},{a}}}   "), 3).unwrap();
    assert_eq!(arrays.keys().collect::<Vec<_>>(), ["b", "a"]);
    assert!(arrays["a"].bit_eq(&Tensor::from(vec![1u8, 1])) && arrays["b"].bit_eq(&Tensor::scalar(true)));
    assert_eq!(read("{}", 0).unwrap().len(), 0);
    for (header, data, expected) in [
        (format!("{{{a},{a}}}"), 2, ": header: expected a JSON object of arrays, found the name \"a\" twice"),
        ("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}".to_owned(), 0, ": header: expected a JSON object"),
        (format!("{{{a}}}"), 1, ": truncated: 2 bytes of data expected, 1 found"),
        (format!("{{{a}}}"), 3, ": 2 bytes of data expected, at least 3 found"),
        (format!("{{{b}}}"), 3, ", entry \"b\": hole: expected data from 0 on, found from 2 on"),
        (
            format!("{{{a},{}}}", array("c", "I8", "[2]", "[1,3]")),
            3,
            ", entry \"c\": overlap: expected data from 2 on, found from 1 on",
        ),
        (
            format!("{{{}}}", array("a", "F32", "[2]", "[0,4]")),
            4,
            ", entry \"a\": data_offsets: expected 8 bytes for f32[2], found [0, 4]",
        ),
        (
            format!("{{{}}}", array("a", "U8", "[2]", "[3,1]")),
            4,
            ", entry \"a\": data_offsets: expected 2 bytes",
        ),
        (
            format!("{{{}}}", array("a", "F8_E4M3", "[2]", "[0,2]")),
            2,
            ", entry \"a\": elements of type F8_E4M3 are not supported: floats of 8 bits and fewer",
        ),
        (
            format!("{{{}}}", array("a", "X", "[]", "[0,1]")),
            1,
            ", entry \"a\": elements of type X are not supported",
        ),
        (
            format!("{{{}}}", array("a", "F64", "[4294967296,4294967296]", "[0,0]")),
            0,
            ", entry \"a\": shape [4294967296, 4294967296] of f64 needs 18446744073709551616 elements",
        ),
    ] {
        let error = read(&header, data).unwrap_err().to_string();
        assert!(error.contains(&format!("x.safetensors{expected}")), "{header}\n{error}");
    }
    let x = Tensor::arange(3).unwrap();
    let error = write_safetensors(&path, [("a", &x), ("a", &x)]).unwrap_err();
    assert!(matches!(error, IoError::DuplicateName { .. }), "{error}");
    assert!(write_safetensors(&path, [("__metadata__", &x)]).is_err());
}

#[test]
fn files_of_several_arrays() {
    let folder = tempfile::tempdir().unwrap();
    let (x, y) = (Tensor::arange(3).unwrap(), Tensor::scalar(true));
    for name in ["x.npz", "x.safetensors"] {
        let path = folder.path().join(name);
        write_all(&path, [("x", &x), ("y", &y)]).unwrap();
        let Contents::Named(found) = read_all(&path).unwrap() else { panic!("{name}") };
        assert!(found.len() == 2 && found["x"].bit_eq(&x) && found["y"].bit_eq(&y));
        let error = read_any(&path).unwrap_err().to_string();
        assert!(error.contains("one array was expected, and there are 2: [\"x\", \"y\"]"), "{error}");
        write_all(&path, [("y", &y)]).unwrap();
        assert!(read_any(&path).unwrap().bit_eq(&y));
    }
    let error = write_all(folder.path().join("x.tns"), [("x", &x), ("y", &y)]).unwrap_err().to_string();
    assert!(error.contains("one array was expected, and there are 2"), "{error}");
}

/// Values at which a conversion would be seen.
fn value(dtype: DType, choice: u8, bits: u128) -> Scalar {
    let part = dtype.real();
    let special = match choice % 8 {
        0 => Scalar::lowest(part),
        1 => Scalar::greatest(part),
        2 => Some(Scalar::from_bits(part, 1)),
        3 => Some(Scalar::from_bits(part, 1 << (8 * part.size() - 1))),
        4 => Some(Scalar::F64(f64::NAN).cast(part)),
        5 => Some(Scalar::F64(-0.1).cast(part)),
        _ => None,
    };
    match special {
        Some(x) if dtype.is_complex() => {
            Scalar::from_bits(dtype, x.bits() | Scalar::F64(-0.0).cast(part).bits() << (8 * part.size()))
        }
        Some(x) => x,
        None if dtype.is_bool() => Scalar::Bool(bits & 1 != 0),
        None => Scalar::from_bits(dtype, bits),
    }
}

fn tensor(dtype: DType, shape: &[usize], choices: &[(u8, u128)]) -> Tensor {
    let count = shape.iter().product();
    let values = (0..count).map(|at| {
        choices.get(at % choices.len().max(1)).map_or(Scalar::zero(dtype), |c| value(dtype, c.0, c.1))
    });
    let bytes: Vec<u8> = values.flat_map(|x| x.bits().to_le_bytes()[..dtype.size()].to_vec()).collect();
    Tensor::from_buffer(dtype, shape, Buffer::copy_of(&bytes).unwrap()).unwrap()
}

/// Bits, except that a NaN is a NaN in each part.
fn same(a: &Tensor, b: &Tensor) -> bool {
    if a.dtype().is_complex() && a.dtype() == b.dtype() {
        let reals = |x: &Tensor| x.to_dense().unwrap().as_reals().unwrap();
        return reals(a).bit_eq(&reals(b));
    }
    a.bit_eq(b)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn dense_tensors_come_back(
        dtype in prop::sample::select(&DType::ALL),
        shape in prop::collection::vec(0..4usize, 0..4),
        choices in prop::collection::vec((0..16u8, any::<u128>()), 1..8),
        turned: bool,
    ) {
        let mut x = tensor(dtype, &shape, &choices);
        if turned {
            x = x.transpose();
        }
        let folder = tempfile::tempdir().unwrap();
        for name in ["x.npy", "x.npz", "x.safetensors", "x.mtx", "x.mtx.gz", "x.tns", "x.tns.gz"] {
            let path = folder.path().join(name);
            match write_any(&path, &x) {
                Ok(()) => {
                    let back = read_any(&path).unwrap();
                    prop_assert!(same(&back, &x) && back.dtype() == dtype, "{}: {:?}\n{:?}", name, x, back);
                    prop_assert_eq!(&info(&path).unwrap()[0].shape, x.shape());
                }
                Err(error) => {
                    let can_hold = match name {
                        "x.npy" | "x.npz" => dtype != DType::BF16,
                        "x.safetensors" => dtype != DType::C128,
                        "x.mtx" | "x.mtx.gz" => x.rank() == 2,
                        _ => x.rank() > 0 && !dtype.is_complex(),
                    };
                    prop_assert!(!can_hold, "{}", error);
                    prop_assert!(!path.exists());
                }
            }
        }
    }

    #[test]
    fn sparse_matrices_come_back(
        dtype in prop::sample::select(&DType::ALL),
        entries in prop::collection::vec((0..5usize, 0..3usize, 0..16u8, any::<u128>()), 0..9),
        format in 0..5usize,
    ) {
        let column = |f: fn(&(usize, usize, u8, u128)) -> usize| -> Tensor {
            entries.iter().map(|entry| f(entry) as u64).collect::<Vec<_>>().into()
        };
        let choices: Vec<(u8, u128)> = entries.iter().map(|entry| (entry.2, entry.3)).collect();
        let coordinates = [column(|entry| entry.0), column(|entry| entry.1)];
        let values = tensor(dtype, &[entries.len()], &choices);
        let format = match format {
            0 => Format::csr(),
            1 => Format::csc(),
            2 => Format::coo(2),
            3 => Format::dcsr(),
            _ => "{d0: dense, d1: bytemap}".parse().unwrap(),
        };
        let fill = Scalar::zero(dtype);
        let x = Tensor::from_entries([5, 3], &coordinates, values, fill, Duplicates::Last, &format).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for name in ["x.npz", "x.mtx", "x.tns.gz"] {
            let path = folder.path().join(name);
            match write_any(&path, &x) {
                Ok(()) => {
                    let back = read_any(&path).unwrap();
                    prop_assert!(same(&back, &x) && back.dtype() == dtype, "{}: {:?}\n{:?}", name, x, back);
                    if format != "{d0: dense, d1: bytemap}".parse().unwrap() && !(dtype.is_bool() && name == "x.mtx") {
                        prop_assert_eq!(back.stored_count(), x.stored_count());
                    }
                    if name == "x.npz" && (format == Format::csr() || format == Format::csc()) {
                        prop_assert_eq!(back.format().to_string(), x.format().to_string());
                    }
                }
                Err(error) => {
                    let can_hold = match name {
                        "x.npz" => dtype != DType::BF16,
                        "x.mtx" => true,
                        _ => !dtype.is_complex(),
                    };
                    prop_assert!(!can_hold, "{}", error);
                }
            }
        }
    }
}

#[test]
fn complex_parts_keep_their_zeros() {
    let x = Tensor::from(vec![Complex::new(-0.0, f64::NAN), Complex::new(5e-324, f64::NEG_INFINITY)]);
    let x = x.reshape([1, 2]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mtx");
    write_any(&path, &x).unwrap();
    let back = read_any(&path).unwrap();
    assert!(same(&back, &x), "{back:?}");
}
