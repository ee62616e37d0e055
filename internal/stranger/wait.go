// SPDX-License-Identifier: Apache-2.0

package stranger

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

// How long a file system may take for one answer. Local ones take microseconds, a disk that sleeps or a
// network some ten milliseconds.
const (
	firstPatience = 500 * time.Millisecond
	// nextPatience is for those on whose behalf one was given up before.
	nextPatience = 50 * time.Millisecond
	// lastPatience is for all, when allPatience has been spent in vain.
	lastPatience = 20 * time.Millisecond
	allPatience  = 4 * time.Second
	// maxStuck is how many answers may be outstanding on behalf of one, and in all: each holds a thread
	// of prywalk. With more, files are not opened at all.
	maxStuck    = 4
	maxStuckAll = 64
)

// account counts the answers that are outstanding on behalf of one.
type account struct{ stuck, late atomic.Int32 }

// all is the account of the whole run.
var all struct {
	stuck atomic.Int32
	spent atomic.Int64 // ns waited for in vain
}

// patience says how long to wait for the next answer; 0: do not even ask.
func (a *account) patience() time.Duration {
	switch {
	case a.stuck.Load() >= maxStuck || all.stuck.Load() >= maxStuckAll:
		return 0
	case all.spent.Load() > int64(allPatience):
		return lastPatience
	case a.late.Load() > 0:
		return nextPatience
	}
	return firstPatience
}

// moreTurns is how often its time begins anew for what computes, or waits for a processor. With thirty programs to a
// processor, half a second was not enough for an open. It bounds what computes for ever.
const moreTurns = 20

// waitsForTurn reports whether a thread of prywalk runs, or waits for a processor, or for other threads of prywalk that
// do. One that a file system keeps waiting sleeps (proc_pid_stat(5): S, D), and not at a futex. There Go's runtime has
// a thread sleep that comes back from the kernel, until another has given it leave to run. That one may wait for a
// processor. 0 is one that has not even begun.
func waitsForTurn(tid int64) bool {
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
	number, _, _ := bytes.Cut(call, []byte(" "))
	return err == nil && string(number) == strconv.Itoa(unix.SYS_FUTEX)
}

// wait does something that may never end. What comes too late is handed to discard.
func wait[T any](a *account, do func() (T, error), discard func(T)) (T, error) {
	var none T
	limit := a.patience()
	if limit == 0 {
		return none, ErrStuck
	}
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	var over atomic.Bool // the first to set it decides: an answer, or given up
	var tid atomic.Int64
	go func() {
		runtime.LockOSThread() // the thread of that number does it
		defer runtime.UnlockOSThread()
		tid.Store(int64(unix.Gettid()))
		v, err := do()
		if over.CompareAndSwap(false, true) {
			done <- answer{v, err}
			return
		}
		a.stuck.Add(-1)
		all.stuck.Add(-1)
		if err == nil && discard != nil {
			discard(v)
		}
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for turn := 0; turn == 0 || turn < moreTurns && waitsForTurn(tid.Load()); turn++ {
		timer.Reset(limit)
		select {
		case r := <-done:
			return r.value, r.err
		case <-timer.C:
		}
	}
	a.stuck.Add(1)
	all.stuck.Add(1)
	if !over.CompareAndSwap(false, true) { // it came in this very moment
		a.stuck.Add(-1)
		all.stuck.Add(-1)
		r := <-done
		return r.value, r.err
	}
	a.late.Add(1)
	all.spent.Add(int64(limit))
	return none, ErrStuck
}

// remarks are what people should know of files that were not used.
var remarks struct {
	sync.Mutex
	stuck, foreign, outdated                int
	firstStuck, firstForeign, firstOutdated string
}

// remark notes why a file was not used, if that is out of the ordinary.
func remark(name string, err error) {
	remarks.Lock()
	defer remarks.Unlock()
	switch {
	case errors.Is(err, ErrStuck):
		if remarks.stuck++; remarks.stuck == 1 {
			remarks.firstStuck = name
		}
	case errors.Is(err, ErrNotTrusted):
		if remarks.foreign++; remarks.foreign == 1 {
			remarks.firstForeign = name
		}
	case errors.Is(err, ErrOutdated):
		if remarks.outdated++; remarks.outdated == 1 {
			remarks.firstOutdated = name
		}
	}
}

// Remarks says in a line each which files were not used though they were there, and why; none if all was
// well. Names are quoted.
func Remarks() []string {
	remarks.Lock()
	defer remarks.Unlock()
	var out []string
	if n := remarks.stuck; n > 0 {
		out = append(out, fmt.Sprintf("names may be missing: file systems did not answer in time, %d times, first for %q", n,
			remarks.firstStuck))
	}
	if n := remarks.foreign; n > 0 {
		out = append(out,
			fmt.Sprintf("names may be missing: %d files skipped that other users may have written, first %q", n,
				remarks.firstForeign))
	}
	if n := remarks.outdated; n > 0 {
		out = append(out, fmt.Sprintf("names may be missing: files older than the process that has their number now were "+
			"left alone, %d times, first %q; touch it if it is this process's", n, remarks.firstOutdated))
	}
	return out
}
