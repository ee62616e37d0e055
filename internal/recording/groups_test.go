// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/cgroup"
	"prywalk/internal/runstats"
)

type groupTree struct {
	*testing.T
	root string
}

func newGroupTree(t *testing.T) *groupTree {
	g := &groupTree{t, t.TempDir()}
	g.write("proc/self/cgroup", "0::/me\n")
	g.write("proc/self/mountinfo", "35 24 0:30 / /cg rw - cgroup2 cgroup2 rw\n")
	return g
}

func (g *groupTree) write(name, text string) {
	g.Helper()
	at := filepath.Join(g.root, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		g.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		g.Fatal(err)
	}
}

func (g *groupTree) process(pid int, group string) {
	g.Helper()
	g.write("proc/"+strconv.Itoa(pid)+"/cgroup", "0::"+group+"\n")
}

func (g *groupTree) freeze(group string, frozen bool) {
	g.Helper()
	g.write("cg"+group+"/cgroup.events", map[bool]string{true: "frozen 1\n", false: "frozen 0\n"}[frozen])
}

// observe returns a pointer to the last obstructions. The caller may change pids between readings.
func (g *groupTree) observe(pids *[]int) (groups *targetGroups, now *[]obstruction) {
	now = new([]obstruction)
	groups = &targetGroups{pids: func() []int { return *pids }, notify: func(all []obstruction) { *now = all },
		groups: cgroup.Root(g.root).Groups(), frozen: map[int]*runstats.FrozenTarget{},
		quit: func() {}, done: make(chan struct{})}
	close(groups.done)
	groups.read(*pids)
	return groups, now
}

func TestFreezingBetweenStartAndEndIsFound(t *testing.T) {
	tree := newGroupTree(t)
	tree.process(7, "/a")
	tree.process(8, "/b")
	tree.freeze("/b", true)
	pids := []int{7, 8}
	groups, now := tree.observe(&pids)
	if len(*now) != 1 || (*now)[0].text != "the cgroup /cg/b is frozen (as by docker pause): no thread of process 8 runs" {
		t.Errorf("%+v", *now)
	}
	tree.freeze("/a", true)
	tree.freeze("/b", false)
	tree.process(9, "/a")
	pids = append(pids, 9)
	groups.read(pids)
	if len(*now) != 1 || !strings.Contains((*now)[0].text, "/cg/a is frozen") ||
		!strings.HasSuffix((*now)[0].text, "no thread of process 7 and 1 other runs") {
		t.Errorf("%+v", *now)
	}
	tree.freeze("/a", false)
	tree.freeze("/b", true)
	pids = nil
	var s runstats.Stats
	groups.end(&s)
	want := []runstats.FrozenTarget{{PID: 7, Cgroup: "/cg/a"}, {PID: 8, Cgroup: "/cg/b", AtStart: true, AtEnd: true},
		{PID: 9, Cgroup: "/cg/a"}}
	if !slices.Equal(s.FrozenTargets, want) {
		t.Errorf("%+v, want %+v", s.FrozenTargets, want)
	}
}

func TestAReadingWhileTheSamplerClosesItsProcessesCountsNoneAsGone(t *testing.T) {
	tree := newGroupTree(t)
	tree.process(7, "/a")
	tree.freeze("/a", true)
	groups, _ := tree.observe(&[]int{7})
	ctx, end := context.WithCancel(t.Context())
	groups.pids = func() []int { end(); return nil }
	groups.readAgain(ctx)
	var s runstats.Stats
	groups.end(&s)
	want := []runstats.FrozenTarget{{PID: 7, Cgroup: "/cg/a", AtStart: true, AtEnd: true}}
	if !slices.Equal(s.FrozenTargets, want) {
		t.Errorf("%+v, want %+v", s.FrozenTargets, want)
	}
}

func TestFrozenTargetsAreLimited(t *testing.T) {
	tree := newGroupTree(t)
	tree.freeze("/a", true)
	tree.process(1<<21, "/a")
	pids := []int{}
	groups, now := tree.observe(&pids)
	for pid := range maxFrozenTargets {
		groups.frozen[pid] = &runstats.FrozenTarget{PID: pid}
	}
	groups.read([]int{1 << 21})
	if len(groups.frozen) != maxFrozenTargets || len(*now) != 1 {
		t.Errorf("%d frozen targets, %d obstructions, want %d and 1", len(groups.frozen), len(*now), maxFrozenTargets)
	}
}

func TestThrottlingIsThatSinceTheLastReading(t *testing.T) {
	tree := newGroupTree(t)
	tree.process(7, "/a")
	tree.write("cg/a/cpu.max", "5000 100000\n")
	tree.write("cg/a/cpu.stat", "nr_periods 3\nnr_throttled 3\nthrottled_usec 300\n")
	pids := []int{7}
	groups, now := tree.observe(&pids)
	tree.write("cg/a/cpu.stat", "nr_periods 13\nnr_throttled 12\nthrottled_usec 90000300\n")
	groups.read(pids)
	want := "process 7: its cgroup /cg/a was throttled for 90.0 s, in 9 of 10 periods, as its CPU quota of 0.05 " +
		"CPUs was used up; this counts as run queue time"
	if len(*now) != 1 || (*now)[0].text != want || (*now)[0].frozen {
		t.Errorf("%+v, want %q", *now, want)
	}
	groups.read(pids)
	if len(*now) != 0 {
		t.Errorf("%+v, want none: it was not throttled since", *now)
	}
	var s runstats.Stats
	if groups.end(&s); len(s.TargetQuotas) != 1 || s.TargetQuotas[0].ThrottledPeriods != 9 {
		t.Errorf("%+v, want 9 throttled periods in all", s.TargetQuotas)
	}
}

func TestAgentForgetsThrottledGroupsThatAreGone(t *testing.T) {
	dir := t.TempDir()
	group := func(name string) obstruction {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		return obstruction{key: filepath.Join(dir, name), text: name + " was throttled"}
	}
	a, b, c := group("a"), group("b"), group("c")
	s := &agentRun{frozen: map[string]bool{}, throttled: map[string]bool{}}
	s.reportObstructions([]obstruction{a, b})
	if err := os.Remove(a.key); err != nil {
		t.Fatal(err)
	}
	s.reportObstructions([]obstruction{c})
	if want := map[string]bool{b.key: true, c.key: true}; !maps.Equal(s.throttled, want) {
		t.Errorf("%v, want %v", s.throttled, want)
	}
}
