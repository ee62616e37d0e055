// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"path/filepath"
	"strings"
	"testing"

	"prywalk/internal/walk/runtimes"
)

const goSource = `package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

type T struct{ n int }

func (t *T) Method(x int) int { return t.n*x + double(x) }

func double(x int) int { return x * 2 }

//go:noinline
func work[E any](xs []E, f func(E) int) (s int) {
	for _, x := range xs {
		s += f(x)
	}
	return s
}

func main() {
	t := &T{len(os.Args)}
	xs := []int{3, 1, 2}
	sort.Ints(xs)
	fmt.Println(work(xs, t.Method), strings.Repeat("x", double(len(xs))))
}
`

func TestGoFramesComeFromGosTableAlsoWhenStripped(t *testing.T) {
	gotool := need(t, "go")
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example\n\ngo 1.22\n")
	write(t, dir, "main.go", goSource)
	run(t, dir, gotool, "build", "-o", "plain", ".")
	run(t, dir, gotool, "build", "-ldflags=-s -w", "-o", "stripped", ".")

	withDWARF := openTable(t, filepath.Join(dir, "plain"))
	stripped := openTable(t, filepath.Join(dir, "stripped"))
	stripped.from.Language = runtimes.TableOf(stripped.from.File)
	same, other := 0, 0
	for i := range withDWARF.symbols().syms {
		s := withDWARF.syms.syms[i]
		if !strings.HasPrefix(withDWARF.syms.name(s.name), "main.") {
			continue
		}
		for a := s.addr; a < s.addr+uint64(s.size); a++ {
			want, got := brief(withDWARF.Frames(a, nil)), brief(stripped.Frames(a, nil))
			if want == got {
				same++
			} else if other++; other <= 3 {
				t.Logf("at %#x\n table %s\n DWARF %s", a, got, want)
			}
		}
	}
	// Different parts of the linker write them; they differ at the bounds of some inlined calls and in generic names.
	if same < 10*other || same < 100 {
		t.Errorf("Go's table and DWARF agree at %d addresses, differ at %d; want 100, and one in ten", same, other)
	}
}
