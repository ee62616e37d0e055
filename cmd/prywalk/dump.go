// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"prywalk/internal/account"
	"prywalk/internal/code"
	"prywalk/internal/commandline"
	"prywalk/internal/console"
	"prywalk/internal/dump"
	"prywalk/internal/exit"
	"prywalk/internal/look"
	"prywalk/internal/printable"
)

// dumpFlags are what the command line of dump says.
type dumpFlags struct {
	choice
	json     bool
	merge    bool
	maxDepth int
	readOnly bool
	atomic   bool
	maxPause commandline.Seconds
	native   bool
	locks    bool
	coreFlags

	notes []string // of all processes
}

func newDump() *cobra.Command {
	f := &dumpFlags{}
	cmd := &cobra.Command{
		Use:   "dump {-p PID | -n NAME | --core FILE}",
		Short: "print the stacks of all threads, once",
		Long: `  prywalk dump -p 4711
  prywalk dump -p 4711 --merge
  prywalk dump -p 4711 --locks
  prywalk dump -p 4711 --json | jq '.threads[].wait'
  prywalk dump --core core.4711 --sysroot /srv/images/web

Reads every thread once and prints the stacks. A running thread is stopped for some
tens of microseconds. A sleeping one is read as it sleeps, and stopped only where its
call takes no harm and its stack needs that. A stopped one stays stopped.

With --atomic all threads are stopped together, so that the stacks are those of one
moment. A thread in a call that a stop would interrupt is read without a stop.

Waiting tasks of Python's asyncio follow the threads.`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return f.run() },
	}
	fl := cmd.Flags()
	f.choice.add(fl)
	fl.BoolVar(&f.json, "json", false, "one JSON object a line for each process")
	fl.BoolVar(&f.merge, "merge", false, "show threads with the same stack together, the rarest first")
	fl.BoolVar(&f.locks, "locks", false, "show locks with their waiters and owners, and deadlocks (exit code 5)")
	fl.IntVar(&f.maxDepth, "max-depth", 0, "frames of a stack (0: all)")
	fl.BoolVar(&f.readOnly, "read-only", false, readOnlyUsage)
	fl.BoolVar(&f.atomic, "atomic", false, "stop all threads, copy all, and let them go together")
	fl.Var(&f.maxPause, "max-pause",
		"stop no thread if that is expected to take longer, such as 10ms; deep stacks of running threads are cut for it")
	fl.BoolVar(&f.native, "native", false, nativeUsage)
	f.coreFlags.add(fl)
	fl.SortFlags = false
	return cmd
}

// run checks the flags and dumps, on a terminal by the pager.
func (f *dumpFlags) run() error {
	switch {
	case f.merge && f.json:
		return exit.Usage("--merge is for the text: leave out --json or --merge")
	case f.atomic && f.maxPause != 0:
		return exit.Usage("--atomic stops all threads until the last one is copied: leave out --max-pause or --atomic")
	case f.maxDepth < 0:
		return exit.Usage("--max-depth %d: give 0 for all, or a number of frames", f.maxDepth)
	}
	if err := f.checkLocks(); err != nil {
		return err
	}
	if f.core != "" || f.sysroot != "" {
		return console.Paged(f.json, f.dumpCore)
	}
	if err := f.find(); err != nil {
		return err
	}
	if len(f.pids) == 0 {
		return exit.Usage("no target: give -p PID, -n NAME or --core FILE")
	}
	defer console.SayRemarks()
	if f.locks {
		return console.Paged(f.json, f.dumpLocks)
	}
	return console.Paged(f.json, f.dumpAll)
}

// dumpAll dumps each process; the first failure decides the exit code, and the others are still dumped.
func (f *dumpFlags) dumpAll(w io.Writer) error {
	defer func() { f.sayNotes(w) }()
	var first error
	for _, pid := range f.pids {
		p, err := f.look(pid)
		if p != nil {
			if err := f.write(w, p); err != nil {
				return err // the output is closed
			}
			p.Close()
		}
		if errors.Is(err, dump.ErrHung) {
			return err // who is held stopped is let go when prywalk ends
		}
		if err == nil {
			continue
		}
		if first != nil {
			printError(err, f.json)
			continue
		}
		first = err
	}
	return first
}

// options are those of a look, and of a core.
func (f *dumpFlags) options() dump.Options {
	depth := f.maxDepth
	if depth == 0 {
		depth = -1 // no limit
	}
	return dump.Options{MaxDepth: depth, ReadOnly: f.readOnly, Atomic: f.atomic, Native: f.native,
		MaxPause: time.Duration(f.maxPause), Prywalk: release()}
}

// look dumps one process.
func (f *dumpFlags) look(pid int) (*dump.Process, error) {
	var t *code.Process
	var err error
	if hung := look.Watched(func() { t, err = code.Open(pid) }); hung != nil {
		return nil, hung
	}
	if err != nil {
		return nil, err
	}
	p, err := dump.Look(t, f.options())
	if errors.Is(err, dump.ErrHung) { // it may still be read
		return p, fmt.Errorf("process %d: %w; %d threads were read", pid, err, len(p.Threads))
	}
	defer t.Close()
	if err != nil {
		return nil, err
	}
	if f.atomic {
		console.Say("process %d was stopped for %s", pid, p.Pause.Round(time.Microsecond))
	}
	if len(p.Threads) == 0 {
		return nil,
			exit.With(exit.NoSamples, "process %d: no thread could be read%s; prywalk doctor -p %d names the cause",
				pid, account.Reasons(p.Failed), pid)
	}
	if n := account.Sum(p.Failed); n > 0 {
		console.Fail("process %d: %d threads could not be read%s; prywalk doctor -p %d names the cause",
			pid, n, account.Reasons(p.Failed), pid)
	}
	return p, nil
}

// write writes the stacks of a process or core.
func (f *dumpFlags) write(w io.Writer, p *dump.Process) error {
	defer console.SayLeftOut()
	switch {
	case f.json:
		return dump.JSON(w, p)
	case f.merge:
		f.note(p)
		return dump.MergedText(w, p)
	}
	f.note(p)
	return dump.Text(w, p)
}

// note keeps what gives names to functions without: of many workers of one program once.
func (f *dumpFlags) note(p *dump.Process) {
	for _, n := range p.Notes() {
		if !slices.Contains(f.notes, n) {
			f.notes = append(f.notes, n)
		}
	}
}

// sayNotes writes that below all stacks.
func (f *dumpFlags) sayNotes(w io.Writer) {
	for _, n := range f.notes {
		printable.Fprintf(w, "\n%s\n", n)
	}
}
