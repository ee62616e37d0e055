// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"os"
	"path/filepath"
	"testing"
)

func bigFiles() []string {
	var out []string
	for _, pattern := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/jvm/*/lib/server/libjvm.so",
		"/usr/bin/node"} {
		m, _ := filepath.Glob(pattern)
		for _, p := range m {
			if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() {
				out = append(out, p)
			}
		}
	}
	return out
}

func BenchmarkOpenAndFirstLookup(b *testing.B) {
	for _, p := range bigFiles() {
		b.Run(filepath.Base(p), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				t := openTable(b, p)
				e := t.symbols().code[len(t.syms.code)/2]
				t.Frames((e.lo+e.hi)/2, nil)
			}
			b.ReportMetric(float64(len(openTable(b, p).symbols().syms)), "symbols")
		})
	}
}

func BenchmarkTenThousandAddresses(b *testing.B) {
	for _, p := range bigFiles() {
		b.Run(filepath.Base(p), func(b *testing.B) {
			b.ReportAllocs()
			var out []Frame
			for range b.N {
				t := openTable(b, p)
				addrs := spread(t, 10000)
				named := 0
				for _, a := range addrs {
					if out = t.Frames(a, out[:0]); len(out) > 0 {
						named++
					}
				}
				b.ReportMetric(float64(named), "named")
			}
		})
	}
}

func BenchmarkRepeatedLookup(b *testing.B) {
	b.ReportAllocs()
	t := openTable(b, "/lib/x86_64-linux-gnu/libc.so.6")
	addrs := spread(t, 1024)
	var out []Frame
	for _, a := range addrs {
		out = t.Frames(a, out[:0])
	}
	i := 0
	for b.Loop() {
		out = t.Frames(addrs[i&1023], out[:0])
		i++
	}
}

func spread(t *Table, n int) []uint64 {
	var big extent
	for _, e := range t.symbols().code {
		if e.hi-e.lo > big.hi-big.lo {
			big = e
		}
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = big.lo + (big.hi-big.lo)*uint64(i)/uint64(n)
	}
	return out
}
