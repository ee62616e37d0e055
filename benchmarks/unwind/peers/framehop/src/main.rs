//! Walks recorded stacks with framehop; usage: framehop-peer FILE PASSES COLDPASSES.
//!
//! The format of the file is told in ../../snapshot/doc.go. A cold walk begins with a new cache; making it does not
//! count. Times are those of the thread's processor clock, as for the other unwinders.

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, Module, Unwinder};
use std::collections::HashMap;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// The bytes of a section, a part of a file that is read once.
#[derive(Clone, Default)]
struct Bytes {
    file: Arc<Vec<u8>>,
    at: Range<usize>,
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.file[self.at.clone()]
    }
}

struct Stack {
    pc: u64,
    regs: [u64; 16],
    addr: u64,
    bytes: Vec<u8>,
    pcs: Vec<u64>,
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, n: usize) -> &'a [u8] {
        let (a, b) = self.0.split_at(n);
        self.0 = b;
        a
    }
    fn word(&mut self) -> u64 {
        u64::from_le_bytes(self.take(8).try_into().unwrap())
    }
    fn number(&mut self) -> usize {
        u32::from_le_bytes(self.take(4).try_into().unwrap()) as usize
    }
}

/// The sections of an ELF file by name: address, and place in the file.
fn sections(file: &[u8]) -> HashMap<String, (u64, Range<usize>)> {
    let u16_at = |at: usize| u16::from_le_bytes(file[at..at + 2].try_into().unwrap()) as usize;
    let u32_at = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let u64_at = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    let (table, size, count, names) = (u64_at(0x28) as usize, u16_at(0x3a), u16_at(0x3c), u16_at(0x3e));
    let names = u64_at(table + names * size + 0x18) as usize;
    let mut found = HashMap::new();
    for i in 0..count {
        let s = table + i * size;
        let name = &file[names + u32_at(s)..];
        let name = &name[..name.iter().position(|&b| b == 0).unwrap()];
        let (addr, off, len) = (u64_at(s + 0x10), u64_at(s + 0x18) as usize, u64_at(s + 0x20) as usize);
        if u32_at(s + 4) != 8 {
            // not SHT_NOBITS
            found.insert(String::from_utf8_lossy(name).into_owned(), (addr, off..off + len));
        }
    }
    found
}

fn module(path: &str, range: Range<u64>, bias: u64, files: &mut HashMap<String, Arc<Vec<u8>>>) -> Option<Module<Bytes>> {
    let file = match files.get(path) {
        Some(f) => f.clone(),
        None => {
            let f = Arc::new(std::fs::read(path).ok()?);
            files.insert(path.to_string(), f.clone());
            f
        }
    };
    let all = sections(&file);
    let data = |name: &str| all.get(name).map(|(_, at)| Bytes { file: file.clone(), at: at.clone() });
    let svma = |name: &str| all.get(name).map(|(addr, at)| *addr..*addr + at.len() as u64);
    let info = ExplicitModuleSectionInfo {
        base_svma: 0,
        text_svma: svma(".text"),
        text: data(".text"),
        got_svma: svma(".got"),
        eh_frame_svma: svma(".eh_frame"),
        eh_frame: data(".eh_frame"),
        eh_frame_hdr_svma: svma(".eh_frame_hdr"),
        eh_frame_hdr: data(".eh_frame_hdr"),
        ..Default::default()
    };
    Some(Module::new(path.to_string(), range, bias, info))
}

fn load(path: &str) -> (UnwinderX86_64<Bytes>, Vec<Stack>) {
    let bytes = std::fs::read(path).expect("the file of stacks");
    let mut c = Cursor(&bytes);
    assert_eq!(c.take(8), b"PWSTACK1", "no file of stacks");
    let mut unwinder = UnwinderX86_64::new();
    let mut files = HashMap::new();
    for _ in 0..c.number() {
        let (start, end, bias) = (c.word(), c.word(), c.word());
        let n = c.number();
        let path = String::from_utf8_lossy(c.take(n)).into_owned();
        if let Some(m) = module(&path, start..end, bias, &mut files) {
            unwinder.add_module(m);
        }
    }
    let mut stacks = Vec::new();
    for _ in 0..c.number() {
        let pc = c.word();
        let mut regs = [0; 16];
        regs.iter_mut().for_each(|r| *r = c.word());
        let addr = c.word();
        let n = c.number();
        let bytes = c.take(n).to_vec();
        let pcs = (0..c.number()).map(|_| c.word()).collect();
        stacks.push(Stack { pc, regs, addr, bytes, pcs });
    }
    (unwinder, stacks)
}

/// Walks a stack and gives each frame's program counter to `f`.
fn walk(u: &UnwinderX86_64<Bytes>, cache: &mut CacheX86_64, s: &Stack, mut f: impl FnMut(u64)) -> u64 {
    let mut read = |addr: u64| {
        let off = addr.wrapping_sub(s.addr) as usize;
        match s.bytes.get(off..off.wrapping_add(8)) {
            Some(b) => Ok(u64::from_le_bytes(b.try_into().unwrap())),
            None => Err(()),
        }
    };
    let regs = UnwindRegsX86_64::new(s.pc, s.regs[7], s.regs[6]);
    let mut frames = u.iter_frames(s.pc, regs, cache, &mut read);
    let mut n = 0;
    while let Ok(Some(frame)) = frames.next() {
        f(frame.address());
        n += 1;
    }
    n
}

#[repr(C)]
struct Timespec {
    sec: i64,
    nsec: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, ts: *mut Timespec) -> i32;
}

/// The processor time of this thread in nanoseconds.
fn cpu_time() -> i64 {
    const CLOCK_THREAD_CPUTIME_ID: i32 = 3;
    let mut ts = Timespec { sec: 0, nsec: 0 };
    unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut ts) };
    ts.sec * 1_000_000_000 + ts.nsec
}

/// What is measured when nothing happens between two readings.
fn clock_cost() -> i64 {
    (0..1000).map(|_| { let from = cpu_time(); cpu_time() - from }).min().unwrap()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let passes = |i: usize| args[i].parse::<u32>().expect("a number of passes");
    let (unwinder, stacks) = load(&args[1]);
    let mut cache = CacheX86_64::<_>::new();
    let (mut frames, mut right) = (0, 0);
    for s in &stacks {
        let mut got = Vec::new();
        frames += walk(&unwinder, &mut cache, s, |pc| got.push(pc));
        right += (got == s.pcs) as u32;
    }
    let (from, mut n) = (cpu_time(), 0);
    for _ in 0..passes(2) {
        for s in &stacks {
            n += walk(&unwinder, &mut cache, s, |pc| { std::hint::black_box(pc); });
        }
    }
    let warm = (cpu_time() - from) as f64 / n.max(1) as f64;
    let (cost, mut cold, mut n) = (clock_cost(), 0, 0);
    for _ in 0..passes(3) {
        for s in &stacks {
            let mut cache = CacheX86_64::<_>::new();
            let from = cpu_time();
            n += walk(&unwinder, &mut cache, s, |pc| { std::hint::black_box(pc); });
            cold += cpu_time() - from - cost;
        }
    }
    let cold = cold as f64 / n.max(1) as f64;
    println!(
        "{{\"frames\":{frames},\"ns_per_frame_warm\":{warm:.2},\"ns_per_frame_cold\":{cold:.2},\"right\":{right},\"stacks\":{}}}",
        stacks.len()
    );
}

// SPDX-License-Identifier: Apache-2.0
