// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"prywalk/frames"
	"prywalk/internal/base/cache"
	"prywalk/internal/host/procmem"
	"prywalk/internal/host/selfruntime"
	"prywalk/internal/store/profile"
	"prywalk/internal/walk/managed"
)

// Go's locks store no owner. The code of a goroutine's functions shows which locks it likely holds
// ([managed.Scheduler.HeldLocks]); their addresses are read from the copied stack. Parked goroutines: at each walk,
// within the CPU time of the rounds. Goroutines on a thread: at each sample, within lockShare, and only locks for which
// a goroutine was seen to wait.
const maxLockTexts = 1 << 14 // of one runtime: locks that were awaited; texts of what its goroutines await and hold

// semaphores are the offsets of the words for which goroutines wait (package sync), by wait.
var semaphores = map[string]frames.Addr{
	"sync.Mutex.Lock": managed.MutexSema, "sync.RWMutex.RLock": managed.ReaderSema, writerWait: managed.WriterSema,
}

// writerWait is for the readers of an RWMutex, which the goroutine holds against all others.
const writerWait = "sync.RWMutex.Lock"

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
		}
		if awaited != 0 && t.Wait != writerWait {
			out[profile.LabelAwaitsLock] = fmt.Sprintf("%#x", awaited)
			cache.Put(&g.awaited, maxLockTexts, awaited, true)
		}
	}
	if t.Wait == condWait || isLock && awaited == 0 {
		return out
	}
	// The call that waits for a lock is analysed as one that has taken it.
	maps.Copy(out, g.holds(awaited, &g.stacks.taskMemory, func(lock frames.Addr) bool {
		return lock != awaited || t.Wait == writerWait
	}))
	return out
}

// holds returns [profile.LabelHolds] for the frames of the present walk: those of their locks that are wanted.
func (g *goroutines) holds(awaited frames.Addr, stack frames.Memory, wanted func(frames.Addr) bool) map[string]string {
	held := map[frames.Addr]bool{}
	for _, f := range g.stacks.taskFrames {
		for _, h := range g.HeldLocks(f.pc, f.sp, awaited, stack) {
			// An inlined RLock is an atomic increment like any other.
			if !h.Read && len(held) < profile.MaxHolds && wanted(h.Address) {
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

// Readings of threads' locks take lockCredit of CPU time, and beyond that at most 1/lockShare of the time.
const lockShare, lockCredit = 50, 100 * time.Millisecond

// threadLocks is the label of the locks that the thread of the present walk likely holds, of those for which goroutines
// were seen to wait. stack is the sample's copy.
func (p *processState) threadLocks(stack frames.Memory) (text string) {
	for _, t := range p.tasks.all {
		g, is := t.runtime.source.(*goroutines)
		if !is || len(g.awaited) == 0 {
			continue
		}
		now := procmem.Moment()
		if g.locksSince == 0 {
			g.locksSince = now
		}
		if (g.lockCPU-lockCredit)*lockShare <= now.Sub(g.locksSince) {
			g.lockCPU += selfruntime.CPUTimeOf(func() {
				text += g.bounded(g.holds(0, stack, func(lock frames.Addr) bool { return g.awaited[lock] }))
			})
		}
	}
	return text
}

const maxStackTexts = 1 << 14 // of one process: stacks of goroutines

// goroutineStack is the label of the stack on which the thread of the present walk runs a goroutine: the address of its
// outermost frame. Of a thread without a goroutine it is the thread's own.
func (p *processState) goroutineStack(b *stackBuilder, end frames.StopReason) string {
	n := len(b.taskFrames)
	if n == 0 || !end.Complete() || len(p.process.Code.Runtimes().Schedulers()) == 0 ||
		b.taskFrames[n-1].pc != b.walker.Frame().PC {
		return ""
	}
	at := b.taskFrames[n-1].sp
	if _, known := p.goroutineStacks[at]; !known && len(p.goroutineStacks) < maxStackTexts {
		text := profile.LabelText(map[string]string{profile.LabelTaskStack: fmt.Sprintf("%#x", at)})
		cache.Put(&p.goroutineStacks, maxStackTexts, at, text)
	}
	return p.goroutineStacks[at]
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
