//! Files that NumPy wrote, and files that we write.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tj_io::{IoError, Layout, Npz, Order, Packing, info, read, read_npz, write, write_npz};
use tj_tensor::{Buffer, DType, SliceSpec, Tensor, f16};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn array(name: &str) -> Tensor {
    read(fixture(name)).unwrap()
}

#[track_caller]
fn check(found: &Tensor, expected: &Tensor) {
    assert!(found.bit_eq(expected), "{found:?}\n{expected:?}");
}

#[test]
fn numpy_arrays() {
    let matrix = Tensor::from_shape_vec([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let fortran = array("fortran.npy");
    check(&fortran, &matrix);
    assert_eq!(fortran.strides().unwrap(), [1, 2]);
    assert_eq!(info(fixture("fortran.npy")).unwrap()[0].layout, Layout::Strided(Order::ColumnMajor));
    check(&array("zero_d.npy"), &Tensor::scalar(42i64));
    check(&array("empty.npy"), &Tensor::zeros(DType::F32, [0, 3]).unwrap());
    check(&array("bool.npy"), &Tensor::from(vec![true, false, true]));
    check(&array("half.npy"), &Tensor::from(vec![f16::from_f32(1.5), f16::from_f32(-0.0)]));
    check(&array("plain.npy"), &Tensor::from(vec![3.0, 4.0]));
}

#[test]
fn numpy_archives() {
    for name in ["stored.npz", "deflate.npz", "zip64.npz"] {
        let arrays = read_npz(fixture(name)).unwrap();
        assert_eq!(arrays.keys().collect::<Vec<_>>(), ["a", "b"], "{name}");
        check(&arrays["a"], &Tensor::from(vec![3.0, 4.0]));
        check(&arrays["b"], &Tensor::scalar(42i64));
        let described = info(fixture(name)).unwrap();
        assert_eq!(described[0].name.as_deref(), Some("a"));
        assert_eq!((described[1].dtype, described[1].bytes), (DType::I64, 8));
    }
}

#[test]
fn one_damaged_array_leaves_the_others_readable() {
    let mut archive = Npz::open(fixture("crc.npz")).unwrap();
    let error = archive.read("a").unwrap_err();
    assert!(matches!(error, IoError::Checksum { .. }), "{error}");
    assert!(error.to_string().contains("crc.npz, entry \"a\": checksum "), "{error}");
    check(&archive.read("b").unwrap(), &Tensor::scalar(42i64));
    let error = archive.read("c").unwrap_err().to_string();
    assert!(error.ends_with("entry \"c\": no such array; there are [\"a\", \"b\"]"), "{error}");
    assert!(matches!(read_npz(fixture("crc.npz")), Err(IoError::Checksum { .. })));
}

#[test]
fn types_that_are_not_numbers_are_named() {
    for (name, message) in [
        ("object.npy", "elements of type '|O' are not supported: python objects are never loaded"),
        ("str.npy", "elements of type '<U3' are not supported: text is not a number"),
        (
            "struct.npy",
            "elements of type [('x', '<f8'), ('n', '<i4')] are not supported: structured \
             arrays have fields; save each field as an array of its own",
        ),
        (
            "longdouble.npy",
            "elements of type '<f16' are not supported: long double differs between machines; convert to f8 or \
             c16 first",
        ),
        (
            "date.npy",
            "elements of type '<M8[D]' are not supported: dates and durations are not numbers; view them as i8 \
             first",
        ),
    ] {
        let error = read(fixture(name)).unwrap_err();
        assert!(matches!(error, IoError::ElementType { .. }));
        assert_eq!(error.to_string(), format!("{}: {message}", fixture(name).display()));
        assert_eq!(info(fixture(name)).unwrap_err().to_string(), error.to_string());
    }
}

#[test]
fn other_files_say_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let message = |content: &[u8]| {
        fs::write(&path, content).unwrap();
        let error = read(&path).unwrap_err().to_string();
        error.strip_prefix(&format!("{}: ", path.display())).unwrap().to_owned()
    };
    assert_eq!(message(b""), "expected a .npy file, found an empty file");
    assert_eq!(
        message(b"<!DOCTYPE html>"),
        "expected a .npy file, found \"<!DOCTYP\" (it looks like a web page, such as an error message instead of a \
         download)"
    );
    assert_eq!(message(b"[1, 2, 3]"), "expected a .npy file, found \"[1, 2, 3\"");
    assert_eq!(
        message(&fs::read(fixture("stored.npz")).unwrap()),
        "expected a .npy file, found a zip archive (.npz holds several arrays; read it as one)"
    );
    assert_eq!(message(b"\x93NUMPY\x09\x01"), "version 9.1 of the .npy format; 1.0, 2.0 and 3.0 are known");
    assert_eq!(message(b"\x93NUMPY\x01\x00\xff\xff{"), "a header of 65535 bytes, but at most 1 are possible");
    assert_eq!(
        message(b"\x93NUMPY\x02\x00\xff\xff\xff\xff"),
        "a header of 4294967295 bytes, but at most 0 are possible"
    );

    let error = read_npz(fixture("plain.npy")).err().unwrap().to_string();
    assert!(error.ends_with("expected a .npz file, found a single .npy array"), "{error}");
    let error = read(folder.path()).unwrap_err().to_string();
    assert!(error.contains("cannot read: ") && error.contains("is a directory"), "{error}");
    let error = read(folder.path().join("none.npy")).unwrap_err().to_string();
    assert!(error.contains("none.npy: cannot open: "), "{error}");
}

#[test]
fn shapes_are_compared_with_the_file_before_anything_is_allocated() {
    let file = |shape: &str, data: usize| {
        let text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.resize(bytes.len() + data, 0);
        tj_io::read_bytes(&bytes)
    };
    assert_eq!(file("(2,)", 16).unwrap().shape(), [2]);
    assert_eq!(file("(0, 1000000000000000000)", 0).unwrap().shape(), [0, 1_000_000_000_000_000_000]);
    for (shape, data, message) in [
        ("(2,)", 15, "truncated: 16 bytes of data expected, 15 found"),
        ("(2,)", 17, "16 bytes of data expected, at least 17 found"),
        ("(0,)", 1, "0 bytes of data expected, at least 1 found"),
        ("(1099511627776, 1024)", 16, "truncated: 9007199254740992 bytes of data expected, 16 found"),
        (
            "(4294967296, 4294967296)",
            16,
            "shape [4294967296, 4294967296] of f64 needs 18446744073709551616 elements, more than \
             9223372036854775807 bytes",
        ),
        (
            "(0, 18446744073709551615)",
            0,
            "shape [0, 18446744073709551615] of f64 needs 18446744073709551615 elements, more than \
             9223372036854775807 bytes",
        ),
    ] {
        assert_eq!(file(shape, data).unwrap_err().to_string(), format!("<bytes>: {message}"));
    }
}

#[test]
fn foreign_byte_orders_are_turned() {
    for (descr, data, expected) in [
        (">i2", &[1, 2, 0xff, 0xfe][..], Tensor::from(vec![0x0102i16, -2])),
        (
            ">c8",
            &[0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0],
            Tensor::from(vec![tj_tensor::Complex::new(1.0f32, -2.0)]),
        ),
        (">f8", &[0x40, 0x45, 0, 0, 0, 0, 0, 0], Tensor::from(vec![42.0f64])),
        ("<u4", &[1, 0, 0, 0x80], Tensor::from(vec![0x8000_0001u32])),
        (">i1", &[0xff], Tensor::from(vec![-1i8])),
    ] {
        let n = expected.shape()[0];
        let text = format!("{{'descr': '{descr}', 'fortran_order': True, 'shape': ({n},), }}\n");
        let mut bytes = b"\x93NUMPY\x03\x00".to_vec();
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend(data);
        check(&tj_io::read_bytes(&bytes).unwrap(), &expected);
    }
}

#[test]
fn numpy_would_have_written_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    for name in ["fortran.npy", "zero_d.npy", "empty.npy", "bool.npy", "half.npy", "plain.npy"] {
        write(&path, &array(name)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), fs::read(fixture(name)).unwrap(), "{name}");
    }
}

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let x = Tensor::arange(3).unwrap();
    write(&path, &x).unwrap();
    let halves = Tensor::scalar(tj_tensor::bf16::ONE);
    let error = write(&path, &halves).unwrap_err().to_string();
    assert!(error.ends_with("x.npy: the .npy format has no bf16; cast to f32 first"), "{error}");
    let far = Tensor::scalar(1u8).broadcast_to([1 << 40, 1 << 40]).unwrap();
    assert!(matches!(write(&path, &far), Err(IoError::Tensor { .. })));
    let pair = [("a", &x), ("a", &x)];
    let error = write_npz(&path, pair, Packing::Stored).unwrap_err().to_string();
    assert!(error.ends_with("x.npy, entry \"a\": the name occurs more than once"), "{error}");
    check(&read(&path).unwrap(), &x);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let error = write(folder.path().join("none/x.npy"), &x).unwrap_err().to_string();
    assert!(error.contains("cannot create: "), "{error}");
}

#[cfg(unix)]
#[test]
fn permissions_links_and_devices_are_respected() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    let folder = tempfile::tempdir().unwrap();
    let (path, link, plain) =
        (folder.path().join("x.npy"), folder.path().join("link.npy"), folder.path().join("plain"));
    let x = Tensor::arange(3).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    write(&path, &x).unwrap();
    fs::write(&plain, b"").unwrap();
    assert_eq!(mode(&path), mode(&plain));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&path, &link).unwrap();
    let y = Tensor::arange(5).unwrap();
    write(&link, &y).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(mode(&path), 0o640);
    check(&read(&path).unwrap(), &y);
    write("/dev/null", &x).unwrap();
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
}

/// A tensor of any type but bf16, with arbitrary bits, seen through some views.
fn tensor() -> impl Strategy<Value = Tensor> {
    let types: Vec<DType> = DType::ALL.into_iter().filter(|&d| d != DType::BF16).collect();
    (prop::sample::select(types), prop::collection::vec(0..4usize, 0..4), any::<u64>(), 0..4u8).prop_map(
        |(dtype, shape, seed, view)| {
            let count: usize = shape.iter().product();
            let mut state = seed;
            let bytes: Vec<u8> = (0..count * dtype.size())
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    let byte = (state >> 56) as u8;
                    if dtype == DType::Bool { byte & 1 } else { byte }
                })
                .collect();
            let tensor = Tensor::from_buffer(dtype, shape, Buffer::copy_of(&bytes).unwrap()).unwrap();
            match view {
                1 => tensor.transpose(),
                2 if tensor.rank() > 0 => tensor.flip(0).unwrap(),
                3 if tensor.rank() > 0 => tensor.slice(0, SliceSpec::from(1..3)).unwrap(),
                _ => tensor,
            }
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read(x in tensor(), y in tensor()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        write(&path, &x).unwrap();
        let back = read(&path).unwrap();
        prop_assert!(back.bit_eq(&x));
        let described = info(&path).unwrap();
        prop_assert_eq!(&described[0].shape, x.shape());
        for packing in [Packing::Stored, Packing::Deflated] {
            write_npz(&path, [("x", &x), ("ÿ/y", &y)], packing).unwrap();
            let arrays = read_npz(&path).unwrap();
            prop_assert!(arrays["x"].bit_eq(&x) && arrays["ÿ/y"].bit_eq(&y));
        }
    }
}
