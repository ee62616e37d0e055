package sampler

import (
	"testing"
	"time"

	"prywalk/internal/look"
	"prywalk/internal/profile"
)

// TestCopiesOfACrowdDoNotPileUp: in the first tick the stack of each thread is copied,
// 64 KB of it. The tick waits for the unwinding, so that memory does not grow with the
// number of threads, and leaves nobody out. Each walk is made to take longer than many copies.
func TestCopiesOfACrowdDoNotPileUp(t *testing.T) {
	target := start(t, "sleepers", "1500")
	slow := func(u *unwinder) {
		u.check = func(*process, *look.Shot, profile.StackID) { time.Sleep(200 * time.Microsecond) }
	}
	r := record(t, Options{Freq: 99, prepare: slow}, 2*time.Second, nil, target.pid)
	if r.Backlog > maxBacklog+1<<20 || r.Backlog <= someBacklog/2 {
		t.Errorf("%d bytes of copies waited at once", r.Backlog)
	}
	if r.ThreadsMax < 1501 || r.Peeked < 1501 {
		t.Errorf("%d threads, %d peeked", r.ThreadsMax, r.Peeked)
	}
}
