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
	"prywalk/internal/watch/target"
)

type topFlags struct {
	record  recordFlags
	display recording.TopOptions
}

const (
	refreshEvery = time.Second
	minRefresh   = 100 * time.Millisecond
	firstWindow  = 10 * time.Second
	// of plain text
	plainRows = 20
)

func newTop() *cobra.Command {
	f := &topFlags{display: recording.TopOptions{Window: firstWindow}, record: recordFlags{
		recording: recording.Options{Sampler: target.SamplingOptions{Freq: sampler.DefaultFreq, WatchEvery: refreshEvery}},
		mode:      "auto"}}
	cmd := &cobra.Command{
		Use:   "top {-p PID | -n NAME | " + ruleForm + "}",
		Short: "live table of functions, threads and waits in the terminal",
		Long:  helpPage("top"),
		RunE:  f.run,
	}
	fl := cmd.Flags()
	f.record.processes.addTargets(fl)
	f.record.processes.addWait(fl)
	f.record.processes.addRule(fl)
	f.record.addRate(fl)
	fl.VarP(commandline.Seconds(&f.record.recording.Duration), "duration", "d",
		"how long: seconds (30) or with a unit (30s, 2m); until q otherwise")
	fl.Var(commandline.Seconds(&f.record.recording.Sampler.WatchEvery), "interval", "time between two refreshes")
	fl.Var(commandline.Seconds(&f.display.Window), "window",
		"show the last so many seconds; all there is if that is more than 60")
	fl.StringVar((*string)(&f.display.Clock), "value", "cpu", "the clock to begin with: cpu, runqueue, blocked or wall")
	f.record.addTasks(fl)
	fl.BoolVar(&f.display.Once, "once", false, "print one table, of one window, and end")
	fl.BoolVar(&f.display.JSON, "json", false, "one line of JSON for each refresh")
	fl.IntVar(&f.display.Rows, "rows", plainRows, "functions in plain text, and rows of each kind in JSON (-1: all)")
	fl.StringVarP(&f.record.recording.Output, "output", "o", "",
		"also write a recording to this file; %p the pid, %t the time")
	fl.BoolVar(&f.record.recording.Sampler.Children, "children", false,
		"child processes, too, also those that run already (on for a unit, a cgroup, the host)")
	f.record.addEngine(fl)
	f.record.addLimits(fl)
	fl.SortFlags = false
	return cmd
}

func (f *topFlags) run(cmd *cobra.Command, args []string) error {
	if args = f.record.processes.takeArgument(cmd, args); f.record.processes.mayBeProcess(cmd, args) {
		f.record.processes.name, args = args[0], nil
	}
	switch {
	case len(args) > 0:
		return errs.Usage("top takes running processes only, so that no output overwrites the table: start it elsewhere, " +
			"and give -n NAME --wait here")
	case len(f.record.processes.pids) == 0 && f.record.processes.name == "" && !f.record.processes.wait &&
		!f.record.processes.hasRule():
		return errs.Usage("no target: give -p PID or -n NAME")
	case f.record.recording.Sampler.WatchEvery < minRefresh:
		return errs.Usage("--interval %s: give at least %s", f.record.recording.Sampler.WatchEvery, minRefresh)
	case !slices.Contains(top.Clocks(), f.display.Clock):
		return errs.Usage("--value %q: choose cpu, runqueue, blocked or wall", f.display.Clock)
	case console.IsStdout(f.record.recording.Output):
		return errs.Usage("-o - would mix the recording with the table; give a file")
	}
	if err := checkRows(f.display.Rows); err != nil {
		return err
	}
	if err := f.record.setSampling(); err != nil {
		return err
	}
	if err := f.record.open(cmd, false); err != nil {
		return err
	}
	defer f.record.closeEngine()
	return recording.RunTop(f.record.recording, f.display)
}
