// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/account/attribute"
	"prywalk/internal/base/printable"
	"prywalk/internal/base/schema"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

// jsonStay is one uninterrupted stay of a thread in a function; times in nanoseconds.
type jsonStay struct {
	PID int `json:"pid"`
	TID int `json:"tid"`
	// Begin is the time since the recording's start.
	Begin int64 `json:"begin"`
	// Length is the stay's length as seen; the true one is between Low and High. High is 0 if it was cut off.
	Length int64 `json:"length"`
	Low    int64 `json:"low"`
	High   int64 `json:"high,omitempty"`
	// CPU, RunQueue and Blocked are its time by clock.
	CPU      int64 `json:"cpu"`
	RunQueue int64 `json:"runqueue"`
	Blocked  int64 `json:"blocked"`

	samples []*profile.Sample
}

// jsonStayGroup has the mean of some stays, in nanoseconds.
type jsonStayGroup struct {
	Stays    int   `json:"stays"`
	Length   int64 `json:"length"`
	CPU      int64 `json:"cpu"`
	RunQueue int64 `json:"runqueue"`
	Blocked  int64 `json:"blocked"`
}

// jsonStayCause is what stays did, in nanoseconds a stay.
type jsonStayCause struct {
	// Function is the program's innermost function, Wait what it waited for; absent while it ran.
	Function string `json:"function"`
	Wait     string `json:"wait,omitempty"`
	Slow     int64  `json:"slow"`
	Usual    int64  `json:"usual"`
}

type jsonStayBin struct {
	// From and Below are lengths in nanoseconds.
	From  int64 `json:"from"`
	Below int64 `json:"below"`
	Stays int   `json:"stays"`
}

// jsonStays are the stays of threads in a function.
type jsonStays struct {
	schema.Head
	Function string `json:"function"`
	// Conclusion is the first line of the text.
	Conclusion string `json:"conclusion"`
	// Tick is the resolution of lengths, in nanoseconds.
	Tick int64 `json:"tick"`
	// Stays is their number, CutOff of those that the recording's begin or end cuts off, Short of those under five ticks.
	Stays  int `json:"stays"`
	CutOff int `json:"cut_off"`
	Short  int `json:"short"`
	// Median, P99 and Longest are lengths in nanoseconds.
	Median  int64 `json:"median"`
	P99     int64 `json:"p99"`
	Longest int64 `json:"longest"`
	// Slow are the stays over the limit, or the longest 1 %; Usual those of the middle half of lengths.
	Slow      jsonStayGroup   `json:"slow"`
	Usual     jsonStayGroup   `json:"usual"`
	Histogram []jsonStayBin   `json:"histogram"`
	Causes    []jsonStayCause `json:"causes"`
	// Slowest are the longest stays, at most 100.
	Slowest []jsonStay `json:"slowest"`
	// Windows are the parts of the time with slow stays, those with most of their time first. Absent without --window.
	Windows []*jsonStayWindow `json:"windows,omitempty"`
}

const maxWindows = 100_000

// shortStay is the number of ticks below which a stay's length is too uncertain.
const shortStay = 5

// StayOptions are those of [Stays].
type StayOptions struct {
	// Over is the length above which a stay is slow; with 0 the longest 1 % are.
	Over time.Duration
	// Window is the length of the windows in which slow stays are searched; with 0 there are none.
	Window time.Duration
}

// Stays writes how long threads stayed in a function without a break, what the slow stays did that the usual ones did
// not, and when. A stay ends where the thread's samples have a gap, as filters make. Errors: [Callers]'s, [ErrNoTime].
//
// A stay begins between the last look without the function and the first with it, and ends likewise:
//
//	looks   ─┼───────┼───────┼───────┼───────┼───────┼─
//	stack    other   f       f       f       other
//	         ├──── length as seen ───┤
//	                 ├───── low ─────┤
//	         ├──────────── high ─────────────┤
func Stays(w io.Writer, p *profile.Profile, function string, so StayOptions, asJSON bool, o Options) error {
	return writeForm(w, p, o, func(d *data, out *printable.Writer) error {
		isIn, err := d.selectFrames("slow", function)
		if err != nil {
			return err
		}
		list, err := d.stays(isIn)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return fmt.Errorf("no thread was seen in %s; tasks without a thread are not counted", function)
		}
		if n := windowsIn(list, so.Window); n > maxWindows {
			return fmt.Errorf("the stays are in %d windows of %v; choose longer ones, at most %d", n, so.Window, maxWindows)
		}
		r := d.stayReport(list, so)
		r.Function = function
		r.Conclusion = r.conclude()
		if asJSON {
			return printable.WriteJSON(w, r)
		}
		r.text(out, int64(so.Window), cmp.Or(o.N, maxChains))
		return nil
	})
}

func (d *data) stays(isIn func(int32) bool) (list []*jsonStay, err error) {
	clocks, ok := view.ClocksOf(d.Profile)
	byThread := map[[2]int64][]*profile.Sample{}
	for _, s := range d.Profile.Sample {
		if tid := view.NumLabel(s, rec.LabelTID); tid != 0 && s.Value[clocks.Wall] > 0 {
			ok = ok && view.NumLabel(s, rec.LabelEnd) != 0
			k := [2]int64{view.NumLabel(s, rec.LabelPID), tid}
			byThread[k] = append(byThread[k], s)
		}
	}
	if !ok {
		return nil, fmt.Errorf("%w; stays need a recording of prywalk without --aggregate", ErrNoTime)
	}
	period := max(1, d.Profile.Period)
	end := func(s *profile.Sample) int64 { return view.NumLabel(s, rec.LabelEnd) }
	begin := func(s *profile.Sample) int64 { return end(s) - s.Value[clocks.Wall] }
	look := func(s *profile.Sample) int64 { // the time between two looks at a thread
		return min(s.Value[clocks.Wall], max(period, s.Value[clocks.Wall]/max(1, s.Value[0])))
	}
	for k, samples := range byThread {
		slices.SortStableFunc(samples, func(a, b *profile.Sample) int {
			return cmp.Or(cmp.Compare(end(a), end(b)), cmp.Compare(begin(a), begin(b)))
		})
		var st *jsonStay
		last := int64(0)
		for _, s := range samples {
			gap := last != 0 && begin(s) > last+period/2
			stack := d.Table.Stack(s)
			unseen := d.Table.Frames[stack[0]].Name == attribute.NotObserved
			gap = gap || unseen
			in := slices.ContainsFunc(stack, isIn)
			if st != nil && (gap || !in) {
				if st.High = 0; !gap {
					st.High = st.Length + look(s)
				}
				st = nil
			}
			if in && st == nil {
				st = &jsonStay{PID: int(k[0]), TID: int(k[1]), Begin: begin(s) - d.Profile.TimeNanos, Low: -look(s)}
				if last == 0 || gap {
					st.Low = -1 // it began before
				}
				list = append(list, st)
			}
			if last = end(s); st != nil {
				st.samples = append(st.samples, s)
				st.Length = end(s) - d.Profile.TimeNanos - st.Begin
				st.CPU += s.Value[clocks.CPU]
				st.RunQueue += s.Value[clocks.RunQueue]
				st.Blocked += max(0, clocks.Blocked(s))
			}
			if unseen {
				last = 0
			}
		}
	}
	for _, st := range list {
		if cut := st.Low == -1; cut {
			st.Low, st.High = st.Length, 0
		} else {
			st.Low += st.Length
		}
	}
	slices.SortFunc(list, func(a, b *jsonStay) int {
		return cmp.Or(cmp.Compare(a.Length, b.Length), cmp.Compare(a.Begin, b.Begin), a.TID-b.TID)
	})
	return list, nil
}

func (d *data) stayReport(list []*jsonStay, o StayOptions) *jsonStays {
	n := len(list)
	r := &jsonStays{Tick: max(1, d.Profile.Period), Stays: n, Median: list[n/2].Length, P99: list[n-1-n/100].Length,
		Longest: list[n-1].Length}
	first := n - max(1, n/100)
	if o.Over > 0 {
		first, _ = slices.BinarySearchFunc(list, int64(o.Over)+1,
			func(s *jsonStay, l int64) int { return cmp.Compare(s.Length, l) })
	}
	slow, usual := list[first:], list[n/4:max(n/4+1, n-n/4)]
	r.Slow, r.Usual = meanOf(slow), meanOf(usual)
	parts := newStayParts(d)
	r.Causes = parts.causes(slow, usual)
	r.Windows = parts.windows(list, slow, int64(o.Window))
	for from, below, i := int64(0), 2*r.Tick, 0; i < n; from, below = below, 2*below {
		b := jsonStayBin{From: from, Below: below}
		for ; i < n && list[i].Length < below; i++ {
			b.Stays++
		}
		r.Histogram = append(r.Histogram, b)
	}
	for _, st := range list {
		if st.High == 0 {
			r.CutOff++
		}
		if st.Length < shortStay*r.Tick {
			r.Short++
		}
	}
	for _, st := range slices.Backward(list[max(0, n-100):]) {
		r.Slowest = append(r.Slowest, *st)
	}
	return r
}

func meanOf(list []*jsonStay) (g jsonStayGroup) {
	g.Stays = len(list)
	for _, st := range list {
		g.Length += st.Length
		g.CPU += st.CPU
		g.RunQueue += st.RunQueue
		g.Blocked += st.Blocked
	}
	n := int64(max(1, g.Stays))
	g.Length, g.CPU, g.RunQueue, g.Blocked = g.Length/n, g.CPU/n, g.RunQueue/n, g.Blocked/n
	return g
}

// stayParts divides samples by what the thread did.
type stayParts struct {
	d       *data
	waiting *view.Waiting
	clocks  view.ClockIndices
}

func newStayParts(d *data) *stayParts {
	clocks, _ := view.ClocksOf(d.Profile)
	return &stayParts{d, view.NewWaiting(d.Profile, true), clocks}
}

// each visits the parts of a sample's time that are not 0.
func (p *stayParts) each(s *profile.Sample, visit func(cause jsonStayCause, ns int64)) {
	function := p.waiting.Function(s)
	part := func(wait string, ns int64) {
		if ns != 0 {
			visit(jsonStayCause{Function: function, Wait: wait}, ns)
		}
	}
	part("", s.Value[p.clocks.CPU])
	part("a CPU", s.Value[p.clocks.RunQueue])
	part(p.d.WaitName(s), max(0, p.clocks.Blocked(s)))
}

// causes are in the order of what the slow stays have more.
func (p *stayParts) causes(slow, usual []*jsonStay) (out []jsonStayCause) {
	index := map[jsonStayCause]int{}
	add := func(list []*jsonStay, value func(c *jsonStayCause) *int64) {
		for _, st := range list {
			for _, s := range st.samples {
				p.each(s, func(c jsonStayCause, ns int64) {
					i, ok := index[c]
					if !ok {
						i = len(out)
						index[c], out = i, append(out, c)
					}
					*value(&out[i]) += ns
				})
			}
		}
	}
	add(slow, func(c *jsonStayCause) *int64 { return &c.Slow })
	add(usual, func(c *jsonStayCause) *int64 { return &c.Usual })
	for i := range out {
		out[i].Slow /= int64(max(1, len(slow)))
		out[i].Usual /= int64(max(1, len(usual)))
	}
	slices.SortStableFunc(out, func(a, b jsonStayCause) int { return cmp.Compare(b.Slow-b.Usual, a.Slow-a.Usual) })
	return out
}

func (c *jsonStayCause) text() string {
	if c.Wait == "" {
		return c.Function + " runs"
	}
	return c.Function + " waits for " + c.Wait
}

func (r *jsonStays) conclude() string {
	text := fmt.Sprintf("%s in %s: median %s, 99 %% up to %s, longest %s", tabular.Plural(int64(r.Stays), "stay"),
		r.Function, tabular.Nanos(r.Median), tabular.Nanos(r.P99), tabular.Nanos(r.Longest))
	if r.Slow.Stays == 0 {
		return text + "; none is over the limit"
	}
	if c := r.Causes[0]; c.Slow > c.Usual {
		text += fmt.Sprintf("; the slow ones have %s more each of: %s", tabular.Nanos(c.Slow-c.Usual), c.text())
	}
	return text
}

func (r *jsonStays) text(out *printable.Writer, window int64, rows int) {
	out.Printf("%s\n", r.Conclusion)
	out.Printf("each length is known to one tick, %s; stays shorter than that are often not seen,\n"+
		"and two stays without a look between them count as one\n", tabular.Nanos(r.Tick))
	if r.Short > 0 {
		out.Printf("%s under %d ticks (%s): record with a higher --freq to measure them\n",
			tabular.Plural(int64(r.Short), "stay"), shortStay, tabular.Nanos(shortStay*r.Tick))
	}
	if r.CutOff > 0 {
		out.Printf("%s cut off by the recording's begin or end, by a gap or by the thread's end: longer than shown\n",
			tabular.Plural(int64(r.CutOff), "stay"))
	}
	out.Printf("\n%-17s stays\n", "length")
	for _, b := range r.Histogram {
		out.Printf("%-17s %5d  %s\n", tabular.Nanos(b.From)+" to "+tabular.Nanos(b.Below), b.Stays,
			strings.Repeat("#", (b.Stays*40+r.Stays-1)/r.Stays))
	}
	out.Printf("\n%9s %9s  on average a stay: slow (%d), usual (%d)\n", "slow", "usual", r.Slow.Stays, r.Usual.Stays)
	row := func(slow, usual int64, what string) {
		out.Printf("%9s %9s  %s\n", tabular.Nanos(slow), tabular.Nanos(usual), what)
	}
	row(r.Slow.Length, r.Usual.Length, "length")
	row(r.Slow.CPU, r.Usual.CPU, "on a CPU")
	row(r.Slow.RunQueue, r.Usual.RunQueue, "waiting for a CPU")
	row(r.Slow.Blocked, r.Usual.Blocked, "blocked")
	if rows < 0 {
		rows = len(r.Causes)
	}
	for i := range r.Causes[:min(rows, len(r.Causes))] {
		if c := &r.Causes[i]; c.Slow > 0 {
			row(c.Slow, c.Usual, "  "+c.text())
		}
	}
	r.textWindows(out, window, rows)
	out.Printf("\nslowest\n")
	for i := range r.Slowest[:min(rows, len(r.Slowest))] {
		st := &r.Slowest[i]
		out.Printf("%9s  from %s, thread %d of process %d\n", tabular.Nanos(st.Length), tabular.Nanos(st.Begin), st.TID,
			st.PID)
	}
}
