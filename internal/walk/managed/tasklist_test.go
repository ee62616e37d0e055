// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"prywalk/internal/host/procmem"
)

// reading is one attempt to read a task, and whether threads slept before and during it.
type reading struct {
	still, slept bool
	status       TaskStatus
	id           uint64
}

type readings struct {
	list []reading
	n    int
}

func (r *readings) Mark(tids []int) bool { return slices.Equal(tids, []int{7}) && r.list[r.n].still }
func (r *readings) Slept() bool          { return r.list[r.n-1].slept }

func (r *readings) once() (Task, TaskStatus) {
	r.n++
	return Task{ID: r.list[r.n-1].id}, r.list[r.n-1].status
}

func TestATaskIsReadUndisturbedOrTwiceWithOneResult(t *testing.T) {
	asleep := func(s TaskStatus) reading { return reading{true, true, s, 1} }
	awake := func(s TaskStatus, id uint64) reading { return reading{false, true, s, id} }
	for _, c := range []struct {
		what        string
		list        []reading
		status      TaskStatus
		id          uint64
		undisturbed bool
	}{
		{"asleep", []reading{asleep(TaskKnown)}, TaskKnown, 1, true},
		{"asleep, invalid", []reading{asleep(TaskUnproven)}, TaskUnproven, 1, true},
		{"asleep, changing", []reading{asleep(TaskChanges)}, TaskChanges, 1, true},
		{"ended", []reading{awake(TaskDone, 1)}, TaskDone, 1, false},
		{"a thread ran meanwhile", []reading{{true, false, TaskKnown, 1}, asleep(TaskKnown)}, TaskKnown, 1, true},
		{"two equal ones", []reading{awake(TaskKnown, 1), awake(TaskKnown, 1)}, TaskKnown, 1, false},
		{"the third is as the second", []reading{awake(TaskKnown, 1), awake(TaskKnown, 2), awake(TaskKnown, 2)},
			TaskKnown, 2, false},
		{"equal ones that do not follow each other", []reading{awake(TaskKnown, 1), awake(TaskChanges, 1),
			awake(TaskKnown, 1), awake(TaskKnown, 1)}, TaskKnown, 1, false},
		{"all differ", []reading{awake(TaskKnown, 1), awake(TaskKnown, 2), awake(TaskKnown, 3), awake(TaskKnown, 4)},
			TaskChanges, 4, false},
		{"never valid", []reading{awake(TaskUnproven, 1), awake(TaskUnproven, 1), awake(TaskUnproven, 1),
			awake(TaskUnproven, 1)}, TaskUnproven, 1, false},
	} {
		r := &readings{list: c.list}
		task, status := ReadTask(r, []int{7}, r.once)
		if status != c.status || task.ID != c.id || task.Undisturbed != c.undisturbed || r.n != len(c.list) {
			t.Errorf("%s: task %d, status %d, undisturbed %t, %d readings; want %d, %d, %t, %d", c.what, task.ID, status,
				task.Undisturbed, r.n, c.id, c.status, c.undisturbed, len(c.list))
		}
	}
}

func TestATaskWithAnotherFieldHasChanged(t *testing.T) {
	task := Task{Name: "a", ID: 1, Awaits: "Future", AwaitsTasks: []string{"b"}, Frames: []Frame{{Function: "f"}}}
	if again := task; !sameTask(&task, &again) {
		t.Error("a task differs from itself")
	}
	for what, change := range map[string]func(*Task){
		"name": func(x *Task) { x.Name = "b" }, "number": func(x *Task) { x.ID++ },
		"state": func(x *Task) { x.State = TaskReady }, "awaited object": func(x *Task) { x.Awaits = "" },
		"descriptor": func(x *Task) { x.Reads = 3 }, "awaited tasks": func(x *Task) { x.AwaitsTasks = nil },
		"frames": func(x *Task) { x.Frames = []Frame{{Function: "g"}} },
	} {
		other := task
		if change(&other); sameTask(&task, &other) {
			t.Errorf("a task with another %s is the same", what)
		}
	}
}

func TestAListOfTasksCountsThoseThatItLacks(t *testing.T) {
	known := Task{Frames: make([]Frame, 2)}
	read := func(place uint64) (Task, TaskStatus) { return known, TaskStatus(place % 4) }
	for _, c := range []struct {
		left int
		want string // tasks, changed, unproven, more, and what is left
	}{
		{9, "3 2 2 0 3"}, {6, "3 2 2 0 0"}, {4, "2 2 2 2 0"}, {3, "2 2 2 2 -1"}, {0, "0 0 0 10 0"},
	} {
		left := c.left
		// The statuses are changes, unproven, done, known, …
		l := ReadTasks([]uint64{2, 3, 0, 1, 2, 3, 0, 1, 0, 1}, true, &left, read)
		got := fmt.Sprint(len(l.Tasks), l.Changed, l.Unproven, l.More, left)
		if got != c.want {
			t.Errorf("%d frames may be read: %s, want %s", c.left, got, c.want)
		}
	}
	left := math.MaxInt
	l := ReadTasks(slices.Repeat([]uint64{1}, MostTasks+2), false, &left, read)
	if len(l.Tasks) != MostTasks || l.More != 2 || l.Unlisted != 1 {
		t.Errorf("%d tasks, %d more, %d sets unread, want %d, 2 and 1", len(l.Tasks), l.More, l.Unlisted, MostTasks)
	}
}

func TestOnlyAKnownTaskIsYielded(t *testing.T) {
	for status, want := range map[TaskStatus]string{
		TaskDone: "9 0 true", TaskKnown: "9 5 true", TaskChanges: "9 0 false", TaskUnproven: "9 0 false",
	} {
		got := ""
		YieldTasks([]uint64{9}, func(uint64) (Task, TaskStatus) { return Task{ID: 5}, status },
			func(place uint64, t Task, ok bool) { got = fmt.Sprint(place, t.ID, ok) })
		if got != want {
			t.Errorf("status %d: %s, want %s", status, got, want)
		}
	}
}

// A reading that did not find all places keeps the earlier ones; one that did replaces them.
func TestAListingIsReadWhenItIsDue(t *testing.T) {
	var l Listing
	for _, c := range []struct {
		due   bool
		whole bool
		read  []uint64
		want  []uint64
	}{
		{true, true, []uint64{3, 1}, []uint64{3, 1}},
		{false, true, []uint64{9}, []uint64{3, 1}},
		{true, false, []uint64{2, 3}, []uint64{1, 2, 3}},
		{true, true, []uint64{2}, []uint64{2}},
	} {
		l.next = math.MaxInt64
		if c.due {
			l.next = 0
		}
		begin := procmem.Now()
		got := l.Places(func() ([]uint64, bool) { return c.read, c.whole })
		if !slices.Equal(got, c.want) {
			t.Errorf("due %t, whole %t, read %v: %v, want %v", c.due, c.whole, c.read, got, c.want)
		}
		if end := procmem.Now(); c.due && (l.next < begin || l.next > end+min(listingShare*(end-begin), maxBetweenLists)) {
			t.Errorf("the next reading is %d ns after one of at most %d ns", l.next-end, end-begin)
		}
	}
}
