// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
	"prywalk/internal/base/languages"
	rec "prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

var groupings = []string{"thread", "process", "command", "role", "state", "wait", "lock", "module", "trace"}

const byLabel = "label"

// IsGrouping reports whether by is a way to group samples.
func IsGrouping(by string) bool {
	key, one := strings.CutPrefix(by, byLabel+":")
	return by == byLabel || slices.Contains(groupings, by) || one && key != ""
}

// Groupings returns the ways to group samples ([Options].By).
func Groupings() []string { return slices.Clone(groupings) }

// Label returns a sample's first label of that name, or "".
func Label(s *profile.Sample, key string) string {
	if v := s.Label[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// NumLabel returns a sample's first number of that name, or 0.
func NumLabel(s *profile.Sample, key string) int64 {
	if v := s.NumLabel[key]; len(v) > 0 {
		return v[0]
	}
	return 0
}

func (d *Data) groupName(s *profile.Sample, by string) string {
	switch by {
	case "thread":
		return d.threadName(s)
	case "process":
		return nameWithID(Label(s, rec.LabelComm), "pid", NumLabel(s, rec.LabelPID))
	case "command":
		return command(s)
	case "role":
		return cmp.Or(Label(s, rec.LabelRole), languages.RoleApplication)
	case "state":
		return cmp.Or(Label(s, rec.LabelState), "[no state]")
	case "wait":
		return d.waiting.waitGroup(s)
	case "lock":
		return d.waiting.lockGroup(s)
	case "module":
		return cmp.Or(d.Table.Frames[d.Table.Stack(s)[0]].Module, "[none]")
	case "trace":
		return cmp.Or(Label(s, rec.LabelTrace), "[no trace]")
	}
	if key, ok := strings.CutPrefix(by, byLabel); ok {
		return labelGroup(s, strings.TrimPrefix(key, ":"))
	}
	return ""
}

func command(s *profile.Sample) string {
	if program, _ := programOfChildren(Label(s, rec.LabelThread)); program != "" && NumLabel(s, rec.LabelTID) == 0 {
		return program
	}
	return cmp.Or(Label(s, rec.LabelComm), "[no process]")
}

func (d *Data) threadName(s *profile.Sample) string {
	if task := Label(s, rec.LabelTask); task != "" {
		name := task + " " + cmp.Or(Label(s, rec.LabelThread), "[no function]")
		if pid := NumLabel(s, rec.LabelPID); d.severalProcesses && pid != 0 {
			name += fmt.Sprintf(" of pid %d", pid)
		}
		return name
	}
	tid := NumLabel(s, rec.LabelTID)
	if pid := NumLabel(s, rec.LabelPID); tid == 0 && pid != 0 {
		return cmp.Or(Label(s, rec.LabelThread), "[no thread]") + " " + nameWithID(Label(s, rec.LabelComm), "pid", pid)
	}
	name := nameWithID(cmp.Or(Label(s, rec.LabelThread), Label(s, rec.LabelComm)), "tid", tid)
	if pid := NumLabel(s, rec.LabelPID); d.severalProcesses && pid != 0 && pid != tid {
		name += fmt.Sprintf(" of pid %d", pid)
	}
	return name
}

func severalProcesses(p *profile.Profile) bool {
	first := int64(0)
	for _, s := range p.Sample {
		pid := NumLabel(s, rec.LabelPID)
		if first != 0 && pid != 0 && pid != first {
			return true
		}
		first = cmp.Or(first, pid)
	}
	return false
}

func nameWithID(name, kind string, id int64) string {
	switch {
	case id == 0 && name == "":
		return "[no " + map[string]string{"tid": "thread", "pid": "process"}[kind] + "]"
	case id == 0:
		return name
	case name == "":
		return fmt.Sprintf("%s %d", kind, id)
	}
	return fmt.Sprintf("%s (%s %d)", name, kind, id)
}

func labelGroup(s *profile.Sample, key string) string {
	if key != "" {
		if list, ok := s.Label[key]; ok && !rec.IsOwnLabel(key) {
			return strings.Join(list, ", ")
		}
		return "[no label " + key + "]"
	}
	var parts []string
	for name, list := range s.Label {
		if !rec.IsOwnLabel(name) && !rec.IsContainerLabel(name) && !rec.IsChainLabel(name) {
			parts = append(parts, name+"="+strings.Join(list, ","))
		}
	}
	if len(parts) == 0 {
		return "[no labels]"
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// Group is one value of a grouping, with the sum of its samples' values.
type Group struct {
	Name    string
	Value   int64
	idle    waits.Idleness
	Samples []*profile.Sample
	// Slight groups of waits are below 1/1000 of all.
	Slight bool
}

// IsIdle reports that the group is a wait that is idle by a rule.
func (g *Group) IsIdle() bool { return g.idle.Idle != "" }

// Groups divides the samples by one of [Groupings], largest group first, idle ones last, after guessed ones.
func (d *Data) Groups(by string) []*Group {
	known := map[string]*Group{}
	var list []*Group
	add := func(s *profile.Sample, name string) {
		g := known[name]
		if g == nil {
			g = &Group{Name: name}
			if by == "wait" {
				g.idle = d.waiting.idleness(s)
			}
			known[name] = g
			list = append(list, g)
		}
		g.Value += s.Value[d.ValueIndex]
		g.Samples = append(g.Samples, s)
	}
	for _, s := range d.Profile.Sample {
		if by == "wait" {
			s = d.withoutQueue(s, add)
		}
		add(s, d.groupName(s, by))
	}
	if by == "wait" {
		total := float64(d.Total(d.ValueIndex))
		for _, g := range list {
			g.Slight = 1000*float64(g.Value) < total
		}
	}
	rank := func(g *Group) int { // slight waits are the last
		if g.Slight {
			return math.MaxInt
		}
		return g.idle.Rank()
	}
	slices.SortFunc(list, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Value, a.Value), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// Idleness returns that of all samples; zero if some differ.
func (d *Data) Idleness(samples []*profile.Sample) (idle waits.Idleness) {
	for n, s := range samples {
		of := d.waiting.idleness(s)
		if n > 0 && of != idle {
			return waits.Idleness{}
		}
		idle = of
	}
	return idle
}

// WaitsForCPU is the group of the time in which threads were ready and had no CPU.
const WaitsForCPU = "[waiting for a CPU]"

// withoutQueue adds the run queue time of a sample that does not wait to [WaitsForCPU], and returns the rest.
func (d *Data) withoutQueue(s *profile.Sample, add func(s *profile.Sample, group string)) *profile.Sample {
	clocks, ok := ClocksOf(d.Profile)
	if !ok || Label(s, rec.LabelWait) != "" || s.Value[clocks.RunQueue] <= 0 || !d.Memory.Take(2*sampleCost) {
		return s
	}
	queued, rest := *s, *s
	queued.Value, rest.Value = make([]int64, len(s.Value)), slices.Clone(s.Value)
	for _, clock := range []int{clocks.RunQueue, clocks.Wall} {
		queued.Value[clock] = s.Value[clocks.RunQueue]
		rest.Value[clock] -= s.Value[clocks.RunQueue]
	}
	add(&queued, WaitsForCPU)
	return &rest
}

// SortByTime sorts samples stably by their intervals' ends.
func SortByTime(samples []*profile.Sample) {
	slices.SortStableFunc(samples, func(a, b *profile.Sample) int {
		return cmp.Compare(NumLabel(a, rec.LabelEnd), NumLabel(b, rec.LabelEnd))
	})
}
