// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"prywalk/frames"
	"prywalk/internal/runtimes/gdbjit"
	"prywalk/internal/testtargets"
)

func TestCodeOfQEMUIsDescribedByItsJITInterface(t *testing.T) {
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "nap.c"), filepath.Join(dir, "nap")
	err := os.WriteFile(src, []byte("#include <stdio.h>\n#include <unistd.h>\n"+
		"int main(void) { puts(\"ready\"); fflush(stdout); for (;;) pause(); }\n"), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"aarch64-linux-gnu-gcc", "qemu-aarch64"} {
		testtargets.NeedProgram(t, tool)
	}
	if out, err := exec.Command("aarch64-linux-gnu-gcc", "-static", "-o", bin, src).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c := exec.Command("qemu-aarch64", bin)
	testtargets.Ready(t, c)
	p := open(t, c.Process.Pid)
	isGDBJIT := func(d detection) bool { _, ok := d.runtime.(*gdbjit.Runtime); return ok }
	if !slices.ContainsFunc(p.runtimes.detected.detections, isGDBJIT) {
		t.Fatal("no runtime with a list of code was found")
	}
	var size uint64
	for _, m := range p.Space().Modules() {
		if !m.Generated {
			continue
		}
		for pc := m.Start + 0x1000; pc < m.End-0x2000; pc += 0x10003 {
			r, _, ok := m.Sources[0].Rule(frames.Query{PC: pc})
			if !ok || r.CFAReg != frames.X86RSP || r.CFAOff == 0 || r.Method != frames.MethodCFI {
				t.Fatalf("%#x: rule %+v, %v; want one by CFI", pc, r, ok)
			}
			if name, ok := MappingOf(m).Names.Name(pc); !ok || name != "code_gen_buffer" {
				t.Fatalf("%#x is named %q, want code_gen_buffer", pc, name)
			}
		}
		size += m.End - m.Start
	}
	if size == 0 {
		t.Error("no generated code found")
	}
	if changed, err := p.Refresh(); changed || err != nil {
		t.Errorf("Refresh without a change returns %v, %v", changed, err)
	}
}

type noRules struct{}

func (noRules) Rule(frames.Query) (frames.Rule, *frames.Row, bool) { return frames.Rule{}, nil, false }

type namedCode struct{ noRules }

func (namedCode) Name(uint64) (string, bool) { return "f", true }

// As LuaJIT's code, which has rules of its own before those of the list that it registers.
func TestNamesBehindOtherRulesAreUsed(t *testing.T) {
	m := &frames.Module{Generated: true, Origin: &Mapping{}, Sources: []frames.RuleSource{noRules{}, namedCode{}}}
	setNameLookup(m)
	if names := MappingOf(m).Names; names != (namedCode{}) {
		t.Errorf("names by %v, want the second source", names)
	}
}
