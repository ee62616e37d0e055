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
// ([managed.Scheduler.HeldLocks]). That is read only with a walk, so that its CPU time is within that of the rounds.
const maxLockTexts = 1 << 14 // of one runtime: what its goroutines await and hold

// semaphores are the offsets of the words for which goroutines wait (package sync), by wait. A goroutine that waits for
// the readers of an RWMutex, "sync.RWMutex.Lock", holds it against all others.
var semaphores = map[string]frames.Addr{"sync.Mutex.Lock": managed.MutexSema, "sync.RWMutex.RLock": managed.ReaderSema}

// condWait has unlocked a mutex that the code before still shows as held.
const condWait = "sync.Cond.Wait"

// taskFrame is a frame of the present walk of a task that has called the next inner one.
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
		}
	}
	if t.Wait == condWait || isLock && awaited == 0 {
		return out
	}
	held := map[frames.Addr]bool{}
	for _, f := range g.stacks.taskFrames {
		for _, h := range g.HeldLocks(f.pc, f.sp, awaited) {
			// The call that waits for a lock is analysed as one that has taken it. An inlined RLock is an atomic increment
			// like any other.
			if h.Address != awaited && !h.Read && len(held) < profile.MaxHolds {
				held[h.Address] = true
			}
		}
	}
	for _, lock := range slices.Sorted(maps.Keys(held)) {
		out[profile.LabelHolds] = strings.TrimSpace(out[profile.LabelHolds] + fmt.Sprintf(" %#x", lock))
	}
	return out
}

// lockText is that of a task's labels of locks; "" beyond the bound of texts.
func (g *goroutines) lockText(t *managed.TaskRecord, stack []byte) string {
	text := profile.LabelText(g.lockLabels(t, stack))
	if !g.lockTexts[text] && len(g.lockTexts) >= maxLockTexts {
		return ""
	}
	g.lockTexts[text] = true
	return text
}
