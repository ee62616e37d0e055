// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/languages"
	"prywalk/internal/show/chains"
	rec "prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

// did adds what a thread of a process did: "run", "queue", or a wait's call and label.
func (c *contention) did(pid, tid int64, comm, function string, from, to int64, what string,
	owner int64) *profile.Sample {
	lock := what
	if what == "run" || what == "queue" {
		lock = ""
	}
	c.add(tid, function, from*1e6, to*1e6, lock, owner)
	s := c.p.Sample[len(c.p.Sample)-1]
	s.NumLabel[rec.LabelPID], s.Label[rec.LabelComm] = []int64{pid}, []string{comm}
	if what == "queue" {
		s.Value[2], s.Value[3] = s.Value[3], 0
	}
	return s
}

func chainsText(t *testing.T, c *contention) (text string, r chains.Report) {
	t.Helper()
	var b strings.Builder
	if err := Chains(&b, c.p, false, Options{}); err != nil {
		t.Fatal(err)
	}
	text = b.String()
	b.Reset()
	if err := Chains(&b, c.p, true, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b.String()), &r); err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for i := range r.Chains {
		sum += r.Chains[i].Blocked
	}
	if sum != r.Blocked {
		t.Errorf("the chains have %d ns, want the blocked time, %d ns", sum, r.Blocked)
	}
	return text, r
}

const toDB = "socket:[7] 127.0.0.1:5432 = [8] postgres (pid 9)"

func TestBlockedTimeIsDividedAmongWhatTheOtherEndDid(t *testing.T) {
	c := newContention()
	c.did(4, 4, "web", "handle", 0, 1000, toDB, 0)
	c.did(9, 9, "postgres", "slow_query", 0, 710, "run", 0)
	c.did(9, 9, "postgres", "slow_query", 710, 800, "queue", 0)
	s := c.did(9, 9, "postgres", "log", 800, 1000, "x", 0)
	s.Label[rec.LabelWait], s.Label[rec.LabelWaitsFor] = []string{"clock_nanosleep"}, nil
	text, r := chainsText(t, c)
	first, _, _ := strings.Cut(text, "\n")
	sentence := "71 % of the blocked time of web (pid 4) ends in slow_query of postgres (pid 9), which runs"
	if first != sentence || r.Conclusion != first {
		t.Errorf("%q, want %q", first, sentence)
	}
	got := map[string]int64{}
	for i := range r.Chains {
		var links []string
		for j := range r.Chains[i].Links {
			links = append(links, fmt.Sprint(r.Chains[i].Links[j].PID))
		}
		got[strings.Join(links, " ")+" "+string(r.Chains[i].End.Kind)] = r.Chains[i].Blocked / 1e6
	}
	want := map[string]int64{"4 9 running": 710, "4 9 queued": 90, "4 9 timer": 200, "9 timer": 200}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAChainEndsAtALockOfTheDatabase(t *testing.T) {
	c := newContention()
	c.did(4, 4, "web", "reserve", 0, 1000, toDB, 0)
	s := c.did(9, 9, "postgres", "ProcSleep", 0, 1000, "eventpoll", 0)
	s.Label[rec.LabelWait] = []string{"epoll_wait"}
	c.p.Mapping = append(c.p.Mapping, &profile.Mapping{ID: uint64(len(c.p.Mapping) + 1), File: "/usr/bin/postgres"})
	s.Location[0].Mapping = c.p.Mapping[len(c.p.Mapping)-1]
	_, r := chainsText(t, c)
	if len(r.Chains) != 2 { // of web, and of postgres itself
		t.Errorf("%+v", r.Chains)
	}
	for i := range r.Chains {
		if end := r.Chains[i].End; end.PID != 9 || end.Why != waits.WhyDatabaseLock {
			t.Errorf("%+v, want %s", end, waits.WhyDatabaseLock)
		}
	}
}

func TestAChainEndsAtSQLitesLock(t *testing.T) {
	c := newContention()
	s := c.did(9, 9, "python", "sqlite3InvokeBusyHandler", 0, 1000, "x", 0)
	s.Label[rec.LabelWait], s.Label[rec.LabelWaitsFor] = []string{"clock_nanosleep"}, nil
	c.p.Mapping = append(c.p.Mapping, &profile.Mapping{ID: uint64(len(c.p.Mapping) + 1), File: "/lib/libsqlite3.so.0"})
	s.Location[0].Mapping = c.p.Mapping[len(c.p.Mapping)-1]
	text, _ := chainsText(t, c)
	for _, want := range []string{"sqlite3InvokeBusyHandler waits for SQLite's lock\n",
		"not known: SQLite stores no owner of it\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nwant %s", text, want)
		}
	}
}

func TestAChainEndsAtALockThatWasCopiedLocked(t *testing.T) {
	c := newContention()
	c.did(9, 9, "web", "log", 0, 1000, "mutex mu", rec.ParentOwner)
	c.did(9, 10, "web", "work", 0, 1000, "run", 0)
	text, r := chainsText(t, c)
	const want = "100 % of the blocked time of web (pid 9) ends in log of web (pid 9), at mutex mu, " +
		chains.Forked + "\n"
	if !strings.HasPrefix(text, want) || len(r.Chains) != 1 || r.Chains[0].Meanwhile != nil {
		t.Errorf("%s\nwant %s", text, want)
	}
}

// It ran before its stop, and does nothing meanwhile.
func TestAChainEndsAtAStoppedThread(t *testing.T) {
	c := newContention()
	c.did(9, 9, "python", "read", 0, 10, "run", 0)
	s := c.did(9, 9, "python", "read", 10, 1000, "x", 0)
	delete(s.Label, rec.LabelWaitsFor)
	s.Label[rec.LabelState], s.Label[rec.LabelWait] = []string{"stopped"}, []string{"stopped"}
	text, _ := chainsText(t, c)
	const end = "in read of python (pid 9), stopped by a signal or a debugger; SIGCONT, or the debugger, continues it\n"
	if !strings.HasPrefix(text, "100 % of the blocked time of python (pid 9) ends "+end) ||
		!strings.HasSuffix(text, "         python (pid 9): read is stopped\n         → "+end) {
		t.Errorf("%s", text)
	}
}

func TestAGoroutineThatReadsLeadsToTheProcessThatAnswers(t *testing.T) {
	c := newContention()
	s := c.did(4, 0, "web", "main.query", 0, 1000, toDB, 0)
	s.Label[rec.LabelTask], s.Label[rec.LabelWait] = []string{"goroutine"}, []string{"IO wait"}
	c.did(9, 9, "postgres", "slow_query", 0, 1000, "run", 0)
	text, _ := chainsText(t, c)
	want := "100 % of the blocked time of web (pid 4) ends in slow_query of postgres (pid 9), which runs"
	if first, _, _ := strings.Cut(text, "\n"); first != want {
		t.Errorf("%q, want %q", first, want)
	}
}

// Of a connection in a listener's queue the processes that listen are named, and what they do.
func TestAConnectionThatIsNotAcceptedNamesItsServers(t *testing.T) {
	for listeners, want := range map[string]string{
		"app (pid 9), app (pid 10)": "web (pid 4): ask waits for socket 127.0.0.1:80 of app (pid 9) and 1 more, " +
			"not accepted yet\n         → at ask of web (pid 4), not known: none of app's processes has accepted the " +
			"connection yet\n" +
			"           meanwhile app (pid 10): pay waits for socket 10.0.0.1:443\n" +
			"           meanwhile app (pid 9): render runs\n",
		"app (pid 9)": "web (pid 4): ask waits for socket 127.0.0.1:80 of app (pid 9), not accepted yet\n" +
			"         app (pid 9): render\n         → in render of app (pid 9), which runs\n",
	} {
		c := newContention()
		c.did(4, 4, "web", "ask", 0, 1000, "socket:[7] 127.0.0.1:80 = [0] "+listeners, 0)
		c.did(9, 9, "app", "render", 0, 900, "run", 0)
		c.did(9, 9, "app", "[not observed]", 900, 1000, "run", 0)
		c.did(10, 10, "app", "pay", 0, 1000, "socket:[8] 10.0.0.1:443", 0)
		if listeners == "app (pid 9)" {
			c.p.Sample = c.p.Sample[:2]
			c.did(9, 9, "app", "render", 900, 1000, "run", 0)
		}
		if text, _ := chainsText(t, c); !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// Tasks without a number count as those that wait at once; a sleep in any language's words is one.
func TestVirtualThreadsAreCountedAndSleep(t *testing.T) {
	c := newContention()
	for range 3 {
		for wait, function := range map[string]string{"java.lang.Thread.sleep": "nap",
			"java.util.concurrent.SynchronousQueue.poll": "borrow"} {
			s := c.did(4, 0, "java", function, 0, 1000, "x", 0)
			delete(s.NumLabel, rec.LabelTID)
			delete(s.Label, rec.LabelWaitsFor)
			s.Label[rec.LabelTask], s.Label[rec.LabelWait] = []string{"virtual thread"}, []string{wait}
		}
	}
	_, r := chainsText(t, c)
	got := map[string]int{}
	for i := range r.Chains {
		got[r.Chains[i].End.Function+" "+string(r.Chains[i].End.Kind)] = r.Chains[i].Threads
	}
	if want := map[string]int{"nap timer": 3, "borrow unknown": 3}; fmt.Sprint(got) != fmt.Sprint(want) || r.Threads != 6 {
		t.Errorf("%d threads, %v, want %v", r.Threads, got, want)
	}
}

func TestChainsThroughLocksFollowChangingOwners(t *testing.T) {
	c := newContention()
	c.did(4, 10, "web", "wait", 0, 1000, "mutex a", 11)
	c.did(4, 11, "web", "first", 0, 400, "run", 0)
	c.did(4, 11, "web", "wait", 400, 1000, "mutex a", 12)
	c.did(4, 12, "web", "second", 0, 1000, "socket:[3] 10.0.0.1:80", 0)
	_, r := chainsText(t, c)
	got := map[string]int64{}
	for _, e := range r.Ends {
		got[string(e.End.Kind)+" "+e.End.Function+" "+e.End.Why] = e.Blocked / 1e6
	}
	want := map[string]int64{"running first ": 400, "outside second 10.0.0.1:80": 600 + 600 + 1000}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A goroutine leads to the one that likely holds its lock at that time. Where two seem to, or none, the end is unknown,
// and so is a cycle, as guesses prove no deadlock.
func TestChainsGoThroughLikelyOwnersOfGosLocks(t *testing.T) {
	c := newContention()
	goroutine := func(function, wait, awaits, holds string, from, to int64) {
		s := c.did(4, 0, "web", function, from, to, "x", 0)
		delete(s.NumLabel, rec.LabelTID)
		s.Label[rec.LabelTask], s.Label[rec.LabelWait] = []string{"goroutine"}, []string{wait}
		delete(s.Label, rec.LabelWaitsFor)
		s.Label[rec.LabelAwaitsLock], s.Label[rec.LabelHolds] = []string{awaits}, []string{holds}
	}
	goroutine("handle", "sync.Mutex.Lock", "0x10", "", 0, 1000)
	goroutine("flush", "sleep", "", "0x10 0x20", 0, 500)
	goroutine("send", "IO wait", "", "0x10", 400, 800) // flush was read before it ended
	goroutine("shared", "sync.RWMutex.Lock", "0x30", "", 0, 1000)
	goroutine("reader", "sleep", "", "0x30", 0, 1000)
	goroutine("reader", "sleep", "", "0x30", 400, 1000)
	goroutine("twice", "sync.Mutex.Lock", "0x80", "", 0, 1000)
	goroutine("old", "sleep", "", "0x80", 0, 1000)
	goroutine("new", "sleep", "", "0x80", 800, 1000)
	goroutine("queue", "sync.Mutex.Lock", "0x70", "", 0, 1000)
	goroutine("nap", "sleep", "", "0x70", 200, 700) // seen to run before and since
	for _, at := range [][2]int64{{0, 300}, {400, 500}, {700, 1000}} {
		s := c.did(4, 12, "web", "fill", at[0], at[1], "run", 0)
		s.Label[rec.LabelHolds] = []string{"0x70"}
	}
	goroutine("unowned", "sync.Mutex.Lock", "0x40", "", 0, 1000)
	goroutine("ab", "sync.Mutex.Lock", "0x60", "0x50", 0, 1000)
	goroutine("ba", "sync.Mutex.Lock", "0x50", "0x60", 0, 1000)
	_, r := chainsText(t, c)
	got := map[string]int64{}
	for i := range r.Chains {
		var links []string
		for j := range r.Chains[i].Links {
			links = append(links, r.Chains[i].Links[j].Function)
		}
		got[strings.Join(links, " ")+" "+string(r.Chains[i].End.Kind)+" "+r.Chains[i].End.Why] = r.Chains[i].Blocked / 1e6
	}
	const unseen = "unknown the likely owner was not seen, or is one of several"
	const noOwner = " has no known owner (goroutine)"
	const cycle = " unknown a cycle of waits, which is not proven to be a deadlock"
	want := map[string]int64{
		"handle flush timer ": 500, "handle send unknown IO wait" + noOwner: 300, "handle " + unseen: 200,
		"flush timer ": 500, "send unknown IO wait" + noOwner: 400, "shared " + unseen: 1000, "reader timer ": 1600,
		"twice " + unseen: 1000, "old timer ": 1000, "new timer ": 200,
		"queue fill running ": 700, "queue nap timer ": 200, "queue " + unseen: 100, "nap timer ": 500,
		"unowned unknown sync.Mutex.Lock" + noOwner: 1000, "ab ba ab ba" + cycle: 1000, "ba ab ba ab" + cycle: 1000}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The high thread waits for a lock of the low one, which waits for the CPU that the middle one has.
func TestPriorityInversionEndsAtTheOwnerWithoutACPU(t *testing.T) {
	c := newContention()
	c.did(4, 10, "control", "high", 0, 1000, "mutex bus", 11)
	c.did(4, 11, "control", "low", 0, 900, "queue", 0)
	c.did(4, 11, "control", "low", 900, 1000, "run", 0)
	c.did(4, 12, "control", "middle", 0, 900, "run", 0)
	text, r := chainsText(t, c)
	if len(r.Ends) != 2 || r.Ends[0].End.Kind != chains.Queued || r.Ends[0].End.Function != "low" ||
		r.Ends[0].Blocked != 900e6 || r.Ends[1].End.Kind != chains.Running || r.Ends[1].Blocked != 100e6 ||
		!strings.HasPrefix(text, "90 % of the blocked time of control (pid 4) ends in low of control (pid 4), "+
			"which waits for a CPU\n") {
		t.Errorf("%+v\n%s", r.Ends, text)
	}
}

func TestOnlyACycleThatNeverEndedIsADeadlock(t *testing.T) {
	for end, want := range map[int64]chains.Kind{1000: chains.Deadlock, 700: chains.Unknown} {
		c := newContention()
		c.did(4, 10, "web", "one", 0, end, "mutex a", 11)
		c.did(5, 11, "app", "two", 0, 1000, "pipe:[6] = [6] web (pid 4)", 0)
		c.p.Sample[0].NumLabel[rec.LabelPID] = []int64{4}
		if end != 1000 {
			c.did(4, 10, "web", "one", end, 1000, "run", 0)
		}
		_, r := chainsText(t, c)
		for i := range r.Chains {
			if c := &r.Chains[i]; c.Links[0].PID == 4 && c.End.Kind != want {
				t.Errorf("a wait until %d ms ends in %+v, want %s", end, c.End, want)
			}
		}
	}
}

func TestWhichThreadServesIsUnknownUnlessItIsInferred(t *testing.T) {
	for _, seen := range []bool{false, true} {
		c := newContention()
		c.did(4, 4, "web", "handle", 0, 1000, toDB, 0)
		c.did(9, 20, "postgres", "one", 0, 1000, "run", 0)
		c.did(9, 21, "postgres", "two", 0, 1000, "run", 0)
		if seen {
			c.did(4, 4, "web", "think", 1000, 1100, "run", 0)
			c.did(9, 21, "postgres", "next", 1000, 1100, "socket:[8] 127.0.0.1:999 = [7] web (pid 4)", 0)
		}
		_, r := chainsText(t, c)
		for i := range r.Chains {
			c := &r.Chains[i]
			switch {
			case c.Links[0].PID != 4:
			case seen && (c.End.Function != "two" || c.Links[0].Guess == ""), !seen && c.End.Kind != chains.Unknown:
				t.Errorf("seen %t: %+v", seen, c)
			}
		}
	}
}

// A convoy of 1,000 threads behind one owner that was sampled 1,000 times.
func TestManyWaitersAreFollowedInTime(t *testing.T) {
	c := newContention()
	for i := range int64(1000) {
		c.did(4, 10, "web", fmt.Sprint("f", i%7), i, i+1, "run", 0)
		c.did(4, 100+i, "web", "wait", 0, 1000, "mutex a", 10)
	}
	if _, r := chainsText(t, c); len(r.Chains) != 7 || r.Threads != 1000 {
		t.Errorf("%d chains of %d threads", len(r.Chains), r.Threads)
	}
}

// A task leads to the task that it awaits, and by its descriptor to the process that answers; a name that two tasks
// have at one time leads to neither.
func TestChainsGoThroughTasks(t *testing.T) {
	c := newContention()
	task := func(name, function, wait, awaits, waitsFor string, from, to int64) {
		s := c.did(4, 0, "web", function, from, to, "x", 0)
		delete(s.NumLabel, rec.LabelTID)
		s.Label[rec.LabelTask], s.Label[rec.LabelTaskName] = []string{"asyncio task"}, []string{name}
		s.Label[rec.LabelWait], s.Label[rec.LabelWaitsFor] = []string{wait}, []string{waitsFor}
		s.Label[rec.LabelAwaits] = []string{awaits}
	}
	task("handler", "handle", "Task", "query", "", 0, 1000)
	task("query", "ask", "asyncio.StreamReader.readline", "", toDB, 0, 600)
	task("query", "ask", "asyncio.sleep", "", "", 600, 900)
	task("one", "one", "Task", "twice", "", 0, 1000)
	task("twice", "get", "asyncio.Queue.get", "", "", 0, 1000)
	task("twice", "get", "asyncio.Queue.get", "", "", 0, 1000)
	c.did(9, 9, "postgres", "slow_query", 0, 1000, "run", 0)
	_, r := chainsText(t, c)
	got := map[string]int64{}
	for i := range r.Chains {
		var links []string
		for j := range r.Chains[i].Links {
			links = append(links, r.Chains[i].Links[j].Function)
		}
		got[strings.Join(links, " ")+" "+string(r.Chains[i].End.Kind)+" "+r.Chains[i].End.Why] = r.Chains[i].Blocked / 1e6
	}
	want := map[string]int64{"handle ask slow_query running ": 600, "handle ask timer ": 300,
		"handle unknown the awaited task ran, was not seen, or shares its name": 100,
		"ask slow_query running ": 600, "ask timer ": 300,
		"one unknown the awaited task ran, was not seen, or shares its name": 1000,
		"get unknown an asyncio task's asyncio.Queue.get stores no owner":    2000}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Threads of the run-time system neither start a chain nor make it unknown which thread serves.
func TestThreadsOfTheRuntimeAreApart(t *testing.T) {
	for what, role := range map[string]string{"runtime.sysmon": "", "G1ParScanThreadState::trim_queue": languages.RoleGC,
		"WatcherThread::run": languages.RoleMachine, "node::(anonymous namespace)::PlatformWorkerThread": ""} {
		c := newContention()
		c.did(4, 4, "web", "handle", 0, 1000, toDB, 0)
		c.did(9, 20, "db", "main.query", 0, 1000, "run", 0)
		c.did(9, 21, "db", what, 0, 900, "run", 0)
		c.did(9, 21, "db", what, 900, 1000, "mutex 0x1", 0)
		if role != "" {
			for _, s := range c.p.Sample[2:] {
				s.Label[rec.LabelRole] = []string{role}
			}
		}
		_, r := chainsText(t, c)
		if len(r.Chains) != 1 || r.Chains[0].End.Function != "main.query" || r.Chains[0].Links[0].Guess == "" {
			t.Errorf("%s: %+v", what, r.Chains)
		}
	}
}
