// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"debug/elf"
	"runtime"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
)

// With landing places for indirect jumps (IBT) each stub has a part in .plt and one in .plt.sec.
func TestStubsOfEveryKindAreWalkedExactly(t *testing.T) {
	// IBT is of amd64; TestWalksAreExactAtEveryInstruction and recorded cases cover arm64's stubs.
	testtargets.Need(t, runtime.GOARCH == "amd64", "amd64", "a machine with such a processor")
	cc := func(flags ...string) []string {
		return append([]string{"cc", "-w", "-O2", "-fcommon", "-fno-builtin", "-o", "OUT", "SRC/libc.c", "-lm"}, flags...)
	}
	for _, p := range []struct {
		Program
		sections []string
	}{
		{Program{"lazy", 1, cc("-Wl,-z,lazy")}, []string{".plt"}},
		{Program{"now", 1, cc("-Wl,-z,now")}, []string{".plt"}},
		{Program{"no-plt", 1, cc("-Wl,-z,now", "-fno-plt")}, nil},
		{Program{"ibt-lazy", 1, cc("-Wl,-z,lazy", "-fcf-protection", "-Wl,-z,ibtplt")}, []string{".plt", ".plt.sec"}},
		{Program{"ibt-now", 1, cc("-Wl,-z,now", "-fcf-protection", "-Wl,-z,ibtplt")}, []string{".plt.sec"}},
		{Program{"without-tables", 1, cc("-Wl,-z,lazy", "-Wl,--no-ld-generated-unwind-info")}, []string{".plt"}},
	} {
		t.Run(p.Name, func(t *testing.T) {
			if p.Name != "lazy" && p.Name != "ibt-now" {
				testtargets.OnlyInAll(t, "another kind of stub")
			}
			file, err := p.Build(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range p.sections {
				if !hasSection(t, file, s) {
					t.Fatalf("the linker made no section %s", s)
				}
			}
			_, found := exactly(t, p.Name, file, Options{Steps: 4000, Section: 400})
			for f, n := range found {
				if strings.HasPrefix(f, ".plt") {
					t.Logf("%d steps in %s", n, f)
				}
			}
			for _, s := range p.sections {
				if found[s] < 10 {
					t.Errorf("%d steps in stubs of %s, want at least 10", found[s], s)
				}
			}
		})
	}
}

func hasSection(t *testing.T, file, name string) bool {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return f.Section(name) != nil
}
