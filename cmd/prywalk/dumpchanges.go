// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/printable"
	"prywalk/internal/command/commandline"
	"prywalk/internal/command/console"
	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/changes"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/text"
	"prywalk/internal/walk/core"
)

// changeFlags compare two dumps.
type changeFlags struct {
	since, diff string
	later       string // the second file of --diff
	watch       time.Duration
}

func (f *changeFlags) addTo(fl *pflag.FlagSet) {
	fl.StringVar(&f.since, "since", "", "show what has changed since this `FILE` of dump --json")
	fl.StringVar(&f.diff, "diff", "", "compare this `FILE` with the one that follows: two of dump --json, or cores")
	fl.Var(commandline.Seconds(&f.watch), "watch", "show again and again what has changed in this time, until Ctrl-C")
}

func (f *dumpFlags) checkChanges(changed func(flag string) bool) error {
	n := 0
	for _, name := range []string{"since", "diff", "watch"} {
		if changed(name) {
			n++
		}
	}
	switch {
	case n == 0:
		return nil
	case n > 1:
		return errs.Usage("give one of --since, --diff and --watch")
	case f.locks || f.chains || f.merge || f.core.file != "":
		return errs.Usage("--since, --diff and --watch cannot be combined with --locks, --merge or --core")
	case changed("diff") && f.changes.later == "":
		return errs.Usage("--diff takes two files: prywalk dump --diff EARLIER LATER")
	case changed("watch") && f.changes.watch < time.Second/10:
		return errs.Usage("--watch %s: give at least 0.1s", f.changes.watch)
	case f.core.sysroot != "" && !changed("diff"):
		return errs.Usage("--sysroot is for cores: give --diff with a core")
	}
	return nil
}

// dumpDiff compares two files.
func (f *dumpFlags) dumpDiff(w io.Writer) error {
	a, err := f.readDump(f.changes.diff)
	if err != nil {
		return err
	}
	b, err := f.readDump(f.changes.later)
	if err != nil {
		return err
	}
	return f.writeChanges(w, a, b)
}

// readDump reads a core, or a file of dump --json with one process, or that of -p.
func (f *dumpFlags) readDump(name string) (*stacks.Process, error) {
	pid := 0
	if len(f.processes.pids) > 0 {
		pid = f.processes.pids[0]
	}
	p, err := changes.Read(name, pid)
	if !errors.Is(err, changes.ErrELF) {
		return p, err
	}
	err = f.withCore(name, func(c *core.Core) error {
		p = dump.Core(c, f.options())
		return nil
	})
	return p, err
}

// dumpSince compares the dump of a file with one that it makes. Without -p the file has one process.
func (f *dumpFlags) dumpSince(w io.Writer) (first error) {
	if len(f.processes.pids) == 0 {
		f.processes.pids = []int{0}
	}
	for _, pid := range f.processes.pids {
		before, err := changes.Read(f.changes.since, pid)
		if err == nil {
			err = f.compareNow(w, before)
		}
		if first = errs.Join(first, err); errors.Is(err, dump.ErrHung) {
			break // held threads are released when prywalk exits
		}
	}
	return first
}

func (f *dumpFlags) compareNow(w io.Writer, before *stacks.Process) error {
	now, err := f.dumpProcess(before.PID)
	if err != nil {
		return err
	}
	defer now.Close()
	return f.writeChanges(w, before, now)
}

// dumpWatch ends with the last process, which is no error, or with prywalk by a signal.
func (f *dumpFlags) dumpWatch() error {
	before := map[int]*stacks.Process{}
	for ; ; <-time.After(f.changes.watch) {
		for _, pid := range slices.Clone(f.processes.pids) {
			now, err := f.dumpProcess(pid)
			earlier := before[pid]
			switch {
			case earlier != nil && errs.Of(err) == errs.Exited:
				console.Infof("process %d has ended", pid)
				f.processes.pids = slices.DeleteFunc(f.processes.pids, func(p int) bool { return p == pid })
				continue
			case err != nil:
				return err
			}
			if before[pid] = now; earlier == nil {
				continue
			}
			if !f.json {
				printable.Fprintf(os.Stdout, "\n%s: ", now.Time.Format(time.TimeOnly))
			}
			err = f.writeChanges(os.Stdout, earlier, now)
			earlier.Close()
			if err != nil {
				return err
			}
		}
		if len(f.processes.pids) == 0 {
			return nil
		}
	}
}

func (f *dumpFlags) writeChanges(w io.Writer, a, b *stacks.Process) error {
	defer console.ReportOmitted()
	c, err := changes.Compare(a, b)
	if err != nil {
		return fmt.Errorf("cannot compare: %w", err)
	}
	if f.json {
		return printable.WriteJSON(w, c)
	}
	return text.WriteChanges(w, c)
}
