// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"prywalk/internal/base/errs"
	"prywalk/internal/command/commandline"
	"prywalk/internal/command/console"
	"prywalk/internal/command/recording"
	"prywalk/internal/show/top"
	"prywalk/internal/watch/sampler"
)

type topFlags struct {
	recordFlags
	recording.TopOptions
}

const (
	refreshEvery = time.Second
	minRefresh   = 100 * time.Millisecond
	firstWindow  = 10 * time.Second
	// of plain text
	plainRows = 20
)

func newTop() *cobra.Command {
	f := &topFlags{TopOptions: recording.TopOptions{Window: firstWindow}, recordFlags: recordFlags{
		Options: recording.Options{Sampler: sampler.Options{Freq: sampler.DefaultFreq, WatchEvery: refreshEvery}},
		mode:    "auto"}}
	cmd := &cobra.Command{
		Use:   "top {-p PID | -n NAME | " + ruleForm + "}",
		Short: "live table of functions, threads and waits in the terminal",
		Long:  helpPage("top"),
		RunE:  f.run,
	}
	fl := cmd.Flags()
	f.addTargets(fl)
	f.addWait(fl)
	f.addRule(fl)
	f.addRate(fl)
	fl.VarP(commandline.Seconds(&f.Duration), "duration", "d",
		"how long: seconds (30) or with a unit (30s, 2m); until q otherwise")
	fl.Var(commandline.Seconds(&f.Sampler.WatchEvery), "interval", "time between two refreshes")
	fl.Var(commandline.Seconds(&f.Window), "window",
		"show the last so many seconds; all there is if that is more than 60")
	fl.StringVar((*string)(&f.Clock), "value", "cpu", "the clock to begin with: cpu, runqueue, blocked or wall")
	f.addTasks(fl)
	fl.BoolVar(&f.Once, "once", false, "print one table, of one window, and end")
	fl.BoolVar(&f.JSON, "json", false, "one line of JSON for each refresh")
	fl.IntVar(&f.Rows, "rows", plainRows, "functions in plain text, and rows of each kind in JSON (-1: all)")
	fl.StringVarP(&f.Output, "output", "o", "", "also write a recording to this file; %p the pid, %t the time")
	fl.BoolVar(&f.Sampler.Children, "children", false,
		"child processes, too, also those that run already (on for a unit, a cgroup, the host)")
	f.addEngine(fl)
	f.addLimits(fl)
	fl.SortFlags = false
	return cmd
}

func (f *topFlags) run(cmd *cobra.Command, args []string) error {
	if args = f.takeArgument(cmd, args); f.mayBeProcess(cmd, args) {
		f.name, args = args[0], nil
	}
	switch {
	case len(args) > 0:
		return errs.Usage("top takes running processes only, so that no output overwrites the table: start it elsewhere, " +
			"and give -n NAME --wait here")
	case len(f.pids) == 0 && f.name == "" && !f.wait && !f.hasRule():
		return errs.Usage("no target: give -p PID or -n NAME")
	case f.Sampler.WatchEvery < minRefresh:
		return errs.Usage("--interval %s: give at least %s", f.Sampler.WatchEvery, minRefresh)
	case !slices.Contains(top.Clocks(), f.Clock):
		return errs.Usage("--value %q: choose cpu, runqueue, blocked or wall", f.Clock)
	case console.IsStdout(f.Output):
		return errs.Usage("-o - would mix the recording with the table; give a file")
	}
	if err := checkRows(f.Rows); err != nil {
		return err
	}
	if err := f.setSampling(); err != nil {
		return err
	}
	if err := f.open(cmd, false); err != nil {
		return err
	}
	defer f.closeEngine()
	return recording.RunTop(f.Options, f.TopOptions)
}
