// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"

	"prywalk/internal/managed"
)

// # Repeated observation of goroutines
//
// runtime.allgs only grows, and g's are reused: a place is a g. New places are ordered by address for joint reads
// ([gReader]). A goroutine has not run if number, state, sched, waitreason, waiting, param, labels and, since Go 1.17,
// trackingSeq (counts stops modulo 256; runtime/proc.go, casgstatus) are unchanged.

type goroutinePoller struct {
	allgs  *allgs
	listed int      // g's of runtime.allgs that are in gs
	gs     []uint64 // by place
	sums   []uint64 // of the g's as of Task, by place; 0: not read
	seed   maphash.Seed

	reader *gReader
	stacks parkedStacks
}

// Places implements [managed.Scheduler].
func (f *goroutinePoller) Places() (int, error) {
	r := f.allgs
	first, n, err := r.slice()
	if err != nil {
		return len(f.gs), err
	}
	if f.listed == 0 {
		if !r.findFieldsIn(first, n) {
			return 0, errGoroutines
		}
		all := newGReader(r.host)
		*f = goroutinePoller{allgs: r, seed: maphash.MakeSeed(), reader: all, stacks: parkedStacks{reader: all}}
	}
	f.reader.host = r.host
	if int(n) <= f.listed {
		return len(f.gs), nil
	}
	b := make([]byte, 8*(int(n)-f.listed))
	if r.host.Read(first+8*uint64(f.listed), b) != len(b) {
		return len(f.gs), errGoroutines
	}
	from := len(f.gs)
	for ; len(b) > 0; b = b[8:] {
		f.gs = append(f.gs, binary.LittleEndian.Uint64(b))
	}
	slices.Sort(f.gs[from:])
	f.sums = append(f.sums, make([]uint64, len(f.gs)-from)...)
	f.listed = len(f.gs)
	return len(f.gs), nil
}

// Poll implements [managed.Scheduler].
func (f *goroutinePoller) Poll(from, to int, changed []int) []int {
	from, to = max(from, 0), min(to, len(f.gs))
	if from >= to {
		return changed
	}
	first := len(changed)
	f.reader.each(f.gs[from:to], func(i int, g []byte) {
		if i += from; g == nil || f.sums[i] == 0 || f.sum(g) != f.sums[i] {
			changed = append(changed, i)
		}
	})
	f.stacks.expect(changed[first:])
	return changed
}

// sum hashes the words of g that change when it runs; never 0. Others write the scan bit, waitsince, the flags after
// waitreason, schedlink, and all after labels.
func (f *goroutinePoller) sum(b []byte) uint64 {
	l := &f.allgs.fields
	status := l.status
	flags := binary.LittleEndian.Uint32(b[status:])
	since, why := status+afterStatusGoid+8, status+afterStatusReason
	head := b[:status]
	tail := b[why+8 : min(int64(len(b)), l.start+afterStartLabels+8)]
	n := maphash.Bytes(f.seed, head) ^ maphash.Bytes(f.seed, tail)*31
	n = n*1000003 ^ uint64(flags&^goroutineScanning)<<8 ^ uint64(b[why])
	n = n*1000003 ^ binary.LittleEndian.Uint64(b[since-8:])
	return cmp.Or(n, 1)
}

// Task implements [managed.Scheduler].
func (f *goroutinePoller) Task(place int, t *managed.ParkedTask) (stack []byte, ok bool) {
	*t = managed.ParkedTask{OnThread: true}
	if place < 0 || place >= len(f.gs) {
		return nil, false
	}
	f.sums[place] = 0
	c := f.stacks.copyOf(f, place)
	if c == nil || c.state == copyChanged {
		return nil, false
	}
	f.sums[place] = c.sum
	g := &c.g
	if g.ended() {
		return nil, true
	}
	r := f.allgs
	t.Object = g.Addr
	g.fill(t, r.host.Arch())
	t.Entry, t.System, t.LabelsAt = r.startFuncs.at(g.Start).name, r.isSystem(g), g.Labels
	if t.OnThread {
		return nil, true
	}
	t.Wait = r.waitReason(g)
	return c.stack, true
}
