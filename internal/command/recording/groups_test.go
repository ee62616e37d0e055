// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"prywalk/internal/account/runstats"
	"prywalk/internal/host/cgroup"
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

// observe: the caller may change pids between readings.
func (g *groupTree) observe(pids *[]int) (groups *targetGroups) {
	groups = &targetGroups{pids: func() []int { return *pids },
		groups: cgroup.Root(g.root).Groups(), frozen: map[int]*runstats.FrozenTarget{},
		quit: func() {}, done: make(chan struct{})}
	close(groups.done)
	groups.read(*pids)
	return groups
}

func TestFreezingBetweenStartAndEndIsFound(t *testing.T) {
	tree := newGroupTree(t)
	tree.process(7, "/a")
	tree.process(8, "/b")
	tree.freeze("/b", true)
	pids := []int{7, 8}
	groups := tree.observe(&pids)
	tree.freeze("/a", true)
	tree.freeze("/b", false)
	tree.process(9, "/a")
	pids = append(pids, 9)
	groups.read(pids)
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

// The sampler's own end, as after -d, does not end its context.
func TestAReadingWhileTheSamplerClosesItsProcessesCountsNoneAsGone(t *testing.T) {
	for _, ended := range []bool{true, false} {
		tree := newGroupTree(t)
		tree.process(7, "/a")
		tree.freeze("/a", true)
		groups := tree.observe(&[]int{7})
		ctx, end := context.WithCancel(t.Context())
		groups.pids = func() []int {
			if ended {
				end()
			}
			return nil
		}
		groups.readAgain(ctx)
		end()
		var s runstats.Stats
		groups.end(&s)
		want := []runstats.FrozenTarget{{PID: 7, Cgroup: "/cg/a", AtStart: true, AtEnd: true}}
		if !slices.Equal(s.FrozenTargets, want) {
			t.Errorf("ended %v: %+v, want %+v", ended, s.FrozenTargets, want)
		}
	}
}

func TestFrozenTargetsAreLimited(t *testing.T) {
	tree := newGroupTree(t)
	tree.freeze("/a", true)
	tree.process(1<<21, "/a")
	pids := []int{}
	groups := tree.observe(&pids)
	for pid := range maxFrozenTargets {
		groups.frozen[pid] = &runstats.FrozenTarget{PID: pid}
	}
	groups.read([]int{1 << 21})
	if len(groups.frozen) != maxFrozenTargets {
		t.Errorf("%d frozen targets, want %d", len(groups.frozen), maxFrozenTargets)
	}
}

func TestThrottlingIsThatOfTheRecording(t *testing.T) {
	tree := newGroupTree(t)
	tree.process(7, "/a")
	tree.write("cg/a/cpu.max", "5000 100000\n")
	tree.write("cg/a/cpu.stat", "nr_periods 3\nnr_throttled 3\nthrottled_usec 300\n")
	pids := []int{7}
	groups := tree.observe(&pids)
	tree.write("cg/a/cpu.stat", "nr_periods 13\nnr_throttled 12\nthrottled_usec 90000300\n")
	var s runstats.Stats
	if groups.end(&s); len(s.TargetQuotas) != 1 || s.TargetQuotas[0].ThrottledPeriods != 9 {
		t.Errorf("%+v, want 9 throttled periods in all", s.TargetQuotas)
	}
}
