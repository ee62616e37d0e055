// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/printable"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/command/console"
	"prywalk/internal/host/selfhang"
	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/text"
	"prywalk/internal/walk/core"
)

// maxChains bounds the rows of each table of chains, without -n.
const maxChains = 20

var errDeadlock = errors.New("deadlock")

func (f *dumpFlags) checkLocks() error {
	if f.locks && (f.merge || f.atomic) {
		return errs.Usage("--locks cannot be combined with --merge or --atomic")
	}
	if f.chains && f.locks {
		return errs.Usage("--chains cannot be combined with --locks: make one dump with each")
	}
	if f.chains && (f.merge || f.atomic) {
		return errs.Usage("--chains cannot be combined with --merge or --atomic")
	}
	return nil
}

// dumpLocks writes the locks of all processes together. If there is a deadlock, it prints other errors, and returns the
// deadlock's, which sets the exit code.
func (f *dumpFlags) dumpLocks(w io.Writer) error {
	images := loadedcode.NewImageCache(0) // shared: most run the same files
	targets, unread, first := f.openProcesses(images)
	if errors.Is(first, dump.ErrHung) {
		return first
	}
	if len(targets) == 0 {
		return cmp.Or(first, unread.report(false))
	}
	l, err := dump.ExamineLocks(targets, f.options())
	hung := errors.Is(err, dump.ErrHung)
	if !hung { // else may be in use
		defer images.Close()
		for _, t := range targets {
			defer t.Close()
		}
	}
	if (f.processes.finder != nil || f.children) && errs.Of(err) == errs.Exited {
		err = nil
	}
	failed := errs.Join(first, err)
	if len(l.Processes) == 0 || f.chains && l.Followed == nil {
		return cmp.Or(failed, unread.report(false))
	}
	if err := f.writeLocks(w, l); err != nil {
		return err
	}
	failed = errs.Join(failed, unread.report(true))
	for _, p := range l.Processes {
		if !hung { // else Failed is incomplete
			failed = errs.Join(failed, f.reportFailedThreads(p))
		}
	}
	if err := deadlocked(l); err != nil && f.locks {
		if failed != nil {
			printError(failed, f.json)
		}
		return err
	}
	return failed
}

// openProcesses leaves out unreadable processes that a rule or --children selects. The error joins those of processes
// given by ID, or is [dump.ErrHung] of the first one that hangs.
func (f *dumpFlags) openProcesses(images *loadedcode.ImageCache) (
	targets []*loadedcode.Process, unread unreadProcesses, failed error,
) {
	for i, pid := range f.processes.pids {
		t, err := openProcess(images.Open, pid)
		switch {
		case errors.Is(err, dump.ErrHung):
			return nil, unread, err
		case err != nil && f.mayMiss(i):
			unread.add(err)
		case err != nil:
			failed = errs.Join(failed, err)
		default:
			targets = append(targets, t)
		}
	}
	return targets, unread, failed
}

// openProcess returns [dump.ErrHung] if open does not return.
func openProcess(open func(int) (*loadedcode.Process, error), pid int) (t *loadedcode.Process, err error) {
	if hung := selfhang.Watched(func() { t, err = open(pid) }); hung != nil {
		return nil, hung
	}
	return t, err
}

func (f *dumpFlags) dumpCoreLocks(w io.Writer, c *core.Core) error {
	l := dump.LocksOfCore(c, f.options())
	if err := f.writeLocks(w, l); err != nil {
		return err
	}
	if f.chains {
		return nil
	}
	return deadlocked(l)
}

func (f *dumpFlags) writeLocks(w io.Writer, l *locks.Locks) error {
	defer console.ReportOmitted()
	switch {
	case f.chains && f.json:
		return printable.WriteJSON(w, l.Followed)
	case f.chains:
		return l.Followed.Text(w, maxChains)
	case f.json:
		return printable.WriteJSON(w, l)
	}
	return text.WriteLocks(w, l)
}

func deadlocked(l *locks.Locks) error {
	if len(l.Deadlocks)+len(l.GoroutineDeadlocks)+len(l.TaskDeadlocks) == 0 {
		return nil
	}
	n, noun := len(slices.Concat(l.Deadlocks...))+len(slices.Concat(l.TaskDeadlocks...)), "threads"
	if n == 0 {
		noun = "goroutines"
		for i := range l.GoroutineDeadlocks {
			n += len(l.GoroutineDeadlocks[i].Waiters)
		}
	}
	if n == 1 {
		return errs.With(errs.ExitDeadlock, "%w: 1 %s waits forever", errDeadlock, strings.TrimSuffix(noun, "s"))
	}
	return errs.With(errs.ExitDeadlock, "%w: %d %s wait forever", errDeadlock, n, noun)
}
