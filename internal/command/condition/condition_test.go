// SPDX-License-Identifier: Apache-2.0

package condition

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"prywalk/internal/base/sample"
	"prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

func TestConditionsAreParsed(t *testing.T) {
	for _, text := range []string{"deadlock", "waiters>10", "waiters > 0", "runqueue>20%", "runqueue>20", "cpu>250%",
		"blocked>2s under sell", "blocked > 1500ms under ^main\\.", "stalled>5s of ^heart beat$", "stalled > 1m of ."} {
		if c, err := Parse(text); err != nil || c.String() != text {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"": "give deadlock", "deadlock>1": "give deadlock", "waiters": "give deadlock", "waiters>x": "give deadlock",
		"waiters>-1": "give deadlock", "cpu>NaN": "give deadlock", "runqueue>100%": "give deadlock",
		"blocked>2s": "give deadlock", "blocked>2 under f": "give deadlock", "blocked>900ms under f": "at least 1s",
		"blocked>2s under [": "a regular expression", "blocked>2s under ": "give deadlock", "memory>1": "give deadlock",
		"stalled>5s": "give deadlock", "stalled>5s under f": "give deadlock", "stalled>5s of [": "expression after of",
		"stalled>0.5s of x": "at least 1s", "cpu>90% of x": "give deadlock", "deadlock of x": "give deadlock",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

const second = int64(time.Second)

type fed struct {
	*Watch
	now  int64
	said []string
}

// feed returns a watch that says what it finds; stack n has the function "fn".
func feed(t *testing.T, conditions ...string) *fed {
	t.Helper()
	f := &fed{Watch: &Watch{Pause: time.Minute}, now: 1000 * second}
	for _, text := range conditions {
		c, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		f.Conditions = append(f.Conditions, c)
	}
	f.Functions = func(id sample.StackID) ([]waits.Frame, bool) {
		return []waits.Frame{{Function: fmt.Sprint("f", id)}, {Function: "main"}}, true
	}
	f.Holds = func(c *Condition, what string, at int64) {
		f.said = append(f.said, fmt.Sprintf("%d %s: %s", at/second-1000, c, what))
	}
	f.Suspect = func(pids []int, at int64) {
		f.said = append(f.said, fmt.Sprintf("%d suspect %d", at/second-1000, pids))
	}
	return f
}

// tick lets seconds pass, in which threads run and queue for percents of a CPU.
func (f *fed) tick(seconds, cpu, queued int64, open ...profile.Interval) {
	f.now += seconds * second
	f.Add(profile.Interval{State: "running", TID: 99, End: f.now, CPU: seconds * second * cpu / 100,
		RunQueue: seconds * second * queued / 100, Wall: seconds * second})
	for i := range open {
		open[i].End = f.now
	}
	f.Refresh(f.now, slices.Values(open))
}

func (f *fed) wants(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(f.said, want) {
		t.Errorf("it says\n%s\nwant\n%s", strings.Join(f.said, "\n"), strings.Join(want, "\n"))
	}
}

func asleep(tid int, ms int64, waitsFor string, owner int) profile.Interval {
	return profile.Interval{PID: 7, TID: tid, Thread: "w", State: "sleeping", Wall: ms * 1e6, WaitsFor: waitsFor,
		Owner: owner, Stack: sample.StackID(tid)}
}

func TestClocksAreComparedBySeconds(t *testing.T) {
	f := feed(t, "cpu>90%", "runqueue>20%")
	f.tick(1, 200, 200) // of an unknown time
	f.tick(1, 90, 0)
	f.tick(2, 91, 0)
	f.tick(1, 8, 1) // threads hardly want a CPU
	f.tick(1, 80, 20)
	f.tick(1, 79, 21)
	f.wants(t, "4 cpu>90%: 91% of one CPU",
		"7 runqueue>20%: threads waited for a CPU for 21% of the time in which they wanted one")
}

func TestAConditionIsReportedAgainOnlyAfterItCeasedAndThePauseIsOver(t *testing.T) {
	f := feed(t, "cpu>50%")
	f.tick(1, 0, 0)
	for range 100 {
		f.tick(1, 60, 0) // reported at 2 only
	}
	f.tick(1, 0, 0)  // 102
	f.tick(1, 60, 0) // 103
	f.tick(1, 0, 0)
	for range 100 {
		f.tick(1, 60, 0) // from 105; the pause is over at 163
	}
	f.wants(t, "2 cpu>50%: 60% of one CPU", "103 cpu>50%: 60% of one CPU", "163 cpu>50%: 60% of one CPU")
}

func TestWaitersOfOneLockCount(t *testing.T) {
	f := feed(t, "waiters>2")
	f.tick(1, 0, 0, asleep(1, 10, "mutex a", 9), asleep(2, 10, "mutex a", 9), asleep(3, 10, "mutex b", 0),
		asleep(4, 10, "condition c", 0), asleep(5, 10, "condition c", 0), asleep(6, 10, "condition c", 0))
	other := asleep(3, 10, "mutex a", 9)
	other.PID = 8 // another process's
	f.tick(1, 0, 0, asleep(1, 10, "mutex a", 9), asleep(2, 10, "mutex a", 9), other)
	f.wants(t)
	f.tick(1, 0, 0, asleep(1, 10, "mutex a", 9), asleep(2, 10, "mutex a", 9), asleep(3, 10, "mutex a", 9))
	f.wants(t, "3 waiters>2: 3 threads of process 7 wait for mutex a, held by thread 9")
}

func TestTheLongestWaitUnderAFunctionCounts(t *testing.T) {
	f := feed(t, "blocked>2s under ^f[12]$")
	f.tick(1, 0, 0, asleep(1, 2000, "", 0), asleep(3, 9000, "", 0))
	f.wants(t)
	f.tick(1, 0, 0, asleep(1, 2001, "", 0), asleep(2, 3000, "", 0), asleep(3, 9000, "", 0))
	f.wants(t, "2 blocked>2s under ^f[12]$: thread 2 w of process 7 has waited for 3.00s")
}

// A thread stalls if it ran before, and its wait is not idle by a rule.
func TestAThreadThatRanAndRunsNoMoreIsStalled(t *testing.T) {
	f := feed(t, "stalled>5s of ^beat$")
	ran := func(tid int) { f.Add(profile.Interval{State: "running", TID: tid, End: f.now - 9e9, CPU: 1, Wall: 1}) }
	beat := func(tid int, ms int64, wait string) profile.Interval {
		iv := asleep(tid, ms, "", 0)
		iv.Thread, iv.Wait = "beat", wait
		return iv
	}
	ran(1)
	ran(2)
	f.tick(1, 0, 0, asleep(1, 9000, "", 0), beat(3, 9000, "read"), beat(2, 9000, "epoll_wait"), beat(1, 5000, "read"))
	goroutine := beat(0, 9000, "chan receive")
	goroutine.Task = "goroutine"
	f.tick(1, 0, 0, goroutine)
	f.wants(t)
	f.tick(1, 0, 0, beat(1, 5200, "read"), beat(2, 9000, "epoll_wait"))
	f.tick(90, 0, 0)
	locked := beat(1, 6000, "futex")
	locked.WaitsFor, locked.Owner = "mutex mu", 4
	f.tick(1, 0, 0, locked)
	f.tick(90, 0, 0)
	stopped := beat(2, 7000, "")
	stopped.State = "stopped"
	f.tick(1, 0, 0, stopped)
	const stall, is = " stalled>5s of ^beat$: thread ", " beat of process 7 has not run for "
	joining := beat(1, 8000, "futex")
	joining.WaitsFor, joining.Owner = "join thread 4", 4
	if got := atWhat(&joining); got != ": it waits for the end of thread 4" {
		t.Error(got)
	}
	rests := beat(3, 1000, "read") // since the recording began; a checkpoint has added a part
	rests.End = f.now
	f.Add(rests)
	rests.Wall, rests.Before = 8000e6, 1000e6
	f.tick(8, 0, 0, rests)
	f.wants(t, "3"+stall+"1"+is+"5.20s: it waits in read",
		"94"+stall+"1"+is+"6.00s: it waits for mutex mu, held by thread 4",
		"185"+stall+"2"+is+"7.00s: it is stopped by a signal or a debugger")
}

// Whether a wait is idle is not known without names.
func TestAThreadWithoutNamesIsNotStalled(t *testing.T) {
	f := feed(t, "stalled>5s of .")
	f.Functions = func(sample.StackID) ([]waits.Frame, bool) { return nil, false }
	f.Add(profile.Interval{State: "running", TID: 1, End: f.now - 9e9, CPU: 1, Wall: 1})
	f.tick(1, 0, 0, asleep(1, 9000, "", 0))
	f.wants(t)
}

// A checkpoint adds a sleep's first part.
func TestAWaitGoesOnAfterACheckpoint(t *testing.T) {
	f := feed(t, "blocked>5s under f1")
	f.tick(4, 0, 0, asleep(1, 4000, "", 0))
	part := asleep(1, 4000, "", 0)
	part.End = f.now
	f.Add(part)
	rest := asleep(1, 1000, "", 0)
	rest.Before = 4000e6
	f.tick(1, 0, 0, rest)
	f.wants(t)
	rest.Wall = 2000e6
	f.tick(1, 0, 0, rest)
	f.wants(t, "6 blocked>5s under f1: thread 1 w of process 7 has waited for 6.00s")
}

func TestNamesThatAreNotKnownYetAreAskedForAgain(t *testing.T) {
	f := feed(t, "blocked>2s under f1")
	calls := 0
	f.Functions = func(sample.StackID) ([]waits.Frame, bool) {
		if calls++; calls < 3 {
			return nil, false
		}
		return []waits.Frame{{Function: "f1"}}, true
	}
	for ms := int64(1000); ms <= 9000; ms += 1000 {
		f.tick(1, 0, 0, asleep(1, ms, "", 0))
	}
	f.wants(t, "4 blocked>2s under f1: thread 1 w of process 7 has waited for 4.00s")
	if calls != 3 {
		t.Errorf("%d calls, want 3", calls)
	}
}

func TestACycleOfThreadsThatHaveNotRunIsASuspicion(t *testing.T) {
	f := feed(t, "deadlock")
	cycle := func(ms int64) []profile.Interval {
		return []profile.Interval{asleep(1, ms, "mutex a", 2), asleep(2, ms, "mutex b", 1), asleep(3, ms, "mutex a", 2)}
	}
	f.tick(1, 0, 0, cycle(999)...)
	f.tick(1, 0, 0, asleep(1, 9000, "mutex a", 2), asleep(2, 9000, "", 0))
	f.wants(t)
	for ms := range int64(30) {
		f.tick(1, 0, 0, cycle(1000+1000*ms)...)
	}
	f.wants(t, "3 suspect [7]")
	f.tick(1, 0, 0)
	f.tick(1, 0, 0, cycle(1000)...)
	f.wants(t, "3 suspect [7]", "34 suspect [7]")
}

func TestLocksWithoutAStoredOwnerAreASuspicion(t *testing.T) {
	f := feed(t, "deadlock")
	const lock = "semaphore 0x10 (threading.Lock)"
	f.tick(1, 0, 0, asleep(1, 5000, lock, 0), asleep(2, 5000, "semaphore 0x20 (threading.Condition)", 0),
		asleep(3, 5000, "mutex a", 0), asleep(4, 5000, "mutex a", 0))
	f.wants(t)
	f.tick(1, 0, 0, asleep(1, 5000, lock, 0), asleep(2, 5000, lock, 0))
	f.wants(t, "2 suspect [7]")
}

func TestNoStackIsHeld(t *testing.T) {
	var held iter.Seq[sample.StackID]
	held, ok := feed(t).HeldStacks()
	for id := range held {
		t.Errorf("stack %d", id)
	}
	if !ok {
		t.Error("nothing would be evicted")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("blocked>2s under f")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = Parse(text) })
}
