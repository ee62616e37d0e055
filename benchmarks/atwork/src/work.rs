// Maps, strings, sorting, closures and trees, for ever.
use std::collections::{BTreeMap, HashMap};

enum Tree {
    Leaf,
    Node(Box<Tree>, u64, Box<Tree>),
}

fn insert(t: Tree, k: u64) -> Tree {
    match t {
        Tree::Leaf => Tree::Node(Box::new(Tree::Leaf), k, Box::new(Tree::Leaf)),
        Tree::Node(l, v, r) if k < v => Tree::Node(Box::new(insert(*l, k)), v, r),
        Tree::Node(l, v, r) => Tree::Node(l, v, Box::new(insert(*r, k))),
    }
}

fn sum(t: &Tree) -> u64 {
    match t {
        Tree::Leaf => 0,
        Tree::Node(l, v, r) => sum(l).wrapping_add(*v).wrapping_add(sum(r)),
    }
}

fn words(round: u64) -> usize {
    let mut seen: HashMap<String, u64> = HashMap::new();
    for i in 0..4000u64 {
        *seen.entry(format!("{:x}-{}", i * 7919 % 10007, round % 16)).or_default() += i;
    }
    let mut order: Vec<_> = seen.into_iter().collect();
    order.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let index: BTreeMap<_, _> = order.iter().map(|(w, n)| (n, w.to_uppercase())).collect();
    index.values().filter(|w| w.contains("A1")).count()
}

fn main() {
    let mut total = 0u64;
    for round in 0.. {
        let mut t = Tree::Leaf;
        for i in 0..1000u64 {
            t = insert(t, i * 7919 % 10007);
        }
        total = total.wrapping_add(words(round) as u64).wrapping_add(sum(&t));
        std::hint::black_box(total);
    }
}

// SPDX-License-Identifier: Apache-2.0
