// SPDX-License-Identifier: Apache-2.0

package descendants

import (
	"testing"

	"prywalk/internal/perfevents"
)

func switched(kind perfevents.Kind, at int64, cpu, pid int) perfevents.Record {
	r := task(kind, at, pid, 0)
	r.CPU = cpu
	return r
}

func (t *Table[Owner, Sample]) switches(lost bool, list ...perfevents.Record) {
	if t.clocks.on == nil {
		t.clocks.on = map[int]onCPU{}
	}
	for i := range list {
		t.add(&list[i])
	}
	if lost {
		t.forgetSwitches()
	}
	t.handleAll()
}

// The program before exec is "".
func spent[Owner comparable, Sample any](p *Untracked[Owner, Sample]) map[string]int64 {
	sums := map[string]int64{}
	for _, s := range p.Times {
		sums[s.Program.Name] += s.NS
	}
	return sums
}

func TestCPUTimeOfSwitchesIsThatOfTheProgram(t *testing.T) {
	const in, out = perfevents.SwitchedIn, perfevents.SwitchedOut
	execed := task(perfevents.CommSet, 130, 20, 0)
	execed.Exec, execed.Name, execed.CPU = true, []byte("ls"), 1
	renamed := task(perfevents.CommSet, 310, 20, 0)
	renamed.Name, renamed.CPU = []byte("worker"), 0
	ends := task(perfevents.Exited, 350, 20, 10)
	u := table(new(int))
	u.switches(false, switched(in, 300, 0, 20), renamed, ends, // 50 of ls
		task(perfevents.Forked, 100, 20, 10), switched(in, 110, 1, 20), execed, // 20 before exec
		switched(out, 170, 1, 20), switched(in, 170, 1, 10), // 40 of ls, and then the shell
		switched(out, 250, 1, 10))
	p := u.untracked[20]
	if got := spent(p); got[""] != 20 || got["ls"] != 90 || len(got) != 2 || !p.Ended {
		t.Errorf("time by program %v, ended %v; want 20 before exec, 90 of ls, ended", got, p.Ended)
	}
	u.switches(false, task(perfevents.Forked, 400, 30, 10), switched(in, 410, 0, 30))
	u.switches(false, switched(out, 500, 0, 30))
	if got := spent(u.untracked[30]); got[""] != 90 {
		t.Errorf("over two drains: time by program %v, want 90", got)
	}
}

func TestThreadsOfAProcessAddUp(t *testing.T) {
	u := table(new(int))
	thread := func(kind perfevents.Kind, at int64) perfevents.Record {
		r := switched(kind, at, 1, 20)
		r.TID, r.PPID = 21, 20
		return r
	}
	u.switches(false, task(perfevents.Forked, 100, 20, 10), switched(perfevents.SwitchedIn, 110, 0, 20),
		thread(perfevents.SwitchedIn, 120), thread(perfevents.Exited, 150), switched(perfevents.SwitchedOut, 160, 0, 20))
	if got := spent(u.untracked[20]); got[""] != 80 || u.untracked[20].Ended {
		t.Errorf("time by program %v, want 80, not ended", got)
	}
}

func TestLostRecordsChargeNoTimeToAnotherProcess(t *testing.T) {
	const in, out = perfevents.SwitchedIn, perfevents.SwitchedOut
	u := table(new(int))
	u.switches(false, task(perfevents.Forked, 100, 20, 10), switched(in, 110, 0, 20))
	u.switches(true, switched(out, 900, 0, 20), switched(in, 950, 0, 20), task(perfevents.Forked, 960, 30, 10))
	u.switches(false, switched(out, 980, 0, 20), switched(in, 1000, 0, 20), switched(in, 1100, 0, 99),
		switched(out, 1200, 0, 20))
	if got := spent(u.untracked[20]); len(got) != 0 || u.untracked[30] == nil {
		t.Errorf("end of a run is lost: time by program %v, want none", got)
	}
	u.switches(false, switched(in, 1300, 0, 30))
	u.NoteGap()
	u.switches(false, switched(out, 1400, 0, 30), switched(in, 1500, 0, 30), switched(out, 1510, 0, 30))
	if got := spent(u.untracked[30]); got[""] != 10 {
		t.Errorf("begin of a run is lost: time by program %v, want 10", got)
	}
}

func TestTimesByProgramOfAProcessAreBounded(t *testing.T) {
	u := table(new(int))
	u.switches(false, task(perfevents.Forked, 1, 20, 10), switched(perfevents.SwitchedIn, 10, 0, 20))
	for i := range int64(4 * maxPrograms) {
		execed := task(perfevents.CommSet, 10*i+20, 20, 0)
		execed.Exec, execed.Name = true, []byte("next")
		u.switches(false, execed)
	}
	sum := int64(0)
	for _, s := range u.untracked[20].Times {
		sum += s.NS
	}
	if n := len(u.untracked[20].Times); n != maxPrograms || sum != 40*maxPrograms {
		t.Errorf("%d programs with %d ns, want %d with %d", n, sum, maxPrograms, 40*maxPrograms)
	}
}

func TestTimeOfADiscoveredProcessIsCountedToItsEnd(t *testing.T) {
	const in, out = perfevents.SwitchedIn, perfevents.SwitchedOut
	shell, kid := new(int), new(int)
	u := table(shell)
	u.switches(false, task(perfevents.Forked, 100, 20, 10), switched(in, 110, 0, 20), switched(out, 150, 0, 20))
	u.TrackWithClocks(20, kid)
	u.switches(false, switched(in, 160, 0, 20), switched(out, 170, 0, 20), task(perfevents.Forked, 175, 30, 20))
	if u.untracked[20] != nil || u.untracked[30].Ancestor != kid {
		t.Errorf("untracked processes %v, want 30 with the discovered one as its parent", u.untracked)
	}
	if u.ForgetWithClocks(20, shell) != 0 { // another process with the PID
		t.Error("ForgetClocks of another owner returns this process's time")
	}
	u.switches(false, switched(in, 180, 0, 20), task(perfevents.Exited, 200, 20, 10))
	if ns := u.ForgetWithClocks(20, kid); ns != 40+10+20 {
		t.Errorf("the process used %d ns, want %d", ns, 40+10+20)
	}
	if u.ForgetWithClocks(20, kid) != 0 || len(u.clocks.nowTracked) != 0 || len(u.tracked) != 1 {
		t.Error("clocks of a forgotten process are kept")
	}
	u.switches(false, task(perfevents.Forked, 300, 40, 10))
	u.TrackWithClocks(40, kid)
	if u.TrackWithClocks(50, kid); u.ForgetWithClocks(40, kid) != 0 || u.ForgetWithClocks(50, kid) != 0 {
		t.Error("time of a running process, or of one without records, is returned")
	}
}

// The kernel gives the first thread's number to the one that calls exec (fs/exec.c, de_thread).
func TestAnotherThreadThanTheFirstCallsExec(t *testing.T) {
	thread := switched(perfevents.SwitchedIn, 110, 1, 20)
	thread.TID = 21
	execed := switched(perfevents.CommSet, 150, 1, 20)
	execed.Exec, execed.Name = true, []byte("ls")
	u := table(new(int))
	u.switches(false, task(perfevents.Forked, 100, 20, 10), thread, switched(perfevents.Exited, 130, 0, 20), execed,
		switched(perfevents.SwitchedOut, 180, 1, 20))
	p := u.untracked[20]
	if got := spent(p); got[""] != 40 || got["ls"] != 30 || p.Ended {
		t.Errorf("time by program %v, ended %v; want 40 before exec, 30 of ls, not ended", got, p.Ended)
	}
	if u.switches(false, switched(perfevents.Exited, 200, 1, 20)); !p.Ended {
		t.Error("the process is not marked after its end")
	}
}

func TestProcessEndsWithItsLastThread(t *testing.T) {
	const in, out = perfevents.SwitchedIn, perfevents.SwitchedOut
	second := func(kind perfevents.Kind, at int64) perfevents.Record {
		r := switched(kind, at, 1, 20)
		r.TID, r.PPID = 21, 20
		return r
	}
	u := table(new(int))
	u.switches(false, task(perfevents.Forked, 100, 20, 10), switched(in, 110, 0, 20), second(perfevents.Forked, 120),
		second(in, 130), task(perfevents.Exited, 140, 20, 10))
	for p := range u.All() {
		if p.Ended {
			t.Error("the process has ended with its first thread")
		}
	}
	u.switches(false, second(perfevents.Exited, 200))
	p := u.untracked[20]
	if p == nil || !p.Ended || spent(p)[""] != 30+70 {
		t.Fatalf("process %+v, want one with %d ns, ended", p, 30+70)
	}
	u.switches(false, task(perfevents.Forked, 300, 40, 10), switched(in, 310, 0, 40), switched(out, 315, 0, 40))
	kid := new(int)
	u.TrackWithClocks(40, kid)
	more := second(perfevents.Forked, 320)
	more.PID, more.TID, more.PPID = 40, 41, 40
	u.switches(false, more, task(perfevents.Exited, 330, 40, 10))
	if ns := u.ForgetWithClocks(40, kid); ns != 0 {
		t.Errorf("%d ns as the whole time of a process with a running thread, want 0", ns)
	}
}

func TestReusedPIDAddsNothingToATrackedProcess(t *testing.T) {
	const in, out = perfevents.SwitchedIn, perfevents.SwitchedOut
	kid := new(int)
	u := table(new(int))
	u.switches(false, task(perfevents.Forked, 100, 20, 10), switched(in, 110, 0, 20), switched(out, 120, 0, 20))
	u.TrackWithClocks(20, kid)
	u.switches(false, task(perfevents.Exited, 130, 20, 10), task(perfevents.Forked, 200, 20, 10),
		switched(in, 210, 0, 20), switched(out, 290, 0, 20), task(perfevents.Exited, 300, 20, 10))
	if ns := u.ForgetWithClocks(20, kid); ns != 0 && ns != 10 {
		t.Errorf("the process used %d ns, want 10, or 0 for unknown", ns)
	}
}
