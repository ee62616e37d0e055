// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"errors"
	"testing"

	"prywalk/frames"
)

func TestOlderFormatsAreRead(t *testing.T) {
	for m, b := range map[uint32][]byte{magic118: excerpt(magic118, 1), magic120: excerpt(magic120, 1)} {
		tab, err := New(Image{Arch: frames.X86_64, Pclntab: b, PclntabAddr: 0x5000})
		if err != nil {
			t.Fatalf("%#x: %v", m, err)
		}
		if l := tab.Lines(0x1005, nil); len(l) != 1 || l[0].Name != "main.f" || l[0].File != "f.go" {
			t.Errorf("%#x: lines %+v", m, l)
		}
		if s, e, ok := tab.FuncRange(0x101f); !ok || s != 0x1000 || e != 0x1020 {
			t.Errorf("%#x: range %#x %#x %v", m, s, e, ok)
		}
		for pc, want := range map[uint64]int32{0x1001: 8, 0x1003: 8, 0x1005: 24, 0x100f: 24} {
			if r, _, ok := tab.Rule(frames.Query{PC: pc}); !ok || r.CFAOff != want {
				t.Errorf("%#x: rule at %#x: %+v %v, want CFA rsp+%d", m, pc, r, ok, want)
			}
		}
	}
}

// The program's Go runtime is known, so that no verdict leaves its goroutines out unnoticed.
func TestTablesBeforeGo118HaveNoFunctions(t *testing.T) {
	for _, magic := range []uint32{magic112, magic116} {
		tab, err := New(Image{Arch: frames.X86_64, Pclntab: excerpt(magic, 1), PclntabAddr: 0x5000, TextStart: 0x1000})
		if err != nil {
			t.Fatalf("%#x: %v", magic, err)
		}
		_, _, hasRule := tab.Rule(frames.Query{PC: 0x1005})
		_, _, hasRange := tab.FuncRange(0x1005)
		if l := tab.Lines(0x1005, nil); len(l) != 0 || hasRule || hasRange {
			t.Errorf("%#x: lines %+v, a rule: %v, a range: %v", magic, l, hasRule, hasRange)
		}
		r, err := Detect(&tableHost{table: tab, mods: []*frames.Module{{}}})
		if r == nil || err != nil {
			t.Fatalf("%#x: runtime %v, %v", magic, r, err)
		}
		if _, err := r.(*Runtime).AllTasks(); !errors.Is(err, errGoroutines) {
			t.Errorf("%#x: goroutines: %v, want %v", magic, err, errGoroutines)
		}
	}
}
