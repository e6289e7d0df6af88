//! The first line, and the remark that completes it.

use tj_tensor::DType;

use crate::IoError;
use crate::text::{Kind, Line, Mirror};

/// What the first word of every file is.
const START: &[u8] = b"%%MatrixMarket";
/// What the remark starts with.
pub(super) const REMARK: &str = "%tensorjit";

/// How entries are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Coordinate,
    Array,
}

/// What values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Real,
    Integer,
    Unsigned,
    Complex,
    Pattern,
}

/// What one triangle says of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symmetry {
    General,
    Symmetric,
    Skew,
    Hermitian,
}

/// The first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Banner {
    pub layout: Layout,
    pub field: Field,
    pub symmetry: Symmetry,
}

impl Field {
    pub fn name(self) -> &'static str {
        match self {
            Field::Real => "real",
            Field::Integer => "integer",
            Field::Unsigned => "unsigned-integer",
            Field::Complex => "complex",
            Field::Pattern => "pattern",
        }
    }

    /// The type of values of which nothing more is said.
    pub fn dtype(self) -> DType {
        match self {
            Field::Real => DType::F64,
            Field::Integer => DType::I64,
            Field::Unsigned => DType::U64,
            Field::Complex => DType::C128,
            Field::Pattern => DType::Bool,
        }
    }

    /// The field that holds all values of a type.
    pub fn of(dtype: DType) -> Field {
        if dtype.is_complex() {
            Field::Complex
        } else if dtype.is_float() {
            Field::Real
        } else if dtype.is_bool() || dtype.is_signed() {
            Field::Integer
        } else {
            Field::Unsigned
        }
    }

    pub fn kind(self, dtype: DType) -> Kind {
        if self == Field::Pattern { Kind::Pattern } else { Kind::of(dtype) }
    }
}

impl Symmetry {
    pub fn name(self) -> &'static str {
        match self {
            Symmetry::General => "general",
            Symmetry::Symmetric => "symmetric",
            Symmetry::Skew => "skew-symmetric",
            Symmetry::Hermitian => "hermitian",
        }
    }

    pub fn mirror(self) -> Option<Mirror> {
        match self {
            Symmetry::General => None,
            Symmetry::Symmetric => Some(Mirror::Same),
            Symmetry::Skew => Some(Mirror::Negated),
            Symmetry::Hermitian => Some(Mirror::Conjugated),
        }
    }
}

impl Banner {
    /// Whether a file starts as one of this format.
    pub fn starts(bytes: &[u8]) -> bool {
        bytes.get(..START.len()).is_some_and(|start| start.eq_ignore_ascii_case(START))
    }

    pub fn read(line: &mut Line<'_>) -> Result<Banner, IoError> {
        let word = line.needed(5)?;
        if !word.eq_ignore_ascii_case(START) {
            return Err(line.wrong("%%MatrixMarket"));
        }
        choice(line, "the object `matrix`", &[("matrix", ())])?;
        let layouts = [("coordinate", Layout::Coordinate), ("array", Layout::Array)];
        let layout = choice(line, "`coordinate` or `array`", &layouts)?;
        let fields = [
            ("real", Field::Real),
            ("double", Field::Real),
            ("integer", Field::Integer),
            ("unsigned-integer", Field::Unsigned),
            ("complex", Field::Complex),
            ("pattern", Field::Pattern),
        ];
        let expected = "`real`, `double`, `integer`, `unsigned-integer`, `complex` or `pattern`";
        let field = choice(line, expected, &fields)?;
        if (layout, field) == (Layout::Array, Field::Pattern) {
            return Err(line.wrong("a field other than `pattern`, which an array cannot have,"));
        }
        let symmetries = [
            ("general", Symmetry::General),
            ("symmetric", Symmetry::Symmetric),
            ("skew-symmetric", Symmetry::Skew),
            ("hermitian", Symmetry::Hermitian),
        ];
        let expected = "`general`, `symmetric`, `skew-symmetric` or `hermitian`";
        let symmetry = choice(line, expected, &symmetries)?;
        let impossible = match symmetry {
            Symmetry::General | Symmetry::Symmetric => false,
            Symmetry::Skew => matches!(field, Field::Pattern | Field::Unsigned),
            Symmetry::Hermitian => field != Field::Complex,
        };
        if impossible {
            return Err(line.wrong(&format!("a symmetry that {} values can have", field.name())));
        }
        line.end(5)?;
        Ok(Banner { layout, field, symmetry })
    }
}

/// The next word of the banner, one of several.
fn choice<T: Copy>(line: &mut Line<'_>, expected: &str, choices: &[(&str, T)]) -> Result<T, IoError> {
    let word = line.needed(5)?;
    let found = choices.iter().find(|(name, _)| word.eq_ignore_ascii_case(name.as_bytes()));
    found.map(|(_, value)| *value).ok_or_else(|| line.wrong(expected))
}

/// The type that a remark gives, if it is the one remark that does.
pub(super) fn dtype(line: &mut Line<'_>, banner: Banner) -> Result<Option<DType>, IoError> {
    if line.word() != Some(REMARK.as_bytes()) || line.word() != Some(b"dtype") {
        return Ok(None);
    }
    let word = std::str::from_utf8(line.needed(3)?).unwrap_or("");
    let dtype: Option<DType> = word.parse().ok();
    let field = banner.field;
    let fits = |dtype: &DType| Field::of(*dtype) == field || (field, *dtype) == (Field::Pattern, DType::Bool);
    let dtype =
        dtype.filter(fits).ok_or_else(|| line.wrong(&format!("a type of {} values", field.name())))?;
    line.end(3)?;
    Ok(Some(dtype))
}
