// SPDX-License-Identifier: Apache-2.0

package sleepers

import (
	"encoding/binary"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
	"prywalk/internal/walk/core"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
	"prywalk/internal/watch/observe"
)

func newExplainer() *Explainer {
	return &Explainer{
		Owners: coreThreads{11: true, 12: true}, Name: func(int) string { return "worker" },
		Read:     func(uint64, []byte) int { return 0 },
		Sleepers: map[int]*waits.Sleeper{}, pid: os.Getpid(), space: func() *frames.Space { return nil },
		idleness: map[idleKey]waits.Idleness{},
	}
}

func stackOf(functions ...string) (list []stacks.Frame) {
	for _, f := range functions {
		list = append(list, stacks.Frame{Place: &stacks.Place{Function: f, Module: "/lib/libc.so.6"}})
	}
	return list
}

const mutexAt = 0x5000

func atMutex(owner uint32) (*stacks.Thread, *waits.Sleeper) {
	mutex := make([]byte, waits.CopySize)
	binary.LittleEndian.PutUint32(mutex, 2)
	binary.LittleEndian.PutUint32(mutex[8:], owner)
	return &stacks.Thread{TID: 11, Frames: stackOf("__lll_lock_wait", "pthread_mutex_lock")}, &waits.Sleeper{
		State: 'S', Reason: "futex", InCall: true, Args: [6]uint64{mutexAt, 0x80, 2},
		Memory: waits.FutexCopy{Addr: mutexAt, Bytes: mutex},
	}
}

func TestTheOwnerOfAMutexIsNamed(t *testing.T) {
	for owner, want := range map[uint32]waits.Wait{
		12: {Kind: waits.Mutex, Ownership: waits.Ownership{Owner: 12, OwnerName: "worker"}},
		13: {Kind: waits.Mutex, Ownership: waits.Ownership{OwnerGone: 13}},
	} {
		e := newExplainer()
		d, sl := atMutex(owner)
		e.describe(d, sl)
		w := d.WaitsFor
		if w == nil || w.Kind != want.Kind || w.Owner != want.Owner || w.OwnerName != want.OwnerName ||
			w.OwnerGone != want.OwnerGone || w.Address != mutexAt {
			t.Errorf("owner %d: %+v", owner, w)
		}
		if e.Sleepers[11] != sl {
			t.Errorf("owner %d: the sleeper is not kept", owner)
		}
	}
}

// The functions of a stripped C library outside of /usr, as of a snap, are named by their addresses.
func TestInnerFunctionsKnownByAddressDoNotHideAWait(t *testing.T) {
	e := newExplainer()
	d := &stacks.Thread{TID: 11}
	for _, f := range []string{"libc.so.6+0x9ced0", "libc.so.6+0x91c10", "pthread_cond_wait", "libc.so.6+0x94af0"} {
		d.Frames = append(d.Frames, stacks.Frame{Place: &stacks.Place{Function: f, Module: "/snap/core24/lib/libc.so.6"}})
	}
	e.describe(d, &waits.Sleeper{State: 'S', Reason: "futex", InCall: true, Args: [6]uint64{mutexAt, 0x80}})
	if w := d.WaitsFor; w == nil || w.Kind != waits.Condition {
		t.Errorf("%+v", w)
	}
}

func TestAWaitForTheInitializationOfAClassIsNamed(t *testing.T) {
	java := stacks.Frame{Place: &stacks.Place{Function: "Orders.init", Module: "[HotSpot 21.0.13]", Kind: "jvm"}}
	in := stackOf("pthread_cond_wait", "ObjectMonitor::wait", "InstanceKlass::initialize_impl")
	for want, frames := range map[string][]stacks.Frame{
		waits.ClassInitialization: append(slices.Clone(in), java), "[I": append(append(in[:2:2], java), in[2])} {
		e := newExplainer()
		d := &stacks.Thread{TID: 11, Frames: frames}
		e.describe(d, &waits.Sleeper{State: 'S', Reason: "futex", InCall: true, Args: [6]uint64{mutexAt, 0x80},
			Managed: func() (waits.Wait, bool) { return waits.ManagedWait(waits.ObjectWait, "[I", 1, 0, false), true }})
		if w := d.WaitsFor; w == nil || w.Symbol != want {
			t.Errorf("%+v, want %q", w, want)
		}
	}
}

// The example of doc.go.
func TestTheThirdWordOfAMutexIsItsOwner(t *testing.T) {
	e := newExplainer()
	e.Owners = coreThreads{4714: true}
	d, sl := atMutex(0)
	sl.Args[0], sl.Memory.Addr = 0x4010c0, 0x4010c0
	copy(sl.Memory.Bytes, []byte{2, 0, 0, 0, 0, 0, 0, 0, 0x6a, 0x12, 0, 0})
	e.describe(d, sl)
	if w := d.WaitsFor; w == nil || w.Address != 0x4010c0 || w.Owner != 4714 || w.OwnerName != "worker" {
		t.Errorf("%+v", w)
	}
}

func TestAWaitIsExplainedAgainByOtherMemory(t *testing.T) {
	e := newExplainer()
	d, sl := atMutex(12)
	e.describe(d, sl)
	_, later := atMutex(11)
	if w := e.WaitWith(sl, later.Memory); w.Owner != 11 || w.Kind != waits.Mutex {
		t.Errorf("%+v", w)
	}
	if w := e.WaitWith(sl, sl.Memory); w.Owner != 12 || d.WaitsFor.Owner != 12 {
		t.Errorf("the sleeper has changed: %+v", w)
	}
}

func TestAThreadThatDoesNotSleepWaitsForNothing(t *testing.T) {
	e := newExplainer()
	e.Retryable = true
	d, _ := atMutex(12)
	if e.Explain(d, &observe.RawSample{State: sample.Running}); d.WaitsFor != nil || len(e.Sleepers) > 0 || e.Retryable {
		t.Errorf("%+v, retryable %v", d.WaitsFor, e.Retryable)
	}
	d, sl := atMutex(12)
	sl.State = 'R'
	if e.describe(d, sl); d.WaitsFor != nil || len(e.Sleepers) > 0 {
		t.Errorf("runnable: %+v", d.WaitsFor)
	}
}

func TestACoreOfARM64TellsNoArguments(t *testing.T) {
	e := newExplainer()
	for name, c := range map[string]struct {
		arch    frames.Arch
		syscall int64
		waits   bool
	}{
		"x86-64": {frames.X86_64, 202, true}, "arm64": {frames.ARM64, 98, false},
		"not in a call": {frames.X86_64, -1, false},
	} {
		d, sl := atMutex(12)
		d.Wait = sl.Reason
		th := &core.Thread{TID: 11, Syscall: c.syscall, Regs: frames.Regs{Arch: c.arch}}
		for i, reg := range observe.ArgumentRegisters(c.arch) {
			th.Regs.Set(reg, sl.Args[i])
		}
		if e.ExplainCore(d, &core.Core{Arch: c.arch}, th); (d.WaitsFor != nil) != c.waits {
			t.Errorf("%s: %+v", name, d.WaitsFor)
		}
	}
}

func TestTheInnermostManagedFunctionIsExaminedToo(t *testing.T) {
	d := &stacks.Thread{}
	for range waits.MaxFunctions + 3 {
		d.Frames = append(d.Frames, stackOf("loop")...)
	}
	for _, f := range []string{"handle", "main"} {
		d.Frames = append(d.Frames, stacks.Frame{Place: &stacks.Place{Function: f, Kind: "cpython"}})
	}
	got := innermostFunctions(d)
	if len(got) != waits.MaxFunctions+1 || got[waits.MaxFunctions].Function != "handle" {
		t.Errorf("%d functions: %+v", len(got), got)
	}
}

func TestIdleRulesAreRememberedByTheWholeStack(t *testing.T) {
	e := newExplainer()
	for range 2 {
		for _, outer := range []string{"main", "start_thread"} {
			e.idle("epoll_wait", waits.Descriptor, &stacks.Thread{Frames: stackOf("epoll_wait", outer)})
		}
	}
	if len(e.idleness) != 2 {
		t.Errorf("%d stacks are remembered, want 2", len(e.idleness))
	}
}

func TestARuntimeIsAskedOnlyAboutCallsInWhichItsThreadsWait(t *testing.T) {
	e := newExplainer()
	e.managed = func(int, managed.WaitQuery, uint64) (waits.Wait, bool, bool) { return waits.Wait{}, false, false }
	for name, sl := range map[string]*waits.Sleeper{
		"read":          {Reason: "read", InCall: true},
		"not in a call": {Reason: "futex"},
		"wakes":         {Reason: "futex", InCall: true, Args: [6]uint64{mutexAt, 1}}, // FUTEX_WAKE
	} {
		if e.managedAsker(11, sl, 1, nil) != nil {
			t.Errorf("%s: the runtime is asked", name)
		}
	}
	_, sl := atMutex(12)
	if e.managedAsker(11, sl, 1, nil) == nil {
		t.Error("futex: the runtime is not asked")
	}
	if e.managed = nil; e.managedAsker(11, sl, 1, nil) != nil {
		t.Error("without a runtime one is asked")
	}
}

func TestARuntimeIsAskedAgainAboutALaterSleep(t *testing.T) {
	e := newExplainer()
	type query struct {
		runs uint64
		copy bool
	}
	var asked []query
	e.managed = func(_ int, q managed.WaitQuery, runs uint64) (waits.Wait, bool, bool) {
		asked = append(asked, query{runs, q.Mem != nil})
		return waits.Wait{Kind: waits.Monitor}, true, len(asked) == 1
	}
	_, sl := atMutex(12)
	ask := e.managedAsker(os.Getpid(), sl, 7, &frames.Snapshot{})
	if w, ok := ask(); !ok || w.Kind != waits.Monitor || !e.Retryable {
		t.Errorf("%+v, %v, retryable %v", w, ok, e.Retryable)
	}
	if _, ok := ask(); !ok || e.Retryable {
		t.Errorf("again: %v, retryable %v", ok, e.Retryable)
	}
	if asked[0] != (query{7, true}) || asked[1].copy || asked[1].runs == 0 {
		t.Errorf("asked %+v", asked)
	}
}

// Another descriptor may have the number by then.
func TestTheDescriptorOfAThreadThatHasGoneOnIsNotNamed(t *testing.T) {
	reader := exec.Command("cat")
	if _, err := reader.StdinPipe(); err != nil { // open until the test ends
		t.Fatal(err)
	}
	testtargets.Child(t, reader)
	pid := reader.Process.Pid
	s := &observe.RawSample{State: sample.Sleeping}
	testtargets.Eventually(t, "cat reads its standard input", func() bool {
		f := procmem.OpenThread(pid, pid, nil)
		defer f.Close()
		var err error
		s.Call, err = f.Syscall()
		return err == nil && !s.Call.Running && s.Call.Nr == unix.SYS_READ && s.Call.Args[0] == 0
	})
	s.Sched.Runs = RunsOf(pid, pid)
	for name, c := range map[string]struct {
		how    observe.How
		change func()
		named  bool
	}{
		"asleep, passive": {observe.ByPassiveRead, func() {}, true},
		"asleep, stopped": {observe.ByStop, func() { s.Sched.Runs-- }, true}, // by the stop
		"has run":         {observe.ByPassiveRead, func() { s.Sched.Runs-- }, false},
		"in another call": {observe.ByStop, func() { s.Call.Args[1]++ }, false},
	} {
		before, e, d := *s, newExplainer(), &stacks.Thread{TID: pid}
		e.pid, e.files = pid, waits.NewOpenFiles(pid)
		s.How = c.how
		c.change()
		e.Explain(d, s)
		*s = before
		w := d.WaitsFor
		if w == nil || w.FD == nil || w.FD.FD != 0 || (w.FD.Path != "") != c.named || e.Retryable == c.named {
			t.Errorf("%s: %+v, to be read again: %v", name, w, e.Retryable)
		}
		if !c.named && w.String() != "descriptor 0 (not known: its thread ran before it was looked up)" {
			t.Errorf("%s: %s", name, w)
		}
	}
}

// The end of a sleep is read after the sample, perhaps in a later sleep.
func TestASleepIsNotLongerThanItsRest(t *testing.T) {
	e, rest := newExplainer(), 90*time.Second
	e.Read = func(_ uint64, b []byte) int {
		end := time.Duration(procmem.Now()) + rest
		return copy(b, binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil,
			uint64(end/time.Second)), uint64(end%time.Second)))
	}
	d := &stacks.Thread{TID: 11, Frames: stackOf("clock_nanosleep")}
	e.describe(d, &waits.Sleeper{State: 'S', Reason: "clock_nanosleep", InCall: true, Args: [6]uint64{1, 1, 0x5000},
		At: procmem.Now() - int64(time.Minute)})
	text, _ := strings.CutPrefix(d.WaitsFor.Until, "for ")
	got, err := time.ParseDuration(strings.TrimSuffix(text, " more"))
	if err != nil || got > rest+time.Second {
		t.Errorf("%q, want %v (%v)", d.WaitsFor.Until, rest, err)
	}
}
