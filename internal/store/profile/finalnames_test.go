// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"testing"
)

type settler struct {
	testNames
	sure  *ModuleInfo
	asked map[string]int
}

func (s *settler) Resolve(m *ModuleInfo, addr uint64) []Frame {
	s.asked[m.Path]++
	return s.testNames.Resolve(m, addr)
}

func (s *settler) IsFinal(m *ModuleInfo) bool { return m == s.sure }

func TestSettledNamesAreAskedForOnce(t *testing.T) {
	b := testBuilder(false)
	plain, err := writtenBy(b, names)
	if err != nil {
		t.Fatal(err)
	}
	s := &settler{names, testMain, map[string]int{}}
	for i := range 3 {
		text, err := writtenBy(b, s)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(text, plain) {
			t.Errorf("write %d is another recording", i)
		}
	}
	if s.asked[testMain.Path] != 2 || s.asked[testLib.Path] != 6 {
		t.Errorf("asked %v, want 2 times of settled locations, and 3 times 2 of the others", s.asked)
	}
	b.Add(Interval{Stack: b.Intern([]Loc{{Module: testMain, Addr: 0x400030}}), PID: 7, TID: 8, CPU: 1})
	s.sure = testLib
	for range 2 {
		if _, err := writtenBy(b, s); err != nil {
			t.Fatal(err)
		}
	}
	if s.asked[testMain.Path] != 4 || s.asked[testLib.Path] != 8 {
		t.Errorf("asked %v, want 2 more of a new location, and 2 more of two that are settled now", s.asked)
	}
}

func writtenBy(b *Builder, r Resolver) ([]byte, error) {
	var out bytes.Buffer
	err := b.Write(&out, r)
	return out.Bytes(), err
}
