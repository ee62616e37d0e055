// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"prywalk/frames"
	"prywalk/internal/store/profile"
	"prywalk/internal/walk/managed"
)

// Go's locks store no owner. The code of a waiting goroutine's functions shows which ones it likely holds
// ([managed.Scheduler.HeldLocks]). That is read only with a walk, so that its CPU time is within that of the rounds. Of
// goroutines on threads only locks are looked for that others were seen to await.
const maxLockTexts = 1 << 14 // of one runtime: what its goroutines await and hold

// semaphores are the offsets of the words for which goroutines wait (package sync), by wait. A goroutine that waits for
// the readers of an RWMutex, "sync.RWMutex.Lock", holds it against all others.
var semaphores = map[string]frames.Addr{"sync.Mutex.Lock": managed.MutexSema, "sync.RWMutex.RLock": managed.ReaderSema}

// condWait has unlocked a mutex that the code before still shows as held.
const condWait = "sync.Cond.Wait"

// taskFrame is a frame of the present walk that has called the next inner one.
type taskFrame struct{ pc, sp frames.Addr }

// lockLabels returns [profile.LabelAwaitsLock] and [profile.LabelHolds] of a task whose stack was just walked.
func (g *goroutines) lockLabels(t *managed.TaskRecord, stack []byte) map[string]string {
	if t.Regs.Arch == frames.ARM64 { // its code is not analysed
		return nil
	}
	word, isLock := semaphores[t.Wait]
	out, awaited := map[string]string{}, frames.Addr(0)
	if isLock {
		if list := g.WaitsAt(t, stack); len(list) == 1 && !list[0].Channel {
			awaited = list[0].Address - word
			out[profile.LabelAwaitsLock] = fmt.Sprintf("%#x", awaited)
			managed.Remember(&g.awaited, maxLockTexts, awaited, true)
		}
	}
	if t.Wait == condWait || isLock && awaited == 0 {
		return out
	}
	// The call that waits for a lock is analysed as one that has taken it.
	maps.Copy(out, g.holds(awaited, func(_ *taskFrame, lock *managed.TaskLock) bool { return lock.Address != awaited }))
	return out
}

// holds returns [profile.LabelHolds] for the frames of the present walk: those of their locks that are wanted.
func (g *goroutines) holds(awaited frames.Addr, wanted func(*taskFrame, *managed.TaskLock) bool) map[string]string {
	held := map[frames.Addr]bool{}
	for i := range g.stacks.taskFrames {
		f := &g.stacks.taskFrames[i]
		for _, h := range g.HeldLocks(f.pc, f.sp, awaited) {
			// An inlined RLock is an atomic increment like any other.
			if !h.Read && len(held) < profile.MaxHolds && wanted(f, &h) {
				held[h.Address] = true
			}
		}
	}
	text := ""
	for _, lock := range slices.Sorted(maps.Keys(held)) {
		text = strings.TrimSpace(text + fmt.Sprintf(" %#x", lock))
	}
	if text == "" {
		return nil
	}
	return map[string]string{profile.LabelHolds: text}
}

// threadLocks is the label of the locks that the thread of the present walk likely holds, of those for which goroutines
// were seen to wait. A call that still takes its lock is the last one of its frame, and has at most seven bytes.
func (p *processState) threadLocks() (text string) {
	for _, t := range p.tasks.all {
		if g, is := t.runtime.taskSource.(*goroutines); is && len(g.awaited) > 0 {
			text += g.bounded(g.holds(0, func(f *taskFrame, lock *managed.TaskLock) bool {
				return g.awaited[lock.Address] && f.pc-lock.Taken > 7
			}))
		}
	}
	return text
}

// bounded returns the text of labels of locks; "" beyond the bound of texts.
func (g *goroutines) bounded(labels map[string]string) string {
	text := profile.LabelText(labels)
	if !g.lockTexts[text] && len(g.lockTexts) >= maxLockTexts {
		return ""
	}
	g.lockTexts[text] = true
	return text
}
