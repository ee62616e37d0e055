// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"debug/elf"
	"fmt"
	"os"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/code/x86"
	"prywalk/internal/testtargets"
)

func v8Builtins(t *testing.T, path string) (out []span) {
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, _ := f.Symbols() // none if it was stripped
	for _, s := range syms {
		// BaselineLeaveFrame is entered by a jump with its caller's frame, and code that calls the API moves its return
		// address: their starts have no vote.
		if strings.HasPrefix(s.Name, "Builtins_") && s.Size != 0 && s.Name != "Builtins_BaselineLeaveFrame" &&
			!strings.HasPrefix(s.Name, "Builtins_CallApi") {
			out = append(out, span{s.Value, s.Value + s.Size})
		}
	}
	return out
}

func TestProofsInBuiltinsOfV8AgreeWithTheirStarts(t *testing.T) {
	const path = "/usr/bin/node"
	_, err := os.Stat(path)
	testtargets.Need(t, err == nil, "node", testtargets.SetUp)
	builtins := v8Builtins(t, path)
	testtargets.Need(t, len(builtins) > 0, "a node with symbols of its builtins", testtargets.SetUp)
	code := openCode(t, path)
	s := New(Options{Arch: frames.X86_64, Code: code})
	a := s.analysis()
	defer a.free()
	sites, shown, agree := 0, 0, 0
	for k, fn := range builtins {
		if k%2 == 1 {
			continue
		}
		for pc := fn.lo; pc < fn.hi; {
			i, ok := x86.Decode(a.code(pc))
			if !ok {
				break
			}
			pc += uint64(i.Size)
			if i.Map != x86.MapOne || i.Op != 0xe8 && (i.Op != 0xff || i.Reg&7 != 2) || pc >= fn.hi {
				continue
			}
			sites++
			v := a.searchEpilogues(pc, true, fn, acceptedEnds{ownConvention: true})
			if !v.showsWholeFrame(s.abi) {
				continue
			}
			shown++
			got := &v.outcomes[0].finding
			p := a.searchPrologue(frames.Query{PC: pc, AfterCall: true}, fn, span{})
			start, ok := p.finding(false)
			if !p.found || p.guessed || !ok {
				continue // no path from the start leads there
			}
			if start.cfa != got.cfa {
				t.Fatalf("%#x: from here %+v, from the start %+v", pc, got, start)
			}
			agree++
		}
	}
	counts := fmt.Sprintf("%d calls, %d shown, %d agree", sites, shown, agree)
	key := "node " + code.digest()
	switch known := knownAccuracy(t); {
	case *update:
		learnAccuracy(t, map[string]string{key: counts})
	case known[key] != "" && known[key] != counts:
		t.Errorf("%s, want %s", counts, known[key])
	case agree == 0:
		t.Error(counts)
	}
}
