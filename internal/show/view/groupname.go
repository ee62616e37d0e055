// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/languages"
	rec "prywalk/internal/store/profile"
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

type groups struct {
	stacks           *FrameTable
	waiting          *Waiting
	severalProcesses bool // known only if threads are named
}

func (g *groups) groupName(s *profile.Sample, by string) string {
	switch by {
	case "thread":
		return g.threadName(s)
	case "process":
		return nameWithID(Label(s, rec.LabelComm), "pid", NumLabel(s, rec.LabelPID))
	case "command":
		return command(s)
	case "role":
		return cmp.Or(Label(s, rec.LabelRole), languages.RoleApplication)
	case "state":
		return cmp.Or(Label(s, rec.LabelState), "[no state]")
	case "wait":
		return g.waiting.waitGroup(s)
	case "lock":
		return g.waiting.lockGroup(s)
	case "module":
		f := g.stacks.Frames[g.stacks.Stack(s)[0]]
		return cmp.Or(f.Module, "[none]")
	case "trace":
		return cmp.Or(Label(s, rec.LabelTrace), "[no trace]")
	}
	if key, ok := strings.CutPrefix(by, byLabel); ok {
		return labelGroup(s, strings.TrimPrefix(key, ":"))
	}
	return ""
}

func command(s *profile.Sample) string {
	if program, ok := strings.CutPrefix(Label(s, rec.LabelThread), "[children: "); ok && NumLabel(s, rec.LabelTID) == 0 {
		return strings.TrimSuffix(program, "]")
	}
	return cmp.Or(Label(s, rec.LabelComm), "[no process]")
}

func (g *groups) threadName(s *profile.Sample) string {
	if task := Label(s, rec.LabelTask); task != "" {
		name := task + " " + cmp.Or(Label(s, rec.LabelThread), "[no function]")
		if pid := NumLabel(s, rec.LabelPID); g.severalProcesses && pid != 0 {
			name += fmt.Sprintf(" of pid %d", pid)
		}
		return name
	}
	tid := NumLabel(s, rec.LabelTID)
	if pid := NumLabel(s, rec.LabelPID); tid == 0 && pid != 0 {
		return cmp.Or(Label(s, rec.LabelThread), "[no thread]") + " " + nameWithID(Label(s, rec.LabelComm), "pid", pid)
	}
	name := nameWithID(cmp.Or(Label(s, rec.LabelThread), Label(s, rec.LabelComm)), "tid", tid)
	if pid := NumLabel(s, rec.LabelPID); g.severalProcesses && pid != 0 && pid != tid {
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
		if !rec.IsOwnLabel(name) && !rec.IsContainerLabel(name) {
			parts = append(parts, name+"="+strings.Join(list, ","))
		}
	}
	if len(parts) == 0 {
		return "[no labels]"
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
