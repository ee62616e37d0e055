// SPDX-License-Identifier: Apache-2.0

package descendants

import (
	"testing"

	"prywalk/internal/perfevents"
)

// table gives one in which process 10 was met.
func table(shell *int) *Table[*int, int] {
	u := New[*int, int]()
	u.Track(10, shell)
	return u
}

// task makes a record.
func task(kind perfevents.Kind, at int64, pid, parent int) perfevents.Record {
	return perfevents.Record{Kind: kind, Time: at, PID: pid, TID: pid, PPID: parent, PTID: parent}
}

// tell tells records as one drain does.
func (u *Table[O, S]) tell(list ...perfevents.Record) {
	for i := range list {
		u.note(&list[i])
	}
	u.handleAll()
}

// TestProgramOfAnUntrackedProcessIsThatOfTheSamplesTime: whatever the order in which the processors' records come, and
// also for a child of a child.
func TestProgramOfAnUntrackedProcessIsThatOfTheSamplesTime(t *testing.T) {
	shell := new(int)
	u := table(shell)
	execed := task(perfevents.Named, 200, 20, 0)
	execed.Exec, execed.Name = true, []byte("make")
	mapped := task(perfevents.Mapped, 210, 20, 0)
	mapped.Addr, mapped.Len, mapped.Inode, mapped.Name = 0x1000, 0x2000, 7, []byte("/bin/make")
	later := task(perfevents.Mapped, 400, 20, 0)
	later.Addr, later.Len, later.Inode, later.Name = 0x9000, 0x1000, 8, []byte("/lib/c")
	u.tell(later, mapped, execed, task(perfevents.Forked, 300, 30, 20), task(perfevents.Forked, 100, 20, 10),
		task(perfevents.Forked, 100, 99, 98)) // the last one is somebody else's
	if len(u.untracked) != 2 || u.untracked[20] == nil || u.untracked[30] == nil {
		t.Fatalf("%v", u.untracked)
	}
	p, kid := u.untracked[20], u.untracked[30]
	if before := p.At(150); before.Of != shell || len(before.Maps) != 0 {
		t.Errorf("before it called exec: %+v", before)
	}
	if now := p.At(250); now.Of != nil || now.Name != "make" || len(now.Maps) != 2 || now.Maps[0].Path != "/bin/make" {
		t.Errorf("afterwards: %+v", now)
	}
	if g := kid.At(350); g.Name != "make" || len(g.Maps) != 1 || kid.Waiter != shell {
		t.Errorf("its child: %+v of %v", g, kid.Waiter)
	}
	u.tell(task(perfevents.Exited, 500, 20, 10))
	if !p.Ended || kid.Ended {
		t.Error("the end of one is another's")
	}
}

// TestProgramThatWasHandedOverIsNotWritten: the aggregator reads it meanwhile.
func TestProgramThatWasHandedOverIsNotWritten(t *testing.T) {
	shell := new(int)
	u := table(shell)
	execed := task(perfevents.Named, 200, 20, 0)
	execed.Exec, execed.Name = true, []byte("ls")
	u.tell(task(perfevents.Forked, 100, 20, 10), execed)
	handed := u.untracked[20].At(300)
	handed.Keep()
	mapped := task(perfevents.Mapped, 400, 20, 0)
	mapped.Addr, mapped.Len = 0x1000, 0x1000
	u.tell(mapped)
	if len(handed.Maps) != 0 || len(u.untracked[20].At(500).Maps) != 1 {
		t.Errorf("%v, %v", handed.Maps, u.untracked[20].At(500).Maps)
	}
}

func TestUntrackedProcessesAreBounded(t *testing.T) {
	u := table(new(int))
	for i := range 3 * mostUntracked {
		u.tell(task(perfevents.Forked, int64(i), 1000+i, 10))
	}
	if len(u.untracked) != mostUntracked {
		t.Errorf("%d processes", len(u.untracked))
	}
	for i := range 3 * mostMappings {
		m := task(perfevents.Mapped, int64(i), 1000, 0)
		m.Addr, m.Len = uint64(i)<<12, 1<<12
		u.tell(m)
	}
	if n := len(u.untracked[1000].runs.Maps); n > mostMappings {
		t.Errorf("%d mappings", n)
	}
}

// TestOpenedProcessIsNotUntracked: what was kept of it is given back, once.
func TestOpenedProcessIsNotUntracked(t *testing.T) {
	u, me := table(new(int)), new(int)
	u.tell(task(perfevents.Forked, 100, 20, 10))
	u.Find(20).Kept = append(u.Find(20).Kept, 7)
	if before := u.Track(20, me); before == nil || len(before.Kept) != 1 || u.Find(20) != nil || u.Track(20, me) != nil {
		t.Error("it is not met")
	}
	u.tell(task(perfevents.Forked, 200, 30, 20))
	if kid := u.Find(30); kid == nil || kid.Waiter != me {
		t.Errorf("its child: %+v", kid)
	}
	u.Forget(20, new(int)) // who had this number before
	if u.Find(20) != nil || u.tracked[20] != me {
		t.Error("it is forgotten with another one of its number")
	}
	u.Forget(20, me)
	u.tell(task(perfevents.Exited, 300, 30, 20), task(perfevents.Forked, 400, 40, 20))
	n := 0
	for p := range u.All() {
		if n++; !p.Ended {
			t.Errorf("%+v", p)
		}
	}
	if n != 1 || u.Find(30) != nil || u.Find(40) != nil {
		t.Errorf("%d processes", n)
	}
}

// TestAReusedNumberIsAnotherProcess: the record of the first one's end was lost, and that number is a stranger's
// by now. What was kept of the first is given back all the same.
func TestAReusedNumberIsAnotherProcess(t *testing.T) {
	u := table(new(int))
	u.tell(task(perfevents.Forked, 100, 20, 10))
	u.Find(20).Kept = append(u.Find(20).Kept, 7)
	u.tell(task(perfevents.Forked, 200, 20, 99))
	if u.Find(20) != nil {
		t.Error("a stranger's child is taken for one of these")
	}
	u.tell(task(perfevents.Forked, 300, 30, 10))
	u.Find(30).Kept = append(u.Find(30).Kept, 8)
	u.tell(task(perfevents.Forked, 400, 30, 10))
	if p := u.Find(30); p == nil || len(p.Kept) != 0 {
		t.Errorf("%+v", p)
	}
	sum, ended := 0, 0
	for p := range u.All() {
		if p.Ended {
			ended++
		}
		for _, k := range p.Kept {
			sum += k
		}
	}
	if sum != 15 || ended != 2 || len(u.ended) != 0 || len(u.untracked) != 1 {
		t.Errorf("%d of what was kept, %d ended, %d there", sum, ended, len(u.untracked))
	}
}

func TestProgramsThatAProcessRanAreBounded(t *testing.T) {
	u := table(new(int))
	u.tell(task(perfevents.Forked, 100, 20, 10))
	for i := range 3 * mostFormer {
		execed := task(perfevents.Named, int64(200+i), 20, 0)
		execed.Exec, execed.Name = true, []byte{'a' + byte(i)%26}
		u.tell(execed)
	}
	p := u.Find(20)
	if len(p.former) != mostFormer || p.Last() != p.At(1000) || p.At(200+3*mostFormer-2).Name == p.Last().Name {
		t.Errorf("%d programs", len(p.former))
	}
}
