// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFunctionsOfAStrippedProgramAreNamedByTheirBounds(t *testing.T) {
	gcc, nm, strip := need(t, "gcc"), need(t, "nm"), need(t, "strip")
	dir := t.TempDir()
	const source = `__attribute__((noinline)) int inner(int n) { volatile int s = 0; while (n--) s += n; return s; }
int main(int argc, char **argv) { return inner(argc) + inner(2); }`
	if err := os.WriteFile(filepath.Join(dir, "p.c"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, gcc, "-O1", "-o", "p", "p.c")
	symbols := run(t, dir, nm, "p")
	run(t, dir, strip, "-s", "p")
	table := openTable(t, filepath.Join(dir, "p"))
	found := 0
	for line := range strings.Lines(symbols) {
		var addr uint64
		var kind, name string
		if n, _ := fmt.Sscanf(line, "%x %s %s", &addr, &kind, &name); n != 3 || name != "inner" && name != "main" {
			continue
		}
		found++
		if got := table.Frames(addr+5, nil); len(got) != 1 || got[0].Name != fmt.Sprintf("p+%#x", addr) {
			t.Errorf("%s at %#x is %+v, want p+%#x", name, addr, got, addr)
		}
	}
	if found != 2 {
		t.Errorf("nm lists %d of the 2 functions:\n%s", found, symbols)
	}
	if got := table.Frames(1, nil); len(got) != 0 {
		t.Errorf("an address outside of functions: %+v, want no frames", got)
	}
}
