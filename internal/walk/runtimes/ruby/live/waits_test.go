// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"prywalk/internal/base/sample"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
	"prywalk/internal/watch/observe"
)

type asker struct {
	rb           *observed.Process
	calls, asked int64
}

func (a *asker) ask(tid int, s *observe.RawSample) (w managed.WaitAnswer, ok bool) {
	if s.State == sample.Running || s.How != observe.ByPassiveRead {
		return w, false
	}
	live := a.rb.Live(tid, s)
	before := procmem.Calls()
	query := managed.WaitQuery{InnerTID: tid, Word: s.Call.Args[0], Mem: &s.Mem, Live: live}
	w, ok = a.rb.Names.(managed.Threads).Waiting(&query)
	a.calls, a.asked = a.calls+procmem.Calls()-before, a.asked+1
	return w, ok
}

// The threads of testdata/waits.rb are named after what they wait for.
func TestWaitsHaveTheirObjectsAndOwners(t *testing.T) {
	want := map[string]managed.WaitAnswer{
		"mutex": {Kind: waits.Mutex, Class: "Thread::Mutex"}, "monitor": {Kind: waits.Mutex, Class: "Monitor"},
		"join": {Kind: waits.Join}, "queue": {Kind: waits.ObjectWait, Class: "Thread::Queue"},
		"sized": {Kind: waits.ObjectWait, Class: "Thread::SizedQueue"},
		"cond":  {Kind: waits.ObjectWait, Class: "Thread::ConditionVariable"}, "sleep": {Kind: waits.Sleep},
	}
	const waiting = 16
	partner := map[string]string{"dead1": "mutex:dead2", "dead2": "mutex:dead1", "timed1": "mutex:timed2",
		"timed2": "mutex:timed1"}
	for version, ruby := range rubies(t) {
		t.Run(version, func(t *testing.T) {
			cmd, _ := launch(t, ruby, "testdata/waits.rb")
			a := asker{rb: attach(t, cmd.Process.Pid)}
			right := map[int]bool{}
			for end := time.Now().Add(testtargets.Patience); len(right) < waiting && time.Now().Before(end); {
				a.rb.Observe(t, 1, func(tid int, s *observe.RawSample, stack observed.Stack) {
					name := a.rb.Code.ThreadName(tid)
					timed := name == "timed1"
					if p := partner[name]; p != "" {
						name = p
					}
					kind, owner, named := strings.Cut(name, ":")
					w, ok := a.ask(tid, s)
					if !ok || !named {
						return
					}
					got := ""
					if w.Owner != 0 {
						got = a.rb.Code.ThreadName(w.Owner)
					}
					if w.Kind != want[kind].Kind || w.Class != want[kind].Class || got != owner || w.Timed != timed {
						t.Errorf("%s waits for %+v, held by %q", name, w, got)
					}
					right[tid] = true
				})
			}
			t.Logf("%s: %.1f system calls for each of %d sleepers", a.rb.Names.Name(),
				float64(a.calls)/float64(max(a.asked, 1)), a.asked)
			if len(right) != waiting {
				t.Errorf("%d of %d threads have a wait", len(right), waiting)
			}
			checkLocks(t, cmd.Process.Pid)
		})
	}
}

func checkLocks(t *testing.T, pid int) {
	t.Helper()
	p, err := loadedcode.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	l, err := dump.ExamineLocks([]*loadedcode.Process{p}, dump.Options{MaxDepth: -1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range l.Locks {
		if th := l.Locks[i].OwnerThread; th != nil && !th.Complete {
			t.Errorf("the stack of the owner %s ends in %s", th.Name, th.StopReason)
		}
	}
	var names []string
	for _, cycle := range l.Deadlocks {
		for _, tid := range cycle {
			names = append(names, p.ThreadName(tid))
		}
	}
	slices.Sort(names)
	if l.Verdict != locks.VerdictDeadlock || !slices.Equal(names, []string{"dead1", "dead2"}) {
		t.Errorf("%s: deadlock of %q", l.Verdict, names)
	}
	for i := range l.Processes[0].Threads {
		th := &l.Processes[0].Threads[i]
		if w := th.WaitsFor; th.TID == pid && (w == nil || w.Kind != waits.Join || p.ThreadName(w.Owner) != "joined") {
			t.Errorf("the first thread waits for %+v", w)
		}
	}
}

// If the note of the owner is the same before and after the query, the owner is that of the note, or missing.
func TestOwnersOfALockThatIsPassedOn(t *testing.T) {
	for version, ruby := range rubies(t) {
		for _, kind := range []string{"mutex", "monitor", "fiber"} {
			if kind == "fiber" && strings.Contains(version, "2.7") {
				continue
			}
			t.Run(version+"/"+kind, func(t *testing.T) {
				cmd, line := launch(t, ruby, "testdata/owners.rb", kind)
				at, err := strconv.ParseUint(line, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				a := asker{rb: attach(t, cmd.Process.Pid)}
				note := func() (b [16]byte) {
					a.rb.Host.Read(at, b[:])
					return b
				}
				read, named, proven, wrong := 0, 0, 0, 0
				for end := time.Now().Add(testtargets.Patience); proven < samplesOf(100) && time.Now().Before(end); {
					a.rb.Observe(t, 1, func(tid int, s *observe.RawSample, _ observed.Stack) {
						before := note()
						w, ok := a.ask(tid, s)
						if !ok || w.Kind != waits.Mutex {
							return
						}
						read++
						if w.Owner == 0 {
							return
						}
						named++
						holder := binary.LittleEndian.Uint64(before[8:])
						if before != note() || holder == 0 {
							return
						}
						proven++
						if name := a.rb.Code.ThreadName(w.Owner); name != "t"+strconv.FormatUint(holder, 10) {
							if wrong++; wrong < 5 {
								t.Errorf("held by %s, the program says t%d", name, holder)
							}
						}
					})
				}
				t.Logf("%s: %d waits for the lock, %d with an owner, %d of them proven, %d wrong, %.1f system calls a sleeper",
					a.rb.Names.Name(), read, named, proven, wrong, float64(a.calls)/float64(max(a.asked, 1)))
				if proven == 0 {
					t.Error("no owner was named")
				}
			})
		}
	}
}
