package sampler

import (
	"prywalk/frames"
	"prywalk/internal/profile"
)

const (
	// trailDepth is the number of frames from which a thread gets a trail. With it a frame
	// that is skipped takes some 2 ns and another some 95, without one each takes 60
	// (BenchmarkUnwind): a trail pays where two in five are skipped. In stacks that are not
	// this deep that is rare, and little is won.
	trailDepth = 16
	// trailMisses is the number of walks in a row that skipped less than that after which
	// a thread's trail is dropped, trailPause the number of walks until it gets another,
	// which doubles each time, up to maxTrailPause.
	trailMisses   = 8
	trailPause    = 100
	maxTrailPause = 6400
	// trailAge is how long a trail is kept that is not used, in nanoseconds.
	trailAge = 10e9
	// trailRoom bounds the memory that all trails take together, in bytes. The one that
	// exceeds it is dropped.
	trailRoom = 32 << 20
)

// trail is what a thread's next walk may use of its last one.
type trail struct {
	frames.Trail
	stack  profile.StackID // the stack that the last walk gave
	used   int64           // when, CLOCK_MONOTONIC ns
	bytes  int             // what it took then
	misses int
}

// trails keeps the threads that have one. It belongs to the accountant.
type trails struct {
	threads map[*thread]struct{}
	from    int // the depth from which a thread gets one
	bytes   int
	swept   int64
}

// update gives a thread a trail or takes it, by how deep its stack is and whether its trail
// has served in this walk.
func (ts *trails) update(th *thread, stack profile.StackID, depth, skipped int, now int64) {
	if now-ts.swept > trailAge {
		ts.sweep(now)
	}
	t := th.trail
	switch {
	case th.look.LargeFrames(depth):
		ts.drop(th) // few words are copied, and few frames would be skipped
	case t != nil:
		t.stack, t.used = stack, now
		if t.misses++; 5*skipped >= 2*depth {
			t.misses = 0
		}
		size := t.Size()
		ts.bytes += size - t.bytes
		t.bytes = size
		if t.misses >= trailMisses || ts.bytes > trailRoom {
			ts.drop(th)
			th.trailPause = min(max(2*th.trailPause, trailPause), maxTrailPause)
			th.trailWait = th.trailPause
		}
	case th.trailWait > 0:
		th.trailWait--
	case depth >= ts.from:
		th.trail = &trail{used: now}
		ts.threads[th] = struct{}{}
	}
}

// sweep drops the trails that are not used.
func (ts *trails) sweep(now int64) {
	ts.swept = now
	for th := range ts.threads {
		if now-th.trail.used > trailAge {
			ts.drop(th)
		}
	}
}

// drop takes a thread's trail, if it has one.
func (ts *trails) drop(th *thread) {
	if th.trail != nil {
		ts.bytes -= th.trail.bytes
		th.trail = nil
		delete(ts.threads, th)
	}
}
