// SPDX-License-Identifier: Apache-2.0

package load

import (
	"runtime"
	"sync"

	"prywalk/benchmarks/bench/load"
)

type locked struct {
	mu sync.Mutex
	x  uint64
	_  [48]byte
}

type locks struct {
	p    *program
	next int
	all  [2]locked
}

func newLocks(p *program) *locks { return &locks{p: p} }

func (l *locks) work(w *worker) error {
	i := l.next
	l.next++
	go func() {
		runtime.LockOSThread()
		own := uint64(1)
		for ; l.p.ctx.Err() == nil; i++ {
			k := &l.all[i%len(l.all)]
			asked := load.Now()
			k.mu.Lock()
			w.waits.add(load.Now() - asked)
			k.x = load.Mix(k.x | 1)
			k.mu.Unlock()
			own = load.Mix(own)
			w.n.Add(1)
		}
		sink.Store(own)
	}()
	return nil
}
