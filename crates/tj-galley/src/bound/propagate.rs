//! The region of a node, from those of its arguments.

use smallvec::SmallVec;
use tj_ir::expr::Source;
use tj_ir::{Dim, Op, Symbol};
use tj_plan::derive::fill_decision;
use tj_plan::derive::form::{Form, IndexSet, Kind, Leaf, NodeId, bit, members};
use tj_plan::sparse::plain;
use tj_tensor::Scalar;

use super::constraints::{Constraint, Counted, Region, Size, keys, product};
use super::{Bound, Bounds};

impl Bounds {
    /// Where a node has another value than one that it has everywhere else: its fill, if it has one. None if that may be
    /// everywhere. As deep as the form.
    pub(super) fn region(&self, form: &Form, id: NodeId, known: &[Bound], size: Size<'_>) -> Option<Region> {
        let node = form.node(id);
        match &node.kind {
            Kind::Const(_) | Kind::Number(_) => Some(Region::nowhere()),
            Kind::Size(_) => (node.indices == 0).then(Region::nowhere),
            Kind::Read(leaf) => match &form.leaves[*leaf as usize] {
                Leaf::Source(Source::Def(_), _) => None,
                Leaf::Source(Source::Input(input), at) => {
                    node.fill?;
                    self.read(*input as usize, at)
                }
                Leaf::Step(step) => {
                    node.fill?;
                    known.get(*step as usize)?.region.clone()
                }
            },
            Kind::Map(op, args) => self.operator(form, id, *op, args, known, size),
        }
    }

    fn operator(
        &self,
        form: &Form,
        id: NodeId,
        op: Op,
        args: &[NodeId],
        known: &[Bound],
        size: Size<'_>,
    ) -> Option<Region> {
        let of = |arg: NodeId| self.region(form, arg, known, size);
        let fill = |arg: NodeId| form.node(arg).fill;
        match (op, args) {
            // It is its first argument, of whose value elsewhere the second one tells.
            (Op::Filled, &[value, _]) => return of(value),
            (Op::Where, &[condition, yes, no]) => {
                if let Some(chosen) = fill(condition) {
                    let is_yes = chosen.to_f64() != 0.0;
                    let (chosen, other) = if is_yes { (yes, no) } else { (no, yes) };
                    let mut chooses = of(condition)?;
                    // What is chosen there may be what is everywhere else.
                    if fill(other).is_some() && fill(other) == fill(chosen) {
                        let other = of(other);
                        let indices = other.as_ref().map_or(0, |other| other.indices) | chooses.indices;
                        chooses = self.all(indices, [Some(chooses), other])?;
                    }
                    return any(&[chooses, of(chosen)?], size);
                }
            }
            (_, _) => {}
        }
        let result = form.node(id).fill;
        let is_deciding = |&(at, &arg): &(usize, &NodeId)| {
            let decided = |fill: Scalar| fill_decision(op, at, fill);
            result.is_some() && fill(arg).and_then(decided) == result
        };
        let deciding = args.iter().enumerate().filter(is_deciding).map(|(_, &arg)| of(arg));
        if let Some(region) = self.all(form.node(id).indices, deciding) {
            return Some(region);
        }
        let regions: SmallVec<[Region; 4]> = args.iter().map(|&arg| of(arg)).collect::<Option<_>>()?;
        any(&regions, size)
    }

    /// The positions of several regions, as far as there are any.
    fn all(&self, indices: IndexSet, regions: impl IntoIterator<Item = Option<Region>>) -> Option<Region> {
        let mut regions = regions.into_iter().flatten();
        let mut all = regions.next()?;
        let mut is_one = true;
        for region in regions {
            region.constraints.into_iter().for_each(|constraint| all.add(constraint));
            all.counted.extend(region.counted);
            is_one = false;
        }
        all.indices = indices;
        if !is_one {
            self.stars.add(&mut all);
        }
        Some(all)
    }

    /// Where an argument that is read at some places has entries.
    fn read(&self, input: usize, at: &[Dim]) -> Option<Region> {
        let counts = self.counts.get(input)?.as_ref()?;
        let set = |dim: &Dim| {
            dim.symbols().filter_map(|own| own.as_index()).fold(0, |all, own| all | bit(own as u8))
        };
        let sets: SmallVec<[IndexSet; 4]> = at.iter().map(set).collect();
        let told: SmallVec<[IndexSet; 4]> = at.iter().zip(&sets).map(|(dim, &set)| tells(dim, set)).collect();
        let all_told = told.iter().fold(0, |all, &own| all | own);
        let mut region = Region { indices: sets.iter().fold(0, |all, &own| all | own), ..Region::default() };
        region.add(Constraint { from: 0, to: all_told, most: counts.entries });
        for (axis, counted) in counts.axes.iter().enumerate() {
            let Some((degrees, spread)) = counted else { continue };
            let most = f64::from(spread.greatest);
            let others = (0..at.len()).filter(|&other| other != axis).fold(0, |all, other| all | told[other]);
            region.add(Constraint { from: 0, to: told[axis], most: spread.present as f64 });
            region.add(Constraint { from: sets[axis], to: others, most });
            if let Some(index) = plain(&at[axis]) {
                let counted = Counted {
                    index: index as u8,
                    set: all_told,
                    degrees: degrees.clone(),
                    spread: spread.clone(),
                };
                region.counted.push(counted);
            }
        }
        // Indices of which no coordinate tells are free; a count of none says that there is nothing all the same.
        region.constraints.retain(|own| own.to & !own.from != 0 || own.most == 0.0);
        Some(region)
    }
}

/// The indices that a coordinate tells: the one that it is a multiple of, and no other.
fn tells(dim: &Dim, set: IndexSet) -> IndexSet {
    let mut own = members(set);
    let (Some(index), None) = (own.next(), own.next()) else { return 0 };
    let factor = dim.coefficient_of(&Symbol::index(u32::from(index)));
    let is_told = factor.and_then(|factor| factor.is_const()).is_some_and(|factor| factor != 0);
    if is_told { set } else { 0 }
}

/// The positions of any of several regions.
fn any(regions: &[Region], size: Size<'_>) -> Option<Region> {
    let somewhere: SmallVec<[&Region; 4]> = regions.iter().filter(|region| !region.is_nowhere()).collect();
    let all = regions.iter().fold(0, |all, region| all | region.indices);
    match somewhere.as_slice() {
        [] => return Some(Region { indices: all, ..Region::nowhere() }),
        &[only] if only.indices == all => return Some(only.clone()),
        _ => {}
    }
    let mut region = Region { indices: all, ..Region::default() };
    for key in keys(all) {
        let with = |part: &&Region| {
            let own = part.most(key.from & part.indices, key.to & part.indices, size);
            let free = members(key.to & !part.indices).map(size);
            product([own].into_iter().chain(free))
        };
        let most: f64 = somewhere.iter().map(with).sum();
        if most.is_finite() {
            region.add(Constraint { most, ..key });
        }
    }
    Some(region)
}
