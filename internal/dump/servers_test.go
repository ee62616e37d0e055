package dump

import (
	"os"
	"testing"
	"time"

	"prywalk/internal/testtargets"
)

// TestServersAtWorkHaveNoDeadlock: locks are passed on between any two readings of them. PRYWALK_LOCKS says for how long
// each is looked at, such as 10m; else ten looks are made.
func TestServersAtWorkHaveNoDeadlock(t *testing.T) {
	length, _ := time.ParseDuration(os.Getenv("PRYWALK_LOCKS"))
	for _, name := range []string{"redis", "postgres", "java"} {
		t.Run(name, func(t *testing.T) {
			target := testtargets.Run(t, name, testtargets.Options{Limit: length + 5*time.Minute})
			looks, locks, owned := 0, 0, 0
			for began := time.Now(); looks < 10 || time.Since(began) < length; looks++ {
				l := locksOf(t, target.PIDs()...)
				for i := range l.Locks {
					locks++
					if l.Locks[i].Owner != 0 {
						owned++
					}
				}
				if len(l.Deadlocks) > 0 {
					t.Fatalf("look %d: %v", looks, l.Deadlocks)
				}
			}
			t.Logf("%d looks, %d locks waited for, %d of them with an owner, no deadlock", looks, locks, owned)
		})
	}
}
