// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"math/bits"
	"sync/atomic"

	"prywalk/internal/host/procmem"
	"prywalk/ptrace"
)

const (
	maxKeptBuffer = 512 << 10 // bytes of a kept buffer; a raw sample has two
	maxKeptBytes  = 24 << 20  // bytes of all kept buffers
)

// Pool keeps raw samples for reuse. Put, Trim and the counts are for any goroutine.
type Pool struct {
	free         chan *RawSample
	bytesInUse   atomic.Int64
	bytesWaiting atomic.Int64 // for walks
	freeBytes    atomic.Int64 // in free
	leastFree    atomic.Int64 // since the last Trim
	lowMemory    bool
}

// Bounds of a pool for low memory, in bytes.
const (
	maxKeptLow  = 8 << 20
	minLargeLow = 16 << 10
)

// SetLowMemory makes the pool keep less. Precondition: it is not in use.
func (p *Pool) SetLowMemory() { p.lowMemory = true }

func (p *Pool) mayKeep(b *sampleBuffers) bool {
	most, room := int64(maxKeptBytes), b.bytes()
	if p.lowMemory {
		most = maxKeptLow
		if room > minLargeLow {
			most /= 4
		}
	}
	return max(cap(b.stack), cap(b.others)) <= maxKeptBuffer && p.freeBytes.Load()+room <= most
}

// BytesInUse returns the bytes of the buffers in use.
func (p *Pool) BytesInUse() int64 { return p.bytesInUse.Load() }

// BytesWaiting returns the bytes of the buffers that wait for walks.
func (p *Pool) BytesWaiting() int64 { return p.bytesWaiting.Load() }

// NewPool returns a pool that keeps at most n raw samples.
func NewPool(n int) *Pool {
	return &Pool{free: make(chan *RawSample, n)}
}

// Get returns an empty raw sample. It pins the goroutine: a tracer preempted while it holds the channel's lock could
// not run until an ordinary thread does.
func (p *Pool) Get() *RawSample {
	ptrace.Pin()
	defer ptrace.Unpin()
	select {
	case s := <-p.free:
		p.freeBytes.Add(-s.buffers.bytes())
		p.leastFree.Store(min(p.leastFree.Load(), int64(len(p.free))))
		s.reset()
		return s
	default:
		p.leastFree.Store(0)
		s := &RawSample{buffers: sampleBuffers{pool: p}}
		s.reset()
		return s
	}
}

// Trim drops raw samples not needed since the last call.
func (p *Pool) Trim() {
	for n := p.leastFree.Load(); n > 0; n-- {
		select {
		case s := <-p.free:
			p.freeBytes.Add(-s.buffers.bytes())
		default:
		}
	}
	p.leastFree.Store(int64(len(p.free)))
}

// Put takes back a raw sample, or nil.
func (p *Pool) Put(s *RawSample) {
	if s == nil {
		return
	}
	p.bytesInUse.Add(-s.buffers.bytesInUse)
	p.bytesWaiting.Add(-s.buffers.bytesWaiting)
	s.buffers.bytesInUse, s.buffers.bytesWaiting = 0, 0
	if !p.mayKeep(&s.buffers) {
		return
	}
	room := s.buffers.bytes()
	p.freeBytes.Add(room) // before it can be taken again
	select {
	case p.free <- s:
	default:
		p.freeBytes.Add(-room)
	}
}

type sampleBuffers struct {
	stack        []byte
	touched      int // bytes of stack with pages
	others       []byte
	pool         *Pool // or nil
	bytesInUse   int64 // that the pool counts
	bytesWaiting int64 // the same
}

// BeginWaiting counts a raw sample as waiting until [Pool.Put]. It returns the bytes of its stack buffer.
func (s *RawSample) BeginWaiting() int64 {
	b := &s.buffers
	if b.pool != nil && b.bytesWaiting == 0 {
		b.bytesWaiting = b.bytesInUse
		b.pool.bytesWaiting.Add(b.bytesWaiting)
	}
	return int64(cap(b.stack))
}

// reserveStack may allocate: a thread that is stopped meanwhile stays so.
func (b *sampleBuffers) reserveStack(n int) {
	if cap(b.stack) < n {
		b.stack = make([]byte, n)
		b.touched = 0
	}
	b.stack = b.stack[:n]
	b.countInUse()
}

func (b *sampleBuffers) bytes() int64 { return int64(cap(b.stack) + cap(b.others)) }

func (b *sampleBuffers) countInUse() {
	if b.pool != nil {
		held := b.bytes()
		b.pool.bytesInUse.Add(held - b.bytesInUse)
		b.bytesInUse = held
	}
}

const minTouched = 16 << 10 // bytes of an unknown stack

// touch faults in the buffer of a copy: a thread that is stopped meanwhile stays so.
func (b *sampleBuffers) touch(n int) {
	n = min(max(n+copyMargin, minTouched), len(b.stack))
	procmem.Touch(b.stack[min(b.touched, n):n])
	b.touched = max(b.touched, n)
}

func (b *sampleBuffers) reserveOthers(n int) {
	if cap(b.others) < n {
		b.others = make([]byte, 1<<bits.Len(uint(n)))
		procmem.Touch(b.others)
		b.countInUse()
	}
}
