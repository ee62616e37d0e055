// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"prywalk/internal/code/symbols/perfmap"
	"prywalk/internal/host/filememory"
)

func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

func mapsOf(t *testing.T, mem *filememory.Budget, files ...string) *Namer {
	t.Helper()
	n := NewNamer()
	n.memory = mem
	n.mapFile = func(pid int) perfmap.File {
		f, err := os.Open(files[pid])
		if err != nil {
			return nil
		}
		st, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		return sizedFile{f, st.Size()}
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil || mem.Used() != 0 {
			t.Errorf("Close: %v, %d bytes of the budget are still used", err, mem.Used())
		}
	})
	return n
}

type sizedFile struct {
	*os.File
	size int64
}

func (f sizedFile) Size() int64 { return f.size }

type countingFile struct {
	perfmap.File
	read *int64
}

func (f countingFile) ReadAt(b []byte, off int64) (int, error) {
	k, err := f.File.ReadAt(b, off)
	*f.read += int64(k)
	return k, err
}

// countReads returns the number of bytes read from n's perf maps from now on.
func countReads(n *Namer) *int64 {
	read, open := new(int64), n.mapFile
	n.mapFile = func(pid int) perfmap.File { return countingFile{open(pid), read} }
	return read
}

func writeMap(t *testing.T, text string, size int64) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "perf.map")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if size > 0 {
		if err := os.Truncate(file, size); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

func TestSparsePerfMapsTakeNoMemory(t *testing.T) {
	var files []string
	for range 6 {
		file := writeMap(t, "1000 10 first\n", 255<<20)
		appendTo(t, file, "\n2000 10 last\n")
		files = append(files, file)
	}
	n := mapsOf(t, filememory.New(1<<20), files...)
	got := allocated(func() {
		for pid := range files {
			for addr, want := range map[uint64]string{0x1000: "first", 0x2000: "last"} {
				if name, _, _, _ := n.perfMap(pid, true).Lookup(addr); name != want {
					t.Errorf("map %d: at %#x %q, want %q", pid, addr, name, want)
				}
			}
		}
	})
	t.Logf("%d bytes allocated", got)
	if got > 6<<20 {
		t.Errorf("%d bytes allocated for six lines, want at most 6 MiB", got)
	}
}

func denseMap(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%x 8 f%d\n", 0x10000+8*i, i)
	}
	return b.String()
}

func TestPerfMapsOfAllProcessesShareABudget(t *testing.T) {
	const limit = 8 << 20
	text := denseMap(12 << 20)
	files := []string{writeMap(t, text, 0), writeMap(t, text, 0), writeMap(t, text, 0)}
	mem := filememory.New(limit)
	n := mapsOf(t, mem, files...)
	got := allocated(func() {
		for pid := range files {
			if name, _, _, _ := n.perfMap(pid, true).Lookup(0x10000); name != "" {
				t.Errorf("a function of a map without its newest lines is %q, want no name", name)
			}
			if one := mem.Used(); pid == 0 && one > limit/4*3 {
				t.Errorf("one map uses %d of %d bytes, want at most three quarters", one, limit)
			}
		}
	})
	t.Logf("%d bytes allocated, at most %d of the budget", got, mem.Peak())
	if mem.Peak() > limit || got > 3*limit {
		t.Errorf("%d bytes allocated, %d of the budget; want at most %d of the budget", got, mem.Peak(), int64(limit))
	}
	if line := mem.Refusals(); !strings.Contains(line, "functions of the perf map of process 0") {
		t.Errorf("left out %q, want functions of the perf map of process 0", line)
	}
}

// A request for function bounds reads one step.
func TestSamplesDoNotWaitForPerfMaps(t *testing.T) {
	text := denseMap(3 * perfmap.Step)
	n := mapsOf(t, filememory.New(1<<30), writeMap(t, text, 0))
	n.ReadPerfMapsInSteps()
	bounds, read := n.JITFuncBounds(0), countReads(n)
	for step := int64(1); step <= 3; step++ {
		if _, _, ok := bounds(0x10001); !ok {
			t.Errorf("step %d: the first function has no bounds", step)
		}
		if *read != step*perfmap.Step {
			t.Errorf("step %d: %d bytes were read, want that many steps", step, *read)
		}
		n.Refresh()
	}
	bounds(0x10001)
	if *read != int64(len(text)) {
		t.Errorf("%d bytes were read, want %d", *read, len(text))
	}
	if _, _, ok := bounds(0x10000 + 8*uint64(strings.Count(text, "\n")-1)); !ok {
		t.Error("the last function has no bounds")
	}
}

func TestPerfMapsAreReadToTheEndInSteps(t *testing.T) {
	text := denseMap(3 * perfmap.Step)
	n := mapsOf(t, filememory.New(1<<30), writeMap(t, text, 0))
	n.ReadPerfMapsInSteps()
	bounds, calls := n.JITFuncBounds(0), 0
	n.SetYield(func() {
		calls++
		bounds(0x10001)
	})
	last := strings.Count(text, "\n") - 1
	if name, _, _, _ := n.perfMap(0, true).Lookup(0x10000 + 8*uint64(last)); name != fmt.Sprint("f", last) || calls < 2 {
		t.Errorf("the last function is %q after %d reads of a step, want its name after at least 2", name, calls)
	}
}

func TestGrowingPerfMapIsReadFurther(t *testing.T) {
	file := writeMap(t, "1000 10 first\n2000 10 sec", 0)
	n := mapsOf(t, filememory.New(1<<20), file)
	names := func(want ...string) {
		t.Helper()
		n.Refresh()
		for i, w := range want {
			if name, _, _, _ := n.perfMap(0, true).Lookup(uint64(0x1000 * (i + 1))); name != w {
				t.Errorf("function %d is %q, want %q", i+1, name, w)
			}
		}
	}
	names("first", "")
	appendTo(t, file, "ond\n1000 10 newer\n")
	names("newer", "second")
	if err := os.WriteFile(file, []byte("3000 10 other\n"), 0o600); err != nil { // shorter: the compiler restarted it
		t.Fatal(err)
	}
	names("", "", "other")
	if err := os.Rename(writeMap(t, strings.Repeat("4000 10 moved\n", 20), 0), file); err != nil {
		t.Fatal(err)
	}
	names("", "", "", "moved")
	if err := os.Rename(writeMap(t, strings.Repeat("4000 10 equal\n", 20), 0), file); err != nil { // of the same size
		t.Fatal(err)
	}
	names("", "", "", "equal")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	names("", "", "", "equal")
}

func TestFirstPerfMapReplacedByOneOfTheSameSizeIsReadAgain(t *testing.T) {
	file := writeMap(t, "1000 10 first\n", 0)
	n := mapsOf(t, filememory.New(1<<20), file)
	n.perfMap(0, true)
	if err := os.Rename(writeMap(t, "1000 10 other\n", 0), file); err != nil {
		t.Fatal(err)
	}
	n.Refresh()
	if name, _, _, _ := n.perfMap(0, true).Lookup(0x1000); name != "other" {
		t.Errorf("the function is %q, want other", name)
	}
}

func appendTo(t *testing.T, file, text string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
