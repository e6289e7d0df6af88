//! The rules about groups.

use tj_ir::expr::Source;
use tj_ir::text::counted;
use tj_ir::{Dim, Expr};

use super::{Finding, Rule};
use crate::fuse::{Fused, misfit};
use crate::group::is_dense_contraction;
use crate::plan::QueryId;

/// Where a query is computed.
#[derive(Clone, Copy)]
struct Slot {
    group: usize,
    position: usize,
}

/// Checks the groups of a plan whose expressions are in order.
pub(super) fn check(fused: &Fused) -> Vec<Finding> {
    let plan = &fused.plan;
    let mut findings = Vec::new();
    let mut slots: Vec<Option<Slot>> = vec![None; plan.queries.len()];
    for (group, of) in fused.groups.iter().enumerate() {
        for (position, id) in of.queries.iter().enumerate() {
            let slot = Some(Slot { group, position });
            match slots.get_mut(id.index()) {
                Some(free @ None) => *free = slot,
                Some(Some(_)) => findings.push(of_group(*id, "it is in two groups")),
                None => {
                    let what = format!("group {group} has {id}, which does not exist");
                    findings.push(Finding::of_plan(Rule::Id, what));
                }
            }
        }
    }
    for id in plan.query_ids().filter(|id| slots[id.index()].is_none()) {
        findings.push(of_group(id, "it is in no group"));
    }
    if !findings.is_empty() {
        return findings;
    }

    let mut needed_outside = plan.produced();
    for id in plan.query_ids() {
        let own = slots[id.index()].expect("every query has a slot by now");
        let outer = fused.groups[own.group].outer;
        for (node, source) in plan.reads(id) {
            let Source::Def(q) = source else { continue };
            let at = if let Expr::Read { at, .. } = plan.arena.node(node) { at.as_slice() } else { &[] };
            let read = slots[q as usize].expect("every query has a slot by now");
            if read.group != own.group {
                needed_outside[q as usize] = true;
            }
            if (read.group, read.position) >= (own.group, own.position) {
                findings.push(of_group(id, &format!("it reads q{q}, which is computed later")));
            } else if read.group == own.group && (0..outer).any(|d| at.get(d) != Some(&Dim::index(d as u32)))
            {
                let what = format!("it reads q{q} of its own group at another outer position");
                findings.push(of_group(id, &what));
            }
        }
    }
    for (number, group) in fused.groups.iter().enumerate() {
        let Some(&head) = group.queries.first() else {
            findings.push(Finding::of_plan(Rule::Group, format!("group {number} is empty")));
            continue;
        };
        let first = &plan.query(head).shape;
        let several = group.queries.len() > 1;
        for &id in &group.queries {
            let shape = &plan.query(id).shape;
            if shape.len() < group.outer || first.len() < group.outer {
                findings.push(of_group(
                    id,
                    &format!("its group shares {}", counted(group.outer, "outer axis", "outer axes")),
                ));
            } else if shape[..group.outer] != first[..group.outer] {
                findings.push(of_group(id, "its outer sizes differ from those of its group"));
            } else if several && group.outer == 0 && !shape.is_empty() && plan.root_call(id).is_none() {
                findings.push(of_group(id, "it shares a kernel, but no outer axis"));
            }
        }
        if let Some(id) = misfit(plan, &group.queries) {
            findings.push(of_group(id, "it shares a kernel with a call that it is no other result of"));
        }
        if several && is_dense_contraction(plan, head) && group.outer + 1 < first.len() {
            let shared = counted(group.outer, "outer axis", "outer axes");
            let what = format!("it is a dense contraction whose group shares {shared}");
            findings.push(of_group(head, &what));
        }
        let local: Vec<bool> = group.queries.iter().map(|id| !needed_outside[id.index()]).collect();
        if local != group.local {
            let what = format!("what is local in group {number} is {local:?}, not {:?}", group.local);
            findings.push(Finding::of_plan(Rule::Group, what));
        }
    }
    findings
}

fn of_group(id: QueryId, what: &str) -> Finding {
    Finding::of(id, Rule::Group, what.to_string())
}
