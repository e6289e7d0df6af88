//! What is stored, by how many entries there are and where.
//!
//! **Model.** An entry of a tensor meets a coordinate of a dimension as often as that coordinate has entries, whatever its other
//! coordinates are: `P(i, j) = d(i) e(j) / n` for `n` entries, of which row `i` has `d(i)` and column `j` has `e(j)`. So the number of
//! ways in which entries of several tensors meet is a product over indices of `sum_x prod_f d_f(x)`, one sum for each index,
//! divided by `n^(rank - 1)` for each tensor. That is exact for stars (all that two tensors share is one index) if all coordinates are looked at,
//! and knows hubs and labels everywhere else; it does not know triangles.
//!
//! **What is kept of a product.** Of `c` ways that are expected to lead to one of `D` results, `D (1 - exp(-c / D))` are
//! different ones.
//!
//! **Cost.** A pass over the coordinates of an index that are looked at ([`frame`](crate::frame)), for each set of tensors that
//! meets there; sums are remembered.

use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_plan::derive::form::{IndexSet, bit, members};

use crate::frame::{Counts, Frame, share};

/// How many entries each coordinate of an index has.
#[derive(Clone, Debug)]
pub enum Degrees {
    /// This many coordinates have some, all of them equally many.
    Even(f64),
    /// Of the coordinates that are looked at.
    Counted(Counts),
}

impl Degrees {
    /// How many coordinates have entries.
    pub fn present(&self) -> f64 {
        match self {
            Degrees::Even(present) | Degrees::Counted(Counts { present, .. }) => present.max(1.0),
        }
    }
}

/// Where something differs from its fill.
#[derive(Clone, Debug)]
pub struct Support {
    /// How many entries there are.
    pub count: f64,
    /// The indices that it depends on, ascending, and their degrees.
    pub axes: SmallVec<[(u8, Degrees); 4]>,
}

/// What a support is at some of its indices.
struct Part<'s> {
    support: &'s Support,
    count: f64,
    /// Whether its degrees count: of a single index of several only whether there is an entry does.
    is_whole: bool,
    width: usize,
}

impl Support {
    /// Its indices.
    pub fn indices(&self) -> IndexSet {
        self.axes.iter().fold(0, |all, (index, _)| all | bit(*index))
    }

    /// How many different coordinates it has at some of its indices.
    pub fn count_at(&self, at: IndexSet) -> f64 {
        self.part(at).map_or(1.0, |part| part.count)
    }

    /// With other names for its indices.
    #[must_use]
    pub fn by_role(&self, role: &dyn Fn(u8) -> u8) -> Support {
        let mut axes: SmallVec<[(u8, Degrees); 4]> =
            self.axes.iter().map(|(index, degrees)| (role(*index), degrees.clone())).collect();
        axes.sort_by_key(|(index, _)| *index);
        Support { count: self.count, axes }
    }

    /// With these names for places.
    #[must_use]
    pub fn renamed(&self, names: &[u8]) -> Support {
        self.by_role(&|place| names.get(usize::from(place)).copied().unwrap_or(place))
    }

    /// With so many times as many entries, but at most `most`.
    #[must_use]
    pub fn limited(mut self, more: f64, most: f64) -> Support {
        let count = (self.count * more).min(most);
        let by = (count / self.count) as f32;
        self.count = count;
        for (_, degrees) in &mut self.axes {
            if let Degrees::Counted(counts) = degrees {
                counts.each = counts.each.iter().map(|&count| count * by).collect();
            }
        }
        self
    }

    fn part(&self, at: IndexSet) -> Option<Part<'_>> {
        let own: SmallVec<[&Degrees; 4]> =
            self.axes.iter().filter(|(index, _)| at & bit(*index) != 0).map(|(_, degrees)| degrees).collect();
        let width = own.len();
        if width == 0 {
            return None;
        }
        let is_whole = width == self.axes.len();
        let present: f64 = own.iter().map(|degrees| degrees.present()).product();
        let count = if is_whole { self.count } else { present.min(self.count) };
        Some(Part { support: self, count: count.max(1e-9), is_whole, width })
    }

    fn degrees(&self, index: u8) -> Option<&Degrees> {
        self.axes.iter().find(|(own, _)| *own == index).map(|(_, degrees)| degrees)
    }
}

/// Products of degrees at one index, and their sum.
type Products = (f64, Arc<[f32]>);

/// Degrees, and whether they count, or only whether there are any.
type Factor<'d> = (&'d Counts, bool);

/// Sums of products of degrees that were computed before.
#[derive(Debug, Default)]
pub struct Sums {
    known: RefCell<FxHashMap<SmallVec<[usize; 6]>, Products>>,
    /// Holds what the keys point to.
    held: RefCell<Vec<Arc<[f32]>>>,
}

/// What meets at one index.
struct Meeting {
    /// `sum_x prod_f d_f(x)`.
    sum: f64,
    /// The products, if some degrees are counted, at the coordinates of a frame.
    each: Option<(Arc<[f32]>, Arc<Frame>)>,
    /// How many coordinates there are, at most.
    present: f64,
}

impl Sums {
    /// The number of ways in which entries meet, at these indices; `size` says how far those run that no support has.
    pub fn joined(&self, supports: &[&Support], at: IndexSet, size: &dyn Fn(u8) -> f64) -> f64 {
        let parts: SmallVec<[Part<'_>; 6]> = supports.iter().filter_map(|support| support.part(at)).collect();
        let mut ways = 1.0;
        for part in &parts {
            ways /= part.count.powi(part.width as i32 - 1);
        }
        for index in members(at) {
            ways *= self.meeting(&parts, index, size(index)).sum;
        }
        let all: f64 = members(at).map(size).product();
        ways.min(all)
    }

    /// The support of what is kept at the indices `kept` of where all supports have entries, of all `at` which these indices.
    pub fn kept(
        &self,
        supports: &[&Support],
        at: IndexSet,
        kept: IndexSet,
        size: &dyn Fn(u8) -> f64,
    ) -> Support {
        let ways = self.joined(supports, at, size);
        let parts: SmallVec<[Part<'_>; 6]> = supports.iter().filter_map(|support| support.part(at)).collect();
        let meetings: SmallVec<[(u8, Meeting); 6]> =
            members(kept).map(|index| (index, self.meeting(&parts, index, size(index)))).collect();
        if meetings.is_empty() {
            return Support { count: 1.0, axes: SmallVec::new() };
        }
        let everything: f64 = meetings.iter().map(|(_, meeting)| meeting.present).product();
        let mut count = f64::INFINITY;
        let mut axes = SmallVec::new();
        for (index, meeting) in meetings {
            let others = (everything / meeting.present).max(1.0);
            let each = ways / meeting.sum.max(1e-300);
            let degrees = match &meeting.each {
                Some((products, frame)) => {
                    let (each, others) = (each as f32, others as f32);
                    let own: Arc<[f32]> = match kept == at {
                        true => products.iter().map(|&product| product * each).collect(),
                        false => {
                            let by = each / others;
                            products.iter().map(|&product| others * share(product * by)).collect()
                        }
                    };
                    count = count.min(frame.sum(&own));
                    let some: SmallVec<[f32; 64]> = own.iter().map(|&degree| degree.min(1.0)).collect();
                    let present = frame.sum(&some);
                    Degrees::Counted(Counts { each: own, present, frame: Arc::clone(frame) })
                }
                None => {
                    let own = ways / meeting.present;
                    let distinct = if kept == at { own } else { others * -(-own / others).exp_m1() };
                    count = count.min(meeting.present * distinct);
                    Degrees::Even(meeting.present * -(-own).exp_m1())
                }
            };
            axes.push((index, degrees));
        }
        Support { count: count.max(1e-9), axes }
    }

    /// Where some support has entries, of supports of the indices `at`.
    pub fn united(&self, supports: &[&Support], at: IndexSet, size: &dyn Fn(u8) -> f64) -> Support {
        let all: f64 = members(at).map(size).product();
        let mut count = 0.0;
        for support in supports {
            let missing: f64 = members(at & !support.indices()).map(size).product();
            count += support.count * missing;
        }
        let axes = members(at)
            .map(|index| {
                let own: SmallVec<[&Degrees; 4]> =
                    supports.iter().filter_map(|support| support.degrees(index)).collect();
                let degrees = match own.as_slice() {
                    &[only] if supports.len() == 1 => only.clone(),
                    own if own.len() == supports.len() => Degrees::Even(
                        own.iter().map(|degrees| degrees.present()).sum::<f64>().min(size(index)),
                    ),
                    _ => Degrees::Even(size(index)),
                };
                (index, degrees)
            })
            .collect();
        Support { count: count.min(all), axes }
    }

    fn meeting(&self, parts: &[Part<'_>], index: u8, size: f64) -> Meeting {
        let mut scale = 1.0;
        let mut present = size;
        let mut vectors: SmallVec<[Factor<'_>; 4]> = SmallVec::new();
        let mut share = 1.0;
        for part in parts {
            let Some(degrees) = part.support.degrees(index) else { continue };
            present = present.min(degrees.present());
            let counts = part.is_whole || part.width > 1;
            match degrees {
                Degrees::Even(own) => {
                    // Coordinates are as good as any; each has the mean of entries.
                    share *= own.max(1.0) / size.max(1.0);
                    if counts {
                        scale *= part.count / own.max(1.0);
                    }
                }
                Degrees::Counted(vector) => {
                    // Of some indices of several, degrees are what is left of them.
                    if counts && !part.is_whole {
                        scale *= part.count / part.support.count.max(1e-9);
                    }
                    vectors.push((vector, counts));
                }
            }
        }
        if vectors.is_empty() {
            return Meeting { sum: size * share.min(1.0) * scale, each: None, present };
        }
        let (sum, each) = self.product(&vectors);
        let all = share.min(1.0) * scale;
        let frame = Arc::clone(&vectors[0].0.frame);
        Meeting { sum: sum * all, each: Some((each, frame)), present: present.max(1.0) }
    }

    /// The products of degrees, or of whether there are any, and their sum.
    fn product(&self, vectors: &[Factor<'_>]) -> Products {
        let mut key: SmallVec<[usize; 6]> = vectors
            .iter()
            .map(|(vector, counts)| vector.each.as_ptr() as usize * 2 + usize::from(*counts))
            .collect();
        key.sort_unstable();
        if let Some((sum, each)) = self.known.borrow().get(&key) {
            return (*sum, each.clone());
        }
        let len = vectors.iter().map(|(vector, _)| vector.each.len()).min().unwrap_or(0);
        let mut each = vec![1.0_f32; len];
        for (vector, counts) in vectors {
            let all = each.iter_mut().zip(vector.each.iter());
            match *counts {
                true => all.for_each(|(product, &degree)| *product *= degree),
                false => all.for_each(|(product, &degree)| *product *= degree.min(1.0)),
            }
        }
        let sum = vectors.first().map_or(0.0, |(vector, _)| vector.frame.sum(&each));
        let each: Arc<[f32]> = each.into();
        self.held.borrow_mut().extend(vectors.iter().map(|(vector, _)| Arc::clone(&vector.each)));
        self.known.borrow_mut().insert(key, (sum, each.clone()));
        (sum, each)
    }
}
