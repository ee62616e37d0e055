package top

import (
	"time"

	"prywalk/internal/printable"
)

// Cell is what a thread used under one stack, in one state.
type Cell struct {
	stack  []int32 // frames, innermost first
	thread int32
	wait   int32
	v      Values
}

// Snapshot is a window at one moment. It does not change.
type Snapshot struct {
	// At is its end, Length how long it is, Since how long it was sampled for in all.
	At            time.Time
	Length, Since time.Duration
	Cells         []Cell
	frames        []Frame
	threads       []thread
	waits         []string
	parts         []*shares // of the last slices, the oldest first, for changes
	// Waiting is how many addresses have no name yet.
	Waiting int
	// Whole: the window is all that was sampled.
	Whole bool
}

// Snapshot gives the last part of what was sampled: at least window, if there is as much. 0 is all. Changes can be told
// of one clock.
func (s *Store) Snapshot(n *Names, window time.Duration, clock Clock) *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	out := &Snapshot{At: time.Now(), Whole: window == 0}
	if k := len(s.slices); k > 0 {
		out.At = time.Unix(0, s.slices[k-1].to)
		out.Since = time.Duration(s.slices[k-1].to - s.begin)
		n.ask(out.At)
	}
	out.waits = s.waits[:len(s.waits):len(s.waits)]
	out.threads = append(out.threads, s.threads...)
	if window == 0 || window >= out.Since {
		out.Whole, out.Length = true, out.Since
		for i := range s.cells {
			out.put(n, s.cells[i].key, s.cells[i].all)
		}
	} else {
		s.sum(out, n, window)
	}
	out.parts = s.shares(n, clock)
	out.frames = n.frames[:len(n.frames):len(n.frames)]
	out.Waiting = len(n.asked)
	return out
}

// sum adds up the slices of a window.
func (s *Store) sum(out *Snapshot, n *Names, window time.Duration) {
	last := s.slices[len(s.slices)-1].to
	sums := map[int32]*Values{}
	var order []int32
	from := last
	for i := len(s.slices) - 1; i >= 0 && last-from < int64(window); i-- {
		from = s.slices[i].from
		for _, d := range s.slices[i].deltas {
			v := sums[d.cell]
			if v == nil {
				v = &Values{}
				sums[d.cell] = v
				order = append(order, d.cell)
			}
			v.add(d.v)
		}
	}
	out.Length = time.Duration(last - from)
	for _, c := range order {
		out.put(n, s.cells[c].key, *sums[c])
	}
}

// put adds a cell that has something.
func (o *Snapshot) put(n *Names, k cellKey, v Values) {
	if v != (Values{}) {
		o.Cells = append(o.Cells, Cell{n.of(k.stack), k.thread, k.wait, v})
	}
}

// threadName is a thread as report --by thread names it.
func (o *Snapshot) threadName(n int32) string {
	th := &o.threads[n]
	name := th.name
	if name == "" {
		name = th.comm
	}
	if th.tid == 0 {
		return printable.Sprintf("%s %s (pid %d)", name, th.comm, th.pid)
	}
	return printable.Sprintf("%s (tid %d)", name, th.tid)
}
