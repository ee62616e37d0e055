// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

const maxWaitFrames = 6

func (d *data) waitStack(out *printable.Writer, g *view.Group) {
	stack, value, stacks := d.MostFrequentStack(g.Samples)
	shown := stack[:min(len(stack), maxWaitFrames)]
	var frames []*view.Frame
	for _, n := range shown {
		frames = append(frames, &d.Frames[n])
	}
	const indent = "    "
	head, names := d.nameColumns(len(indent), frames)
	out.Printf("%s%s\n", indent, d.color(dim, head))
	for _, name := range names {
		out.Printf("%s%s\n", indent, name)
	}
	rest := ""
	if n := len(stack) - len(shown); n > 0 {
		rest = "… " + tabular.Plural(int64(n), "more caller")
	}
	if stacks > 1 {
		part := fmt.Sprintf("%.0f%% of this group; %s", 100*float64(value)/float64(g.Value),
			tabular.Plural(int64(stacks-1), "other stack"))
		if rest != "" {
			part = "; " + part
		}
		rest += part
	}
	if rest != "" {
		out.Printf("    %s\n", d.color(dim, rest))
	}
}

// waiters returns the number of threads, and the mean number of tasks at a time, as tasks have no numbers.
func (d *data) waiters(samples []*profile.Sample) string {
	tasks := slices.DeleteFunc(slices.Clone(samples), func(s *profile.Sample) bool { return !view.IsTask(s) })
	if len(tasks) == 0 {
		return tabular.Plural(threadsOf(samples), "thread")
	}
	text := view.Label(tasks[0], rec.LabelTask) + "s"
	if n := view.MeanTasks(d.Profile, tasks); n > 0 {
		text = "about " + tabular.Plural(n, view.Label(tasks[0], rec.LabelTask)) + " at a time"
	}
	if len(tasks) < len(samples) {
		threads := slices.DeleteFunc(slices.Clone(samples), view.IsTask)
		text = tabular.Plural(threadsOf(threads), "thread") + ", " + text
	}
	return text
}

func threadsOf(samples []*profile.Sample) int64 {
	seen := map[int64]bool{}
	for _, s := range samples {
		if tid := view.NumLabel(s, rec.LabelTID); tid != 0 {
			seen[tid] = true
		}
	}
	return int64(len(seen))
}
