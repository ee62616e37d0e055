// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

const mostFirstReads = 6

func TestNewMethodTakesFewReads(t *testing.T) {
	for name, r := range namedReleases {
		f := newNamed(r)
		code, total, _ := cart(f, r)
		v := f.open(t)
		n := v.frameSource()
		if !n.ready(code) {
			t.Fatalf("%s: %v", name, n.err)
		}
		reads := 0
		counting(v, &reads)
		if m, err := n.methods.methodAt(total); err != nil || m.name != "com.example.Cart.total" || m.file != "Cart.java" {
			t.Errorf("%s: %+v", name, m)
		}
		if reads > mostFirstReads {
			t.Errorf("%s: %d reads", name, reads)
		}
	}
}

func BenchmarkNewMethod(b *testing.B) {
	r := namedReleases["JDK 17"]
	f := newNamed(r)
	code, total, _ := cart(f, r)
	v := f.open(b)
	n := v.frameSource()
	n.ready(code)
	reads := 0
	counting(v, &reads)
	b.ReportAllocs()
	for b.Loop() {
		clear(n.methods.byAddress)
		v.cached.drop()
		if _, err := n.methods.methodAt(total); err != nil {
			b.Fatal("no method")
		}
	}
	b.ReportMetric(float64(reads)/float64(b.N), "reads/op")
}

func stackOf(f *named, r namedRelease, compiled bool) (words []uint64, list []frames.Frame) {
	_, bytecode := interpreterAt(f.fake)
	const size = 12
	for i := range deepStack {
		code, total, _ := cart(f, r)
		sp := uint64(namedStack + 8*size*i)
		frame := make([]uint64, size)
		if compiled {
			frame[size-1] = code + 40
			list = append(list, frames.Frame{PC: code + 40, SP: sp + 8*size, AfterCall: true})
		} else {
			less := 0
			if r.major < 9 {
				less = 1
			}
			frame[2+less], frame[4+less], frame[7] = f.word(total+8)+32+12, 0xcac4e, total
			frame[10], frame[11] = sp+8*10+8*size, bytecode+1
			list = append(list, frames.Frame{PC: bytecode + 1, FP: sp + 8*10, SP: sp, AfterCall: true})
		}
		for j := range list {
			list[j].Module = generated
		}
		words = append(words, frame...)
	}
	return words, list
}

// Each frame is read by itself.
const (
	deepStack      = 10
	mostStackReads = 8 * deepStack
	mostAgainReads = 5 * deepStack
)

func TestNamingAStackReadsEachPageOnce(t *testing.T) {
	for name, r := range namedReleases {
		for _, compiled := range []bool{false, true} {
			f := newNamed(r)
			words, list := stackOf(f, r, compiled)
			v := f.open(t)
			n := v.frameSource()
			for i := range list {
				v.find(list[i].PC)
			}
			reads, at := 0, int64(0)
			counting(v, &reads)
			walk := func() int {
				s := begin(n, nil, words...)
				at = procmem.Now()
				s.At = at
				n.begin(s)
				reads = 0
				var refs []managed.Ref
				for i := range list {
					refs, _ = n.managedFrames(&list[i], refs)
				}
				for i, ref := range refs {
					fs, truth := n.symbolize(ref, nil, nil)
					if truth == managed.Freed || fs[len(fs)-1].Function != "com.example.Cart.total" {
						t.Errorf("%s, compiled %v, frame %d: %v, %v", name, compiled, i, fs, truth)
					}
				}
				if len(refs) != len(list) {
					t.Errorf("%s: %d of %d frames", name, len(refs), len(list))
				}
				return reads
			}
			first, again := walk(), walk()
			t.Logf("%s, compiled %v: %d reads for %d frames, %d when they are met again", name, compiled, first, len(list),
				again)
			if first > mostStackReads || again > mostAgainReads {
				t.Errorf("%s, compiled %v: %d reads, %d when they are met again", name, compiled, first, again)
			}
		}
	}
}
