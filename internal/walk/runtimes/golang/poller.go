// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"

	"prywalk/internal/walk/managed"
)

// # Repeated observation of goroutines
//
// runtime.allgs only grows, and g's are reused: a place is a g. New places are ordered by address for joint reads
// ([gReader]). A goroutine has not run if number, state, sched, waitreason, waiting, param, labels and trackingSeq
// (runtime/proc.go, casgstatus) are unchanged.

type goroutinePoller struct {
	allgs  *allgs
	listed int // in gs
	gs     []uint64
	sums   []uint64 // as of Task; 0: not read
	seed   maphash.Seed

	reader *gReader
	stacks parkedStacks
}

// Places implements [managed.Scheduler].
func (p *goroutinePoller) Places() (int, error) {
	r := p.allgs
	first, n, err := r.slice()
	if err != nil {
		return len(p.gs), err
	}
	if p.listed == 0 {
		if !r.findFieldsIn(first, n) {
			return 0, errGoroutines
		}
		all := newGReader(r.host)
		*p = goroutinePoller{allgs: r, seed: maphash.MakeSeed(), reader: all, stacks: parkedStacks{reader: all}}
	}
	p.reader.host = r.host
	if int(n) <= p.listed {
		return len(p.gs), nil
	}
	b := make([]byte, 8*(int(n)-p.listed))
	if r.host.Read(first+8*uint64(p.listed), b) != len(b) {
		return len(p.gs), errUnreadable
	}
	from := len(p.gs)
	for ; len(b) > 0; b = b[8:] {
		p.gs = append(p.gs, binary.LittleEndian.Uint64(b))
	}
	slices.Sort(p.gs[from:])
	p.sums = append(p.sums, make([]uint64, len(p.gs)-from)...)
	p.listed = len(p.gs)
	return len(p.gs), nil
}

// Poll implements [managed.Scheduler].
func (p *goroutinePoller) Poll(from, to int, changed []int) []int {
	from, to = max(from, 0), min(to, len(p.gs))
	if from >= to {
		return changed
	}
	first := len(changed)
	p.reader.each(p.gs[from:to], func(i int, g []byte) {
		if i += from; g == nil || p.sums[i] == 0 || p.sum(g) != p.sums[i] {
			changed = append(changed, i)
		}
	})
	p.stacks.expect(changed[first:])
	return changed
}

// sum hashes the words of g that change when it runs; never 0. Other code writes the scan bit, waitsince, the flags
// after waitreason, schedlink, and all after labels.
func (p *goroutinePoller) sum(b []byte) uint64 {
	l := &p.allgs.fields
	why := l.status + afterStatusReason
	status := binary.LittleEndian.Uint32(b[l.status:]) &^ goroutineScanning
	tail := b[why+8 : min(int64(len(b)), l.start+afterStartLabels+8)]
	n := maphash.Bytes(p.seed, b[:l.status]) ^ maphash.Bytes(p.seed, tail)*31
	n = n*1000003 ^ uint64(status)<<8 ^ uint64(b[why])
	n = n*1000003 ^ word64(b, l.status+afterStatusGoid)
	return cmp.Or(n, 1)
}

// Task implements [managed.Scheduler].
func (p *goroutinePoller) Task(place int, t *managed.TaskRecord) (stack []byte, ok bool) {
	*t = managed.TaskRecord{OnThread: true}
	if place < 0 || place >= len(p.gs) {
		return nil, false
	}
	p.sums[place] = 0
	c := p.stacks.copyOf(p, place)
	if c == nil || c.state == copyChanged {
		return nil, false
	}
	p.sums[place] = c.sum
	g := &c.g
	if g.ended() {
		return nil, true
	}
	r := p.allgs
	t.Object = g.Addr
	g.fill(t, r.host.Arch())
	t.Entry, t.System, t.LabelsAt = r.startFuncs.at(g.Start).name, r.isSystem(g), g.Labels
	if t.OnThread {
		return nil, true
	}
	t.Wait = r.waitReason(g)
	return c.stack, true
}
