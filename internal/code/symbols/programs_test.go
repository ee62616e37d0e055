// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"path/filepath"
	"testing"
)

const cSource = `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int square(int x) { return x * x; }
static int cube(int x) { return square(x) * x; }
__attribute__((noinline)) int work(int n) {
	int s = 0;
	for (int i = 0; i < n; i++)
		s += cube(i) ^ square(s);
	return s;
}
__attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) int risky(const char *s) {
	if (__builtin_expect(!s, 0)) {
		fprintf(stderr, "no string\n");
		abort();
	}
	return (int)strlen(s) + square(s[0]);
}
static __attribute__((noinline)) int keep(int a, int unused) { return work(a) + cube(a); }
int main(int argc, char **argv) {
	printf("%d %d %d %d\n", work(argc), fib(argc), risky(argv[0]), keep(argc, 1));
	char *p = malloc(10);
	free(p);
	return 0;
}
`

const cppSource = `
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>
namespace {
struct Hidden {
	int v;
	explicit Hidden(int x) : v(x * 3) {}
	int twice() const { return v * 2; }
};
int helper(int x) { return Hidden(x).twice(); }
}
namespace shapes {
struct Shape { virtual ~Shape() {} virtual double area() const = 0; };
template <typename T> struct Box : Shape {
	T w, h;
	Box(T a, T b) : w(a), h(b) {}
	double area() const override { return double(w) * double(h); }
};
template <typename T> __attribute__((noinline)) T total(const std::vector<T> &v) {
	T s{};
	for (const auto &x : v) s += x;
	return s;
}
}
__attribute__((noinline)) int sorted(std::vector<int> v) {
	std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
	return v.empty() ? 0 : v[0] + helper(v.size());
}
int main(int argc, char **argv) {
	std::vector<int> v;
	for (int i = 0; i < argc * 100; i++) v.push_back(i * 7919 % 1000);
	std::unique_ptr<shapes::Shape> s = std::make_unique<shapes::Box<int>>(argc, 3);
	std::map<std::string, int> m;
	for (int i = 0; i < argc; i++) m[argv[i]] += i;
	std::printf("%d %f %d %zu\n", sorted(v), s->area(), shapes::total(v), m.size());
	return 0;
}
`

const rustSource = `
use std::collections::HashMap;
trait Shape { fn area(&self) -> f64; }
struct Square(f64);
impl Shape for Square {
    #[inline(never)]
    fn area(&self) -> f64 { self.0 * self.0 }
}
mod inner {
    #[inline(never)]
    pub fn count<T: std::hash::Hash + Eq + Clone>(xs: &[T]) -> usize {
        let mut m = std::collections::HashMap::new();
        for x in xs { *m.entry(x.clone()).or_insert(0) += 1; }
        m.len()
    }
}
#[inline(never)]
fn sum(xs: &[u64]) -> u64 { xs.iter().map(|x| x * 3).filter(|x| x % 2 == 0).sum() }
fn main() {
    let n = std::env::args().count() as u64;
    let xs: Vec<u64> = (0..n * 1000).collect();
    let s: Box<dyn Shape> = Box::new(Square(n as f64));
    let mut m: HashMap<String, u64> = HashMap::new();
    m.insert("a".to_string(), sum(&xs));
    println!("{} {} {:?}", s.area(), inner::count(&xs), m);
}
`

type program struct {
	name   string
	source string
	file   string
	args   []string // compiler and flags
	after  [][]string
	unfit  string // a reference tool that cannot read it: "llvm" or "bfd"
}

var programs = []program{
	{name: "c-O0-dwarf4", source: cSource, file: "a.c", args: []string{"gcc", "-O0", "-g", "-gdwarf-4"}},
	{name: "c-O2-dwarf5", source: cSource, file: "a.c", args: []string{"gcc", "-O2", "-g", "-gdwarf-5"}},
	{name: "c-O2-dwarf3", source: cSource, file: "a.c", args: []string{"gcc", "-O2", "-g", "-gdwarf-3", "-gstrict-dwarf"}},
	{name: "c-O2-dwarf2", source: cSource, file: "a.c", args: []string{"gcc", "-O2", "-g", "-gdwarf-2"}},
	{name: "c-O2-sections-gc", source: cSource, file: "a.c", args: []string{"gcc", "-O2", "-g", "-ffunction-sections",
		"-Wl,--gc-sections"}},
	{name: "c-O3-static", source: cSource, file: "a.c", args: []string{"gcc", "-O3", "-g", "-static"}},
	{name: "c-lto", source: cSource, file: "a.c", args: []string{"gcc", "-O2", "-g", "-flto"},
		unfit: "bfd"}, /* takes file names from the wrong unit */
	{name: "cpp-O2-dwarf4-zlib", source: cppSource, file: "a.cc", args: []string{"g++", "-O2", "-g", "-gdwarf-4",
		"-gz=zlib"}},
	{name: "cpp-O2-dwarf5", source: cppSource, file: "a.cc", args: []string{"g++", "-O2", "-g", "-gdwarf-5"}},
	{name: "cpp-O1-dwarf64", source: cppSource, file: "a.cc", args: []string{"g++", "-O1", "-g", "-gdwarf64", "-gdwarf-5"},
		unfit: "bfd"}, /* loses lines and inlined calls */
	{name: "rust-O3", source: rustSource, file: "a.rs", args: []string{"rustc", "-C", "opt-level=3", "-g"}},
	{name: "rust-O3-v0", source: rustSource, file: "a.rs", args: []string{"rustc", "-C", "opt-level=3", "-g", "-C",
		"symbol-mangling-version=v0"}},
	{name: "cpp-zstd", source: cppSource, file: "a.cc", args: []string{"g++", "-O2", "-g"},
		unfit: "llvm", // version 14 cannot read zstd
		after: [][]string{{"objcopy", "--compress-debug-sections=zstd", "a.out"}}},
	{name: "cpp-split", source: cppSource, file: "a.cc", args: []string{"g++", "-O2", "-g"},
		after: [][]string{{"objcopy", "--only-keep-debug", "a.out", "a.debug"}, {"strip", "a.out"},
			{"objcopy", "--add-gnu-debuglink=a.debug", "a.out"}}},
	{name: "cpp-dwz", source: cppSource, file: "a.cc", args: []string{"g++", "-O2", "-g", "-gdwarf-4"},
		after: [][]string{{"dwz", "a.out"}}},
	{name: "cpp-dwz-shared", source: cppSource, file: "a.cc", args: []string{"g++", "-O2", "-g", "-gdwarf-4"},
		unfit: "llvm", // version 14 cannot read supplementary files
		after: [][]string{{"cp", "a.out", "b.out"}, {"dwz", "-m", "shared.debug", "a.out", "b.out"}}},
}

func (p *program) build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	need(t, p.args[0])
	for _, cmd := range p.after {
		need(t, cmd[0])
	}
	write(t, dir, p.file, p.source)
	run(t, dir, append(p.args, "-o", "a.out", p.file)...)
	for _, cmd := range p.after {
		run(t, dir, cmd...)
	}
	return filepath.Join(dir, "a.out")
}
