// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"

	"prywalk/internal/console"
	"prywalk/internal/core"
	"prywalk/internal/dump"
	"prywalk/internal/dump/text"
	"prywalk/internal/exit"
	"prywalk/internal/loadedcode"
	"prywalk/internal/observe/hang"
	"prywalk/internal/printable"
)

var errDeadlock = errors.New("deadlock")

func (f *dumpFlags) checkLocks() error {
	if f.locks && (f.merge || f.atomic) {
		return exit.Usage("--locks cannot be combined with --merge or --atomic")
	}
	return nil
}

// dumpLocks reads all processes' locks together. A deadlock determines the exit code; other errors are printed before.
func (f *dumpFlags) dumpLocks(w io.Writer) error {
	images := loadedcode.NewImageCache(0) // shared: most run the same files
	targets, left, first := f.openProcesses(images)
	if errors.Is(first, dump.ErrHung) {
		return first
	}
	if len(targets) == 0 {
		return cmp.Or(first, left.report(false))
	}
	l, err := dump.ExamineLocks(targets, f.options())
	if !errors.Is(err, dump.ErrHung) { // else may be in use
		defer images.Close()
		for _, t := range targets {
			defer t.Close()
		}
	}
	if len(l.Processes) == 0 {
		return errors.Join(first, err)
	}
	if err := f.writeLocks(w, l); err != nil {
		return err
	}
	failed := errors.Join(first, err, left.report(true))
	if failed == nil || len(l.Deadlocks) > 0 {
		for _, p := range l.Processes {
			failed = errors.Join(failed, failedThreads(p))
		}
	}
	if err := deadlocked(l); err != nil {
		if failed != nil {
			printError(failed, f.json)
		}
		return err
	}
	return failed
}

// openProcesses opens the processes. The error joins those of processes named by their IDs, or is [dump.ErrHung], which
// ends it. Of processes that a rule selects, those that cannot be read are left.
func (f *dumpFlags) openProcesses(images *loadedcode.ImageCache) (
	targets []*loadedcode.Process, left unreadProcesses, failed error,
) {
	for _, pid := range f.pids {
		t, err := openProcess(images, pid)
		switch {
		case errors.Is(err, dump.ErrHung):
			return nil, left, err
		case err != nil && f.finder != nil:
			left.add(err)
		case err != nil:
			failed = errors.Join(failed, err)
		default:
			targets = append(targets, t)
		}
	}
	return targets, left, failed
}

func openProcess(images *loadedcode.ImageCache, pid int) (t *loadedcode.Process, err error) {
	if hung := hang.Watched(func() { t, err = images.Open(pid) }); hung != nil {
		return nil, hung
	}
	return t, err
}

func (f *dumpFlags) dumpCoreLocks(w io.Writer, c *core.Core) error {
	l := dump.LocksOfCore(c, f.options())
	if err := f.writeLocks(w, l); err != nil {
		return err
	}
	return deadlocked(l)
}

func (f *dumpFlags) writeLocks(w io.Writer, l *dump.Locks) error {
	defer console.ReportOmitted()
	if !f.json {
		return text.WriteLocks(w, l)
	}
	text, err := json.Marshal(l)
	if err == nil {
		_, err = w.Write(append(printable.JSON(text), '\n'))
	}
	return err
}

func deadlocked(l *dump.Locks) error {
	if len(l.Deadlocks) == 0 {
		return nil
	}
	threads := 0
	for _, c := range l.Deadlocks {
		threads += len(c)
	}
	return exit.With(exit.Deadlock, "%w: %d threads wait forever", errDeadlock, threads)
}
