//! Matrix Market and FROSTT: files as data, what they mean, and what is said of those that mean nothing.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

use tj_io::{read_any, read_mtx, read_tns};
use tj_tensor::{Complex, DType, Format, Tensor};

/// The format of what has coordinates and no values.
const PATTERN: &str = "{d0: compressed(repeated), d1: singleton} pattern";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// What is said of a file, after its name.
#[track_caller]
fn message(path: &Path) -> String {
    let error = read_any(path).unwrap_err().to_string();
    error.strip_prefix(&path.display().to_string()).unwrap().to_owned()
}

/// A file with a name and a content, in a folder of its own.
fn file(name: &str, content: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    (folder, path)
}

#[track_caller]
fn check(found: &Tensor, format: &str, shape: &[usize], elements: impl Into<Tensor>) {
    let expected = elements.into().reshape(shape).unwrap();
    assert!(found.bit_eq(&expected), "{found:?}\n{expected:?}");
    assert_eq!(found.format().to_string(), format);
}

#[test]
fn matrix_market_fixtures() {
    let read = |name: &str| read_mtx(fixture(name)).unwrap();
    let columns = "{d1: dense, d0: dense}";
    let skew = vec![0.0, -1.5, 2.0, 1.5, 0.0, -4.0, -2.0, 4.0, 0.0];
    check(&read("skew_array.mtx"), columns, &[3, 3], skew);
    let symmetric = read("sym.mtx");
    check(&symmetric, "coo(2)", &[3, 3], vec![2i64, 3, 0, 3, 0, 4, 0, 4, 5]);
    assert_eq!(symmetric.nnz(), Ok(6));
    let pattern = read("pattern_sym.mtx");
    let ones = [0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1];
    check(&pattern, PATTERN, &[4, 4], ones.map(|x| x == 1).to_vec());
    let floats = pattern.cast(DType::F64).unwrap();
    assert_eq!(floats.to_vec::<f64>().unwrap(), ones.map(f64::from));
    check(&read("array.mtx"), columns, &[2, 3], vec![1i64, 3, 5, 2, 4, 6]);
    for (name, expected) in [
        ("few.mtx", ", line 5: expected 4 entries, found 3"),
        ("many.mtx", ", line 5: expected no more than 2 entries, found \"3 3 3\""),
        ("cut.mtx", ", line 4: expected 3 fields, found 2"),
        ("oob.mtx", ", line 3, column 1: expected a row from 1 to 2, found \"3\""),
        ("zero.mtx", ", line 3, column 1: expected a row from 1 to 2, found \"0\""),
        ("nonsq.mtx", ", line 2: expected as many rows as columns in a symmetric matrix, found 2 and 3"),
        ("token.mtx", ", line 2, column 5: expected the number of entries, found \"^\""),
        ("neg.mtx", ", line 2, column 5: expected the number of entries, found \"-1\""),
    ] {
        assert_eq!(message(&fixture(name)), expected, "{name}");
    }
}

#[test]
fn matrix_market_texts() {
    let c = |re, im| Complex::new(re, im);
    let dense = "{d1: dense, d0: dense}";
    for (text, format, shape, expected) in [
        // Case, blanks, remarks, empty lines, line ends and signs do not matter; duplicates are added.
        (
            "%%matrixmarket  MATRIX\tCoordinate Real GENERAL\r\n%\n\n % x\n 2 2 3 \r\n\n1\t1 +1e0\n% y\n 1 1 .5\r\n2 2 -0.0",
            "coo(2)",
            [2, 2],
            Tensor::from(vec![1.5, 0.0, 0.0, -0.0]),
        ),
        (
            "coordinate real skew-symmetric\n2 2 2\n2 1 3\n2 2 0\n",
            "coo(2)",
            [2, 2],
            vec![0.0, -3.0, 3.0, 0.0].into(),
        ),
        (
            "coordinate double symmetric\n2 2 1\n1 2 nan\n",
            "coo(2)",
            [2, 2],
            vec![0.0, f64::NAN, f64::NAN, 0.0].into(),
        ),
        (
            "coordinate complex hermitian\n2 2 2\n1 1 4 0\n2 1 1 -2\n",
            "coo(2)",
            [2, 2],
            vec![c(4.0, 0.0), c(1.0, 2.0), c(1.0, -2.0), c(0.0, 0.0)].into(),
        ),
        (
            "coordinate unsigned-integer general\n1 2 1\n1 2 18446744073709551615\n",
            "coo(2)",
            [1, 2],
            vec![0, u64::MAX].into(),
        ),
        ("coordinate pattern general\n1 3 2\n1 3\n1 3\n", PATTERN, [1, 3], vec![false, false, true].into()),
        ("coordinate integer general\n0 5 0\n", "coo(2)", [0, 5], Tensor::zeros(DType::I64, [0]).unwrap()),
        (
            "coordinate integer general\n%tensorjit dtype i8\n1 2 1\n1 2 -128\n",
            "coo(2)",
            [1, 2],
            vec![0i8, -128].into(),
        ),
        (
            "array real symmetric\n%tensorjit dtype f32\n2 2\n1\ninf\n-0.1\n",
            dense,
            [2, 2],
            vec![1.0, f32::INFINITY, f32::INFINITY, -0.1].into(),
        ),
        (
            "array complex hermitian\n2 2\n1 0\n2 3\n4 0\n",
            dense,
            [2, 2],
            vec![c(1.0, 0.0), c(2.0, -3.0), c(2.0, 3.0), c(4.0, 0.0)].into(),
        ),
        (
            "array integer skew-symmetric\n2 2\n-9223372036854775807\n",
            dense,
            [2, 2],
            vec![0, i64::MAX, -i64::MAX, 0].into(),
        ),
        ("array integer skew-symmetric\n1 1\n", dense, [1, 1], vec![0i64].into()),
    ] {
        let text =
            if text.starts_with('%') { text.to_owned() } else { format!("%%MatrixMarket matrix {text}") };
        let (_folder, path) = file("x.MTX", text.as_bytes());
        let found = read_any(&path).unwrap_or_else(|e| panic!("{text}\n{e}"));
        let format = if shape == [1, 1] { "dense(2)" } else { format };
        let expected = expected.reshape(shape).unwrap();
        assert!(found.bit_eq(&expected), "{text}\n{found:?}\n{expected:?}");
        if found.shape() != [1, 1] {
            assert_eq!(found.format().to_string(), format, "{text}");
        }
    }
}

#[test]
fn matrix_market_refusals() {
    for (text, expected) in [
        ("vector coordinate real general", "1, column 16: expected the object `matrix`, found \"vector\""),
        ("matrix sparse real general", "1, column 23: expected `coordinate` or `array`, found \"sparse\""),
        ("matrix array quaternion general", "1, column 29: expected `real`, `double`, `integer`"),
        ("matrix array pattern general", "1, column 29: expected a field other than `pattern`"),
        ("matrix array real diagonal", "1, column 34: expected `general`, `symmetric`"),
        ("matrix array real hermitian", "1, column 34: expected a symmetry that real values can have"),
        ("matrix coordinate pattern skew-symmetric", "1, column 42: expected a symmetry that pattern values"),
        ("matrix array real", "1: expected 5 fields, found 4"),
        ("matrix array real general 1", "1: expected 5 fields, found 6"),
        ("matrix array real general", "1: expected a line of sizes, found the end of the file"),
        ("matrix array real general\n2 2 4\n", "2: expected 2 fields, found 3"),
        ("matrix coordinate real general\n2 2\n", "2: expected 3 fields, found 2"),
        ("matrix array real general\n9223372036854775808 1\n", "2, column 1: expected the number of rows"),
        ("matrix array real general\n2 1\n1\n", "3: expected 2 values, found 1"),
        ("matrix array real general\n1 1\n1\n2\n", "4: expected no more than 1 values, found \"2\""),
        ("matrix array real general\n1 1\n0x10\n", "3, column 1: expected a number, found \"0x10\""),
        (
            "matrix array integer general\n1 1\n1.5\n",
            "3, column 1: expected an integer from -2^63 to 2^63 - 1",
        ),
        (
            "matrix array integer general\n1 1\n9223372036854775808\n",
            "3, column 1: expected an integer from -2^63",
        ),
        (
            "matrix array unsigned-integer general\n1 1\n-1\n",
            "3, column 1: expected an integer from 0 to 2^64",
        ),
        ("matrix array complex general\n1 1\n1\n", "3: expected 2 fields, found 1"),
        ("matrix coordinate real general\n1 1 1\n1 1 1 1\n", "3: expected 3 fields, found 4"),
        (
            "matrix coordinate real symmetric\n2 2 2\n1 2 1\n2 1 1\n",
            "4: expected entries of a symmetric matrix on one side of the diagonal, found one below it after others \
             above it",
        ),
        (
            "matrix coordinate real skew-symmetric\n2 2 1\n2 2 1\n",
            "3: expected nothing but 0 on the diagonal of a skew-symmetric matrix, found \"2 2 1\"",
        ),
        (
            "matrix array complex hermitian\n1 1\n1 1\n",
            "3: expected a real number on the diagonal of a hermitian matrix, found \"1 1\"",
        ),
        (
            "matrix array real general\n%tensorjit dtype i8\n",
            "2, column 18: expected a type of real values, found \"i8\"",
        ),
        // Sizes that nobody has the memory for are no reason to ask for it.
        (
            "matrix array real general\n4611686018427387904 4611686018427387904\n",
            "2: expected 21267647932558653966460912964485513216 values",
        ),
        (
            "matrix coordinate real general\n4611686018427387904 2 4611686018427387904\n",
            "2: expected 4611686018427387904 entries, found 0",
        ),
    ] {
        let (_folder, path) = file("x.mtx", format!("%%MatrixMarket {text}").as_bytes());
        let found = message(&path);
        assert!(found.starts_with(&format!(", line {expected}")), "{text}\n{found}");
    }
    let (_folder, path) =
        file("x.mtx", b"%%MatrixMarket matrix array integer general\n%tensorjit dtype i8\n1 2\n1\n128\n");
    assert_eq!(
        message(&path),
        ": values: expected numbers of type i8, as a remark says, found another as number 2"
    );
    let mut long = b"%%MatrixMarket matrix array real general\n1 1\n".to_vec();
    long.resize(3 << 20, b' ');
    let (_folder, path) = file("x.mtx", &long);
    assert_eq!(message(&path), ", line 3: expected a line of at most 1048576 bytes, found a longer one");
}

#[test]
fn frostt() {
    let loose = read_tns(fixture("loose.tns"), None).unwrap();
    assert_eq!((loose.shape(), loose.format().to_string().as_str()), (&[2, 3, 4][..], "coo(3)"));
    let (coordinates, values) = loose.to_entries().unwrap();
    let coordinates: Vec<Vec<i64>> = coordinates.iter().map(|c| c.to_vec().unwrap()).collect();
    assert_eq!(coordinates, [[0, 1, 1], [0, 2, 2], [0, 0, 3]]);
    assert_eq!(values.to_vec::<f64>().unwrap(), [2.0, -0.2, 1000.0]);
    let given = read_tns(fixture("loose.tns"), Some(&[5, 5, 5])).unwrap();
    assert_eq!((given.shape(), given.nnz()), (&[5, 5, 5][..], Ok(3)));
    let error = read_tns(fixture("loose.tns"), Some(&[2, 2, 4])).unwrap_err().to_string();
    assert!(
        error.ends_with("loose.tns, line 4, column 3: expected a coordinate from 1 to 2, found \"3\""),
        "{error}"
    );
    let error = read_tns(fixture("loose.tns"), Some(&[2, 2])).unwrap_err().to_string();
    assert!(error.ends_with(", line 3: expected 2 coordinates for shape [2, 2], found 3"), "{error}");

    for (text, shape, expected) in [
        (
            "# tensorjit dtype i64 shape 3\n2 9223372036854775807\n",
            &[3][..],
            Tensor::from(vec![0, i64::MAX, 0]),
        ),
        ("# tensorjit shape 0 2\n", &[0, 2], Tensor::zeros(DType::F64, [0]).unwrap()),
        ("#tensorjit\n\n1 1 nan", &[1, 1], vec![f64::NAN].into()),
        ("# tensorjit dtype bool\n1 1\n2 1\n", &[2], vec![true, true].into()),
    ] {
        let (_folder, path) = file("x.tns", text.as_bytes());
        check(&read_any(&path).unwrap(), &Format::coo(shape.len()).to_string(), shape, expected);
    }
    let many = "1 ".repeat(66);
    for (text, expected) in [
        ("", ": not a FROSTT (.tns) file: it is empty"),
        (
            "# nothing\n",
            ", line 1: expected an entry, or a shape given by the caller, found the end of the file",
        ),
        ("5\n", ", line 1: expected 1 to 64 coordinates and a value, found 1 words"),
        (&many, ", line 1: expected 1 to 64 coordinates and a value, found 66 words"),
        ("1 1 1\n1 1 1 1\n", ", line 2: expected 3 fields, found 4"),
        ("1 1 1\n1 1\n", ", line 2: expected 3 fields, found 2"),
        ("0 1\n", ", line 1, column 1: expected a coordinate from 1 to"),
        ("1 1,5\n", ", line 1, column 3: expected a number, found \"1,5\""),
        ("# tensorjit dtype c64\n", ", line 1, column 19: expected a type of real numbers, found \"c64\""),
        ("# tensorjit shape 2 x\n", ", line 1, column 21: expected the size of a dimension, found \"x\""),
        ("# tensorjit order 2\n", ", line 1, column 13: expected `dtype` or `shape`, found \"order\""),
    ] {
        let (_folder, path) = file("x.tns", text.as_bytes());
        let found = message(&path);
        assert!(found.starts_with(expected), "{text}\n{found}");
    }
}

#[test]
fn files_that_are_something_else_say_what() {
    let harwell = format!("{:<72}{:<8}\n{:14}{:14}{:14}{:14}{:14}\n", "A TITLE", "KEY", 9, 1, 2, 6, 0);
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, &fs::read(fixture("sym.mtx")).unwrap()).unwrap();
    let packed = encoder.finish().unwrap();
    let numpy = fs::read(fixture("plain.npy")).unwrap();
    for (name, content, expected) in [
        (
            "x.mtx",
            harwell.as_bytes(),
            "(it looks like Harwell-Boeing, which is not supported; convert it to Matrix Market)",
        ),
        (
            "x.mtx",
            b"<!DOCTYPE html>\n<p>",
            ": not a MatrixMarket file: first line is \"<!DOCTYPE html>\" (it looks like a web page, such as an error message instead of a download)",
        ),
        ("x.mtx", b"", ": not a MatrixMarket file: it is empty"),
        ("x.mtx", &numpy, "(it is a NumPy array; give it a name that ends in .npy)"),
        ("x.mtx", &packed, "(it is packed by gzip; give it a name that ends in .gz)"),
        ("x.mtx", b"1 1 5\n", ": not a MatrixMarket file: first line is \"1 1 5\""),
        ("x.tns", b"%%MatrixMarket matrix", "(it is a Matrix Market file; give it a name that ends in .mtx)"),
        ("x.tns", &packed, "(it is packed by gzip; give it a name that ends in .gz)"),
        (
            "x.safetensors",
            b"<!DOCTYPE html>",
            "(it looks like a web page, such as an error message instead of a download)",
        ),
        (
            "x.h5",
            b"\x89HDF",
            ": files that end in .h5 are not known; supported are .npy, .npz, .safetensors, .mtx, .mtx.gz, .tns, .tns.gz (HDF5 is not supported, and no option of the build adds it)",
        ),
        (
            "x.unknown",
            b"",
            ": files that end in .unknown are not known; supported are .npy, .npz, .safetensors, .mtx, .mtx.gz, .tns, .tns.gz",
        ),
        ("x.gz", &packed, "(say what is packed, as in .mtx.gz)"),
        ("x", b"1", ": the name has no extension; supported are .npy, .npz"),
    ] {
        let (_folder, path) = file(name, content);
        let found = message(&path);
        assert!(found.contains(expected), "{name}: {found}");
    }
    let (_folder, path) = file("x.mtx.gz", &packed);
    assert_eq!(read_any(&path).unwrap().nnz(), Ok(6));
    let (_folder, path) = file("x.mtx.gz", &packed[..packed.len() - 12]);
    assert!(message(&path).starts_with(": cannot read: "));
    let folder = tempfile::tempdir().unwrap();
    for name in ["d.mtx", "d.npz", "d"] {
        let path = folder.path().join(name);
        fs::create_dir(&path).unwrap();
        assert!(message(&path).contains(": cannot read: is a directory"));
    }
    assert!(message(&folder.path().join("none.mtx")).starts_with(": cannot open: "));
    let (_folder, path) = file("pipe", &numpy);
    assert_eq!(read_any(&path).unwrap().shape(), [2]);
}
