// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"prywalk/internal/base/sample"
)

func TestPartsHaveEachIntervalOnce(t *testing.T) {
	for _, aggregate := range []bool{false, true} {
		m := &ModuleInfo{Start: 1 << 20, End: 1 << 21, Path: "/bin/a"}
		b := NewBuilder(Meta{Rotates: true, Aggregate: aggregate, SpillTo: t.TempDir()})
		rng := rand.New(rand.NewPCG(1, 2))
		want := map[string]int64{}
		add := func() {
			for range 100 {
				n := rng.IntN(50)
				id := b.Intern([]Loc{{Module: m, Addr: m.Start + uint64(n)}, {Synthetic: fmt.Sprint("[", n, "]")}})
				b.Add(Interval{Stack: id, PID: 1, TID: 1 + n%7, State: "running", End: rng.Int64N(1e12), CPU: 1, Wall: 3})
				want[fmt.Sprint("[", n, "] ", 1+n%7)]++
			}
		}
		got := map[string]int64{}
		dir := t.TempDir()
		for part := range 6 {
			b.BeginEpoch()
			add()
			path := filepath.Join(dir, fmt.Sprint("part", part))
			if part == 2 {
				if err := b.Rotate(filepath.Join(dir, "missing", "part"), testNames{}); err == nil {
					t.Error("a part was written into a directory that is not there")
				}
				continue
			}
			if err := b.Rotate(path, hookedNames(add)); err != nil {
				t.Fatal(err)
			}
			if !b.NeedsEviction() {
				t.Error("a part was written, and is not said to be")
			}
			b.Evict(slices.Values([]sample.StackID(nil)))
			p, err := ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range p.Sample {
				got[fmt.Sprint(s.Location[1].Line[0].Function.Name, " ", s.NumLabel["tid"][0])] += s.Value[3]
			}
		}
		path := filepath.Join(dir, "last")
		if err := b.WriteFile(path, testNames{}); err != nil {
			t.Fatal(err)
		}
		p, err := ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Sample {
			got[fmt.Sprint(s.Location[1].Line[0].Function.Name, " ", s.NumLabel["tid"][0])] += s.Value[3]
		}
		if !maps.Equal(got, want) {
			t.Errorf("aggregate %v: %v, want %v", aggregate, got, want)
		}
	}
}

func TestStacksOfWrittenPartsAreForgotten(t *testing.T) {
	m := &ModuleInfo{Start: 1 << 20, End: 1 << 30, Path: "/bin/a"}
	b := NewBuilder(Meta{Rotates: true})
	path := filepath.Join(t.TempDir(), "part")
	for part := range uint64(20) {
		b.BeginEpoch()
		for i := range uint64(500) {
			id := b.Intern([]Loc{{Module: m, Addr: m.Start + part*1000 + i}})
			b.Add(Interval{Stack: id, PID: 1, TID: int(i), State: "running", CPU: 1})
		}
		if err := b.Rotate(path, testNames{}); err != nil {
			t.Fatal(err)
		}
		b.Evict(slices.Values([]sample.StackID(nil)))
		if n := b.Sizes(); n.Stacks > 2*500 || n.Locations > 2*500+1 || n.Labels != 0 {
			t.Fatalf("part %d: %+v", part, n)
		}
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}
