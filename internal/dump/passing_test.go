package dump

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"sort"
	"testing"
	"time"

	"prywalk/internal/code"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/waits"
	"prywalk/ptrace"
)

// holding is an entry of passing.c: a thread had the lock from got to gone at least, CLOCK_MONOTONIC in nanoseconds.
type holding struct{ tid, got, gone int64 }

// readHoldings reads what passing.c wrote down. Of the last one it is not known when it let go.
func readHoldings(t *testing.T, file string) []holding {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n := binary.LittleEndian.Uint64(data)
	var out []holding
	for i := range n {
		e := data[16+24*i:]
		out = append(out, holding{int64(binary.LittleEndian.Uint64(e)), int64(binary.LittleEndian.Uint64(e[8:])), int64(binary.LittleEndian.Uint64(e[16:]))})
	}
	return out[:max(0, len(out)-1)]
}

// sighting is an owner that was named between two moments; 0: none.
type sighting struct {
	from, to int64
	owner    int
}

// sightings peeks at threads that wait for a lock, again and again.
func sightings(t *testing.T, c *code.Process, want int) (out []sighting) {
	t.Helper()
	tids, err := c.Threads(nil)
	if err != nil {
		t.Fatal(err)
	}
	members := waits.NewMembers(c.PID, nil)
	look.OnThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		pool := look.NewPool(8)
		l := look.New(ctl, pool, look.OnlyPeek)
		for end := time.Now().Add(patience); len(out) < want && time.Now().Before(end); time.Sleep(200 * time.Microsecond) {
			for _, tid := range tids {
				th := look.NewThread(c.PID, tid, nil)
				th.Memory = c.Memory()
				from := procmem.Now()
				outcome, s, err := l.Begin(th)
				to := procmem.Now()
				if err == nil && outcome == look.Done && s.Wait() == "futex" {
					sl := &waits.Sleeper{State: 'S', Wait: "futex", InCall: true, Args: s.Call.Args, Near: s.Near(),
						Stack: []waits.Name{{Function: "__lll_lock_wait"}, {Function: "pthread_mutex_lock"}}}
					w := waits.Of(sl)
					w.Resolve(members)
					out = append(out, sighting{from, to, w.Owner})
				}
				pool.Put(s)
				th.Close()
			}
		}
	})
	return out
}

// TestOwnersOfALockThatIsPassedOnAreTrue: the program writes down who has the lock. Whom a look names had it at that
// moment; and of the looks during which one thread had it all the time, 99 % name it.
func TestOwnersOfALockThatIsPassedOnAreTrue(t *testing.T) {
	file := filepath.Join(t.TempDir(), "holders")
	p := startProgram(t, compile(t, "passing.c", "-g", "-O1", "-pthread"), nil, file, "8", "500")
	c, err := code.Open(p.pid)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	seen := sightings(t, c, 3000)
	holdings := readHoldings(t, file)
	if len(holdings) < 100 {
		t.Fatalf("the lock was taken %d times", len(holdings))
	}
	var held, named, right, wrong, judged int
	for _, s := range seen {
		// Entries that can overlap: the first whose successor was written after the look began.
		i := sort.Search(len(holdings), func(i int) bool { return i+1 < len(holdings) && holdings[i+1].got > s.from || i+1 == len(holdings) })
		if i+2 >= len(holdings) {
			continue // after the last entry that is whole
		}
		judged++
		if h := holdings[i]; h.got <= s.from && s.to <= h.gone {
			held++
			if s.owner == int(h.tid) {
				right++
			}
		}
		if s.owner == 0 {
			continue
		}
		named++
		ok := false
		for ; i < len(holdings) && (i == 0 || holdings[i-1].gone <= s.to); i++ {
			ok = ok || int(holdings[i].tid) == s.owner
		}
		if !ok {
			wrong++
		}
	}
	t.Logf("%d looks at waiters while the lock was passed on %d times: %d named an owner, %d of them a wrong one; "+
		"in %d one thread had it all the time, and was named in %d", judged, len(holdings), named, wrong, held, right)
	if wrong > 0 || held < 200 || right < held*99/100 {
		t.Error("see above")
	}
}
