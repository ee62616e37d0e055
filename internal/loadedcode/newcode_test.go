// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"slices"
	"sync/atomic"
	"testing"

	"prywalk/frames"
	"prywalk/internal/procmem"
	"prywalk/internal/testtargets"
)

func TestCodeIsFoundWithoutReadingTheList(t *testing.T) {
	pid, step := startWriter(t)
	p := open(t, pid)
	before := slices.Clone(p.Space().Modules())
	step()
	at := newCode(t, pid, before)
	if p.Space().ModuleAt(at) != nil {
		t.Fatal("the new code is already known")
	}
	_, isCode, ok := p.Memory().QueryAnonymous(at)
	testtargets.Need(t, ok && isCode, "PROCMAP_QUERY", "Linux 6.11")
	if !p.AddMappingAt(at) {
		t.Fatal("AddMappingAt does not add the new code")
	}
	m := p.Space().ModuleAt(at)
	if m == nil || !m.Generated || m.Name != "[anon]" || len(m.Sources) == 0 {
		t.Fatalf("module %+v, want a generated one with sources", m)
	}
	var code [2]byte
	if n := p.jit.ReadCode(at, code[:]); n != 2 || code != [2]byte{0x90, 0xc3} {
		t.Errorf("code % x, want 90 c3", code)
	}
	for _, m := range before {
		if !slices.Contains(p.Space().Modules(), m) {
			t.Errorf("%s was replaced by another module", m.Name)
		}
	}
	if p.AddMappingAt(at) {
		t.Error("AddMappingAt adds the code twice")
	}
	refreshed(t, p, false)
	step()
	refreshed(t, p, true)
	step()
	refreshed(t, p, true)
	if p.Space().ModuleAt(at) != nil || p.AddMappingAt(at) {
		t.Error("the unmapped code is still known")
	}
}

func newCode(t *testing.T, pid int, before []*frames.Module) uint64 {
	t.Helper()
	text, err := procmem.ReadMaps(pid, nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := ParseMaps(text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		known := slices.ContainsFunc(before, func(m *frames.Module) bool { return m.Start == all[i].Start })
		if all[i].Perm&PermExec != 0 && !known {
			return all[i].Start
		}
	}
	t.Fatal("the process has no new code")
	return 0
}

func TestOnlyCodeWithoutAFileIsNewCode(t *testing.T) {
	pid, _ := startWriter(t)
	p := open(t, pid)
	for _, m := range p.Space().Modules() {
		if _, _, ok := p.Memory().QueryAnonymous(m.Start); ok {
			t.Errorf("%s is taken for generated code", m.Name)
		}
	}
	if _, _, ok := p.Memory().QueryAnonymous(1); ok {
		t.Error("generated code is found at address 1")
	}
}

func TestNewSpansReplaceOverlappedOnes(t *testing.T) {
	span := func(start, end uint64) procmem.Span {
		return procmem.Span{Start: start, End: end, Kind: procmem.FileBacked}
	}
	made := procmem.Span{Start: 40, End: 60, Kind: procmem.Anonymous}
	for what, c := range map[string]struct{ old, want []procmem.Span }{
		"nothing":  {nil, []procmem.Span{made}},
		"between":  {[]procmem.Span{span(0, 20), span(80, 90)}, []procmem.Span{span(0, 20), made, span(80, 90)}},
		"adjacent": {[]procmem.Span{span(0, 40), span(60, 90)}, []procmem.Span{span(0, 40), made, span(60, 90)}},
		"within":   {[]procmem.Span{span(0, 100)}, []procmem.Span{span(0, 40), made, span(60, 100)}},
		"overlapping some": {[]procmem.Span{span(30, 42), span(44, 50), span(58, 70), span(90, 91)},
			[]procmem.Span{span(30, 40), made, span(60, 70), span(90, 91)}},
		"equal":         {[]procmem.Span{span(40, 60)}, []procmem.Span{made}},
		"behind":        {[]procmem.Span{span(0, 10), span(20, 30)}, []procmem.Span{span(0, 10), span(20, 30), made}},
		"before others": {[]procmem.Span{span(70, 80)}, []procmem.Span{made, span(70, 80)}},
	} {
		if got := withSpan(c.old, made); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
}

func TestNewCodeReplacesOverlappedCode(t *testing.T) {
	var over atomic.Bool
	list := func(lines ...MapsLine) (l []codeMapping) {
		for _, line := range lines {
			l = append(l, codeMapping{at: &Mapping{MapsLine: line}})
		}
		return l
	}
	file := MapsLine{Start: 0, End: 10, Inode: 7, Path: "/lib"}
	old, other := MapsLine{Start: 30, End: 50}, MapsLine{Start: 90, End: 95}
	got, ok := withCode(list(file, old, other), &procmem.Span{Start: 40, End: 60, Kind: procmem.Anonymous}, &over)
	if !ok || len(got) != 3 || got[1].at.Start != 40 || got[1].at.End != 60 || got[1].at.Perm != PermRead|PermExec {
		t.Errorf("mappings %+v, %v; want three, the new one at 40 to 60", got, ok)
	}
	for _, s := range []procmem.Span{{Start: 5, End: 60}, {Start: 0, End: 10}} {
		if _, ok := withCode(list(file, old), &s, &over); ok {
			t.Errorf("%+v replaces a mapping of a file", s)
		}
	}
}

func TestProcessesWithoutGeneratedCodeAreNotRead(t *testing.T) {
	pid, _ := startWriter(t)
	p := open(t, pid)
	before := procmem.Calls()
	if p.Runtimes().HasCodeHistory() || p.SetCodeTime(1e9, true) ||
		p.AddMappingAt(0) || p.AddMappingAt(p.Space().Modules()[0].Start) {
		t.Error("a process without generated code is refreshed")
	}
	if n := procmem.Calls() - before; n != 0 {
		t.Errorf("%d system calls, want 0", n)
	}
}
