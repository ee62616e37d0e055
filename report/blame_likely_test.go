// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"strings"
	"testing"

	rec "prywalk/internal/store/profile"
)

const ms = int64(1e6)

// pythonLock has no owner in memory.
const pythonLock = "semaphore 0x7f0000001000 (threading.Lock)"

// goroutine adds one that waits.
func (c *contention) goroutine(function string, from, to int64, wait string) {
	c.add(0, function, from, to, "x", 0)
	s := c.p.Sample[len(c.p.Sample)-1]
	delete(s.NumLabel, rec.LabelTID)
	s.Label = map[string][]string{rec.LabelTask: {"goroutine"}, rec.LabelWait: {wait}, rec.LabelState: {"sleeping"}}
}

func TestTheOneThreadInAFunctionThatTakesALockLikelyHoldsIt(t *testing.T) {
	c := newContention()
	c.add(10, "pay", 0, 100*ms, "", 0)
	c.add(10, "other", 100*ms, 500*ms, "", 0)
	c.add(11, "pay", 0, 100*ms, pythonLock, 0)
	c.add(11, "pay", 100*ms, 180*ms, "", 0)
	c.add(12, "pay", 0, 300*ms, pythonLock, 0)
	c.add(13, "pay", 150*ms, 180*ms, "", 0) // with the one before two may hold it
	p, err := Blame(c.p, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := blamed(p)
	if want := 250 * ms; got[pythonLock+" pay"] != want || got[pythonLock+" "+ownerUnknown] != 150*ms || len(got) != 2 {
		t.Errorf("%v, want %d of pay", got, want)
	}
	text := render(t, Table, p, Options{By: "lock"})
	const want = "threading.Lock (semaphore 0x7f0000001000), likely held by 2 threads in turn\n" +
		"    held 2 times as seen by waiters: median 100ms, longest 100ms (from "
	if !strings.Contains(text, want) {
		t.Errorf("want %q:\n%s", want, text)
	}
}

func TestLocksOfGoHaveLikelyOwners(t *testing.T) {
	c := newContention()
	for i := range int64(4) {
		for n := range int64(4) {
			if n == i {
				c.goroutine("main.save", i*100*ms, (i+1)*100*ms, "sleep")
			} else {
				c.goroutine("main.save", i*100*ms, (i+1)*100*ms, "sync.Mutex.Lock")
			}
		}
	}
	c.goroutine("main.load", 0, 400*ms, "sync.RWMutex.RLock") // no holder is seen
	c.goroutine("main.idle", 0, 400*ms, "chan receive")
	p, err := Blame(c.p, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := blamed(p); len(got) != 1 || got["mutex sync.Mutex in main.save main.save"] != 1200*ms {
		t.Errorf("%v", got)
	}
	text := render(t, Table, p, Options{By: "lock"})
	if want := "mutex sync.Mutex in main.save, likely held in these functions"; !strings.Contains(text, want) {
		t.Errorf("want %q:\n%s", want, text)
	}
}

func TestNoOwnerIsLikelyWithoutAHolder(t *testing.T) {
	c := newContention()
	c.add(10, "pay", 0, 100*ms, pythonLock, 0)
	c.add(11, "other", 0, 100*ms, "", 0)
	c.add(12, "wait", 0, 100*ms, "semaphore 0x7f0000002000 (threading.Condition)", 0)
	c.add(13, "wait", 0, 100*ms, "", 0)
	if p, err := Blame(c.p, &Options{}); !errors.Is(err, ErrNoLocks) {
		t.Errorf("%v %v", p, err)
	}
}
