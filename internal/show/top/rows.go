// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/base/printable"
	"prywalk/internal/show/conclusion"
	"prywalk/internal/show/view"
	"prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

// rowID is the same in later snapshots.
type rowID struct {
	frame int32
	group string
	tid   int64 // of a thread, whose name may change
}

func idOf(g *view.Group, v tableView) (id rowID) {
	id.group = g.Name
	if v == threadsView && !view.IsTask(g.Samples[0]) {
		id.tid = view.NumLabel(g.Samples[0], profile.LabelTID)
	}
	return id
}

func (r rowID) is(o rowID) bool { return r == o || r.tid != 0 && r.tid == o.tid }

var none = rowID{frame: -1}

// functionTable returns the functions with time: own ones with what they called, unless all are asked for or the
// program has none, else all.
func (snap *Snapshot) functionTable(c Clock, all bool) (rows []view.Row, own *view.Application) {
	d := snap.by(c)
	if !all {
		if own = d.Application(); own != nil {
			return own.Rows, own
		}
	}
	return d.Rows(d.Profile.Sample), nil
}

// calls returns the library that a program's function called for longest, or "".
func calls(d *view.Data, own *view.Application, function int32) string {
	if own == nil || len(own.Folds[function]) == 0 {
		return ""
	}
	f := own.Folds[function][0]
	if f.Value <= 0 || 100*float64(f.Value) < d.Precision.Total {
		return ""
	}
	return "  …in " + printable.String(f.Library) + " (" + d.Precision.Share(f.Value) + ")"
}

// groupRow is a thread or a wait.
type groupRow struct {
	group  *view.Group
	clocks view.Clocks
	// in is the program's function with most time.
	in string
	// count is the number of threads, plus the mean number of concurrent tasks.
	count int64
	tasks bool // there are some
	// Idleness is that of all its time; zero if its parts differ.
	idleness waits.Idleness
}

// name is without the mark.
func (r *groupRow) name() string {
	return printable.String(strings.TrimSuffix(r.group.Name, " "+r.idleness.Mark()))
}

// mark follows the name; it is "" for groups that are not idle.
func (r *groupRow) mark() string {
	if mark := r.idleness.Mark(); mark != "" {
		return " " + printable.Line(mark)
	}
	return ""
}

func (snap *Snapshot) groupsBy(c Clock, by string) []*view.Group {
	k := [2]string{string(c), by}
	if snap.grouped[k] == nil {
		snap.grouped[k] = snap.by(c).Groups(by)
	}
	return snap.grouped[k]
}

// groups returns the rows by "thread" or "wait", idle ones last.
func (snap *Snapshot) groups(c Clock, by string) (rows []groupRow) {
	d := snap.by(c)
	for _, g := range snap.groupsBy(c, by) {
		r := groupRow{group: g, idleness: d.Idleness(g.Samples), in: mainFunction(d, g.Samples)}
		r.clocks, _ = d.Clocks(g.Samples)
		threads, tasks := d.CountWaiters(g.Samples)
		r.count, r.tasks = max(1, threads+tasks), tasks > 0 // threads that are merged have no numbers
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b groupRow) int {
		return cmp.Or(cmp.Compare(a.idleness.Rank(), b.idleness.Rank()), cmp.Compare(b.group.Value, a.group.Value),
			cmp.Compare(b.clocks.Wall(), a.clocks.Wall()))
	})
	return rows
}

// mainFunction returns the program's function with most time.
func mainFunction(d *view.Data, samples []*pprof.Sample) string {
	times := map[int32]int64{}
	clocks, _ := view.ClocksOf(d.Profile)
	for _, s := range samples {
		if len(s.Location) == 0 {
			continue
		}
		v := s.Value[d.ValueIndex]
		if v == 0 {
			v = s.Value[clocks.Wall] / 1e3 // a fallback of low weight
		}
		stack := d.Table.Stack(s)
		i, _ := d.Table.OwnFrame(stack)
		times[stack[i]] += v
	}
	name := func(n int32) string { return d.Table.Frames[n].Name }
	best, v := conclusion.Largest(times, func(a, b int32) int {
		return cmp.Or(cmp.Compare(name(a), name(b)), cmp.Compare(a, b))
	})
	if v == 0 {
		return ""
	}
	return d.Table.Frames[best].DisplayName()
}

func (snap *Snapshot) samplesOf(row rowID, v tableView, c Clock) (samples []*pprof.Sample) {
	d := snap.by(c)
	if v == functionsView {
		return slices.DeleteFunc(slices.Clone(d.Profile.Sample), func(s *pprof.Sample) bool {
			return !slices.Contains(d.Table.Stack(s), row.frame)
		})
	}
	for _, g := range snap.groupsBy(c, groupings[v]) {
		if row.is(idOf(g, v)) {
			return g.Samples
		}
	}
	return nil
}

// stacksOf divides samples by stack, the largest first.
func stacksOf(d *view.Data, samples []*pprof.Sample) []*view.Group {
	rows, walls := d.ByStack(samples), map[*view.Group]int64{}
	for _, r := range rows {
		clocks, _ := d.Clocks(r.Samples)
		walls[r] = clocks.Wall()
	}
	slices.SortStableFunc(rows, func(a, b *view.Group) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(walls[b], walls[a]))
	})
	return rows
}

func matching[R any](rows []R, re *regexp.Regexp, text func(*R) string) []R {
	if re == nil {
		return rows
	}
	return slices.DeleteFunc(rows, func(r R) bool { return !re.MatchString(text(&r)) })
}
