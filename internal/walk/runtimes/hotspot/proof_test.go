// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"testing"

	"prywalk/frames"
)

// The interpreter's place and the headers of code agree, or never will: a proof may fail at the start only.
func TestACodeCacheIsProvenOrGivenUp(t *testing.T) {
	for _, c := range []struct {
		what  string
		spoil func(*fake)
		want  [3]bool // proven at first, proven after many attempts, given up
	}{
		{"as it is", func(*fake) {}, [3]bool{true, true, false}},
		{"an interpreter elsewhere", func(f *fake) { f.put(stubsAt, codeEnd-8) }, [3]bool{false, false, true}},
		{"an interpreter of no length", func(f *fake) { f.put32(stubsAt+8, 0) }, [3]bool{false, false, true}},
		{"one that is longer than its code", func(f *fake) { f.put32(stubsAt+8, 1<<20) }, [3]bool{false, false, true}},
		{"no interpreter yet", func(f *fake) { f.put(staticsAt+8, 0) }, [3]bool{false, false, false}},
	} {
		f := newFake()
		f.blob("nmethod", 6, 5, methodCode)
		c.spoil(f)
		v := f.openWith(t, f.host(frames.X86_64))
		v.heaps, v.proof, v.failedProofs = v.readHeaps(), proofPending, 0
		first, last := v.proven(), false
		for n := 1; n < maxFailedProofs; n++ {
			if v.Incomplete() != nil {
				t.Errorf("%s: given up after %d attempts, want %d", c.what, n, maxFailedProofs)
			}
			last = v.proven()
		}
		if got := [3]bool{first, last, v.Incomplete() != nil}; got != c.want {
			t.Errorf("%s: proven at first %t, proven after %d attempts %t, given up %t; want %v", c.what, got[0],
				maxFailedProofs, got[1], got[2], c.want)
		}
	}
}
