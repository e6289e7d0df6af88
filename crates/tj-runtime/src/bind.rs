//! Matching the sizes of real arguments to symbols.

use smallvec::SmallVec;
use tj_ir::dim::SymbolKind;
use tj_ir::{Condition, Dim, DimError, Guard, InputDecl, Symbol, shape_text};
use tj_tensor::Tensor;

use crate::error::Error;

/// Values of a program's symbols, in its order.
pub(crate) type Values = SmallVec<[i64; 8]>;

/// What an axis of an argument says about symbols.
#[derive(Clone, Debug)]
enum Axis {
    /// It has this size.
    Fixed(i64),
    /// Its size is the value of a symbol.
    Symbol(usize),
    /// Its size is an expression.
    Expr(Dim),
}

/// An argument as the binder sees it.
#[derive(Clone, Debug)]
struct Argument {
    name: String,
    axes: Vec<Axis>,
    declared: String,
    dtype: tj_tensor::DType,
}

/// Matches arguments to the symbols of one program.
#[derive(Clone, Debug)]
pub(crate) struct Binder {
    symbols: Vec<Symbol>,
    arguments: Vec<Argument>,
    has_expressions: bool,
}

/// Name of an argument for messages; data has none.
pub(crate) fn input_name(decl: &InputDecl, position: usize) -> String {
    decl.name.as_deref().map_or_else(|| format!("data {position}"), str::to_string)
}

impl Binder {
    /// `complex` says which inputs are complex: the last axis of their declarations is that of the parts.
    pub fn new(symbols: &[Symbol], inputs: &[InputDecl], complex: &[bool]) -> Binder {
        let axis = |dim: &Dim| match (dim.is_const(), dim.as_symbol()) {
            (Some(c), _) => Axis::Fixed(c),
            (None, Some(symbol)) => match symbols.iter().position(|s| s == symbol) {
                Some(position) => Axis::Symbol(position),
                None => Axis::Expr(dim.clone()),
            },
            (None, None) => Axis::Expr(dim.clone()),
        };
        let arguments: Vec<Argument> = inputs
            .iter()
            .enumerate()
            .map(|(position, decl)| {
                // Data are in the plan as the plan sees them.
                let is_complex = complex[position] && decl.data.is_none();
                let shape = &decl.shape[..decl.shape.len() - usize::from(is_complex)];
                let dtype = if is_complex { decl.dtype.complex() } else { decl.dtype };
                Argument {
                    name: input_name(decl, position),
                    axes: shape.iter().map(axis).collect(),
                    declared: format!("{dtype}{}", shape_text(shape)),
                    dtype,
                }
            })
            .collect();
        let has_expressions = arguments.iter().flat_map(|a| &a.axes).any(|a| matches!(a, Axis::Expr(_)));
        Binder { symbols: symbols.to_vec(), arguments, has_expressions }
    }

    /// Type and sizes of an input, as it was declared.
    pub fn declared(&self, position: usize) -> &str {
        &self.arguments[position].declared
    }

    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// Whether arguments have the sizes that these values give, where `values` came from elsewhere.
    pub fn fits(&self, inputs: &[&Tensor], values: &Values) -> bool {
        self.arguments.iter().zip(inputs).all(|(argument, tensor)| {
            let shape = tensor.shape();
            let fits = |(axis, &extent): (&Axis, &usize)| {
                let size = match axis {
                    Axis::Fixed(size) => Some(*size),
                    Axis::Symbol(symbol) => values.get(*symbol).copied(),
                    Axis::Expr(dim) => dim.eval(&|symbol| self.value(symbol, values)).ok(),
                };
                size == i64::try_from(extent).ok()
            };
            // Complex data is declared as pairs of reals.
            let pairs = tensor.dtype().is_complex() && !argument.dtype.is_complex();
            shape.len() + usize::from(pairs) == argument.axes.len()
                && argument.axes.iter().zip(shape).all(fits)
        })
    }

    /// Values of all symbols. `given` are explicit bindings.
    pub fn bind(&self, inputs: &[&Tensor], given: &[(&str, i64)]) -> Result<Values, Error> {
        let mut values: SmallVec<[Option<i64>; 8]> = SmallVec::from_elem(None, self.symbols.len());
        for &(name, value) in given {
            let position = self.symbols.iter().position(|s| s.to_string() == name);
            let position = position.ok_or_else(|| Error::UnknownSymbol {
                symbol: name.to_string(),
                known: self.symbols.iter().map(Symbol::to_string).collect::<Vec<_>>().join(", "),
            })?;
            if let Some(first) = values[position].replace(value).filter(|first| *first != value) {
                return Err(Error::RepeatedSymbol { symbol: name.to_string(), first, second: value });
            }
        }
        for (argument, tensor) in self.arguments.iter().zip(inputs) {
            self.match_argument(argument, tensor, &mut values, given)?;
        }
        if self.has_expressions {
            self.match_expressions(inputs, &mut values, given)?;
        }
        let mut found = Values::new();
        for (symbol, value) in self.symbols.iter().zip(values) {
            // What the program received with its deferred data, an end of a slice say, is what it was then.
            let received = match symbol.kind() {
                SymbolKind::Fresh(_) => symbol.hint(),
                SymbolKind::Declared(_)
                | SymbolKind::Index(_)
                | SymbolKind::Deferred(_)
                | SymbolKind::Counted(_) => None,
            };
            let value = value.or(received);
            let value = value.ok_or_else(|| Error::UnboundSymbol { symbol: symbol.to_string() })?;
            let (lo, hi) = symbol.bounds();
            if !(lo..=hi).contains(&value) {
                let origin = self.origin(symbol, given);
                return Err(Error::OutOfBounds { symbol: symbol.to_string(), value, origin, lo, hi });
            }
            found.push(value);
        }
        Ok(found)
    }

    fn match_argument(
        &self,
        argument: &Argument,
        tensor: &Tensor,
        values: &mut [Option<i64>],
        given: &[(&str, i64)],
    ) -> Result<(), Error> {
        if tensor.dtype() != argument.dtype {
            return Err(Error::DType {
                name: argument.name.clone(),
                found: tensor.dtype(),
                expected: argument.dtype,
            });
        }
        let shape = tensor.shape();
        if shape.len() != argument.axes.len() {
            return Err(Error::Rank {
                name: argument.name.clone(),
                found: shape.len(),
                declared: argument.declared.clone(),
            });
        }
        for (d, (axis, &extent)) in argument.axes.iter().zip(shape).enumerate() {
            let expected = match *axis {
                Axis::Fixed(c) if c == extent as i64 => continue,
                Axis::Fixed(c) => format!("declared {c}"),
                Axis::Symbol(symbol) => match values[symbol] {
                    None => {
                        values[symbol] = Some(extent as i64);
                        continue;
                    }
                    Some(value) if value == extent as i64 => continue,
                    Some(value) => {
                        let symbol = &self.symbols[symbol];
                        format!("{symbol} = {value} ({})", self.origin(symbol, given))
                    }
                },
                Axis::Expr(_) => continue,
            };
            return Err(Error::AxisSize { name: argument.name.clone(), axis: d, found: extent, expected });
        }
        Ok(())
    }

    /// Checks axes whose sizes are expressions, and solves those that are linear in one unknown symbol.
    fn match_expressions(
        &self,
        inputs: &[&Tensor],
        values: &mut [Option<i64>],
        given: &[(&str, i64)],
    ) -> Result<(), Error> {
        let mut progress = true;
        while progress {
            progress = false;
            for (argument, tensor) in self.arguments.iter().zip(inputs) {
                for (d, (axis, &extent)) in argument.axes.iter().zip(tensor.shape()).enumerate() {
                    let Axis::Expr(dim) = axis else { continue };
                    let position = |s: &Symbol| self.symbols.iter().position(|known| known == s);
                    let unknown: Vec<Symbol> =
                        dim.symbols().filter(|s| position(s).is_none_or(|p| values[p].is_none())).collect();
                    let value_of = |s: &Symbol| position(s).and_then(|p| values[p]);
                    let wrong = |expected: String| Error::AxisSize {
                        name: argument.name.clone(),
                        axis: d,
                        found: extent,
                        expected,
                    };
                    match unknown.as_slice() {
                        [] => {
                            let value = dim.eval(&value_of)?;
                            if value != extent as i64 {
                                let origins: Vec<String> = dim
                                    .symbols()
                                    .map(|s| self.origin_with_value(&s, values, given))
                                    .collect();
                                return Err(wrong(format!("{dim} = {value} with {}", origins.join(", "))));
                            }
                        }
                        [symbol] => {
                            let solved = dim.solve_linear_for(symbol, &value_of, extent as i64);
                            let solved = solved.map_err(|e| wrong(format!("declared {dim}: {e}")))?;
                            if let Some(p) = position(symbol) {
                                values[p] = Some(solved);
                                progress = true;
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    }

    fn origin_with_value(&self, symbol: &Symbol, values: &[Option<i64>], given: &[(&str, i64)]) -> String {
        let value = self.symbols.iter().position(|s| s == symbol).and_then(|p| values[p]);
        format!("{symbol} = {} ({})", value.unwrap_or(0), self.origin(symbol, given))
    }

    /// Where the value of a symbol comes from.
    fn origin(&self, symbol: &Symbol, given: &[(&str, i64)]) -> String {
        if given.iter().any(|(name, _)| symbol.to_string() == *name) {
            return "given".to_string();
        }
        // An axis that is the symbol decides before one that only mentions it.
        let is_it = |axis: &Axis| match axis {
            Axis::Symbol(position) => self.symbols[*position] == *symbol,
            Axis::Fixed(_) | Axis::Expr(_) => false,
        };
        let mentions_it = |axis: &Axis| match axis {
            Axis::Expr(dim) => dim.mentions(symbol),
            Axis::Fixed(_) | Axis::Symbol(_) => false,
        };
        let found = self.find_axis(&is_it).or_else(|| self.find_axis(&mentions_it));
        found.unwrap_or_else(|| "unknown".to_string())
    }

    fn find_axis(&self, wanted: &dyn Fn(&Axis) -> bool) -> Option<String> {
        self.arguments.iter().find_map(|argument| {
            let d = argument.axes.iter().position(wanted)?;
            Some(format!("axis {d} of input {}", argument.name))
        })
    }

    /// Checks the guards of a program.
    pub fn check(&self, guards: &[Guard], values: &Values, given: &[(&str, i64)]) -> Result<(), Error> {
        let value_of = |s: &Symbol| self.value(s, values);
        for guard in guards {
            if guard.condition.holds(&value_of)? {
                continue;
            }
            let origin = |symbol: &Symbol| Some(self.origin(symbol, given));
            return Err(broken(guard, &value_of, &origin)?);
        }
        Ok(())
    }

    /// The value of a symbol.
    pub fn value(&self, symbol: &Symbol, values: &Values) -> Option<i64> {
        self.symbols.iter().position(|s| s == symbol).map(|p| values[p])
    }
}

/// The error about a guard that does not hold, with the values of sizes and where they come from, where that is known.
pub(crate) fn broken(
    guard: &Guard,
    value: &dyn Fn(&Symbol) -> Option<i64>,
    origin: &dyn Fn(&Symbol) -> Option<String>,
) -> Result<Error, DimError> {
    let (a, b) = guard.condition.sides();
    let mut parts = Vec::new();
    for side in [a, b] {
        let (text, size) = (side.to_string(), side.eval(value)?);
        // What was deferred is written as the number that it is.
        if side.as_symbol().is_none() && text != size.to_string() {
            parts.push(format!("{text} = {size}"));
        }
    }
    let mut symbols: Vec<Symbol> = a.symbols().chain(b.symbols()).collect();
    symbols.sort();
    symbols.dedup();
    for symbol in symbols.into_iter().filter(|symbol| symbol.deferred_value().is_none()) {
        let size = value(&symbol).unwrap_or(0);
        let origin = origin(&symbol).map_or_else(String::new, |origin| format!(" ({origin})"));
        parts.push(format!("{symbol} = {size}{origin}"));
    }
    if let Condition::Divides(d, n) = &guard.condition {
        let (d, n) = (d.eval(value)?, n.eval(value)?);
        parts.push(format!("remainder {}", n.checked_rem(d).unwrap_or(n)));
    }
    Ok(Error::Guard {
        condition: guard.condition.to_string(),
        values: parts.join(", "),
        reason: guard.reason.clone(),
        location: guard.location.to_string(),
    })
}
