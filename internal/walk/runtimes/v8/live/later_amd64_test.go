// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
)

type copied struct {
	regs *frames.Regs
	mem  *frames.Snapshot
	at   int64
	due  int64
}

type running func(addr uint64, b []byte) int

func (r running) Read(addr uint64, b []byte) int { return r(addr, b) }
func (running) Unchanged() bool                  { return false }

// mostLag is the time between a copy and its names, ns.
const mostLag = 40e6

func (s *stepped) later(t *testing.T, copies int, yield func(stack []call)) {
	t.Helper()
	var queue []copied
	for range copies {
		regs := s.run(t, time.Duration(rand.IntN(300))*time.Microsecond)
		sp, _ := regs.Get(frames.X86RSP)
		end := s.p.StackEnd(sp)
		b := make([]byte, min(end-sp, 256<<10))
		b = b[:s.p.Read(sp, b)]
		now := procmem.Now()
		queue = append(queue, copied{regs, &frames.Snapshot{Stack: frames.Region{Addr: sp, Bytes: b}, StackEnd: end}, now,
			now + rand.Int64N(mostLag)})
		for len(queue) > 0 && (queue[0].due <= procmem.Now() || len(queue) > 100) {
			c := queue[0]
			queue = queue[1:]
			stack, complete := s.named(c.regs, c.mem, running(s.p.Read), c.at)
			if !complete {
				s.refresh(t)
			}
			yield(stack)
		}
	}
}

// NODE_STEPS is the number of copies in each mode of each release.
func TestNamesThatAreReadLaterAreThoseOfTheCopy(t *testing.T) {
	eachMode(t, shortChain, modes, func(t *testing.T, s *stepped) {
		var n stepCounts
		for tries := 0; n.inChain == 0 && tries < 10; tries++ { // where all is moved, few copies are in the chain
			s.later(t, steps(300), func(stack []call) { n.add(t, stack) })
		}
		t.Logf("%d copies, %d in the chain, %d frames, %d wrong, %d without a name", n.steps, n.inChain, n.frames, n.wrong,
			n.lost)
		if n.inChain == 0 {
			t.Error("the thread was never in the chain")
		}
	})
}
