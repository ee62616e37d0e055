// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/protobuf"
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

// Perfetto writes a trace for ui.perfetto.dev: for each thread a track with its stacks and one with its states, as
// slices, and for each process the sums of its clocks so far, as counters, in nanoseconds. Times are of the Unix epoch.
// The error is [view.ErrNoTime] for a profile without time stamps.
func Perfetto(w io.Writer, p *profile.Profile, o view.Options) error {
	o.Lines = false
	return view.Write(w, p, o, writePerfetto)
}

func writePerfetto(d *view.Data, to io.Writer) error {
	clocks, ok := view.ClocksOf(d.Profile)
	if !ok || d.Profile.TimeNanos == 0 || !slices.ContainsFunc(d.Profile.Sample,
		func(s *profile.Sample) bool { return view.NumLabel(s, rec.LabelEnd) != 0 }) {
		return fmt.Errorf("%w; a trace needs a recording of prywalk without --aggregate", view.ErrNoTime)
	}
	t := &perfetto{data: d, clocks: clocks, to: to, names: map[string]uint64{}, processes: map[int64]uint64{},
		step: max(10e6, d.Profile.DurationNanos/perfettoPoints)}
	for _, g := range d.Groups("thread") {
		if d.Memory.Err() == nil && t.err == nil {
			t.thread(g)
		}
	}
	t.counters()
	return t.err
}

const (
	perfettoPoints   = 1000 // of a counter
	perfettoNameCost = 160  // bytes
)

// Fields and values of protos/perfetto/trace/perfetto_trace.proto.
const (
	// of a packet of the trace
	perfettoTimestamp, perfettoSequence, perfettoEvent = 8, 10, 11
	perfettoInterned, perfettoFlags, perfettoTrack     = 12, 13, 60
	// types of an event
	perfettoBegin, perfettoEnd, perfettoCounter = 1, 2, 4
)

type perfetto struct {
	data      *view.Data
	clocks    view.ClockIndices
	to        io.Writer
	err       error
	begun     bool              // a packet is written
	names     map[string]uint64 // interned
	tracks    uint64
	processes map[int64]uint64 // tracks by pid
	order     []int64          // pids
	step      int64            // between the points of a counter, in nanoseconds
}

// packet writes a packet with a field, and a name that the field refers to for the first time.
func (t *perfetto) packet(time int64, field int, body, interned protobuf.Message) {
	var m, out protobuf.Message
	m.Int(perfettoTimestamp, time)
	m.Uint(perfettoSequence, 1)
	if interned != nil {
		m.Bytes(perfettoInterned, interned)
	}
	m.Bytes(field, body)
	flags := uint64(2) // SEQ_NEEDS_INCREMENTAL_STATE
	if !t.begun {
		flags = 1 // SEQ_INCREMENTAL_STATE_CLEARED
	}
	t.begun = true
	m.Uint(perfettoFlags, flags)
	out.Bytes(1, m)
	if _, err := t.to.Write(out); err != nil && t.err == nil {
		t.err = err
	}
}

// track describes a track; kind is the field of its process (3), thread (4) or counter (8), 0 for none.
func (t *perfetto) track(parent uint64, name string, kind int, about protobuf.Message) uint64 {
	t.tracks++
	var m protobuf.Message
	m.Uint(1, t.tracks)
	if name != "" {
		m.Bytes(2, []byte(name))
	}
	if kind != 0 {
		m.Bytes(kind, about)
	}
	m.Uint(5, parent)
	t.packet(0, perfettoTrack, m, nil)
	return t.tracks
}

func (t *perfetto) process(s *profile.Sample) uint64 {
	pid := view.NumLabel(s, rec.LabelPID)
	if n, ok := t.processes[pid]; ok {
		return n
	}
	var m protobuf.Message
	m.Int(1, pid)
	m.Bytes(6, []byte(view.Label(s, rec.LabelComm)))
	t.processes[pid] = t.track(0, "", 3, m)
	t.order = append(t.order, pid)
	return t.processes[pid]
}

func (t *perfetto) begin(track uint64, time int64, name string) {
	iid, known := t.names[name]
	var interned protobuf.Message
	if !known {
		t.data.Memory.Take(perfettoNameCost + int64(len(name)))
		iid = uint64(len(t.names) + 1)
		t.names[name] = iid
		var entry protobuf.Message
		entry.Uint(1, iid)
		entry.Bytes(2, []byte(name))
		interned.Bytes(2, entry)
	}
	var m protobuf.Message
	m.Uint(9, perfettoBegin)
	m.Uint(10, iid)
	m.Uint(11, track)
	t.packet(time, perfettoEvent, m, interned)
}

func (t *perfetto) end(track uint64, time int64) {
	var m protobuf.Message
	m.Uint(9, perfettoEnd)
	m.Uint(11, track)
	t.packet(time, perfettoEvent, m, nil)
}

// perfettoSlices are the open slices of a track, outermost first.
type perfettoSlices struct {
	track uint64
	names []string
	until int64 // in nanoseconds of Unix time
}

// show lets slices with these names last from begin to end; what goes on without a gap stays open.
func (t *perfetto) show(open *perfettoSlices, names []string, begin, end int64) {
	same := 0
	if begin <= open.until {
		for same < min(len(names), len(open.names)) && names[same] == open.names[same] {
			same++
		}
	}
	begin = max(begin, open.until)
	for range len(open.names) - same {
		t.end(open.track, min(begin, open.until))
	}
	for _, name := range names[same:] {
		t.begin(open.track, begin, name)
	}
	open.names, open.until = append(open.names[:same], names[same:]...), max(begin, end)
}

func (t *perfetto) thread(g *view.Group) {
	first := g.Samples[0]
	parent, tid := t.process(first), view.NumLabel(first, rec.LabelTID)
	var m protobuf.Message
	kind := 0
	if tid != 0 {
		kind = 4
		m.Int(1, view.NumLabel(first, rec.LabelPID))
		m.Int(2, tid)
		m.Bytes(5, []byte(cmp.Or(view.Label(first, rec.LabelThread), view.Label(first, rec.LabelComm))))
	}
	stacks := perfettoSlices{track: t.track(parent, g.Name, kind, m)}
	states := perfettoSlices{track: t.track(stacks.track, "state", 0, nil)}
	view.SortByTime(g.Samples)
	var names []string
	for _, s := range g.Samples {
		end, wall := view.NumLabel(s, rec.LabelEnd), s.Value[t.clocks.Wall]
		if end == 0 || wall <= 0 {
			continue
		}
		names = names[:0]
		for _, f := range slices.Backward(t.data.Table.Stack(s)) {
			names = append(names, t.data.Table.Frames[f].Name)
		}
		t.show(&stacks, names, end-wall, end)
		state := view.Label(s, rec.LabelState)
		if view.Label(s, rec.LabelWait) != "" {
			state = t.data.WaitName(s)
		}
		t.show(&states, []string{cmp.Or(state, "no state")}, end-wall, end)
	}
	t.show(&stacks, nil, stacks.until, stacks.until)
	t.show(&states, nil, states.until, states.until)
}

// counters write each process's clocks, each as the sum so far.
func (t *perfetto) counters() {
	start, points := t.data.Profile.TimeNanos, int(t.data.Profile.DurationNanos/t.step)+2
	sums := map[int64][3][]int64{}
	for _, pid := range t.order {
		t.data.Memory.Take(3 * 8 * int64(points))
		sums[pid] = [3][]int64{make([]int64, points), make([]int64, points), make([]int64, points)}
	}
	for _, s := range t.data.Profile.Sample {
		end, wall := view.NumLabel(s, rec.LabelEnd)-start, s.Value[t.clocks.Wall]
		point := func(time int64) int { return int(min(max(time+t.step-1, 0)/t.step, int64(points-1))) }
		for i, v := range [3]int64{s.Value[t.clocks.CPU], s.Value[t.clocks.RunQueue], max(0, t.clocks.Blocked(s))} {
			to := sums[view.NumLabel(s, rec.LabelPID)][i]
			last, before := point(end), int64(0)
			for k := point(end - wall); k < last; k++ {
				sum := view.Portion(v, max(0, int64(k)*t.step-(end-wall)), wall)
				to[k] += sum - before
				before = sum
			}
			to[last] += v - before
		}
	}
	for _, pid := range t.order {
		for i, name := range []string{rec.TypeCPU, rec.TypeRunQueue, view.TypeBlocked} {
			var unit protobuf.Message
			unit.Uint(3, 1) // UNIT_TIME_NS
			track, sum := t.track(t.processes[pid], name, 8, unit), int64(0)
			for k, v := range sums[pid][i] {
				if sum += v; v == 0 && k > 0 {
					continue
				}
				var m protobuf.Message
				m.Uint(9, perfettoCounter)
				m.Uint(11, track)
				m.Key(30, protobuf.Varint)
				m = binary.AppendUvarint(m, uint64(sum))
				t.packet(start+int64(k)*t.step, perfettoEvent, m, nil)
			}
		}
	}
}
