// SPDX-License-Identifier: Apache-2.0

package load

import (
	"runtime"
	"sync/atomic"
)

// busy computes all the time.
func (p *program) busy(w *worker) error {
	go func() {
		runtime.LockOSThread()
		p.compute(w)
	}()
	return nil
}

// compute counts pieces of work of some hundred nanoseconds each.
func (p *program) compute(w *worker) {
	x := uint64(1)
	for p.ctx.Err() == nil {
		for range 64 {
			x = mix(x)
			w.n.Add(1)
		}
	}
	sink.Store(x)
}

var sink atomic.Uint64

// mix is a piece of work: it depends on itself, so that nothing runs ahead.
//
//go:noinline
func mix(x uint64) uint64 {
	for range 200 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}
