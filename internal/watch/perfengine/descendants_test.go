// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"testing"

	"prywalk/internal/watch/perfevents"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

func table(shell *target.Process) *descendants {
	u := newDescendants()
	u.track(10, shell)
	return u
}

func task(kind perfevents.Kind, at ptrace.Moment, pid, parent int) perfevents.Record {
	return perfevents.Record{Kind: kind, Time: at, PID: pid, TID: pid, PPID: parent}
}

func (t *descendants) addAll(list ...perfevents.Record) {
	for i := range list {
		t.add(&list[i])
	}
	t.handleAll()
}

func TestProgramOfAnUntrackedProcessIsThatAtTheSample(t *testing.T) {
	shell := new(target.Process)
	u := table(shell)
	execed := task(perfevents.CommSet, 200, 20, 0)
	execed.Exec, execed.Name = true, []byte("make")
	mapped := task(perfevents.Mapped, 210, 20, 0)
	mapped.Addr, mapped.Len, mapped.Inode, mapped.Name = 0x1000, 0x2000, 7, []byte("/bin/make")
	later := task(perfevents.Mapped, 400, 20, 0)
	later.Addr, later.Len, later.Inode, later.Name = 0x9000, 0x1000, 8, []byte("/lib/c")
	u.addAll(later, mapped, execed, task(perfevents.Forked, 300, 30, 20), task(perfevents.Forked, 100, 20, 10),
		task(perfevents.Forked, 100, 99, 98))
	if len(u.untracked) != 2 || u.untracked[20] == nil || u.untracked[30] == nil {
		t.Fatalf("untracked processes %v, want 20 and 30", u.untracked)
	}
	p, kid := u.untracked[20], u.untracked[30]
	if before := p.programAt(150); before.CodeOwner != shell || len(before.Maps) != 0 {
		t.Errorf("before exec: program %+v, want that of the shell", before)
	}
	now := p.programAt(250)
	if now.CodeOwner != nil || now.Name != "make" || len(now.Maps) != 2 || now.Maps[0].Path != "/bin/make" {
		t.Errorf("after exec: program %+v, want make with two mappings", now)
	}
	if g := kid.programAt(350); g.Name != "make" || len(g.Maps) != 1 || kid.ancestor != shell {
		t.Errorf("child: program %+v, parent %v; want make with one mapping, of the shell", g, kid.ancestor)
	}
	u.addAll(task(perfevents.Exited, 500, 20, 10))
	if !p.ended || kid.ended {
		t.Error("after the end of process 20: it is not marked, or its child is")
	}
}

func TestProgramKeptByTheAggregatorIsNotModified(t *testing.T) {
	shell := new(target.Process)
	u := table(shell)
	execed := task(perfevents.CommSet, 200, 20, 0)
	execed.Exec, execed.Name = true, []byte("ls")
	u.addAll(task(perfevents.Forked, 100, 20, 10), execed)
	handed := u.untracked[20].programAt(300)
	handed.Freeze()
	mapped := task(perfevents.Mapped, 400, 20, 0)
	mapped.Addr, mapped.Len = 0x1000, 0x1000
	u.addAll(mapped)
	if len(handed.Maps) != 0 || len(u.untracked[20].programAt(500).Maps) != 1 {
		t.Errorf("kept program has mappings %v, the current one %v; want none and one", handed.Maps,
			u.untracked[20].programAt(500).Maps)
	}
}

func TestUntrackedProcessesAreBounded(t *testing.T) {
	u := table(new(target.Process))
	for i := range 3 * maxUntracked {
		u.addAll(task(perfevents.Forked, ptrace.Moment(i), 1000+i, 10))
	}
	if len(u.untracked) != maxUntracked {
		t.Errorf("%d processes are kept, want %d", len(u.untracked), maxUntracked)
	}
	for i := range 3 * maxMappings {
		m := task(perfevents.Mapped, ptrace.Moment(i), 1000, 0)
		m.Addr, m.Len = uint64(i)<<12, 1<<12
		u.addAll(m)
	}
	if n := len(u.untracked[1000].runs.Maps); n > maxMappings {
		t.Errorf("%d mappings are kept, want at most %d", n, maxMappings)
	}
}

func TestTrackedProcessIsNotUntracked(t *testing.T) {
	u, me := table(new(target.Process)), new(target.Process)
	u.addAll(task(perfevents.Forked, 100, 20, 10))
	u.find(20).samples = append(u.find(20).samples, childSample{tid: 7})
	before := u.track(20, me)
	if before == nil || len(before.samples) != 1 || u.find(20) != nil || u.track(20, me) != nil {
		t.Error("track does not return the kept data exactly once, or the process stays untracked")
	}
	u.addAll(task(perfevents.Forked, 200, 30, 20))
	if kid := u.find(30); kid == nil || kid.ancestor != me {
		t.Errorf("child of a tracked process: %+v, want it as the parent", kid)
	}
	u.forget(20, new(target.Process))
	if u.find(20) != nil || u.tracked[20] != me {
		t.Error("process 20 is forgotten with another owner of its PID")
	}
	u.forget(20, me)
	u.addAll(task(perfevents.Exited, 300, 30, 20), task(perfevents.Forked, 400, 40, 20))
	n := 0
	for p := range u.all() {
		if n++; !p.ended {
			t.Errorf("process %+v has not ended", p)
		}
	}
	if n != 1 || u.find(30) != nil || u.find(40) != nil {
		t.Errorf("%d ended processes are kept, want 1, without 30 and 40", n)
	}
}

func TestForkOfAReusedPIDIsAnotherProcess(t *testing.T) {
	u := table(new(target.Process))
	u.addAll(task(perfevents.Forked, 100, 20, 10))
	u.find(20).samples = append(u.find(20).samples, childSample{tid: 7})
	u.addAll(task(perfevents.Forked, 200, 20, 99))
	if u.find(20) != nil {
		t.Error("process 20, forked again by another parent, is still found")
	}
	u.addAll(task(perfevents.Forked, 300, 30, 10))
	u.find(30).samples = append(u.find(30).samples, childSample{tid: 8})
	u.addAll(task(perfevents.Forked, 400, 30, 10))
	if p := u.find(30); p == nil || len(p.samples) != 0 {
		t.Errorf("process 30 %+v, want a new one without kept data", p)
	}
	sum, ended := 0, 0
	for p := range u.all() {
		if p.ended {
			ended++
		}
		for _, k := range p.samples {
			sum += k.tid
		}
	}
	if sum != 15 || ended != 2 || len(u.ended) != 0 || len(u.untracked) != 1 {
		t.Errorf("kept data %d, ended %d, untracked %d; want 15, 2, 1", sum, ended, len(u.untracked))
	}
}

func TestFormerProgramsOfAProcessAreBounded(t *testing.T) {
	u := table(new(target.Process))
	u.addAll(task(perfevents.Forked, 100, 20, 10))
	for i := range 3 * maxFormer {
		execed := task(perfevents.CommSet, ptrace.Moment(200+i), 20, 0)
		execed.Exec, execed.Name = true, []byte{'a' + byte(i)%26}
		u.addAll(execed)
	}
	p := u.find(20)
	last := p.runs
	if len(p.former) != maxFormer || last != p.programAt(1000) || p.programAt(200+3*maxFormer-2).Name == last.Name {
		t.Errorf("%d former programs, the last %+v; want %d, the oldest dropped", len(p.former), last, maxFormer)
	}
}

func TestChildrenOfAProcessWithoutOwnerAreIgnored(t *testing.T) {
	u := table(new(target.Process))
	u.track(11, nil)
	const forked = perfevents.Forked
	u.addAll(task(forked, 100, 20, 11), task(forked, 110, 30, 20), task(forked, 120, 11, 10))
	if len(u.untracked) != 0 {
		t.Errorf("untracked processes %v, want none", u.untracked)
	}
	if u.forget(11, nil); len(u.tracked) != 1 {
		t.Errorf("tracked %v, want one", u.tracked)
	}
}
