// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"prywalk/internal/account/runstats"
	"prywalk/internal/base/errs"
	"prywalk/internal/base/printable"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/command/commandline"
	"prywalk/internal/command/console"
	"prywalk/internal/command/recording"
	"prywalk/internal/host/process"
	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/text"
	"prywalk/internal/watch/observe"
)

type dumpFlags struct {
	processes  processFlags
	json       bool
	merge      bool
	maxDepth   int
	readOnly   bool
	atomic     bool
	maxPause   time.Duration
	native     bool
	locks      bool
	chains     bool
	goroutines bool
	tasks      bool
	children   bool
	given      int // the first processes are those given; --children has added the others
	core       coreFlags
	changes    changeFlags

	notes []string
}

func newDump() *cobra.Command {
	f := &dumpFlags{}
	cmd := &cobra.Command{
		Use:   "dump {-p PID | -n NAME | " + ruleForm + " | --core FILE | --diff FILE FILE}",
		Short: "print the stacks of all threads, once",
		Long:  helpPage("dump"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.changes.diff != "" && len(args) > 0 {
				f.changes.later, args = args[0], args[1:]
			}
			if err := cmp.Or(noArgs(cmd, f.processes.takeArgument(cmd, args)), f.checkChanges(cmd.Flags().Changed)); err != nil {
				return err
			}
			return f.run(cmd.Flags().Changed("max-pause"))
		},
	}
	fl := cmd.Flags()
	f.processes.addTargets(fl)
	f.processes.addRule(fl)
	fl.BoolVar(&f.children, "children", false, "the present child processes, too")
	fl.BoolVar(&f.json, "json", false, "one JSON object a line for each process")
	fl.BoolVar(&f.merge, "merge", false, "show threads with the same stack together, the rarest first")
	fl.BoolVar(&f.locks, "locks", false, "show locks with waiters and owners, deadlocks (exit code 5), ends of sockets")
	fl.BoolVar(&f.chains, "chains", false, "follow what threads wait for, across processes, to its end")
	fl.IntVar(&f.maxDepth, "max-depth", 0, "frames of a stack (0: all)")
	fl.BoolVar(&f.readOnly, "read-only", false, readOnlyUsage)
	fl.BoolVar(&f.atomic, "atomic", false, "stop all threads, copy all, and let them go together")
	f.maxPause = defaultMaxPause
	fl.Var(commandline.MaxTime(&f.maxPause), "max-pause",
		"stop no thread if that is expected to take longer (no guarantee), or off; deep stacks of running threads are cut "+
			"for it")
	fl.BoolVar(&f.native, "native", false, nativeUsage)
	f.goroutines, f.tasks = true, true
	fl.Var(commandline.OnOff(&f.goroutines), "goroutines", "show the goroutines of Go programs that no thread has")
	fl.Var(commandline.OnOff(&f.tasks), "tasks",
		"show virtual threads, asyncio tasks, greenlets, fibers and pending awaits (the heap of each Node process is "+
			"searched, for some 2 s)")
	f.core.addTo(fl)
	f.changes.addTo(fl)
	fl.SortFlags = false
	return cmd
}

func (f *dumpFlags) run(limitsPause bool) error {
	if f.atomic && !limitsPause {
		f.maxPause = 0
	}
	switch {
	case f.merge && f.json:
		return errs.Usage("--merge is for the text: leave out --json or --merge")
	case f.atomic && f.maxPause != 0:
		return errs.Usage("--atomic stops all threads until the last one is copied: leave out --max-pause or --atomic")
	case f.maxDepth < 0:
		return errs.Usage("--max-depth %d: give 0 for all, or a number of frames", f.maxDepth)
	}
	if err := f.checkLocks(); err != nil {
		return err
	}
	if f.changes.diff != "" {
		return console.Print(f.dumpDiff)
	}
	if f.core.file != "" || f.core.sysroot != "" {
		return console.Print(f.dumpCore)
	}
	if err := f.processes.setTargets(); err != nil {
		return err
	}
	if len(f.processes.pids) == 0 && f.changes.since == "" {
		return errs.Usage("no target: give -p PID, -n NAME or --core FILE")
	}
	f.given = len(f.processes.pids)
	if f.children {
		f.processes.pids = append(f.processes.pids, process.LivingDescendants(f.processes.pids)...)
	}
	defer console.ReportUnusedFiles()
	defer recording.EndAfterDetach()()
	switch {
	case f.locks || f.chains:
		return console.Print(f.dumpLocks)
	case f.changes.since != "":
		return console.Print(f.dumpSince)
	case f.changes.watch != 0:
		return f.dumpWatch()
	}
	return console.Print(f.dumpAll)
}

// mayMiss reports whether the i-th process was not given by ID or name, so that it may end or be unreadable.
func (f *dumpFlags) mayMiss(i int) bool { return f.processes.finder != nil || i >= f.given }

func (f *dumpFlags) dumpAll(w io.Writer) error {
	defer func() { f.printNotes(w) }()
	var first error
	var unread unreadProcesses
	dumped := false
	for i, pid := range f.processes.pids {
		p, err := f.dumpProcess(pid)
		if p != nil {
			if err := f.write(w, p); err != nil {
				return err
			}
			p.Close()
		}
		if errors.Is(err, dump.ErrHung) {
			return err // held threads are released when prywalk exits
		}
		if err == nil {
			dumped = true
			continue
		}
		if f.mayMiss(i) {
			unread.add(err)
			continue
		}
		if first != nil {
			printError(err, f.json)
			continue
		}
		first = err
	}
	return cmp.Or(first, unread.report(dumped))
}

type unreadProcesses struct {
	reasons map[string]int64
	first   error
}

func (u *unreadProcesses) add(err error) {
	why := errs.Of(err)
	if why == errs.Exited {
		return
	}
	if u.reasons == nil {
		u.reasons = map[string]int64{}
	}
	u.reasons[why.Word()]++
	u.first = cmp.Or(u.first, err)
}

func (u *unreadProcesses) report(dumped bool) error {
	n := runstats.Sum(u.reasons)
	switch {
	case n > 0 && dumped:
		console.Infof("%s left out%s", runstats.Plural(n, "selected process"), runstats.Reasons(u.reasons))
		return nil
	case n == 0 && !dumped:
		return errs.With(errs.ExitNoSamples, "the selected processes ended before they were read; try again")
	case n > 1:
		return fmt.Errorf("none of %s could be read: %w", runstats.Plural(n, "selected process"), u.first)
	}
	return u.first
}

func (f *dumpFlags) options() dump.Options {
	depth := f.maxDepth
	if depth == 0 {
		depth = -1
	}
	return dump.Options{MaxDepth: depth, ReadOnly: f.readOnly, Atomic: f.atomic, Native: f.native,
		Goroutines: f.goroutines, NoTasks: !f.tasks, Awaits: f.tasks, MaxPause: f.maxPause,
		Chains: f.chains, Prywalk: release()}
}

func (f *dumpFlags) dumpProcess(pid int) (*stacks.Process, error) {
	t, err := openProcess(loadedcode.Open, pid)
	if err != nil {
		return nil, err
	}
	p, err := dump.Sample(t, f.options())
	if errors.Is(err, dump.ErrHung) { // may still be in use
		return p, fmt.Errorf("process %d: %w; %d threads were read", pid, err, len(p.Threads))
	}
	defer t.Close()
	if err != nil {
		return nil, err
	}
	if f.atomic {
		console.Infof("process %d was stopped for %s", pid, p.Pause.Round(time.Microsecond))
	}
	if err := f.reportFailedThreads(p); err != nil {
		return nil, err
	}
	return p, nil
}

func (f *dumpFlags) reportFailedThreads(p *stacks.Process) error {
	results := process.StopResults{
		Denied: p.Failed[errs.Denied.Word()], Traced: p.Failed[errs.Traced.Word()],
	}
	for i := range p.Threads {
		if p.Threads[i].How == observe.ByStop.String() {
			results.Succeeded++
		}
	}
	why := process.ExplainFailures([]int{p.PID}, results)
	if len(p.Threads) == 0 && why != nil {
		return why
	}
	refused := fmt.Sprintf("prywalk doctor -p %d names the cause", p.PID)
	if known, ok := errors.AsType[*process.Error](why); ok {
		refused = known.Cause + "; " + known.Next
	}
	if len(p.Threads) == 0 {
		return errs.With(errs.ExitNoSamples, "process %d: no thread could be read%s; %s", p.PID,
			runstats.Reasons(p.Failed), nextForUnread(p, refused))
	}
	if text := unreadThreads(p, refused); text != "" {
		printError(errs.With(errs.ExitOK, "%s", text), f.json)
	}
	return nil
}

func unreadThreads(p *stacks.Process, refused string) string {
	unread := runstats.UnexpectedFailures(p.Failed)
	n := runstats.Sum(unread)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("process %d: %s could not be read%s; %s", p.PID, runstats.Plural(n, "thread"),
		runstats.Reasons(unread), nextForUnread(p, refused))
}

// nextForUnread returns the next step for the most frequent reason; that is refused where the kernel refused a stop.
// doctor examines rights, and the first thread's state only.
func nextForUnread(p *stacks.Process, refused string) string {
	reason, _ := runstats.MainFailure(p.Failed)
	if reason == errs.Denied || reason == errs.Traced {
		return refused
	}
	return strings.ReplaceAll(reason.NextStep(), "PID", strconv.Itoa(p.PID))
}

func (f *dumpFlags) write(w io.Writer, p *stacks.Process) error {
	defer console.ReportOmitted()
	if f.json {
		return stacks.WriteJSON(w, p)
	}
	f.addNotes(p)
	if f.merge {
		return text.WriteMerged(w, p)
	}
	return text.Write(w, p)
}

func (f *dumpFlags) addNotes(p *stacks.Process) {
	for _, n := range text.Notes(p) {
		if !slices.Contains(f.notes, n) {
			f.notes = append(f.notes, n)
		}
	}
}

func (f *dumpFlags) printNotes(w io.Writer) {
	for _, n := range runstats.FirstNotes(f.notes) {
		printable.Fprintf(w, "\n%s\n", n)
	}
}
