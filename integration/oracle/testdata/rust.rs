// Runs Rust's standard library.
use std::arch::asm;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::fmt::Write;
use std::hint::black_box;

const MAGIC: u64 = 0x656c6361726f;

macro_rules! mark {
    ($name:literal) => {
        unsafe { mark(concat!($name, "\0").as_ptr()) }
    };
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn mark(name: *const u8) {
    asm!("int3", in("rax") name, in("rcx") MAGIC);
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn mark(name: *const u8) {
    asm!("brk #0", in("x0") name, in("x1") MAGIC);
}

#[inline(never)]
fn maps(round: u64) {
    let mut m = HashMap::new();
    let mut b = BTreeMap::new();
    for i in 0..40u64 {
        let k = i.wrapping_mul(2654435761 + round) % 97;
        *m.entry(k).or_insert(0u64) += i;
        b.insert(format!("key {k}"), vec![i; (k % 9) as usize]);
    }
    m.retain(|k, _| k % 3 != 0);
    black_box(m.values().sum::<u64>());
    while b.len() > 5 {
        b.pop_first();
    }
    black_box(b.range("key 5".to_string()..).count());
}

#[inline(never)]
fn sorting(round: u64) {
    let mut v: Vec<u64> = (0..90).map(|i| (i * 7919 + round * 31) % 1000).collect();
    v.sort();
    v.reverse();
    v.sort_unstable_by_key(|x| x % 100);
    let mut s: Vec<String> = v.iter().map(|x| x.to_string()).collect();
    s.sort_by(|a, b| b.cmp(a));
    s.dedup();
    let mut h: BinaryHeap<_> = v.iter().copied().collect();
    let mut d = VecDeque::new();
    while let Some(x) = h.pop() {
        d.push_front(x);
    }
    black_box((s, d));
}

#[inline(never)]
fn text(round: u64) {
    let mut s = String::new();
    for i in 0..8 {
        write!(s, "{i:>5} {:#x} {:?} {:.3} {:e}|", i * round, Some("x"), round as f64 / 7.0, 1e100 / (i as f64 + 1.0)).unwrap();
    }
    black_box(format!("{:#?}", (1, "two", [3.5, 4.25])));
    black_box("3.14159".parse::<f64>().unwrap() + "17".parse::<i32>().unwrap() as f64);
    black_box("nope".parse::<u8>().is_err());
    black_box(s.split('|').map(|p| p.trim().to_uppercase()).collect::<Vec<_>>().join(","));
    black_box(s.find("0x").map(|i| s[i..].char_indices().rev().count()));
    black_box(s.replace("0", "zero").bytes().fold(0u32, |a, b| a.rotate_left(3) ^ b as u32));
}

struct Noisy(Vec<u8>);
impl Drop for Noisy {
    fn drop(&mut self) {
        black_box(&self.0);
    }
}

#[inline(never)]
fn fail(n: usize, v: &[u8]) -> u8 {
    let _k = Noisy(vec![1; n + 1]);
    if n == 0 { v[black_box(100)] } else { fail(n - 1, v) + 1 }
}

#[inline(never)]
fn panics() {
    let r = std::panic::catch_unwind(|| fail(4, &[1, 2, 3]));
    black_box(r.is_err());
}

#[inline(never)]
fn files() {
    let path = std::env::temp_dir().join(format!("oracle-{}", std::process::id()));
    std::fs::write(&path, "some\nlines\nof text\n").unwrap();
    black_box(std::fs::read_to_string(&path).unwrap().lines().count());
    std::fs::remove_file(&path).unwrap();
    black_box(std::time::Instant::now().elapsed());
    let m = std::sync::Mutex::new(5);
    *m.lock().unwrap() += 1;
    black_box(std::env::var("PATH").is_ok());
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    for round in 0.. {
        mark!("maps");
        maps(round);
        mark!("sorting");
        sorting(round);
        mark!("text");
        text(round);
        mark!("panics");
        panics();
        mark!("files");
        files();
        mark!("");
    }
}
