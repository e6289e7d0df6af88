//! The header of an `.npy` array: a Python dictionary in text.
//!
//! ```text
//! {'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }
//! ```
//!
//! The reader takes what NumPy's own takes, as far as it is a literal: keys in any order, either quote, a comma or
//! none at the end, Python 2's `3L`. It needs no recursion, because the only nested value, the list that describes
//! a structured type, is refused.

use tj_tensor::DType;

use crate::{IoError, error::Place};

/// In which order the elements follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The last coordinate changes fastest.
    RowMajor,
    /// The first coordinate changes fastest (Fortran).
    ColumnMajor,
}

/// Whether the bytes of an element are in this machine's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bytes {
    Native,
    Swapped,
}

/// What a header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub dtype: DType,
    pub bytes: Bytes,
    pub order: Order,
    pub shape: Vec<usize>,
}

/// The file's first bytes.
pub(crate) const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Data start on this boundary, as NumPy has it, so that a mapped file is aligned.
const ALIGN: usize = 64;

impl Header {
    /// Reads the dictionary.
    pub fn parse(place: &Place, text: &[u8]) -> Result<Header, IoError> {
        let mut reader = Reader { place, text, at: 0 };
        let (mut descr, mut order, mut shape) = (None, None, None);
        reader.token(b'{', "a dictionary")?;
        loop {
            if reader.peek() == Some(b'}') {
                reader.at += 1;
                break;
            }
            let start = reader.at;
            let key = reader.string("a key in quotes")?;
            reader.token(b':', "':'")?;
            let repeated = match key {
                b"descr" => descr.replace(reader.descr()?).is_some(),
                b"fortran_order" => order.replace(reader.order()?).is_some(),
                b"shape" => shape.replace(reader.shape()?).is_some(),
                _ => true,
            };
            if repeated {
                return Err(reader.error_at(start, "one each of 'descr', 'fortran_order' and 'shape'"));
            }
            if reader.peek() != Some(b'}') {
                reader.token(b',', "',' or '}'")?;
            }
        }
        if reader.peek().is_some() {
            return Err(reader.error("nothing after '}'"));
        }
        match (descr, order, shape) {
            (Some((dtype, bytes)), Some(order), Some(shape)) => Ok(Header { dtype, bytes, order, shape }),
            _ => Err(reader.error("all of 'descr', 'fortran_order' and 'shape'")),
        }
    }

    /// Magic, version, length and dictionary, padded so that the data are aligned. `None` if the format has no such
    /// type.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let order = match (self.dtype.size(), self.bytes == Bytes::Native, cfg!(target_endian = "little")) {
            (1, _, _) => '|',
            (_, true, true) | (_, false, false) => '<',
            (_, true, false) | (_, false, true) => '>',
        };
        let fortran = match self.order {
            Order::RowMajor => "False",
            Order::ColumnMajor => "True",
        };
        let mut shape: String = self.shape.iter().map(|extent| format!("{extent}, ")).collect();
        // A tuple of one keeps its comma.
        shape.truncate(shape.len().saturating_sub(if self.shape.len() == 1 { 1 } else { 2 }));
        let code = code(self.dtype)?;
        let text = format!("{{'descr': '{order}{code}', 'fortran_order': {fortran}, 'shape': ({shape}), }}");
        framed(&text)
    }
}

/// What is in front of an array of one text of some length.
pub(crate) fn text_header(len: usize) -> Vec<u8> {
    let text = format!("{{'descr': '|S{len}', 'fortran_order': False, 'shape': (), }}");
    framed(&text).expect("a header of one line has a length")
}

/// Magic, version and length in front of a dictionary, and blanks behind it.
fn framed(text: &str) -> Option<Vec<u8>> {
    // The newline at the end counts; version 2 has a longer length for the sake of enormous ranks.
    let padded = |prefix: usize| (prefix + text.len() + 1).next_multiple_of(ALIGN) - prefix;
    let mut bytes = MAGIC.to_vec();
    match u16::try_from(padded(10)) {
        Ok(len) => {
            bytes.extend([1, 0]);
            bytes.extend(len.to_le_bytes());
        }
        Err(_) => {
            bytes.extend([2, 0]);
            bytes.extend(u32::try_from(padded(12)).ok()?.to_le_bytes());
        }
    }
    bytes.extend(text.as_bytes());
    bytes.resize((bytes.len() + 1).next_multiple_of(ALIGN) - 1, b' ');
    bytes.push(b'\n');
    Some(bytes)
}

/// NumPy's name for a type, without the byte order. It has none for bf16.
fn code(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::Bool => "b1",
        DType::I8 => "i1",
        DType::I16 => "i2",
        DType::I32 => "i4",
        DType::I64 => "i8",
        DType::U8 => "u1",
        DType::U16 => "u2",
        DType::U32 => "u4",
        DType::U64 => "u8",
        DType::F16 => "f2",
        DType::F32 => "f4",
        DType::F64 => "f8",
        DType::C64 => "c8",
        DType::C128 => "c16",
        DType::BF16 => return None,
    })
}

struct Reader<'a> {
    place: &'a Place,
    text: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn token(&mut self, byte: u8, expected: &'static str) -> Result<(), IoError> {
        if self.peek() != Some(byte) {
            return Err(self.error(expected));
        }
        self.at += 1;
        Ok(())
    }

    /// The inside of a string literal. Nothing we accept contains an escape.
    fn string(&mut self, expected: &'static str) -> Result<&'a [u8], IoError> {
        let Some(quote @ (b'\'' | b'"')) = self.peek() else { return Err(self.error(expected)) };
        let start = self.at + 1;
        let Some(len) = self.text[start..].iter().position(|&b| b == quote) else {
            return Err(self.error("a closing quote"));
        };
        self.at = start + len + 1;
        Ok(&self.text[start..start + len])
    }

    fn order(&mut self) -> Result<Order, IoError> {
        self.peek();
        let rest = &self.text[self.at..];
        let (order, len) = if rest.starts_with(b"True") {
            (Order::ColumnMajor, 4)
        } else if rest.starts_with(b"False") {
            (Order::RowMajor, 5)
        } else {
            return Err(self.error("True or False"));
        };
        self.at += len;
        Ok(order)
    }

    fn shape(&mut self) -> Result<Vec<usize>, IoError> {
        let mut shape = Vec::new();
        self.token(b'(', "a tuple of sizes")?;
        while self.peek() != Some(b')') {
            let start = self.at;
            let digits = self.text[start..].iter().take_while(|b| b.is_ascii_digit()).count();
            let number = std::str::from_utf8(&self.text[start..start + digits]).ok();
            let Some(extent) = number.and_then(|n| n.parse().ok()) else {
                return Err(self.error("a size below 2^64"));
            };
            shape.push(extent);
            self.at += digits;
            if self.text.get(self.at) == Some(&b'L') {
                self.at += 1;
            }
            match self.peek() {
                Some(b',') => self.at += 1,
                // `(3)` is a number in parentheses, not a tuple.
                Some(b')') if shape.len() > 1 => {}
                _ => return Err(self.error("','")),
            }
        }
        self.at += 1;
        Ok(shape)
    }

    fn descr(&mut self) -> Result<(DType, Bytes), IoError> {
        if self.peek() == Some(b'[') {
            let reason = "structured arrays have fields; save each field as an array of its own";
            return Err(self.element_type(self.at, self.list_end(), reason));
        }
        let descr = self.string("the element type in quotes")?;
        let (order, name) = match descr.split_first() {
            Some((b'<' | b'>' | b'=' | b'|', name)) => (descr[0], name),
            _ => (b'=', descr),
        };
        let found = DType::ALL.into_iter().find(|&d| code(d).is_some_and(|code| code.as_bytes() == name));
        let Some(dtype) = found else {
            let reason = match name {
                [b'O', ..] => "python objects are never loaded",
                [b'S' | b'U' | b'a', ..] => "text is not a number",
                [b'M' | b'm', ..] => "dates and durations are not numbers; view them as i8 first",
                [b'V', ..] => "raw bytes have no type",
                b"f10" | b"f12" | b"f16" | b"c20" | b"c24" | b"c32" => {
                    "long double differs between machines; convert to f8 or c16 first"
                }
                _ => "no such numbers are known",
            };
            return Err(self.element_type(self.at - descr.len() - 2, self.at, reason));
        };
        let swapped = match order {
            b'<' => cfg!(target_endian = "big"),
            b'>' => cfg!(target_endian = "little"),
            _ => false,
        };
        Ok((dtype, if swapped { Bytes::Swapped } else { Bytes::Native }))
    }

    /// Where the list that starts here ends; the end of the text if it does not.
    fn list_end(&self) -> usize {
        let mut depth = 0;
        for (i, byte) in self.text.iter().enumerate().skip(self.at) {
            match byte {
                b'[' => depth += 1,
                b']' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return i + 1;
            }
        }
        self.text.len()
    }

    fn error(&self, expected: &'static str) -> IoError {
        self.error_at(self.at, expected)
    }

    fn error_at(&self, at: usize, expected: &'static str) -> IoError {
        let found = excerpt(&self.text[at.min(self.text.len())..]);
        IoError::Header { place: self.place.clone(), at, expected, found }
    }

    fn element_type(&self, start: usize, end: usize, reason: &'static str) -> IoError {
        let descr = excerpt(&self.text[start..end]);
        IoError::ElementType { place: self.place.clone(), descr, reason }
    }
}

/// As much of a text as a message has room for.
fn excerpt(text: &[u8]) -> String {
    const ROOM: usize = 48;
    let shown = String::from_utf8_lossy(&text[..text.len().min(ROOM)]).trim_end().to_owned();
    if text.len() > ROOM { shown + "..." } else { shown }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn parse(text: &str) -> Result<Header, String> {
        Header::parse(&Place::file(Path::new("x")), text.as_bytes()).map_err(|e| e.to_string())
    }

    #[test]
    fn spellings_of_the_same_header() {
        let expected =
            Header { dtype: DType::I32, bytes: Bytes::Native, order: Order::ColumnMajor, shape: vec![3, 0] };
        for text in [
            "{'descr': '<i4', 'fortran_order': True, 'shape': (3, 0), }          \n",
            "{\"shape\":(3,0),\"fortran_order\":True,\"descr\":\"=i4\"}",
            "\n{ 'descr' : 'i4' ,\t'shape' : ( 3L , 0L , ) , 'fortran_order' : True }",
        ] {
            assert_eq!(parse(text).unwrap(), expected, "{text}");
        }
        for (shape, expected) in [("()", vec![]), ("(7,)", vec![7]), ("( )", vec![])] {
            let text = format!("{{'descr': '>u2', 'fortran_order': False, 'shape': {shape}}}");
            let header = parse(&text).unwrap();
            assert_eq!((header.shape, header.bytes), (expected, Bytes::Swapped));
        }
    }

    #[test]
    fn refusals_point_at_the_place() {
        let rest = "'fortran_order': False, 'shape': ()}";
        for (text, message) in [
            ("", "x: header byte 0: expected a dictionary, found \"\""),
            ("{'descr", "x: header byte 1: expected a closing quote, found \"'descr\""),
            ("{}", "x: header byte 2: expected all of 'descr', 'fortran_order' and 'shape', found \"\""),
            (
                "{'a': 1}",
                "x: header byte 1: expected one each of 'descr', 'fortran_order' and 'shape', found \"'a': 1}\"",
            ),
            ("{'descr': 'i4', 'descr': 'i4'}", "x: header byte 16: expected one each"),
            ("{'shape': (3)}", "x: header byte 12: expected ',', found \")}\""),
            ("{'shape': (-1,)}", "x: header byte 11: expected a size below 2^64, found \"-1,)}\""),
            ("{'shape': (18446744073709551616,)}", "x: header byte 11: expected a size below 2^64, found"),
            ("{'shape': 3}", "x: header byte 10: expected a tuple of sizes, found \"3}\""),
            ("{'fortran_order': 1}", "x: header byte 18: expected True or False, found \"1}\""),
            ("{'descr': 8}", "x: header byte 10: expected the element type in quotes, found \"8}\""),
            (
                &format!("{{'descr': '<f8', {rest} x"),
                "x: header byte 54: expected nothing after '}', found \"x\"",
            ),
            (
                &format!("{{'descr': '<f3', {rest}"),
                "x: elements of type '<f3' are not supported: no such numbers",
            ),
            (&format!("{{'descr': '', {rest}"), "x: elements of type '' are not supported"),
            (&format!("{{'descr': '|V2', {rest}"), "x: elements of type '|V2' are not supported: raw bytes"),
        ] {
            let error = parse(text).map(|_| ()).unwrap_err();
            assert!(error.starts_with(message), "{text}\n{error}");
        }
    }

    #[test]
    fn written_headers_read_back_and_end_on_a_boundary() {
        for dtype in DType::ALL {
            for shape in [vec![], vec![5], vec![2, 0, 3], vec![1; 9000], vec![1; 30000]] {
                let header = Header { dtype, bytes: Bytes::Native, order: Order::RowMajor, shape };
                let Some(bytes) = header.to_bytes() else {
                    assert_eq!(dtype, DType::BF16);
                    continue;
                };
                assert!(bytes.len().is_multiple_of(ALIGN) && bytes.ends_with(b"\n"));
                let (version, prefix) = if header.shape.len() < 20000 { (1, 10) } else { (2, 12) };
                assert_eq!(bytes[6], version);
                assert_eq!(Header::parse(&Place::file(Path::new("x")), &bytes[prefix..]).unwrap(), header);
            }
        }
    }
}
