// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// village is a simulated /proc, in hundredths of a second.
type village struct {
	*ProcessTree
	procs    map[int]ProcState
	reads    int
	ignoring map[int]bool // SIGCHLD
	members  map[int]*Node
	booked   map[int]int64
}

// newVillage has one process, 10, with 5 s of children from before the recording.
func newVillage() *village {
	v := &village{
		procs: map[int]ProcState{}, ignoring: map[int]bool{}, members: map[int]*Node{}, booked: map[int]int64{},
	}
	v.ProcessTree = NewProcessTree(v)
	v.is(10, 1, 500)
	v.join(10, false)
	return v
}

// State implements [ProcSource].
func (v *village) State(pid int) (ProcState, bool) {
	v.reads++
	r, ok := v.procs[pid]
	return r, ok
}

// IgnoresChildren implements [ProcSource].
func (v *village) IgnoresChildren(pid int) bool { return v.ignoring[pid] }

// ExactChildrenCPU implements [ProcSource].
func (*village) ExactChildrenCPU(int) int64 { return 0 }

func (v *village) is(pid, parent int, cutime uint64) {
	v.procs[pid] = ProcState{Parent: parent, Start: 1, ChildrenCPU: int64(cutime) * 1e7}
}

func (v *village) join(pid int, fromStart bool) {
	v.members[pid] = v.Join(pid, 1, 0, fromStart, v.books(pid))
}

func (v *village) books(as int) func(ns, at int64, last bool) {
	return func(ns, _ int64, _ bool) {
		if ns > 0 {
			v.booked[as] += ns / 1e7
		}
	}
}

func (v *village) ends(pid int, own, at int64, gone bool) {
	if gone {
		delete(v.procs, pid)
	}
	v.Leave(v.members[pid], own*1e7, at)
}

// plot is a sequence of events, and the time attributed at the end by process.
type plot struct {
	name string
	of   func(*village)
	want map[int]int64
}

var parentAndChild = []plot{
	{"nobody was met", func(v *village) {
		v.is(10, 1, 550)
	}, map[int]int64{10: 50}},
	{"one was met, and used more after its last look", func(v *village) {
		v.is(20, 10, 0)
		v.join(20, true)
		v.ends(20, 30, 50, true)
		v.is(10, 1, 532)
		v.Tick(1e9)
	}, map[int]int64{10: 2}},
	{"a zombie is nobody's yet", func(v *village) {
		v.is(20, 10, 0)
		v.join(20, true)
		v.ends(20, 30, 50, false)
		v.is(10, 1, 507)
		v.Tick(1e9)
	}, map[int]int64{10: 7}},
	{"it has ended, and was waited for, before its account begins", func(v *village) {
		v.members[20] = v.Join(20, 1, 10, true, v.books(20))
		v.ends(20, 30, 50, true)
		v.is(10, 1, 530)
		v.Tick(1e9)
	}, map[int]int64{}},
	{"a child lived before the recording", func(v *village) {
		v.is(20, 10, 70)
		v.join(20, false)
		v.is(20, 10, 75)
		v.Tick(1e8)
		v.ends(20, 200+30, 1e9, true) // 2 s before the recording, and 0.3 s
		v.is(10, 1, 500+230+75)
		v.Tick(2e9)
	}, map[int]int64{20: 5}},
}

var threeGenerations = []plot{
	{"a child's children, and the child's own end was not seen", func(v *village) {
		v.is(20, 10, 0)
		v.join(20, true)
		v.is(20, 10, 40)
		v.Tick(1e9)
		v.ends(20, 30, 2e9, true)
		v.is(10, 1, 500+30+45)
		v.Tick(3e9)
	}, map[int]int64{20: 40, 10: 5}},
	{"a child's child was met, after the child was last read", func(v *village) {
		v.is(20, 10, 0)
		v.join(20, true)
		v.is(30, 20, 0)
		v.join(30, true)
		v.ends(30, 25, 1e9, true)
		v.ends(20, 5, 1e9, true) // its cutime was read as 0
		v.is(10, 1, 500+25+5+3)
		v.Tick(3e9)
	}, map[int]int64{10: 3}},
	{"parent and child end at one tick, the parent first", func(v *village) {
		v.is(20, 10, 0)
		v.join(20, true)
		v.is(30, 20, 0)
		v.join(30, true)
		v.is(20, 10, 12)
		v.Tick(1e8)
		v.ends(20, 5, 1e9, true)
		v.ends(30, 12, 1e9, true)
		v.is(10, 1, 500+5+12)
		v.Tick(3e9)
	}, map[int]int64{}},
	{"the middle one was not met", func(v *village) {
		v.is(30, 10, 0)
		v.is(20, 30, 0)
		v.join(20, true)
		v.ends(20, 30, 100, true)
		v.Tick(1e9)
		delete(v.procs, 30)
		v.is(10, 1, 500+30+8)
		v.Tick(2e9)
	}, map[int]int64{10: 8}},
	{"an orphan's time is not its grandparent's", func(v *village) {
		v.is(20, 10, 0)
		v.join(20, true)
		v.is(30, 20, 0)
		v.join(30, true)
		v.ends(20, 1, 1e9, true)
		v.is(30, 1, 0) // reparented to init
		v.Tick(2e9)
		v.is(10, 1, 500+1+9)
		v.ends(30, 50, 3e9, true)
		v.Tick(4e9)
	}, map[int]int64{10: 9}},
	{"SIGCHLD is ignored: nothing is added, here and further up", func(v *village) {
		v.is(20, 10, 0)
		v.join(20, true)
		v.ignoring[20] = true
		v.is(30, 20, 0)
		v.join(30, true)
		v.ends(30, 30, 1e8, true)
		v.Tick(1e9)
		v.ends(20, 1, 2e9, true)
		v.is(10, 1, 500+1+6)
		v.Tick(3e9)
	}, map[int]int64{10: 6}},
}

var numbersReused = []plot{
	{"the number comes round", func(v *village) {
		v.is(20, 10, 0)
		v.join(20, true)
		v.ends(20, 30, 100, true)
		v.procs[20] = ProcState{Parent: 1, Start: 2, ChildrenCPU: 900e7}
		v.is(10, 1, 530)
		v.Tick(1e9)
	}, map[int]int64{}},
	{"it comes round while its first bearer is not settled", func(v *village) {
		v.is(20, 10, 0)
		v.join(20, true)
		first := v.members[20]
		v.procs[20] = ProcState{Parent: 10, Start: 2}
		v.members[20] = v.Join(20, 2, 0, true, v.books(-20))
		v.Leave(first, 30e7, 100)
		v.is(10, 1, 530)
		v.Tick(1e9)
		v.ends(20, 4, 2e9, true)
		v.is(10, 1, 534)
		v.Tick(3e9)
	}, map[int]int64{}},
}

func TestTimeOfChildrenIsBookedOnce(t *testing.T) {
	for _, p := range slices.Concat(parentAndChild, threeGenerations, numbersReused) {
		t.Run(p.name, func(t *testing.T) {
			v := newVillage()
			p.of(v)
			v.Leave(v.members[10], 5e7, 9e9)
			v.Close()
			if !maps.Equal(v.booked, p.want) {
				t.Errorf("booked %v, want %v", v.booked, p.want)
			}
			if len(v.living)+len(v.ended) != 0 {
				t.Errorf("%d living, %d ended", len(v.living), len(v.ended))
			}
		})
	}
}

// Within two seconds, without that of observed children.
func TestTimeOfChildrenIsBookedWhileTheirParentGoesOn(t *testing.T) {
	v := newVillage()
	expect := func(at int64, cutime uint64, want int64) {
		t.Helper()
		v.is(10, 1, 500+cutime)
		if v.Tick(at); v.booked[10] != want {
			t.Errorf("at %v: booked %d hundredths of %d", time.Duration(at), v.booked[10], cutime)
		}
	}
	v.is(20, 10, 0)
	v.join(20, true)
	expect(1e9, 7, 0)
	expect(2e9, 8, 7)
	expect(3e9, 8, 8)
	v.is(30, 20, 0)
	v.join(30, true)
	v.ends(30, 25, 3.1e9, true)
	v.is(20, 10, 25)
	expect(4e9, 8, 8)
	delete(v.procs, 20) // its end is not reported yet
	expect(5e9, 8+70+2, 8)
	expect(6e9, 8+70+3, 8)
	v.Leave(v.members[20], 45e7, 6e9)
	expect(7e9, 8+70+3, 8)
	expect(8e9, 8+70+3, 11)
	v.Leave(v.members[10], 5e7, 9e9)
	v.Close()
	if want := (map[int]int64{10: 11}); !maps.Equal(v.booked, want) {
		t.Errorf("booked %v, want %v", v.booked, want)
	}
}

func TestFamilyDoesNotGrow(t *testing.T) {
	v := newVillage()
	for i := range 1000 {
		pid, now := 100+i, int64(i+1)*1e9
		v.is(pid, 10, 0)
		v.join(pid, true)
		v.ends(pid, 1, now, true)
		v.Tick(now + 5e8)
		if n := len(v.living) + len(v.ended); n > 2 {
			t.Fatalf("%d members after %d births", n, i)
		}
	}
}

// Of a process whose parent waits for it at once.
func TestTimeOfChildrenUpToTheEndIsBooked(t *testing.T) {
	v := newVillage()
	v.reads = 0
	const busy = 295e6
	for at := int64(0); at < 2e9; at += 1e6 {
		if at == 1e9 && v.reads > 14 {
			t.Errorf("%d readings of what does not grow in a second", v.reads)
		}
		if at >= 1e9 && at < 1e9+busy {
			v.is(10, 1, 500+uint64(at-1e9)/1e7)
		}
		if at == 1e9+busy {
			delete(v.procs, 10)
		}
		v.Tick(at)
	}
	v.Leave(v.members[10], 0, 2e9)
	v.Close()
	if v.booked[10] < 27 || v.booked[10] > 29 {
		t.Errorf("%d hundredths are booked of 29", v.booked[10])
	}
}
