//! Byte counts as people write them: `1048576`, `512MB`, `1.5 GiB`.
//!
//! `kB`, `MB`, `GB` and `TB` are powers of 1000; `KiB`, `MiB`, `GiB` and `TiB` are powers of 1024. Case does not
//! matter. A bare `K`, `M` or `G` means either to different people, so it is refused.

use crate::values::ValueError;

/// Longest fraction of a count. Nine digits times the largest unit stay far inside 128 bits.
const MAX_FRACTION_DIGITS: usize = 9;

/// Reads a byte count; a fraction of a byte is dropped.
///
/// ```
/// assert_eq!(tj_cli::bytes::parse_bytes("2GiB"), Ok(2 << 30));
/// ```
pub fn parse_bytes(text: &str) -> Result<u64, ValueError> {
    let not_bytes = || ValueError::Bytes(text.to_owned());
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (count, unit) = text.split_at(split);
    let unit: u128 = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1000,
        "mb" => 1000_u128.pow(2),
        "gb" => 1000_u128.pow(3),
        "tb" => 1000_u128.pow(4),
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return Err(not_bytes()),
    };
    let (whole, fraction) = match count.split_once('.') {
        Some((_, "")) => return Err(not_bytes()),
        Some((whole, fraction)) if unit > 1 && fraction.len() <= MAX_FRACTION_DIGITS => (whole, fraction),
        Some(_) => return Err(not_bytes()),
        None => (count, "0"),
    };
    // More digits than a u64 holds are too large a count, whatever the unit.
    let too_large = || ValueError::BytesTooLarge(text.to_owned());
    if whole.is_empty() {
        return Err(not_bytes());
    }
    let whole = u128::from(whole.parse::<u64>().map_err(|_| too_large())?);
    let scale = 10_u128.pow(fraction.len() as u32);
    let fraction = u128::from(fraction.parse::<u64>().map_err(|_| not_bytes())?);
    u64::try_from(whole * unit + fraction * unit / scale).map_err(|_| too_large())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_units() {
        for (text, expected) in [
            ("0", 0),
            ("1048576", 1 << 20),
            ("7B", 7),
            ("512MB", 512_000_000),
            ("512 mib", 512 << 20),
            ("2GiB", 2 << 30),
            ("1.5GiB", 3 << 29),
            ("0.1KiB", 102),
            ("1TB", 1_000_000_000_000),
            ("18446744073709551615", u64::MAX),
            ("16777215TiB", 16_777_215 << 40),
        ] {
            assert_eq!(parse_bytes(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_count() {
        for text in
            ["", "GiB", "2G", "2 XB", "-1", "1.5", "1.", ".5GiB", "1.2.3GB", "1e9", "0.0000000001TB", "2GiB "]
        {
            assert_eq!(parse_bytes(text), Err(ValueError::Bytes(text.to_owned())));
        }
        for text in ["18446744073709551616", "16777216TiB"] {
            assert_eq!(parse_bytes(text), Err(ValueError::BytesTooLarge(text.to_owned())));
        }
    }
}
