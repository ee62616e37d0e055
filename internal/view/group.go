// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/profile"
)

// groupings are the ways to group samples.
var groupings = []string{"thread", "process", "command", "role", "state", "wait", "lock", "module"}

// Groupings lists the ways to group samples, for [Options].By.
func Groupings() []string { return slices.Clone(groupings) }

func checkBy(by string) error {
	if by == "" || slices.Contains(groupings, by) {
		return nil
	}
	return fmt.Errorf("cannot group by %q; choose one of %s", by, strings.Join(groupings, ", "))
}

// Label gives a sample's first label of that name, empty if none.
func Label(s *profile.Sample, key string) string {
	if v := s.Label[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// Number gives a sample's first numeric label of that name, 0 if none.
func Number(s *profile.Sample, key string) int64 {
	if v := s.NumLabel[key]; len(v) > 0 {
		return v[0]
	}
	return 0
}

// group names the group that a sample belongs to.
func (d *Data) group(s *profile.Sample, by string) string {
	switch by {
	case "thread":
		return d.threadName(s)
	case "process":
		return named(Label(s, rec.LabelComm), "pid", Number(s, rec.LabelPID))
	case "command":
		return command(s)
	case "role":
		return d.role(s)
	case "state":
		return cmp.Or(Label(s, rec.LabelState), "[no state]")
	case "wait":
		return d.waitGroup(s)
	case "lock":
		return d.lockGroup(s)
	case "module":
		f := d.Frames[d.Stack(s)[0]]
		return cmp.Or(f.Module, "[none]")
	}
	return ""
}

// command names the program that a sample's process ran: that of a short-lived child, too, whose time its parent has.
func command(s *profile.Sample) string {
	if program, ok := strings.CutPrefix(Label(s, rec.LabelThread), "[children: "); ok && Number(s, rec.LabelTID) == 0 {
		return strings.TrimSuffix(program, "]")
	}
	return cmp.Or(Label(s, rec.LabelComm), "[no process]")
}

func (d *Data) threadName(s *profile.Sample) string {
	tid := Number(s, rec.LabelTID)
	if pid := Number(s, rec.LabelPID); tid == 0 && pid != 0 { // of the process as a whole
		return cmp.Or(Label(s, rec.LabelThread), "[no thread]") + " " + named(Label(s, rec.LabelComm), "pid", pid)
	}
	name := named(cmp.Or(Label(s, rec.LabelThread), Label(s, rec.LabelComm)), "tid", tid)
	if pid := Number(s, rec.LabelPID); d.several && pid != 0 && pid != tid {
		name += fmt.Sprintf(" of pid %d", pid)
	}
	return name
}

// severalProcesses reports whether a profile has samples of more than one process.
func severalProcesses(p *profile.Profile) bool {
	first := int64(0)
	for _, s := range p.Sample {
		pid := Number(s, rec.LabelPID)
		if first != 0 && pid != 0 && pid != first {
			return true
		}
		first = cmp.Or(first, pid)
	}
	return false
}

// named is "worker (tid 12)", with what of it is known.
func named(name, kind string, id int64) string {
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

// Clocks are the kernel's three for a set of samples, in nanoseconds.
type Clocks struct{ CPU, RunQueue, Blocked int64 }

// Clocks adds up those of samples; false where the profile is not prywalk's.
func (d *Data) Clocks(samples []*profile.Sample) (c Clocks, ok bool) {
	cpu, ok1 := d.Has(rec.TypeCPU)
	queue, ok2 := d.Has(rec.TypeRunQueue)
	wall, ok3 := d.Has(rec.TypeWall)
	if !ok1 || !ok2 || !ok3 {
		return c, false
	}
	for _, s := range samples {
		c.CPU += s.Value[cpu]
		c.RunQueue += s.Value[queue]
		c.Blocked += s.Value[wall] - s.Value[cpu] - s.Value[queue]
	}
	c.Blocked = max(0, c.Blocked)
	return c, true
}
