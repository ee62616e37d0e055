// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"testing"
	"time"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/walk/waits"
	"prywalk/internal/watch/observe"
	"prywalk/ptrace"
)

type sighting struct {
	from, to int64
	owner    int
	free     bool
}

func sightings(t *testing.T, c *loadedcode.Process, enough func([]sighting) bool) (out []sighting) {
	t.Helper()
	tids, err := c.Threads(nil)
	if err != nil {
		t.Fatal(err)
	}
	members := waits.NewLiveThreads(c.PID, nil)
	procmem.OnOSThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		pool := observe.NewPool(8)
		l := observe.New(ctl, pool, observe.ModePassiveOnly)
		for end := time.Now().Add(testtargets.Patience); !enough(out) && time.Now().Before(end); {
			for _, tid := range tids {
				th := observe.NewThread(c.PID, tid, nil)
				th.Memory = c.Memory()
				from := procmem.Now()
				outcome, s, err := l.Begin(th)
				to := procmem.Now()
				if err == nil && outcome == observe.Done && s.WaitReason() == "futex" {
					sl := &waits.Sleeper{State: 'S', Reason: "futex", InCall: true, Args: s.Call.Args, Memory: s.FutexCopy(),
						Stack: []waits.StackFunction{{Function: "__lll_lock_wait"}, {Function: "pthread_mutex_lock"}}}
					w := waits.Describe(sl)
					w.ResolveOwner(members)
					out = append(out, sighting{from, to, w.Owner, w.Free})
				}
				pool.Put(s)
				th.Close()
			}
		}
	})
	return out
}

// Each sample within one ownership, as recorded by the program, must report its owner.
func TestOwnersOfALockThatIsPassedOnAreTrue(t *testing.T) {
	p := testtargets.StartPassing(t, t.TempDir(), 8, 500)
	c, err := loadedcode.Open(p.PID)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const looks, passes, during = 3000, 300, 200
	next := looks // on a busy host few looks are within one ownership
	seen := sightings(t, c, func(seen []sighting) bool {
		if len(seen) < next {
			return false
		}
		next = 2 * len(seen)
		holdings, err := p.Holdings()
		return err != nil || len(holdings) >= passes && heldThroughout(holdings, seen) >= during
	})
	holdings, err := p.Holdings()
	if err != nil || len(holdings) < passes {
		t.Fatalf("the lock was taken %d times: %v", len(holdings), err)
	}
	var held, named, right, wrong, free, judged int
	for _, s := range seen {
		all, can, ok := holdings.During(s.from, s.to)
		if !ok {
			continue
		}
		judged++
		if all != 0 {
			held++
			if s.owner == all {
				right++
			}
			if s.free {
				wrong++
			}
		}
		if s.free {
			free++
		}
		if s.owner != 0 {
			named++
			if !can(s.owner) {
				wrong++
			}
		}
	}
	t.Logf("%d looks at waiters while the lock was passed on %d times: %d named an owner, %d found it free, %d of both "+
		"wrongly; "+
		"in %d one thread had it all the time, and was named in %d", judged, len(holdings), named, free, wrong, held, right)
	if wrong > 0 || held < during || right != held {
		t.Error("see above")
	}
}

func heldThroughout(holdings testtargets.Holdings, seen []sighting) (n int) {
	for _, s := range seen {
		if all, _, ok := holdings.During(s.from, s.to); ok && all != 0 {
			n++
		}
	}
	return n
}
