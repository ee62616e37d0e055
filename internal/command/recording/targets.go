// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/internal/host/cgroup"
	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
	"prywalk/internal/host/selfruntime"
	"prywalk/internal/walk/waits"
)

// targetGroups observes CPU quotas and freezing.
type targetGroups struct {
	pids   func() []int
	groups *cgroup.Groups
	frozen map[int]*runstats.FrozenTarget // the first maxFrozenTargets found, by PID
	last   []int
	readAt time.Time

	quit context.CancelFunc
	done chan struct{}
}

// maxFrozenTargets bounds the frozen targets of an agent, which runs without end.
const maxFrozenTargets = 1 << 14

// Readings are at least groupsInterval apart, and take at most 1/groupsShare of a CPU.
const (
	groupsInterval = time.Second
	groupsShare    = 400
)

// observeGroups reads the groups now, and then in the background until the sampler's ctx ends or end is called.
func observeGroups(ctx context.Context, root cgroup.Root, pids func() []int) *targetGroups {
	ctx, quit := context.WithCancel(ctx)
	g := &targetGroups{
		pids: pids, groups: root.Groups(), frozen: map[int]*runstats.FrozenTarget{},
		quit: quit, done: make(chan struct{}),
	}
	g.read(pids())
	go g.run(ctx)
	return g
}

func (g *targetGroups) run(ctx context.Context) {
	defer close(g.done)
	took := time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(groupsInterval, groupsShare*took)):
		}
		took = selfruntime.CPUTimeOf(func() { g.readAgain(ctx) })
	}
}

// readAgain reads nothing once ctx has ended: the sampler then closes its processes, one after the other.
func (g *targetGroups) readAgain(ctx context.Context) {
	if pids := g.pids(); ctx.Err() == nil {
		g.read(pids)
	}
}

// end reads the last reading's processes and the frozen ones again, as the sampler has closed its own by now, some
// perhaps before the last reading.
func (g *targetGroups) end(s *runstats.Stats) {
	g.quit()
	<-g.done
	pids := slices.AppendSeq(slices.Clone(g.last), maps.Keys(g.frozen))
	slices.Sort(pids)
	g.read(slices.Compact(pids))
	s.TargetQuotas = append(s.TargetQuotas, g.groups.Throttled()...)
	for _, pid := range slices.Sorted(maps.Keys(g.frozen)) {
		s.FrozenTargets = append(s.FrozenTargets, *g.frozen[pid])
	}
}

func (g *targetGroups) read(pids []int) {
	frozenBy := g.groups.Read(pids)
	for _, f := range g.frozen {
		f.AtEnd = false
	}
	for i, dir := range frozenBy {
		if dir == "" {
			continue
		}
		f := g.frozen[pids[i]]
		if f == nil {
			if len(g.frozen) >= maxFrozenTargets {
				continue
			}
			f = &runstats.FrozenTarget{PID: pids[i], AtStart: g.readAt.IsZero()}
			g.frozen[pids[i]] = f
		}
		f.Cgroup, f.AtEnd = dir, true
	}
	g.last, g.readAt = pids, time.Now()
}

// childrenCPU is the CPU time of the targets' unrecorded descendants.
type childrenCPU struct {
	ticks uint64 // including ended ones that were waited for; [procmem.ClockTick]
	live  map[int]uint64
	known bool
}

// readChildrenCPU returns a growing sum, as wait(2) adds a child's time to its parent's, unless a process outside
// adopts a child.
func readChildrenCPU(targets []int) (c childrenCPU) {
	c = childrenCPU{live: map[int]uint64{}, known: true}
	for _, target := range targets {
		var s procmem.Stat
		if procmem.ReadStat(target, &s) != nil || s.Ended() {
			c.known = false
			return c
		}
		c.ticks += s.ChildUTime + s.ChildSTime
	}
	for _, pid := range process.Descendants(targets...) {
		var s procmem.Stat
		if slices.Contains(targets, pid) || procmem.ReadStat(pid, &s) != nil {
			continue
		}
		if !s.Ended() {
			c.live[pid] = s.UTime + s.STime
		}
		c.ticks += s.UTime + s.STime + s.ChildUTime + s.ChildSTime
	}
	return c
}

const minChildrenCPU = 0.1 // s

// since returns a line on the children's time, or if that is little, on those that live; or "".
func (c *childrenCPU) since(before *childrenCPU) string {
	if !c.known || !before.known {
		return ""
	}
	used := float64(max(c.ticks, before.ticks)-before.ticks) * procmem.ClockTick / 1e9
	switch n := int64(len(c.live)); {
	case used >= minChildrenCPU:
	case n == 0:
		return ""
	default:
		return runstats.UnrecordedChildren(n, 0)
	}
	ran := int64(0)
	for pid, ticks := range c.live {
		if ticks > before.live[pid] {
			ran++
		}
	}
	return runstats.UnrecordedChildren(ran, used)
}

// maxUnanswered bounds the processes whose connections are examined.
const maxUnanswered = 64

// unansweredNote returns a note of the connections on which no data came back, of the process with the most to one
// other end, or else the most of clients; it returns "" if there are none.
func unansweredNote(pids []int) (note string) {
	var most waits.Unanswered
	files := waits.NewOpenFiles(os.Getpid())
	for _, pid := range pids[:min(len(pids), maxUnanswered)] {
		files = files.Of(pid)
		list := files.Unanswered()
		if len(list) == 0 || most.Peer != "" && list[0].Peer == "" ||
			(most.Peer != "") == (list[0].Peer != "") && list[0].Connections <= most.Connections {
			continue
		}
		var name procmem.Comm
		if procmem.ReadComm(pid, &name) == nil {
			most = list[0]
			note = fmt.Sprintf("%s%s (pid %d): %s", runstats.AtTheEnd, &name, pid, most.String())
		}
	}
	return note
}
