// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"math/bits"

	"prywalk/internal/observe/copysize"
	"prywalk/internal/procmem"
)

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
	n = min(max(n+copysize.Margin, minTouched), len(b.stack))
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
