// SPDX-License-Identifier: Apache-2.0

package sleepers

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"prywalk/internal/base/sample"
	"prywalk/internal/base/schema"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/walk"
	"prywalk/internal/walk/waits"
	"prywalk/internal/watch/observe"
)

// NewLive returns the explainer of a live process.
func NewLive(t *loadedcode.Process, names *symbols.Namer, threads waits.ThreadFinder) *Explainer {
	return &Explainer{
		pid: t.PID, names: names, space: t.Space, files: waits.NewOpenFiles(t.PID), Owners: threads,
		managed: managedWaitsOf(t),
		Name:    func(tid int) string { return walk.ThreadName(t, tid) },
		Read: func(addr uint64, buf []byte) int {
			n, _ := t.Memory().Read(t.MemoryTID(), addr, buf)
			return n
		},
		Sleepers: map[int]*waits.Sleeper{}, symbols: map[schema.Hex]waits.Variable{}, idleness: map[idleKey]waits.Idleness{},
		sameTimeNamespace: sharesTimeNamespace(t.PID),
	}
}

// sharesTimeNamespace reports whether a process is in prywalk's time namespace (time_namespaces(7)).
func sharesTimeNamespace(pid int) bool {
	own, err := os.Readlink("/proc/self/ns/time")
	if errors.Is(err, fs.ErrNotExist) {
		return true // before Linux 5.6
	}
	its, err2 := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/time")
	return err == nil && err2 == nil && own == its
}

// Explain sets what a thread waits for by its sample; nothing if it runs.
func (e *Explainer) Explain(d *stacks.Thread, s *observe.RawSample) {
	e.Retryable = false
	if s.State == sample.Running {
		return
	}
	word := s.FutexCopy()
	word.Bytes = slices.Clone(word.Bytes)
	sl := &waits.Sleeper{
		State: s.State.Letter()[0], Reason: s.WaitReason(), Args: s.Call.Args, InCall: s.Call.Nr >= 0, Memory: word,
	}
	if e.sameTimeNamespace {
		sl.At = s.At
	}
	sl.Managed = e.managedAsker(d.TID, sl, s.Sched.Runs, &s.Mem)
	e.describe(d, sl)
}
