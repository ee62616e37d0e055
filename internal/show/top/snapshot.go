// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/show/view"
	"prywalk/internal/store/profile"
)

// Clock is a kind of time.
type Clock string

// Clocks, as in report --value.
const (
	CPU      Clock = profile.TypeCPU
	RunQueue Clock = profile.TypeRunQueue
	blocked  Clock = view.TypeBlocked
	Wall     Clock = profile.TypeWall
)

// Clocks returns all clocks.
func Clocks() []Clock { return []Clock{CPU, RunQueue, blocked, Wall} }

// sampleTypes are in the order of jsonValues.
var sampleTypes = []*pprof.ValueType{
	{Type: profile.TypeSamples, Unit: "count"},
	{Type: string(Wall), Unit: profile.Nanoseconds},
	{Type: string(RunQueue), Unit: profile.Nanoseconds},
	{Type: string(CPU), Unit: profile.Nanoseconds},
	{Type: string(blocked), Unit: profile.Nanoseconds},
}

// Snapshot is one window, as a profile with a sample for each cell. It is for one goroutine.
type Snapshot struct {
	// At is the window's end, Since the time sampled so far.
	At            time.Time
	Length, Since time.Duration
	// PendingNames is the number of addresses without a name yet.
	PendingNames int
	// Whole means that the window is the whole recording.
	Whole   bool
	data    *view.Data
	byClock map[Clock]*view.Data
	grouped map[[2]string][]*view.Group // by clock and kind
}

// by returns the window's samples by a clock.
func (snap *Snapshot) by(c Clock) *view.Data {
	d := snap.byClock[c]
	if d == nil {
		d = snap.data.By(string(c))
		snap.byClock[c] = d
	}
	return d
}

// SetNotes sets what the end of the sampling has found, as deadlocks and used-up CPU quotas; part of the conclusion.
func (snap *Snapshot) SetNotes(notes []string) { snap.data.Profile.Comments = notes }

// total is the window's time.
func (snap *Snapshot) total() view.Clocks {
	sum, _ := snap.data.Clocks(snap.data.Profile.Sample)
	return sum
}

// Snapshot returns a window of at least this length, or all there is; 0, and more than maxSliceAge: all.
func (s *Store) Snapshot(functions *FunctionTable, window time.Duration) *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if renamed := functions.names.Renamed(); renamed != functions.renamed {
		clear(functions.whole)
		functions.renamed = renamed
	}
	out := &Snapshot{At: time.Now(), byClock: map[Clock]*view.Data{}, grouped: map[[2]string][]*view.Group{}}
	if k := len(s.timeSlices); k > 0 {
		out.At = time.Unix(0, s.timeSlices[k-1].to)
		out.Since = time.Duration(s.timeSlices[k-1].to - s.begin)
	}
	cells := s.cells
	if window == 0 || window > maxSliceAge || window >= out.Since {
		out.Whole, out.Length = true, out.Since
	} else {
		cells, out.Length = s.last(window)
	}
	p := &pprof.Profile{SampleType: sampleTypes, DurationNanos: int64(out.Length)}
	for _, k := range slices.SortedFunc(maps.Keys(cells), compareKeys) {
		if x := s.sample(functions, k, cells[k]); x != nil {
			p.Sample = append(p.Sample, x)
		}
	}
	p.Mapping = s.programFirst(functions.mappings)
	out.PendingNames = functions.names.Pending()
	out.data = view.Of(p, functions.frames)
	return out
}

func (s *Store) last(window time.Duration) (cells sums, length time.Duration) {
	cells = sums{}
	last := s.timeSlices[len(s.timeSlices)-1].to
	from := last
	for i := len(s.timeSlices) - 1; i >= 0 && last-from < int64(window); i-- {
		from = s.timeSlices[i].from
		for k, v := range s.timeSlices[i].deltas {
			cells.add(k, v)
		}
	}
	return cells, time.Duration(last - from)
}

// sample takes negative values, of open intervals that ended with less, as 0; it returns nil if there is no time.
func (s *Store) sample(functions *FunctionTable, k cellKey, v Values) *pprof.Sample {
	v = Values{max(v.Samples, 0), max(v.Wall, 0), max(v.RunQueue, 0), max(v.CPU, 0)}
	if v == (Values{}) {
		return nil
	}
	x := &struct { // one allocation
		pprof.Sample
		values [5]int64
	}{values: [...]int64{v.Samples, v.Wall, v.RunQueue, v.CPU, max(0, v.Wall-v.RunQueue-v.CPU)}}
	x.Location, x.Value = functions.stack(k.stack), x.values[:]
	x.Label, x.NumLabel = s.labels(k.thread, k.wait), k.thread.numbers
	return &x.Sample
}

// labels makes the labels of a thread in a wait once.
func (s *Store) labels(th *thread, n int32) map[string][]string {
	labels := th.labels[n]
	if labels == nil {
		w := &s.waits[n]
		labels = map[string][]string{}
		for key, text := range map[string]string{profile.LabelComm: th.comm, profile.LabelThread: th.name,
			profile.LabelTask: th.task, profile.LabelState: w.state, profile.LabelWait: w.call,
			profile.LabelWaitsFor: w.object} {
			if text != "" {
				labels[key] = []string{text}
			}
		}
		th.labels[n] = labels
	}
	return labels
}

// programFirst puts the first mapping that has the name of its process in front; else, as of a program that a link
// started, the first file that is no library.
func (s *Store) programFirst(mappings []*pprof.Mapping) []*pprof.Mapping {
	if len(s.threads) == 0 {
		return nil
	}
	byID := func(a, b *thread) int { return cmp.Compare(a.id, b.id) }
	comm := slices.MinFunc(slices.Collect(maps.Values(s.threads)), byID).comm
	i := slices.IndexFunc(mappings, func(m *pprof.Mapping) bool {
		return comm != "" && strings.HasPrefix(view.ModuleName(m.File), comm)
	})
	if i < 0 {
		i = slices.IndexFunc(mappings, func(m *pprof.Mapping) bool {
			return strings.HasPrefix(m.File, "/") && !strings.Contains(m.File, ".so")
		})
	}
	if i < 0 {
		return append([]*pprof.Mapping{{}}, mappings...)
	}
	return slices.Concat(mappings[i:i+1], mappings[:i], mappings[i+1:])
}
