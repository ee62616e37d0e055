// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

// jsonStayWindow is a part of the recording's time with slow stays.
type jsonStayWindow struct {
	// Begin is the time since the recording's start, in nanoseconds.
	Begin int64 `json:"begin"`
	// Stays is the number of stays at any time of the window, Slow that of the slow ones.
	Stays int `json:"stays"`
	Slow  int `json:"slow"`
	// SlowTime is the time of slow stays in the window, summed over threads, in nanoseconds.
	SlowTime int64 `json:"slow_time"`
	// Cause is what took most of SlowTime, and its part.
	Cause     string `json:"cause"`
	CauseTime int64  `json:"cause_time"`

	causes map[jsonStayCause]int64
}

// windows returns those with slow stays, those with most of their time first. Windows begin at multiples of their
// length.
func (p *stayParts) windows(all, slow []*jsonStay, length int64) []*jsonStayWindow {
	if length <= 0 {
		return nil
	}
	windows := map[int64]*jsonStayWindow{}
	for _, st := range slow {
		for n := range windowsOf(st.Begin, st.Begin+st.Length, length) {
			if windows[n] == nil {
				windows[n] = &jsonStayWindow{Begin: n * length, causes: map[jsonStayCause]int64{}}
			}
			windows[n].Slow++
		}
		for _, s := range st.samples {
			p.addToWindows(windows, s, length)
		}
	}
	for _, st := range all {
		for n := range windowsOf(st.Begin, st.Begin+st.Length, length) {
			if w := windows[n]; w != nil {
				w.Stays++
			}
		}
	}
	for _, w := range windows {
		for c, ns := range w.causes {
			if text := c.text(); ns > w.CauseTime || ns == w.CauseTime && text < w.Cause {
				w.Cause, w.CauseTime = text, ns
			}
		}
	}
	return slices.SortedFunc(maps.Values(windows), func(a, b *jsonStayWindow) int {
		return cmp.Or(cmp.Compare(b.SlowTime, a.SlowTime), cmp.Compare(a.Begin, b.Begin))
	})
}

// addToWindows adds the time of a slow stay's sample. Its clocks count evenly over its time.
func (p *stayParts) addToWindows(windows map[int64]*jsonStayWindow, s *profile.Sample, length int64) {
	wall := s.Value[p.clocks.Wall]
	end := view.NumLabel(s, rec.LabelEnd) - p.d.Profile.TimeNanos
	for n := range windowsOf(end-wall, end, length) {
		w := windows[n]
		if w == nil {
			continue // its samples overlap
		}
		in := min(end, (n+1)*length) - max(end-wall, n*length)
		w.SlowTime += in
		p.each(s, func(c jsonStayCause, ns int64) {
			w.causes[c] += int64(float64(ns) * float64(in) / float64(wall))
		})
	}
}

// windowsIn returns the number of windows from the first stay to the last, whatever the profile says of its length.
func windowsIn(list []*jsonStay, length time.Duration) uint64 {
	if length <= 0 {
		return 0
	}
	from, to := list[0].Begin, list[0].Begin
	for _, st := range list {
		from, to = min(from, st.Begin), max(to, st.Begin+st.Length)
	}
	return uint64(to-from) / uint64(length)
}

// windowsOf yields the numbers of the windows that a time touches.
func windowsOf(begin, end, length int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for n := begin / length; n <= (end-1)/length; n++ {
			if !yield(n) {
				return
			}
		}
	}
}

func (r *jsonStays) textWindows(out *printable.Writer, length int64, rows int) {
	if len(r.Windows) == 0 {
		return
	}
	out.Printf("\nwindows of %s with most time in slow stays\n", tabular.Nanos(length))
	for _, w := range r.Windows[:min(rows, len(r.Windows))] {
		out.Printf("%9s  from %s: %d of %s slow; %s: %s\n", tabular.Nanos(w.SlowTime), tabular.Nanos(w.Begin), w.Slow,
			tabular.Plural(int64(w.Stays), "stay"), tabular.Nanos(w.CauseTime), w.Cause)
	}
}
