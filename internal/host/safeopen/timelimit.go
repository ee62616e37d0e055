// SPDX-License-Identifier: Apache-2.0

package safeopen

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Time limits of a file system's answer: local ones take µs, a sleeping disk or a network some ten ms.
const (
	firstLimit = 500 * time.Millisecond
	nextLimit  = 50 * time.Millisecond // of an Opener after its first timeout
	lastLimit  = 20 * time.Millisecond // of all, while vain waiting is beyond totalLimit
	totalLimit = 4 * time.Second
	recovery   = 100 * time.Second // in which vain waiting of 1 s is forgotten
	// maxStuck bounds an Opener's pending answers, maxStuckAll all: each holds a thread.
	maxStuck    = 4
	maxStuckAll = 64
)

type pendingCalls struct{ stuck, late atomic.Int32 }

var total struct {
	stuck atomic.Int32
	vain  wastedTime // of a wait one limit, also if it was prolonged
}

type wastedTime struct {
	mu  sync.Mutex
	sum time.Duration
	at  time.Time
}

func (v *wastedTime) add(d time.Duration, now time.Time) time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sum = max(0, v.sum-now.Sub(v.at)/(recovery/time.Second))
	v.at = now
	v.sum = min(v.sum+d, totalLimit+firstLimit)
	return v.sum
}

// timeLimit returns the next answer's time limit; 0 means that the file must not be accessed.
func (a *pendingCalls) timeLimit() time.Duration {
	switch {
	case a.stuck.Load() >= maxStuck || total.stuck.Load() >= maxStuckAll:
		return 0
	case total.vain.add(0, time.Now()) > totalLimit:
		return lastLimit
	case a.late.Load() > 0:
		return nextLimit
	}
	return firstLimit
}

const maxRestarts = 20

// waitsForCPU reports whether a thread of prywalk runs, is queued, or waits for another one (futex). tid is 0 if it has
// not started.
func waitsForCPU(tid int64) bool {
	if tid == 0 {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", tid))
	name := bytes.LastIndexByte(stat, ')')
	if err != nil || name < 0 {
		return false
	}
	if bytes.HasPrefix(stat[name+1:], []byte(" R")) {
		return true
	}
	call, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/syscall", tid))
	number, _, _ := bytes.Cut(bytes.TrimSpace(call), []byte(" "))
	// it may have begun to run meanwhile (fs/proc/base.c, proc_pid_syscall)
	return err == nil && (string(number) == "running" || string(number) == strconv.Itoa(unix.SYS_FUTEX))
}

// wait returns do's answer, or ErrStuck after the time limit; discard, if not nil, then gets a late value. The limit is
// prolonged, at most maxRestarts times, while do's thread waits for a CPU.
func wait[T any](a *pendingCalls, do func() (T, error), discard func(T)) (T, error) {
	var none T
	limit := a.timeLimit()
	if limit == 0 {
		return none, ErrStuck
	}
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	var over atomic.Bool // the first to set it decides: answered or given up
	var tid atomic.Int64
	go func() {
		runtime.LockOSThread() // tid is do's thread
		defer runtime.UnlockOSThread()
		tid.Store(int64(unix.Gettid()))
		v, err := do()
		if over.CompareAndSwap(false, true) {
			done <- answer{v, err}
			return
		}
		a.stuck.Add(-1)
		total.stuck.Add(-1)
		if err == nil && discard != nil {
			discard(v)
		}
	}()
	for turn := 0; turn == 0 || turn < maxRestarts && waitsForCPU(tid.Load()); turn++ {
		select {
		case r := <-done:
			return r.value, r.err
		case <-time.After(limit):
		}
	}
	a.stuck.Add(1)
	total.stuck.Add(1)
	if !over.CompareAndSwap(false, true) { // answered at this moment
		a.stuck.Add(-1)
		total.stuck.Add(-1)
		r := <-done
		return r.value, r.err
	}
	a.late.Add(1)
	total.vain.add(limit, time.Now())
	return none, ErrStuck
}

var skippedFiles struct {
	mu       sync.Mutex
	byReason [len(skipReasons)]skipped
}

type skipped struct {
	count int
	first string
}

var skipReasons = [...]struct {
	err  error
	text string
}{
	{ErrStuck, "names may be missing: file systems did not answer in time, %d times, first for %q; check that mount"},
	{ErrNotTrusted, "names may be missing: %d files skipped that other users may have written, first %q; chown them to " +
		"the program's user, and chmod go-w, if they are its own"},
	{ErrOutdated, "names may be missing: files older than the process with the number in their name are not used " +
		"(%d, first %q); touch it if it is this process's"},
}

func recordSkipped(name string, err error) {
	skippedFiles.mu.Lock()
	defer skippedFiles.mu.Unlock()
	for i := range skipReasons {
		if !errors.Is(err, skipReasons[i].err) {
			continue
		}
		s := &skippedFiles.byReason[i]
		if s.count++; s.count == 1 {
			s.first = name
		}
	}
}

// SkippedFiles returns a line, with quoted names, for each reason for which existing files were not used.
func SkippedFiles() []string {
	skippedFiles.mu.Lock()
	defer skippedFiles.mu.Unlock()
	var out []string
	for i, s := range skippedFiles.byReason {
		if s.count > 0 {
			out = append(out, fmt.Sprintf(skipReasons[i].text, s.count, s.first))
		}
	}
	return out
}
