// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// fakeProc is a simulated /proc and its cutimeTree; times are in hundredths of a second.
type fakeProc struct {
	*cutimeTree
	procs      map[int]ProcState
	reads      int
	ignoring   map[int]bool
	members    map[int]*cutimeNode
	attributed map[int]int64
}

// newFakeProc has one process, 10, with 5 s of children from before the recording.
func newFakeProc() *fakeProc {
	f := &fakeProc{
		procs: map[int]ProcState{}, ignoring: map[int]bool{}, members: map[int]*cutimeNode{}, attributed: map[int]int64{},
	}
	f.cutimeTree = newCutimeTree(f)
	f.set(10, 1, 500)
	f.join(10, false)
	return f
}

func (f *fakeProc) State(pid int) (ProcState, bool) {
	f.reads++
	r, ok := f.procs[pid]
	return r, ok
}

func (f *fakeProc) IgnoresChildren(pid int) bool { return f.ignoring[pid] }

func (*fakeProc) ExactChildrenCPU(int) int64 { return 0 }

func (f *fakeProc) set(pid, parent int, cutime uint64) {
	f.procs[pid] = ProcState{Parent: parent, Start: 1, ChildrenCPU: int64(cutime) * 1e7}
}

func (f *fakeProc) join(pid int, fromStart bool) {
	f.members[pid] = f.cutimeTree.join(pid, 1, 0, fromStart, f.recorder(pid))
}

func (f *fakeProc) recorder(as int) func(ns, at int64, when distribution) {
	return func(ns, _ int64, _ distribution) {
		if ns > 0 {
			f.attributed[as] += ns / 1e7
		}
	}
}

// end ends the sampling of a process with own CPU time. gone: its parent has waited for it.
func (f *fakeProc) end(pid int, own, at int64, gone bool) {
	if gone {
		delete(f.procs, pid)
	}
	f.leave(f.members[pid], own*1e7, at)
}

type scenario struct {
	name string
	of   func(*fakeProc)
	want map[int]int64
}

var parentAndChild = []scenario{
	{"no child is observed", func(f *fakeProc) {
		f.set(10, 1, 550)
	}, map[int]int64{10: 50}},
	{"an observed child uses more after its last sample", func(f *fakeProc) {
		f.set(20, 10, 0)
		f.join(20, true)
		f.end(20, 30, 50, true)
		f.set(10, 1, 532)
		f.tick(1e9)
	}, map[int]int64{10: 2}},
	{"a zombie's time is not in cutime yet", func(f *fakeProc) {
		f.set(20, 10, 0)
		f.join(20, true)
		f.end(20, 30, 50, false)
		f.set(10, 1, 507)
		f.tick(1e9)
	}, map[int]int64{10: 7}},
	{"a child ended, and was waited for, before its account began", func(f *fakeProc) {
		f.members[20] = f.cutimeTree.join(20, 1, 10, true, f.recorder(20))
		f.end(20, 30, 50, true)
		f.set(10, 1, 530)
		f.tick(1e9)
	}, map[int]int64{}},
	{"a child is older than the recording", func(f *fakeProc) {
		f.set(20, 10, 70)
		f.join(20, false)
		f.set(20, 10, 75)
		f.tick(1e8)
		f.end(20, 200+30, 1e9, true) // 2 s before the recording, and 0.3 s
		f.set(10, 1, 500+230+75)
		f.tick(2e9)
	}, map[int]int64{20: 5}},
}

var threeGenerations = []scenario{
	{"a child has children, and its own end is not observed", func(f *fakeProc) {
		f.set(20, 10, 0)
		f.join(20, true)
		f.set(20, 10, 40)
		f.tick(1e9)
		f.end(20, 30, 2e9, true)
		f.set(10, 1, 500+30+45)
		f.tick(3e9)
	}, map[int]int64{20: 40, 10: 5}},
	{"a grandchild is observed after the child was last read", func(f *fakeProc) {
		f.set(20, 10, 0)
		f.join(20, true)
		f.set(30, 20, 0)
		f.join(30, true)
		f.end(30, 25, 1e9, true)
		f.end(20, 5, 1e9, true) // its cutime was read as 0
		f.set(10, 1, 500+25+5+3)
		f.tick(3e9)
	}, map[int]int64{10: 3}},
	{"parent and child end in one tick, the parent first", func(f *fakeProc) {
		f.set(20, 10, 0)
		f.join(20, true)
		f.set(30, 20, 0)
		f.join(30, true)
		f.set(20, 10, 12)
		f.tick(1e8)
		f.end(20, 5, 1e9, true)
		f.end(30, 12, 1e9, true)
		f.set(10, 1, 500+5+12)
		f.tick(3e9)
	}, map[int]int64{}},
	{"a child's account begins before its parent's", func(f *fakeProc) {
		f.set(30, 10, 100)
		f.set(20, 30, 70)
		f.join(20, false)
		f.join(30, false)
		f.tick(1e8)
		f.end(20, 200, 1e9, true)
		f.set(30, 10, 100+200+70+4)
		f.tick(2e9)
		f.end(30, 6, 3e9, true)
		f.set(10, 1, 500+374+6)
	}, map[int]int64{30: 4}},
	{"a child's account begins before its parent's, and it ends before it is read again", func(f *fakeProc) {
		f.set(30, 10, 100)
		f.set(20, 30, 70)
		f.join(20, false)
		f.join(30, false)
		f.end(20, 200, 1e8, true)
		f.set(30, 10, 100+200+70)
		f.tick(2e9)
		f.end(30, 6, 3e9, true)
		f.set(10, 1, 500+370+6)
	}, map[int]int64{}},
	{"a parent's number is reused before the child ends", func(f *fakeProc) {
		f.set(20, 10, 0)
		f.join(20, true)
		f.procs[30] = ProcState{Parent: 20, Start: 1}
		f.join(30, true)
		delete(f.procs, 30)
		f.end(20, 30, 1e8, true)
		f.tick(1e9)
		f.procs[20] = ProcState{Parent: 10, Start: 2, ChildrenCPU: 5e7}
		f.members[20] = f.cutimeTree.join(20, 2, 0, true, f.recorder(-20))
		f.end(30, 8, 1.1e9, false)
		f.tick(2e9)
		f.end(20, 4, 2e9, true)
		f.set(10, 1, 500+30+4+5)
	}, map[int]int64{-20: 5}},
	{"of three generations the middle one is not observed", func(f *fakeProc) {
		f.set(30, 10, 0)
		f.set(20, 30, 0)
		f.join(20, true)
		f.end(20, 30, 100, true)
		f.tick(1e9)
		delete(f.procs, 30)
		f.set(10, 1, 500+30+8)
		f.tick(2e9)
	}, map[int]int64{10: 8}},
	{"an orphan's time is not passed to its grandparent", func(f *fakeProc) {
		f.set(20, 10, 0)
		f.join(20, true)
		f.set(30, 20, 0)
		f.join(30, true)
		f.end(20, 1, 1e9, true)
		f.set(30, 1, 0) // reparented to init
		f.tick(2e9)
		f.set(10, 1, 500+1+9)
		f.end(30, 50, 3e9, true)
		f.tick(4e9)
	}, map[int]int64{10: 9}},
	{"an orphan's new parent is not read before its end", func(f *fakeProc) {
		f.set(20, 10, 0)
		f.join(20, true)
		f.set(30, 20, 0)
		f.join(30, true)
		f.end(20, 1, 1e9, true)
		f.end(30, 50, 3e9, true)
		f.set(10, 1, 500+1+9)
		f.tick(4e9)
	}, map[int]int64{10: 9}},
	{"SIGCHLD is ignored: no ancestor gets the time", func(f *fakeProc) {
		f.set(20, 10, 0)
		f.join(20, true)
		f.ignoring[20] = true
		f.set(30, 20, 0)
		f.join(30, true)
		f.end(30, 30, 1e8, true)
		f.tick(1e9)
		f.end(20, 1, 2e9, true)
		f.set(10, 1, 500+1+6)
		f.tick(3e9)
	}, map[int]int64{10: 6}},
}

var numbersReused = []scenario{
	{"a PID is reused", func(f *fakeProc) {
		f.set(20, 10, 0)
		f.join(20, true)
		f.end(20, 30, 100, true)
		f.procs[20] = ProcState{Parent: 1, Start: 2, ChildrenCPU: 900e7}
		f.set(10, 1, 530)
		f.tick(1e9)
	}, map[int]int64{}},
	{"a PID is reused before the time of its first process is settled", func(f *fakeProc) {
		f.set(20, 10, 0)
		f.join(20, true)
		first := f.members[20]
		f.procs[20] = ProcState{Parent: 10, Start: 2}
		f.members[20] = f.cutimeTree.join(20, 2, 0, true, f.recorder(-20))
		f.leave(first, 30e7, 100)
		f.set(10, 1, 530)
		f.tick(1e9)
		f.end(20, 4, 2e9, true)
		f.set(10, 1, 534)
		f.tick(3e9)
	}, map[int]int64{}},
}

func TestTimeOfChildrenIsAttributedOnce(t *testing.T) {
	for _, p := range slices.Concat(parentAndChild, threeGenerations, numbersReused) {
		t.Run(p.name, func(t *testing.T) {
			f := newFakeProc()
			p.of(f)
			f.leave(f.members[10], 5e7, 9e9)
			f.close()
			if !maps.Equal(f.attributed, p.want) {
				t.Errorf("attributed %v, want %v", f.attributed, p.want)
			}
			if len(f.byPID)+len(f.ended) != 0 {
				t.Errorf("after Close the tree has %d living and %d ended processes, want none", len(f.byPID), len(f.ended))
			}
		})
	}
}

func TestTimeOfChildrenIsAttributedWhileTheirParentRuns(t *testing.T) {
	f := newFakeProc()
	expect := func(at int64, cutime uint64, want int64) {
		t.Helper()
		f.set(10, 1, 500+cutime)
		if f.tick(at); f.attributed[10] != want {
			t.Errorf("at %v: attributed %d hundredths, want %d", time.Duration(at), f.attributed[10], want)
		}
	}
	f.set(20, 10, 0)
	f.join(20, true)
	expect(1e9, 7, 0)
	expect(2e9, 8, 7)
	expect(3e9, 8, 8)
	f.set(30, 20, 0)
	f.join(30, true)
	f.end(30, 25, 3.1e9, true)
	f.set(20, 10, 25)
	expect(4e9, 8, 8)
	delete(f.procs, 20)
	expect(5e9, 8+70+2, 8)
	expect(6e9, 8+70+3, 8)
	f.leave(f.members[20], 45e7, 6e9)
	expect(7e9, 8+70+3, 8)
	expect(8e9, 8+70+3, 11)
	f.leave(f.members[10], 5e7, 9e9)
	f.close()
	if want := (map[int]int64{10: 11}); !maps.Equal(f.attributed, want) {
		t.Errorf("attributed %v, want %v", f.attributed, want)
	}
}

func TestCutimeTreeForgetsEndedProcesses(t *testing.T) {
	f := newFakeProc()
	for i := range 1000 {
		pid, now := 100+i, int64(i+1)*1e9
		f.set(pid, 10, 0)
		f.join(pid, true)
		f.end(pid, 1, now, true)
		f.tick(now + 5e8)
		if n := len(f.byPID) + len(f.ended); n > 2 {
			t.Fatalf("%d processes are kept after %d, want at most 2", n, i)
		}
	}
}

func TestTimeOfChildrenUpToTheEndIsAttributed(t *testing.T) {
	f := newFakeProc()
	f.reads = 0
	const busy = 295e6
	for at := int64(0); at < 2e9; at += 1e6 {
		if at == 1e9 && f.reads > 14 {
			t.Errorf("%d reads of /proc in a second without growth, want at most 14", f.reads)
		}
		if at >= 1e9 && at < 1e9+busy {
			f.set(10, 1, 500+uint64(at-1e9)/1e7)
		}
		if at == 1e9+busy {
			delete(f.procs, 10)
		}
		f.tick(at)
	}
	f.leave(f.members[10], 0, 2e9)
	f.close()
	if f.attributed[10] < 27 || f.attributed[10] > 29 {
		t.Errorf("attributed %d hundredths, want 27 to 29", f.attributed[10])
	}
}

func TestTimeOfChildrenWaitsForTheEndOfAGrandchild(t *testing.T) {
	f := newFakeProc()
	f.set(20, 10, 0)
	f.join(20, true)
	f.set(30, 20, 0)
	f.join(30, true)
	f.tick(1e9)
	delete(f.procs, 30)
	f.end(20, 45, 2e9, true)
	f.set(10, 1, 500+45+30)
	for at := int64(3e9); at < 7e9; at += 1e9 {
		if f.tick(at); f.attributed[10] != 0 {
			t.Fatalf("at %v: attributed %d hundredths, want none", time.Duration(at), f.attributed[10])
		}
	}
}
