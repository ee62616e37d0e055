// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// # Repeated observation of goroutines
//
// runtime.allgs only grows, and g's are reused: a place is a g. New places are ordered by address for joint reads
// ([gReader]). A goroutine has not run if number, state, sched, waitreason, waiting, param, labels and trackingSeq
// (runtime/proc.go, casgstatus) are unchanged.
//
// A stack is read twice, between two reads of its g; equal copies prove that the goroutine did not run:
//
//	g   stack stack g

// maxFollowedStack bounds the copied bytes of a stack.
const maxFollowedStack = 256 << 10

type goroutinePoller struct {
	allgs *allgs
	gs    []uint64
	sums  []uint64 // as of Task; 0 if it was not read
	seed  maphash.Seed

	reader        *gReader
	before, after [goroutineBytes]byte
	first, second []byte // copies of a stack
}

// Places implements [managed.Scheduler].
func (p *goroutinePoller) Places() (int, error) {
	r := p.allgs
	first, n, err := r.slice()
	if err != nil {
		return len(p.gs), err
	}
	if len(p.gs) == 0 {
		if !r.findFieldsIn(first, n) {
			return 0, errGoroutines
		}
		*p = goroutinePoller{allgs: r, seed: maphash.MakeSeed(), reader: newGReader(r.program.host)}
	}
	p.reader.host = r.program.host
	from := len(p.gs)
	if int(n) <= from {
		return from, nil
	}
	b := make([]byte, 8*(int(n)-from))
	if r.program.host.Read(first+8*uint64(from), b) != len(b) {
		return from, errUnreadable
	}
	for ; len(b) > 0; b = b[8:] {
		p.gs = append(p.gs, binary.LittleEndian.Uint64(b))
	}
	slices.Sort(p.gs[from:])
	p.sums = append(p.sums, make([]uint64, len(p.gs)-from)...)
	return len(p.gs), nil
}

// Poll implements [managed.Scheduler].
func (p *goroutinePoller) Poll(from, to int, changed []int) []int {
	from, to = max(from, 0), min(to, len(p.gs))
	if from >= to {
		return changed
	}
	p.reader.each(p.gs[from:to], func(i int, g []byte) {
		if i += from; g == nil || p.sums[i] == 0 || p.sum(g) != p.sums[i] {
			changed = append(changed, i)
		}
	})
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
	for n := 0; n < goroutineTries && !ok; n++ {
		stack, ok = p.copyTask(place, t)
	}
	return stack, ok
}

// copyTask returns false if the goroutine ran meanwhile. It leaves t as it is for one that has ended.
func (p *goroutinePoller) copyTask(place int, t *managed.TaskRecord) (stack []byte, ok bool) {
	r, at := p.allgs, p.gs[place]
	if r.program.host.Read(at, p.before[:]) != len(p.before) {
		return nil, false
	}
	g, valid := r.check(at, p.before[:])
	sum := p.sum(p.before[:])
	isParked := valid && !g.ended() && !g.onThread()
	if isParked {
		stack, valid = p.copyStack(&g, sum)
	}
	if !valid {
		return nil, false
	}
	if p.sums[place] = sum; g.ended() {
		return nil, true
	}
	t.Object = at
	g.fill(t, r.program.host.Arch())
	t.Entry, t.System, t.LabelsAt = r.startFuncs.at(g.Start).name, r.isSystem(&g), g.Labels
	if isParked {
		t.Wait = r.waitReason(&g)
	}
	return stack, true
}

// copyStack returns a goroutine's stack from its stack pointer on, or false if the goroutine ran meanwhile.
func (p *goroutinePoller) copyStack(g *Goroutine, sum uint64) (stack []byte, ok bool) {
	size := int(min(g.StackHi-g.SP, maxFollowedStack))
	if len(p.first) < size {
		p.first, p.second = make([]byte, size), make([]byte, size)
	}
	stack, again := p.first[:size:size], p.second[:size]
	parts := []frames.Region{{Addr: g.SP, Bytes: stack}, {Addr: g.SP, Bytes: again}, {Addr: g.Addr, Bytes: p.after[:]}}
	all := managed.ReadRegions(p.allgs.program.host, p.allgs.program.host, parts, func(*frames.Region) {})
	return stack, all && bytes.Equal(stack, again) && p.sum(p.after[:]) == sum
}

// # Descriptors of the network poller
//
// A goroutine in "IO wait" has the address of a pollDesc (runtime/netpoll.go) on its stack, in the frames of
// netpollblock and internal/poll.runtime_pollWait, which use it after the wait. The pollDesc names its waiters:
//
//	+8 fd    +24 rg, +32 wg until Go 1.20; +32 rg, +40 wg since Go 1.21
//
// So a word of the stack that leads to the g is proof, as only netpollblock sets rg and wg, and clears them.
const (
	pollDescBytes = 48
	pollDescFD    = 8
	pollDescFirst = 24 // first word that can be a waiter
	maxFD         = 1 << 30
)

const waitReasonIO = "IO wait"

// Polled implements [managed.Scheduler].
func (ws *waitQueues) Polled(t *managed.TaskRecord, stack []byte) (fd int, ok bool) {
	if t.Wait != waitReasonIO {
		return 0, false
	}
	for off := 0; off+8 <= min(len(stack), maxWaitStack); off += 8 {
		at := word64(stack, int64(off))
		var d [pollDescBytes]byte
		if at%8 != 0 || at < 1<<16 || at >= t.StackLo && at < t.StackHi || ws.allgs.program.host.Read(at, d[:]) != len(d) {
			continue
		}
		for waiter := int64(pollDescFirst); waiter < pollDescBytes; waiter += 8 {
			if n := word64(d[:], pollDescFD); word64(d[:], waiter) == t.Object && n < maxFD {
				return int(n), true
			}
		}
	}
	return 0, false
}
