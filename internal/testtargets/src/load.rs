//! A Rust program with generics, closures, trait objects and a hash map.
//!
//! One thread computes for ever: `main > run_load > apply > burn_60`, `burn_30` and `burn_10` (their
//! times stand as 60:30:10), `sort_numbers` and `count_words`. Another waits for a message. It ends by
//! itself after the number of seconds given as first argument (default 120).
use std::collections::HashMap;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const UNIT: u64 = 4000;

/// Keeps the optimiser from knowing a value (std::hint::black_box came with Rust 1.66, Debian 12 has 1.63).
#[inline(always)]
fn keep(value: u64) -> u64 {
    unsafe { std::ptr::read_volatile(&value) }
}

#[inline(always)]
fn units(mut seed: u64, count: u64) -> u64 {
    for _ in 0..count * UNIT {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
    }
    seed
}

#[inline(never)]
fn burn_60(seed: u64) -> u64 {
    units(seed, 60)
}

#[inline(never)]
fn burn_30(seed: u64) -> u64 {
    units(seed, 30)
}

#[inline(never)]
fn burn_10(seed: u64) -> u64 {
    units(seed, 10)
}

#[inline(never)]
fn apply<F: Fn(u64) -> u64>(work: F, seed: u64) -> u64 {
    let result = work(seed | 1);
    keep(result) ^ seed
}

struct Item<T> {
    key: T,
    weight: u32,
}

#[inline(never)]
fn sort_numbers<T: Ord + From<u32>>(seed: u64) -> u32 {
    let mut items: Vec<Item<T>> = (0..2000u32)
        .map(|i| {
            let weight = (seed as u32).wrapping_add(i).wrapping_mul(2654435761);
            Item { key: T::from(weight >> 3), weight }
        })
        .collect();
    items.sort_by(|a, b| b.key.cmp(&a.key));
    items[items.len() / 2].weight
}

#[inline(never)]
fn count_words(seed: u64) -> usize {
    let mut counts: HashMap<String, u32> = HashMap::new();
    for i in 0..400 {
        *counts.entry(format!("word{}", (seed >> (i % 40)) % 90)).or_insert(0) += 1;
    }
    counts.len()
}

#[inline(never)]
fn run_load(end: Instant) -> u64 {
    let mut seed = 88172645463325252u64;
    while Instant::now() < end {
        seed = apply(burn_60, seed);
        seed = apply(|s| burn_30(s).wrapping_add(1), seed);
        seed = apply(|s| burn_10(s).wrapping_add(2), seed);
        seed = seed.wrapping_add(u64::from(sort_numbers::<u64>(seed)));
        seed = seed.wrapping_add(count_words(seed) as u64);
        seed = keep(seed);
    }
    seed
}

#[inline(never)]
fn wait_for_work(queue: mpsc::Receiver<u64>) {
    let _ = queue.recv();
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(120);
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new()
        .name("queue".into())
        .spawn(move || wait_for_work(receiver))
        .expect("start a thread");
    println!("ready");
    keep(run_load(Instant::now() + Duration::from_secs(seconds)));
    drop(sender);
}

// SPDX-License-Identifier: Apache-2.0
