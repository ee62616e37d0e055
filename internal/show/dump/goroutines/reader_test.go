// SPDX-License-Identifier: Apache-2.0

package goroutines

import (
	"errors"
	"os"
	"testing"

	"prywalk/frames"
	"prywalk/internal/code/symbols"
	"prywalk/internal/host/filememory"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/walk"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

type toyScheduler struct {
	managed.Scheduler
	name    string
	tasks   []managed.TaskRecord
	err     error
	changes int // per reading; negative means always
	again   int
	fd      int // of each task
}

func (s *toyScheduler) AllTasks() ([]managed.TaskRecord, error) { return s.tasks, s.err }

func (s *toyScheduler) Module() *frames.Module { return &frames.Module{Name: s.name} }

func (s *toyScheduler) Reread(*managed.TaskRecord) bool {
	s.again++
	return s.changes >= 0 && s.again > s.changes
}

func (s *toyScheduler) Polled(*managed.TaskRecord, []byte) (fd int, ok bool) { return s.fd, s.fd > 0 }

const stackLow, stackHigh = 0x7000, 0x7080

func parked(id uint64) managed.TaskRecord {
	t := managed.TaskRecord{ID: id, Status: "waiting", Wait: "select", StackLo: stackLow, StackHi: stackHigh}
	t.Regs.Arch = frames.X86_64
	t.Regs.PC = 0x1234
	t.Regs.Set(t.Regs.Arch.SP(), stackLow)
	return t
}

func newReader(t *testing.T, memory *filememory.Account) *Reader {
	t.Helper()
	names := symbols.NewNamer()
	t.Cleanup(func() { _ = names.Close() })
	return &Reader{Space: frames.NewSpace(frames.X86_64), Walk: walk.New(7, names, memory),
		Read: func(_ uint64, b []byte) int { clear(b); return len(b) }}
}

func TestAGoroutineThatRunsDuringTheCopyIsReadAgain(t *testing.T) {
	for name, c := range map[string]struct {
		changes int
		frames  bool
		reads   int
	}{
		"unchanged":     {0, true, 1},
		"changed twice": {2, true, 3},
		"never still":   {-1, false, maxTries},
	} {
		s := &toyScheduler{tasks: []managed.TaskRecord{parked(3)}, changes: c.changes}
		list, err := newReader(t, nil).ReadAll([]managed.Scheduler{s}, nil)
		if err != nil || len(list) != 1 || len(list[0].Frames) > 0 != c.frames || s.again != c.reads {
			t.Errorf("%s: %v, %d reads, %+v", name, err, s.again, list)
		}
		if !c.frames && list[0].StopReason != stillRunning {
			t.Errorf("%s: %q", name, list[0].StopReason)
		}
	}
}

func TestCopiesThatDifferAreNotWalked(t *testing.T) {
	r := newReader(t, nil)
	reads := byte(0)
	r.Read = func(_ uint64, b []byte) int {
		reads++
		b[0] = reads
		return len(b)
	}
	list, err := r.ReadAll([]managed.Scheduler{&toyScheduler{tasks: []managed.TaskRecord{parked(3)}}}, nil)
	if err != nil || len(list[0].Frames) > 0 || reads != 2*maxTries {
		t.Errorf("%v, %d reads, %+v", err, reads, list[0])
	}
}

func TestAStackBeyondTheBudgetSaysSo(t *testing.T) {
	account := filememory.New(1 << 20).Account("stacks")
	if err := account.Take(account.Left(), "stacks"); err != nil {
		t.Fatal(err)
	}
	s := &toyScheduler{tasks: []managed.TaskRecord{parked(3)}}
	list, err := newReader(t, account).ReadAll([]managed.Scheduler{s}, nil)
	if err != nil || list[0].StopReason != walk.StopMemory || len(list[0].Frames) != 1 { // none: it has run meanwhile
		t.Errorf("%v, %+v", err, list)
	}
}

func TestAGoroutineOnAThreadHasItsStack(t *testing.T) {
	on := parked(3)
	on.OnThread = true
	threads := []stacks.Thread{
		{TID: 11, Frames: []stacks.Frame{{SP: stackHigh, Place: &stacks.Place{}}}},
		{TID: 12, StopReason: "root", Frames: []stacks.Frame{{SP: 1, Place: &stacks.Place{}},
			{SP: stackLow, Place: &stacks.Place{}}}},
	}
	list, err := newReader(t, nil).ReadAll([]managed.Scheduler{&toyScheduler{tasks: []managed.TaskRecord{on}}}, threads)
	if err != nil || list[0].Thread != 12 || len(list[0].Frames) != 2 || list[0].StopReason != "root" {
		t.Errorf("%v, %+v", err, list)
	}
	if threads[0].Goroutine != 0 || threads[1].Goroutine != 3 {
		t.Errorf("the threads run goroutines %d and %d", threads[0].Goroutine, threads[1].Goroutine)
	}
}

func TestARuntimeThatCannotBeReadLeavesTheOthers(t *testing.T) {
	bad, good := &toyScheduler{name: "a.so", err: errors.New("damaged")}, &toyScheduler{name: "b.so",
		tasks: []managed.TaskRecord{parked(3)}}
	list, err := newReader(t, nil).ReadAll([]managed.Scheduler{bad, good}, nil)
	if !errors.Is(err, bad.err) || len(list) != 1 || list[0].Runtime != "b.so" {
		t.Errorf("%v, %+v", err, list)
	}
	if list, _ = newReader(t, nil).ReadAll([]managed.Scheduler{good}, nil); list[0].Runtime != "" {
		t.Errorf("the only runtime is named: %q", list[0].Runtime)
	}
}

func TestTheLengthOfAWaitIsOfAClockThatIsKnown(t *testing.T) {
	for name, c := range map[string]struct {
		wait       string
		since, now int64
		want       int64
	}{
		"waits":           {"select", 100, 150, 50},
		"of a core":       {"select", 100, 0, 0},
		"not told":        {"select", 0, 150, 0},
		"runs":            {"", 100, 150, 0},
		"begins later on": {"select", 200, 150, 0},
	} {
		task := parked(3)
		task.Wait, task.Since = c.wait, uint64(c.since)
		r := newReader(t, nil)
		r.Now = c.now
		list, err := r.ReadAll([]managed.Scheduler{&toyScheduler{tasks: []managed.TaskRecord{task}}}, nil)
		if err != nil || list[0].Since != c.want {
			t.Errorf("%s: %v, %d ns, want %d", name, err, list[0].Since, c.want)
		}
	}
}

func TestOuterFramesComeFromTheGoroutineThatCalled(t *testing.T) {
	inner := stacks.Goroutine{ID: 5, Runtime: "in.so", StopReason: "root", Frames: []stacks.Frame{
		{SP: 0x100, Place: &stacks.Place{Function: "in.wait", Module: "in.so"}},
		{SP: 0x200, Place: &stacks.Place{Function: "callback", Module: "libc.so"}},
		{SP: stackLow, Place: &stacks.Place{Function: "main.main", Module: "main"}},
	}}
	onThread := inner
	onThread.Thread = 12
	elsewhere := inner
	elsewhere.Frames = inner.Frames[:2]
	for name, c := range map[string]struct {
		inner stacks.Goroutine
		want  int
	}{"calls": {inner, 2}, "on a thread": {onThread, 0}, "of another stack": {elsewhere, 0}} {
		list := []stacks.Goroutine{{ID: 1, Runtime: "main", StackLow: stackLow, StackHigh: stackHigh}, c.inner}
		if joinCallers(list); len(list[0].Frames) != c.want || c.want > 0 && list[0].Frames[0].Function != "callback" {
			t.Errorf("%s: %+v", name, list[0].Frames)
		}
	}
}

func TestOnlyADescriptorThatIsOpenIsNamed(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for fd, want := range map[int]string{int(file.Fd()): os.DevNull, 1 << 29: "", 0: ""} {
		r := newReader(t, nil)
		r.Files = waits.NewOpenFiles(os.Getpid())
		s := &toyScheduler{tasks: []managed.TaskRecord{parked(3)}, fd: fd}
		list, err := r.ReadAll([]managed.Scheduler{s}, nil)
		if w := list[0].WaitsFor; err != nil || (w != nil) != (want != "") || w != nil && w.FD.Path != want {
			t.Errorf("descriptor %d: %v, %+v", fd, err, w)
		}
		r.Files = nil // of a core
		if list, _ = r.ReadAll([]managed.Scheduler{s}, nil); list[0].WaitsFor != nil {
			t.Errorf("descriptor %d of a core: %+v", fd, list[0].WaitsFor)
		}
	}
}
