package sampler

import (
	"encoding/binary"
	"math"
	"os"
	"testing"

	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/look"
	"prywalk/internal/profile"
)

// deepUnwinder gives an unwinder for the stacks of deepShot, and a function that makes threads.
func deepUnwinder(t testing.TB) (*unwinder, func() *thread) {
	t.Helper()
	p, err := code.Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	p.Space().SetModules([]*frames.Module{{Start: 0x10000, End: 0x20000, Name: "m", Sources: []frames.RuleSource{calls{}}}})
	proc := &process{target: p, refreshed: math.MaxInt64}
	return newUnwinder(profile.NewBuilder(profile.Meta{}), math.MaxInt32), func() *thread {
		return &thread{proc: proc, look: &look.Thread{}}
	}
}

func TestThreadsWithDeepStacksGetTrails(t *testing.T) {
	u, newThread := deepUnwinder(t)
	shallow, deep := newThread(), newThread()
	for range 3 {
		u.unwind(shallow, deepShot(trailDepth-1))
		u.unwind(deep, deepShot(trailDepth))
	}
	if shallow.trail != nil || deep.trail == nil || u.known.N != trailDepth-1 {
		t.Fatalf("trails %v and %v, %d frames known", shallow.trail != nil, deep.trail != nil, u.known.N)
	}
}

// TestTrailThatDoesNotServeIsDropped: the outermost frame but one changes all the time.
func TestTrailThatDoesNotServeIsDropped(t *testing.T) {
	u, newThread := deepUnwinder(t)
	th, s := newThread(), deepShot(100)
	had, n := 0, 3*(trailMisses+1)+(1+2+4)*trailPause
	for i := range n {
		binary.LittleEndian.PutUint64(s.Mem.Stack.Bytes[64*98+40:], uint64(i))
		u.unwind(th, s)
		if th.trail != nil {
			had++
		}
	}
	if want := 3 * trailMisses; had != want {
		t.Fatalf("after %d of %d walks there was a trail, want %d", had, n, want)
	}
	if u.trails.bytes != 0 || len(u.trails.threads) != 0 {
		t.Fatalf("%d bytes and %d threads are left", u.trails.bytes, len(u.trails.threads))
	}
}

func TestTrailsOfThreadsThatAreNotLookedAtAreDropped(t *testing.T) {
	u, newThread := deepUnwinder(t)
	asleep, awake := newThread(), newThread()
	u.unwind(asleep, deepShot(100))
	u.unwind(asleep, deepShot(100))
	for at := range int64(25) {
		s := deepShot(100)
		s.At = at * 1e9
		u.unwind(awake, s)
	}
	if asleep.trail != nil || awake.trail == nil || len(u.trails.threads) != 1 || u.trails.bytes != awake.trail.Size() {
		t.Fatalf("of the sleeper %v, of the other %v, %d threads, %d bytes", asleep.trail != nil, awake.trail != nil, len(u.trails.threads), u.trails.bytes)
	}
}

func TestTrailsStayWithinTheirRoom(t *testing.T) {
	u, newThread := deepUnwinder(t)
	s := deepShot(20_000)
	most := 0
	for range 40 {
		th := newThread()
		for range 3 {
			u.unwind(th, s)
			most = max(most, u.trails.bytes)
		}
	}
	if len(u.trails.threads) < 2 || len(u.trails.threads) == 40 || u.trails.bytes > trailRoom {
		t.Fatalf("%d threads have trails of %d bytes, at most %d", len(u.trails.threads), u.trails.bytes, most)
	}
}
