// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"fmt"
	"strings"
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

func (*lockScheduler) HeldLocks(pc, _, _ frames.Addr, _ frames.Memory) []managed.TaskLock {
	return []managed.TaskLock{{Address: pc}, {Address: pc + 0x1000, Read: true}}
}

func TestLocksOfAGoroutineAreThoseThatItsWaitLeavesHeld(t *testing.T) {
	one, writer := []managed.TaskWait{{Address: 0x104}}, []managed.TaskWait{{Address: 0x108}}
	for _, c := range []struct {
		wait  string
		waits []managed.TaskWait
		want  string
	}{
		{"sync.Mutex.Lock", one, "awaits 0x100, holds 0x200 0x300"},
		{"sync.RWMutex.Lock", writer, "awaits , holds 0x100 0x200 0x300"},
		{"sync.RWMutex.Lock", nil, "awaits , holds "},
		{"sync.RWMutex.RLock", one, "awaits 0xf8, holds 0x100 0x200 0x300"},
		{"sync.Mutex.Lock", nil, "awaits , holds "}, // one of the frames' locks is not held yet
		{"sync.Mutex.Lock", []managed.TaskWait{{Address: 0x104, Channel: true}}, "awaits , holds "},
		{"sync.Cond.Wait", nil, "awaits , holds "},
		{"chan receive", nil, "awaits , holds 0x100 0x200 0x300"},
	} {
		g := goroutines{Scheduler: &lockScheduler{waits: c.waits}, stacks: &stackBuilder{}}
		g.stacks.taskFrames = []taskFrame{{0x300, 1}, {0x100, 2}, {0x200, 3}, {0x300, 4}}
		labels := g.lockLabels(&managed.TaskRecord{Wait: c.wait}, nil)
		got := fmt.Sprintf("awaits %s, holds %s", labels[profile.LabelAwaitsLock], labels[profile.LabelHolds])
		if got != c.want {
			t.Errorf("%s at %v: %s, want %s", c.wait, c.waits, got, c.want)
		}
	}
}

func TestLabelsOfLocksAreBounded(t *testing.T) {
	g := goroutines{Scheduler: &lockScheduler{}, stacks: &stackBuilder{}, lockTexts: map[string]bool{}}
	task := &managed.TaskRecord{Wait: "chan receive"}
	g.stacks.taskFrames = []taskFrame{{1, 1}}
	known := g.bounded(g.lockLabels(task, nil))
	for i := range maxLockTexts - 1 {
		g.lockTexts[fmt.Sprint(i)] = true
	}
	if again := g.bounded(g.lockLabels(task, nil)); known == "" || again != known {
		t.Errorf("a text that is known: %q, then %q", known, again)
	}
	for lock := range frames.Addr(2 * profile.MaxHolds) {
		g.stacks.taskFrames = append(g.stacks.taskFrames, taskFrame{lock + 1, 1})
	}
	if text := g.bounded(g.lockLabels(task, nil)); text != "" || len(g.lockTexts) != maxLockTexts {
		t.Errorf("one too many: %q, %d texts", text, len(g.lockTexts))
	}
	labels := g.lockLabels(task, nil)
	if n := len(strings.Fields(labels[profile.LabelHolds])); n != profile.MaxHolds {
		t.Errorf("%d locks: %q", n, labels)
	}
}

func TestAThreadHoldsOnlyAwaitedLocks(t *testing.T) {
	g := &goroutines{Scheduler: &lockScheduler{}, stacks: &stackBuilder{}, lockTexts: map[string]bool{}}
	p := &processState{tasks: taskPollers{all: []*taskPoller{{runtime: taskRuntime{source: g}}}}}
	g.stacks.taskFrames = []taskFrame{{0x300, 1}, {0x100, 2}, {0x200, 3}}
	if text := p.threadLocks(nil); text != "" {
		t.Errorf("nothing is awaited, and it holds %q", text)
	}
	g.awaited = map[frames.Addr]bool{0x100: true, 0x300: true, 0x1200: true}
	want := profile.LabelText(map[string]string{profile.LabelHolds: "0x100 0x300"})
	if text := p.threadLocks(nil); text != want {
		t.Errorf("%q, want %q", text, want)
	}
}
