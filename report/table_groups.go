// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

const (
	maxGroups     = 40
	maxWaitGroups = 10
	maxGroupRows  = 5
)

func (d *data) groups(out *printable.Writer) {
	list := d.Groups(d.Options.By)
	var owners ownerNames
	if d.Options.By == "lock" {
		owners = ownerNamesOf(d.Profile.Sample)
	}
	limit, rows := d.groupLimits(len(list))
	var shown []view.Row
	for i, g := range list[:limit] {
		if i > 0 {
			out.Printf("\n")
		}
		about := owners.heldBy(d, g.Samples)
		if d.Options.By == "wait" {
			about = " (" + d.Waiters(g.Samples) + ")"
		}
		line := tabular.Wrap(d.Options.Width, "  ", append([]string{d.Precision.Share(g.Value),
			d.Precision.Value(g.Value, d.Unit), g.Name + about}, d.clockLine(g)...)...)
		out.Printf("%s\n", d.paint(bold, line))
		if h := heldOf(g.Samples[0]); h != nil && d.Options.By == "lock" {
			out.Printf("    %s\n", h.text(owners))
		}
		if d.Options.By == "wait" && d.isWait(g) && !g.IsIdle() {
			d.overTime(out, g)
		}
		switch {
		case g.Value == 0 || g.Slight:
		case d.isWait(g):
			d.waitStack(out, g)
		default:
			shown = append(shown, d.table(out, g.Samples, rows, "    ")...)
		}
	}
	d.omittedGroups(out, list[limit:])
	d.footnotes(out, shown)
}

func (d *data) groupLimits(n int) (groups, rows int) {
	switch {
	case d.Options.By == "wait":
		return min(n, d.Limit(maxWaitGroups)), maxGroupRows
	case d.Options.N < 0:
		return n, d.Limit(maxGroupRows)
	}
	return min(n, maxGroups), d.Limit(maxGroupRows)
}

// isWait reports whether all of a group waits for one thing.
func (d *data) isWait(g *view.Group) bool {
	switch d.Options.By {
	case "wait":
		return !strings.HasPrefix(g.Name, "[")
	case "lock":
		return !d.OnlyBlocked() && g.Name != view.NoLock
	}
	return false
}

func (d *data) omittedGroups(out *printable.Writer, rest []*view.Group) {
	if len(rest) == 0 {
		return
	}
	var sum, idleSum int64
	for _, g := range rest {
		sum += g.Value
		if g.IsIdle() {
			idleSum += g.Value
		}
	}
	idle := ""
	switch {
	case idleSum > 0 && idleSum == sum:
		idle = " (all idle)"
	case idleSum > 0:
		idle = " (idle: " + d.Precision.Share(idleSum) + ")"
	}
	out.Printf("\n… %s, %s of all%s; -n -1 shows them\n", tabular.Plural(int64(len(rest)), "more group"),
		d.Precision.Share(sum), idle)
}

// clockLine says how a group's time is divided among the clocks. It is empty if the profile has no clocks, and for the
// groups by wait that are no waits, such as "[running]".
func (d *data) clockLine(g *view.Group) []string {
	c, ok := d.Clocks(g.Samples)
	if !ok || d.Options.By == "wait" && strings.HasPrefix(g.Name, "[") {
		return nil
	}
	return []string{fmt.Sprintf("(cpu %s, runqueue %s, blocked %s)", tabular.Nanos(c.CPU), tabular.Nanos(c.RunQueue),
		tabular.Nanos(c.Blocked))}
}

// ownerNames is nil unless grouped by lock.
type ownerNames map[int64]string

func ownerNamesOf(samples []*profile.Sample) ownerNames {
	names := ownerNames{}
	for _, s := range samples {
		if tid := view.NumLabel(s, rec.LabelTID); tid != 0 && names[tid] == "" {
			names[tid] = cmp.Or(view.Label(s, rec.LabelThread), view.Label(s, rec.LabelComm))
		}
	}
	return names
}

// heldBy names a lock's owner, several by number, or "" if it is unknown.
func (o ownerNames) heldBy(d *data, samples []*profile.Sample) string {
	if o == nil || view.WaitKind(samples[0]) == waits.Join {
		return ""
	}
	seen, verb := map[int64]bool{}, "held"
	for _, s := range samples {
		owner := view.LockOwner(s)
		if d.OnlyBlocked() {
			owner = view.NumLabel(s, rec.LabelTID)
		}
		if owner > 0 {
			seen[owner] = true
		}
		if view.Label(s, rec.LabelOwner) == likelyOwner {
			verb = "likely held"
		}
	}
	switch {
	case len(seen) > 1:
		return ", " + verb + " by " + tabular.Plural(int64(len(seen)), "thread") + " in turn"
	case len(seen) == 0 && verb != "held":
		return ", " + verb + " in these functions"
	}
	for tid := range seen {
		return ", " + verb + " by " + strings.TrimLeft(fmt.Sprintf("%s (tid %d)", o[tid], tid), " ")
	}
	return ""
}
