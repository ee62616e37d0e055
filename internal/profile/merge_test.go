package profile

import (
	"bytes"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
)

// TestFileAtOtherAddressesIsTheSameModule: each process has its files elsewhere. A recording of ten thousand short
// processes has as many locations as one of one.
func TestFileAtOtherAddressesIsTheSameModule(t *testing.T) {
	b := NewBuilder(Meta{Start: time.Now()})
	file, other := FileID(1), FileID(2)
	var stacks []StackID
	for i := range uint64(1000) {
		at := 0x7000_0000_0000 + i<<20
		m := &ModuleInfo{Start: at, End: at + 0x5000, FileOffset: 0x1000, Bias: at - 0x1000, Path: "/lib/a", File: file}
		stacks = append(stacks, b.Intern([]Loc{{Module: m, Addr: at + 0x234}}))
		b.Released(m)
	}
	for _, s := range stacks {
		if s != stacks[0] {
			t.Fatalf("stacks %v", stacks)
		}
	}
	if n := len(b.tables.modules) + len(b.tables.locs) + len(b.tables.stacks) + len(b.tables.byPointer); n != 3 {
		t.Errorf("%d modules, locations, stacks and pointers", n)
	}
	// Another file by that name, other code of the file, and code made at run time are told apart.
	at := uint64(0x6000_0000_0000)
	for _, m := range []*ModuleInfo{
		{Start: at, End: at + 0x5000, FileOffset: 0x1000, Bias: at - 0x1000, Path: "/lib/a", File: other},
		{Start: at, End: at + 0x5000, FileOffset: 0x2000, Bias: at - 0x1000, Path: "/lib/a", File: file},
		{Start: at, End: at + 0x6000, FileOffset: 0x1000, Bias: at - 0x1000, Path: "/lib/a", File: file},
		{Start: at, End: at + 0x5000, Path: "[anon]", Owner: 1},
		{Start: at + 0x5000, End: at + 0xa000, Path: "[anon]", Owner: 1},
		{Start: at, End: at + 0x5000, Path: "[anon]", Owner: 2},
	} {
		n := len(b.tables.locs)
		if b.Intern([]Loc{{Module: m, Addr: at + 0x234}}); len(b.tables.locs) != n+1 {
			t.Errorf("%+v is taken for another", m)
		}
	}
	b.Add(Interval{Stack: stacks[999], PID: 1, TID: 1, Comm: "a", State: "running", Samples: 1, Wall: 1, CPU: 1})
	var out bytes.Buffer
	if err := b.Write(&out, nil); err != nil {
		t.Fatal(err)
	}
	p, err := pprof.ParseData(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if l := p.Sample[0].Location[0]; l.Address != 0x7000_0000_0234 || l.Mapping.Start != 0x7000_0000_0000 {
		t.Errorf("at %#x in a mapping at %#x", l.Address, l.Mapping.Start)
	}
}
