// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"fmt"
	"testing"

	"prywalk/frames"
	"prywalk/internal/store/profile"
	"prywalk/internal/walk/managed"
)

// lockScheduler has frames that hold the locks at their addresses.
type lockScheduler struct {
	managed.Scheduler
	waits []managed.TaskWait
}

func (s *lockScheduler) WaitsAt(*managed.TaskRecord, []byte) []managed.TaskWait { return s.waits }

func (*lockScheduler) HeldLocks(pc, _, _ frames.Addr) []managed.TaskLock {
	return []managed.TaskLock{{Address: pc}, {Address: pc + 0x1000, Read: true}}
}

func TestLocksOfAGoroutineAreThoseThatItsWaitLeavesHeld(t *testing.T) {
	one := []managed.TaskWait{{Address: 0x104}}
	for _, c := range []struct {
		wait  string
		waits []managed.TaskWait
		want  string
	}{
		{"sync.Mutex.Lock", one, "awaits 0x100, holds 0x200 0x300"},
		{"sync.RWMutex.Lock", one, "awaits , holds 0x100 0x200 0x300"},
		{"sync.RWMutex.RLock", one, "awaits 0xf8, holds 0x100 0x200 0x300"},
		{"sync.Mutex.Lock", nil, "awaits , holds "}, // one of the frames' locks is not held yet
		{"sync.Mutex.Lock", []managed.TaskWait{{Address: 0x104, Channel: true}}, "awaits , holds "},
		{"sync.Cond.Wait", nil, "awaits , holds "},
		{"chan receive", nil, "awaits , holds 0x100 0x200 0x300"},
	} {
		g := goroutines{Scheduler: &lockScheduler{waits: c.waits}, stacks: &stackBuilder{}, named: map[frames.Addr]bool{}}
		g.stacks.taskFrames = []taskFrame{{0x300, 1}, {0x100, 2}, {0x200, 3}, {0x300, 4}}
		labels := g.lockLabels(&managed.TaskRecord{Wait: c.wait}, nil)
		got := fmt.Sprintf("awaits %s, holds %s", labels[profile.LabelAwaitsLock], labels[profile.LabelHolds])
		if got != c.want {
			t.Errorf("%s at %v: %s, want %s", c.wait, c.waits, got, c.want)
		}
	}
}

func TestLabelsOfLocksAreBounded(t *testing.T) {
	g := goroutines{Scheduler: &lockScheduler{}, stacks: &stackBuilder{}, named: map[frames.Addr]bool{}}
	for lock := range frames.Addr(maxNamedLocks) {
		g.named[lock+1] = true
	}
	g.stacks.taskFrames = []taskFrame{{1, 1}, {maxNamedLocks + 1, 1}}
	labels := g.lockLabels(&managed.TaskRecord{Wait: "chan receive"}, nil)
	if labels[profile.LabelHolds] != "0x1" || len(g.named) != maxNamedLocks {
		t.Errorf("%q, %d locks", labels, len(g.named))
	}
	for lock := range frames.Addr(2 * maxTaskLocks) {
		g.stacks.taskFrames = append(g.stacks.taskFrames, taskFrame{lock + 1, 1})
	}
	labels = g.lockLabels(&managed.TaskRecord{Wait: "chan receive"}, nil)
	if n := len(labels[profile.LabelHolds]); n > maxTaskLocks*len("0xff ") {
		t.Errorf("%d bytes of labels: %q", n, labels)
	}
}
