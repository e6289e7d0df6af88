//! Files made to break readers: whatever the bytes, there is a tensor or an error, never a panic, and never an
//! allocation that the file could not fill.

use std::fs;

use proptest::prelude::*;
use tj_io::{Packing, info, read_bytes, read_npz, write_npz};
use tj_tensor::Tensor;

/// Pieces of headers, in no sensible order.
fn header_text() -> impl Strategy<Value = String> {
    let pieces = [
        "{",
        "}",
        "(",
        ")",
        "[",
        "'",
        "\"",
        ",",
        ":",
        " ",
        "\n",
        "L",
        "'descr'",
        "'shape'",
        "'fortran_order'",
        "True",
        "False",
        "'<f8'",
        "'>i2'",
        "'|b1'",
        "(3,)",
        "(2, 2)",
        "()",
        "0",
        "1",
        "-1",
        "18446744073709551615",
        "9223372036854775808",
        "'descr': '<f8', ",
        "'fortran_order': False, ",
        "'shape': (2,), ",
        "é",
        "\0",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..12).prop_map(|pieces| pieces.concat())
}

fn npy(version: u8, text: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend((text.len() as u16).to_le_bytes()),
        _ => bytes.extend((text.len() as u32).to_le_bytes()),
    }
    bytes.extend(text.as_bytes());
    bytes.extend(data);
    bytes
}

/// One change to a file.
#[derive(Clone, Debug)]
enum Damage {
    Flip(usize, u8),
    Cut(usize),
    Insert(usize, Vec<u8>),
    /// Some bytes set to ones: lengths and offsets at their greatest.
    Ones(usize, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        (any::<usize>(), 1..=255u8).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        any::<usize>().prop_map(Damage::Cut),
        (any::<usize>(), prop::collection::vec(any::<u8>(), 1..9))
            .prop_map(|(at, new)| Damage::Insert(at, new)),
        (any::<usize>(), 1..9usize).prop_map(|(at, n)| Damage::Ones(at, n)),
    ]
}

fn apply(bytes: &mut Vec<u8>, damage: &Damage) {
    let at = |at: usize| at % bytes.len().max(1);
    match damage {
        Damage::Flip(place, bits) => {
            let at = at(*place);
            bytes.iter_mut().skip(at).take(1).for_each(|b| *b ^= bits);
        }
        Damage::Cut(place) => bytes.truncate(at(*place)),
        Damage::Insert(place, new) => {
            let at = at(*place);
            bytes.splice(at..at, new.iter().copied());
        }
        Damage::Ones(place, n) => {
            let at = at(*place);
            bytes.iter_mut().skip(at).take(*n).for_each(|b| *b = 0xff);
        }
    }
}

/// Whatever was read fits into what was there.
fn check(result: Result<Tensor, tj_io::IoError>, len: usize) {
    match result {
        Ok(tensor) => assert!(tensor.byte_range().len() <= len),
        Err(error) => assert!(error.to_string().starts_with("<bytes>: ")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes(bytes: Vec<u8>) {
        check(read_bytes(&bytes), bytes.len());
    }

    #[test]
    fn any_header(version in 1..=3u8, text in header_text(), data in prop::collection::vec(any::<u8>(), 0..40)) {
        let bytes = npy(version, &text, &data);
        check(read_bytes(&bytes), bytes.len());
        let wrapped = npy(version, &format!("{{{text}}}"), &data);
        check(read_bytes(&wrapped), wrapped.len());
    }

    #[test]
    fn damaged_arrays(damages in prop::collection::vec(damage(), 1..4)) {
        let text = "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }\n";
        let mut bytes = npy(1, text, &[7; 48]);
        damages.iter().for_each(|damage| apply(&mut bytes, damage));
        check(read_bytes(&bytes), bytes.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn damaged_archives(deflated: bool, damages in prop::collection::vec(damage(), 1..3)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npz");
        let (a, b) = (Tensor::arange(20).unwrap(), Tensor::scalar(1.5f32));
        let packing = if deflated { Packing::Deflated } else { Packing::Stored };
        write_npz(&path, [("a", &a), ("b", &b)], packing).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        damages.iter().for_each(|damage| apply(&mut bytes, damage));
        fs::write(&path, &bytes).unwrap();
        // The checksum covers content, not names or order: what is read under a name must be what was written.
        if let Ok(arrays) = read_npz(&path) {
            for (_, tensor) in arrays {
                prop_assert!(tensor.bit_eq(&a) || tensor.bit_eq(&b));
            }
        }
        let _ = info(&path);
    }
}

/// An archive of one deflated entry that claims a size.
fn archive_claiming(size: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let sizes = |bytes: &mut Vec<u8>| {
        bytes.extend([20, 0, 0, 0, 8, 0, 0, 0, 0x21, 0, 0, 0, 0, 0]);
        bytes.extend(2u32.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend([5, 0, 0, 0]);
    };
    bytes.extend(b"PK\x03\x04");
    sizes(&mut bytes);
    bytes.extend(b"a.npy");
    // An empty deflate stream.
    bytes.extend([3, 0]);
    let start = bytes.len() as u32;
    bytes.extend(b"PK\x01\x02\x14\x00");
    sizes(&mut bytes);
    bytes.extend([0; 14]);
    bytes.extend(b"a.npy");
    let len = bytes.len() as u32 - start;
    bytes.extend(b"PK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x00");
    bytes.extend(len.to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

#[test]
fn entries_cannot_claim_more_than_deflate_can_make() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npz");
    for (size, message) in [
        (u32::MAX - 1, "entry \"a\": size: expected at most 2064 bytes, found 4294967294"),
        (2064, "entry \"a\": expected a .npy file, found an empty file"),
    ] {
        fs::write(&path, archive_claiming(size)).unwrap();
        let error = read_npz(&path).unwrap_err().to_string();
        assert!(error.ends_with(message), "{error}");
    }
}

/// Files of the formats that are known by their names, small enough that damage hits something.
fn seed(kind: usize) -> (&'static str, Vec<u8>) {
    let fixture = |name: &str| {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
        fs::read(path).expect("the fixture is there")
    };
    match kind {
        0 => ("x.mtx", fixture("sym.mtx")),
        1 => ("x.mtx", fixture("skew_array.mtx")),
        2 => ("x.mtx", b"%%MatrixMarket matrix coordinate complex hermitian\n%tensorjit dtype c64\n2 2 2\n1 1 4 0\n2 1 1 -2\n".to_vec()),
        3 => ("x.tns", fixture("loose.tns")),
        4 => ("x.tns", b"# tensorjit dtype i8 shape 3 4\n1 2 3\n3 4 -5\n".to_vec()),
        _ => ("x.safetensors", fixture("good.safetensors")),
    }
}

/// Words that a text may have in place of others.
fn words() -> impl Strategy<Value = (usize, &'static str)> {
    let words = [
        "",
        "0",
        "1",
        "2",
        "-1",
        "3",
        "9223372036854775807",
        "18446744073709551615",
        "4611686018427387904",
        "1e400",
        "nan",
        "%",
        "#",
        "\n",
        "array",
        "pattern",
        "general",
        "skew-symmetric",
        "%tensorjit dtype u8\n",
        "# tensorjit shape 0\n",
        "\u{e9}",
        "\0",
    ];
    (any::<usize>(), prop::sample::select(words.to_vec()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn damaged_texts_and_safetensors(
        kind in 0..6usize,
        swaps in prop::collection::vec(words(), 0..3),
        damages in prop::collection::vec(damage(), 0..2),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (name, mut bytes) = seed(kind);
        for (place, word) in swaps {
            let starts: Vec<usize> = (1..bytes.len()).filter(|&at| bytes[at - 1].is_ascii_whitespace()).collect();
            if !starts.is_empty() {
                let start = starts[place % starts.len()];
                let len = bytes[start..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
                bytes.splice(start..start + len, word.bytes());
            }
        }
        damages.iter().for_each(|damage| apply(&mut bytes, damage));
        let path = folder.path().join(name);
        fs::write(&path, &bytes).unwrap();
        match tj_io::read_all(&path) {
            // What is stored for each entry costs at most some dozen bytes for each byte of the file.
            Ok(tj_io::Contents::One(tensor)) => prop_assert!(tensor.stored_count() <= bytes.len()),
            Ok(tj_io::Contents::Named(tensors)) => {
                tensors.values().for_each(|tensor| assert!(tensor.byte_range().len() <= bytes.len()));
            }
            Err(error) => prop_assert!(error.to_string().starts_with(&path.display().to_string())),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Arrays that SciPy could have written, with numbers that it would not have.
    #[test]
    fn contradictory_sparse_matrices(
        format in prop::sample::select(vec!["csr", "csc", "coo", "bsr", "dia"]),
        shape in prop::collection::vec(-1..4i64, 1..4),
        first in prop::collection::vec(-2..6i64, 0..5),
        second in prop::collection::vec(-2..6i64, 0..5),
        data in prop::collection::vec(0..4usize, 0..4),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npz");
        let (first, second, shape) = (Tensor::from(first), Tensor::from(second), Tensor::from(shape));
        let data = Tensor::full(&data, 1.5f32).unwrap();
        let mut letters = [0; 8];
        letters[..3].copy_from_slice(format.as_bytes());
        let word = Tensor::scalar(i64::from_le_bytes(letters));
        let arrays = [
            ("indptr", &first), ("indices", &second), ("row", &first), ("col", &second), ("offsets", &first),
            ("shape", &shape), ("data", &data), ("format", &word),
        ];
        write_npz(&path, arrays, Packing::Stored).unwrap();
        // Eight letters take as many bytes as an integer; only the type and the checksum are to be changed.
        let mut bytes = fs::read(&path).unwrap();
        let find = |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).rposition(|window| window == what).unwrap();
        let start = find(&bytes, b"\x93NUMPY");
        let end = start + 128 + 8;
        let old = crc32fast::hash(&bytes[start..end]).to_le_bytes();
        let descr = find(&bytes[..end], b"<i8");
        bytes[descr..descr + 3].copy_from_slice(b"|S8");
        let new = crc32fast::hash(&bytes[start..end]).to_le_bytes();
        for _ in 0..2 {
            let at = find(&bytes, &old);
            bytes[at..at + 4].copy_from_slice(&new);
        }
        fs::write(&path, &bytes).unwrap();
        match tj_io::read_sparse_npz(&path) {
            Ok(tensor) => prop_assert!(tensor.stored_count() <= 64),
            Err(error) => {
                let text = error.to_string();
                prop_assert!(!text.contains("one word") && !text.contains("checksum"), "{}", text);
            }
        }
    }
}
