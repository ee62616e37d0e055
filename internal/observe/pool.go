// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"sync/atomic"

	"prywalk/ptrace"
)

// Largest kept buffer, in bytes.
const maxKeptBuffer = 512 << 10

// All kept buffers, in bytes.
const maxKeptBytes = 24 << 20

// Pool keeps raw samples for reuse.
type Pool struct {
	free         chan *RawSample
	bytesOut     atomic.Int64
	bytesWaiting atomic.Int64
	freeBytes    atomic.Int64 // bytes in free
	leastFree    atomic.Int64 // least free since the last Trim
	frugal       bool
}

// Bounds of a frugal pool, in bytes.
const (
	maxKeptFrugal  = 8 << 20
	minLargeFrugal = 16 << 10
)

// SetFrugal makes the pool keep less. Precondition: it is not in use.
func (p *Pool) SetFrugal() { p.frugal = true }

func (p *Pool) mayKeep(room int64) bool {
	most := int64(maxKeptBytes)
	if p.frugal {
		most = maxKeptFrugal
		if room > minLargeFrugal {
			most /= 4
		}
	}
	return room <= maxKeptBuffer && p.freeBytes.Load()+room <= most
}

// BytesInUse returns the bytes of stack in raw samples in use. For any goroutine.
func (p *Pool) BytesInUse() int64 { return p.bytesOut.Load() }

// BeginWaiting counts a raw sample as waiting for its walk until [Pool.Put], and returns the bytes of its stack.
func (s *RawSample) BeginWaiting() int64 {
	if s.pool != nil && s.waitingBytes == 0 {
		s.waitingBytes = s.chargedBytes
		s.pool.bytesWaiting.Add(s.waitingBytes)
	}
	return s.waitingBytes
}

// BytesWaiting returns the bytes of stack that wait for walks. For any goroutine.
func (p *Pool) BytesWaiting() int64 { return p.bytesWaiting.Load() }

// NewPool returns a pool that keeps at most n raw samples.
func NewPool(n int) *Pool {
	return &Pool{free: make(chan *RawSample, n)}
}

// Get returns an empty raw sample. It pins the tracer: preempted in the channel's lock, it would wait for an ordinary
// thread.
func (p *Pool) Get() *RawSample {
	ptrace.Pin()
	defer ptrace.Unpin()
	select {
	case s := <-p.free:
		p.freeBytes.Add(-int64(cap(s.buf)))
		p.leastFree.Store(min(p.leastFree.Load(), int64(len(p.free))))
		s.reset()
		return s
	default:
		p.leastFree.Store(0)
		s := &RawSample{pooled: pooled{pool: p}}
		s.reset()
		return s
	}
}

// Trim drops raw samples not needed since the last call. For any goroutine.
func (p *Pool) Trim() {
	for n := p.leastFree.Load(); n > 0; n-- {
		select {
		case s := <-p.free:
			p.freeBytes.Add(-int64(cap(s.buf)))
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
	p.bytesOut.Add(-s.chargedBytes)
	p.bytesWaiting.Add(-s.waitingBytes)
	s.chargedBytes, s.waitingBytes = 0, 0
	room := int64(cap(s.buf))
	if !p.mayKeep(room) {
		return
	}
	p.freeBytes.Add(room) // before it can be taken again
	select {
	case p.free <- s:
	default:
		p.freeBytes.Add(-room)
	}
}

type pooled struct {
	pool         *Pool
	chargedBytes int64
	waitingBytes int64
}

// reserveStack sets the size of the stack's buffer. Precondition: no thread is stopped.
func (s *RawSample) reserveStack(n int) {
	if cap(s.buf) < n {
		s.buf = make([]byte, n)
		s.touched = 0
	}
	s.buf = s.buf[:n]
	if s.pool != nil {
		held := int64(cap(s.buf))
		s.pool.bytesOut.Add(held - s.chargedBytes)
		s.chargedBytes = held
	}
}
