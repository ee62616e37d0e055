// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"maps"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"prywalk/internal/sample"
)

func lastOf(program string, ns int64) *ChildCounted {
	return &ChildCounted{Program: program, CPU: ns, AllCounted: true, ChildEnded: true}
}

func TestProgramsGetTheirCountedTime(t *testing.T) {
	for _, c := range []struct {
		name             string
		samples          int // of ls, 10 ns each
		total            int64
		ls, sort, others int64 // ls and sort: counted; others: sampled, without counts
		all, walked      map[string]int64
	}{
		{"samples agree", 20, 300, 200, 100, 0, map[string]int64{"ls": 200, "sort": 100}, map[string]int64{"ls": 200}},
		{"late ticks", 20, 900, 800, 100, 0, map[string]int64{"ls": 800, "sort": 100}, map[string]int64{"ls": 800}},
		{"few samples", 4, 900, 800, 100, 0, map[string]int64{"ls": 800, "sort": 100}, map[string]int64{"ls": 80}},
		{"many samples", 100, 200, 150, 50, 0, map[string]int64{"ls": 150, "sort": 50}, map[string]int64{"ls": 150}},
		{"little time", 20, 150, 200, 100, 0, map[string]int64{"ls": 100, "sort": 50}, map[string]int64{"ls": 100}},
		{"ends", 20, 360, 200, 100, 0, map[string]int64{"ls": 220, "sort": 140}, map[string]int64{"ls": 220}},
		{"time beyond the ends", 20, 2000, 200, 10, 0, map[string]int64{"ls": 270, "sort": 150, "": 1580},
			map[string]int64{"ls": 270}},
		{"a program without counts", 20, 310, 200, 100, 10, map[string]int64{"ls": 200, "sort": 100, "sudo": 10},
			map[string]int64{"ls": 200, "sudo": 10}},
		{"no time", 20, 0, 200, 100, 0, map[string]int64{}, map[string]int64{}},
	} {
		p := &processAccount{}
		b := newChildTimes(p)
		for range c.samples {
			p.addUnassignedOfChild(ran("ls", 1), 5e9, 10)
		}
		if c.others > 0 {
			p.addUnassignedOfChild(ran("sudo", 2), 5e9, c.others)
		}
		p.addCountedChild(lastOf("ls", c.ls))
		p.addCountedChild(lastOf("sort", c.sort/2))
		p.addCountedChild(lastOf("sort", c.sort-c.sort/2))
		p.distributeChildren(c.total, 9e9)
		if !maps.Equal(b.all, c.all) || !maps.Equal(b.walked, c.walked) {
			t.Errorf("%s: by program %v, with a stack %v; want %v and %v", c.name, b.all, b.walked, c.all, c.walked)
		}
		before := maps.Clone(b.all)
		p.distributeChildren(0, 9e9)
		if !maps.Equal(before, b.all) || p.children.programsComplete || p.children.programs != nil {
			t.Errorf("%s: a second call attributes more, or counts are kept: %v", c.name, b.all)
		}
	}
}

func TestIncompleteCountsAreLowerBounds(t *testing.T) {
	p := &processAccount{}
	b := newChildTimes(p)
	for range 100 {
		p.addUnassignedOfChild(ran("ls", 1), 5e9, 10)
	}
	p.addCountedChild(lastOf("ls", 300))
	p.addCountedChild(&ChildCounted{Program: "sort", CPU: 100})
	p.distributeChildren(1150, 9e9)
	if want := map[string]int64{"ls": 1150}; !maps.Equal(b.all, want) {
		t.Errorf("time by program %v, want %v", b.all, want)
	}
}

func TestCountedTimeIsAttributedIncrementally(t *testing.T) {
	shell, inner := &processAccount{}, &processAccount{}
	b := newChildTimes(shell, inner)
	sum := int64(0)
	for step := range int64(40) {
		for range 2 {
			inner.addUnassignedOfChild(ran("ls", 1), step*1e9, 10)
			inner.addUnassignedOfChild(ran("sort", 2), step*1e9, 10)
		}
		inner.addCountedChild(lastOf("ls", 30))
		inner.addCountedChild(lastOf("sort", 60))
		if step > 1 { // the kernel's sum is later and includes ends
			sum += 100
			inner.distributeChildrenSoFar(100, (step+1)*1e9)
		}
	}
	inner.passChildrenTo(shell, 200)
	shell.distributeChildren(0, 99e9)
	total := b.all["ls"] + b.all["sort"] + b.all[""]
	if sum += 200; total != sum || b.all[""] != 0 || b.all["ls"] < 40*30 || b.all["sort"] < 40*60 {
		t.Errorf("time by program %v, want %d in all, no unknown program, ls ≥ 1200, sort ≥ 2400", b.all, sum)
	}
	if inner.children.programsComplete || inner.children.programs != nil {
		t.Errorf("counts that were passed on are kept: %+v", inner)
	}
}

func TestCountedProgramsAreBounded(t *testing.T) {
	shell := &processAccount{}
	for i := range 4 * maxPrograms {
		p := &processAccount{}
		p.addCountedChild(lastOf(strconv.Itoa(i), 10))
		p.passChildrenTo(shell, 10)
	}
	if len(shell.children.programs) > maxPrograms {
		t.Errorf("%d programs are kept, want at most %d", len(shell.children.programs), maxPrograms)
	}
}

// A fifth of the samples succeeds. Bound: six standard errors.
func TestCountedProgramsHaveTrueShares(t *testing.T) {
	const tick, made, tail = 1e6, 0.2, 2e3
	programs := []string{"a", "b", "c"}
	random := rand.New(rand.NewPCG(3, 5))
	for _, life := range []float64{0.05, 0.3, 1, 5, 40} {
		p := &processAccount{}
		b := newChildTimes(p)
		used, samples := map[string]float64{}, map[string]float64{}
		total := 0.0
		for i := range int(30000 / max(life, 0.3)) {
			program := programs[min(int(random.Float64()*6), 2)]
			lives := life * tick * (0.5 + random.Float64())
			phase := random.Float64() * tick
			for at := phase; at < lives; at += tick {
				if random.Float64() >= made {
					continue
				}
				stack := sample.StackID(2)
				if at < lives/4 {
					stack = 1
				}
				samples[program]++
				p.addUnassignedOfChild(ran(program, 10*sample.StackID(program[0])+stack), int64(i)*1e6, tick)
			}
			used[program] += lives + tail
			total += lives + tail
			p.addCountedChild(lastOf(program, int64(lives)))
		}
		p.distributeChildren(int64(total), 99e9)
		for _, program := range programs {
			if got := float64(b.all[program]) / used[program]; got < 0.99 || got > 1.01 {
				t.Errorf("life of %v ticks: %s has %.3f of its time, want 0.99 to 1.01", life, program, got)
			}
			n := samples[program]
			if n < fewSamples {
				continue
			}
			got := float64(b.under[10*sample.StackID(program[0])+1]) / float64(b.all[program])
			if off := math.Abs(got - 0.25); off > 6*math.Sqrt(0.25*0.75/n) {
				t.Errorf("life of %v ticks: first quarter of %s has %.3f of its time, want 0.25, at %v samples", life, program,
					got, n)
			}
			if b.walked[program] < b.all[program]*99/100 {
				t.Errorf("life of %v ticks: %d of %d ns of %s have a stack, want 99 %%", life, b.walked[program], b.all[program],
					program)
			}
		}
	}
}
