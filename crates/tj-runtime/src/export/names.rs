//! Names of a program as names that C takes: each once, and none that means something to C.

use std::collections::BTreeSet;

use tj_ir::{InputDecl, Symbol};

use crate::bind::input_name;
use crate::error::Error;

/// Words of C and C++, and macros that the headers of C or its compilers define.
const TAKEN: &str = " alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept \
    const const_cast consteval constexpr constinit continue decltype default delete do double dynamic_cast else enum \
    explicit export extern false float for fortran friend goto if inline int long mutable namespace new noexcept not \
    not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires restrict return short \
    signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef \
    typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq \
    NULL NAN INFINITY DOMAIN SING OVERFLOW UNDERFLOW PLOSS TLOSS X_TLOSS EOF errno stdin stdout \
    stderr math_errhandling linux unix i386 offsetof WIN32 ";

/// Whether C may give the name a meaning of its own.
fn is_taken(name: &str) -> bool {
    let begins = ["_", "TJ_", "FP_", "M_", "MATH_", "HUGE", "SNAN"];
    let ends = ["_MAX", "_MIN", "_WIDTH"];
    TAKEN.contains(&format!(" {name} "))
        || begins.iter().any(|begin| name.starts_with(begin))
        || ends.iter().any(|end| name.ends_with(end))
}

/// Whether C takes the name, but for its own words.
pub(super) fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Fields for names: what is not ASCII as its number, then `_` until the name is free.
fn fields<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let names: Vec<&str> = names.collect();
    let mut used: BTreeSet<String> = names.iter().map(|name| (*name).to_string()).collect();
    let field = |name: &&str| {
        if is_identifier(name) && !is_taken(name) {
            return (*name).to_string();
        }
        let letter = |c: char| if c.is_ascii() { c.to_string() } else { format!("u{:x}_", c as u32) };
        let mut field: String = name.chars().map(letter).collect();
        // What is taken is also used: by itself.
        while used.contains(&field) {
            field.push('_');
        }
        used.insert(field.clone());
        field
    };
    names.iter().map(field).collect()
}

/// Fields of sizes.
pub(super) fn size_fields(symbols: &[Symbol]) -> Vec<String> {
    let names: Vec<String> = symbols.iter().map(Symbol::to_string).collect();
    fields(names.iter().map(String::as_str))
}

/// Fields of inputs; data has a space in its name.
pub(super) fn input_fields(inputs: &[InputDecl]) -> Vec<String> {
    let names: BTreeSet<&str> = inputs.iter().filter_map(|input| input.name.as_deref()).collect();
    let field = |(position, input): (usize, &InputDecl)| {
        let mut name = input_name(input, position).replace(' ', "_");
        while input.name.is_none() && names.contains(name.as_str()) {
            name.push('_');
        }
        format!("in_{name}")
    };
    inputs.iter().enumerate().map(field).collect()
}

/// Fields of outputs, of which the first have names.
pub(super) fn output_fields(names: &[&str], n_outputs: usize) -> Result<Vec<String>, Error> {
    for (position, name) in names.iter().enumerate() {
        let refused = |problem: String| {
            let name = (*name).to_string();
            Err(Error::OutputName { position, name, problem })
        };
        if position >= n_outputs {
            return refused(format!("but the program has {n_outputs} outputs"));
        }
        if !is_identifier(name) {
            return refused("which is not a C identifier".to_string());
        }
        if let Some(first) = names[..position].iter().position(|other| other == name) {
            return refused(format!("as is output {first}"));
        }
    }
    let name = |k| names.get(k).map_or_else(|| format!("out_{k}"), |name| format!("out_{name}"));
    Ok((0..n_outputs).map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::{fields, output_fields};

    #[test]
    fn fields_are_c_names_and_unique() {
        let names = ["N", "int", "int_", "unused", "größe", "_Bool", "INT_MAX", "linux"];
        let expected = ["N", "int__", "int_", "unused", "gruf6_udf_e", "_Bool_", "INT_MAX_", "linux_"];
        assert_eq!(fields(names.into_iter()), expected);
    }

    #[test]
    fn names_of_outputs_are_checked() {
        let refused = |names: &[&str]| output_fields(names, 2).unwrap_err().to_string();
        assert_eq!(refused(&["y", "y"]), "output 1 is named \"y\", as is output 0");
        assert_eq!(refused(&["a b"]), "output 0 is named \"a b\", which is not a C identifier");
        assert_eq!(refused(&["ä"]), "output 0 is named \"ä\", which is not a C identifier");
        assert_eq!(refused(&["a", "b", "c"]), "output 2 is named \"c\", but the program has 2 outputs");
        assert_eq!(output_fields(&["int"], 2).unwrap(), ["out_int", "out_1"]);
    }
}
